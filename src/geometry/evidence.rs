//! Tests that assume nothing of how times are distributed, and what to make of several at once.

use statrs::distribution::{ContinuousCDF, Discrete, Hypergeometric, Normal};
use std::cmp::Ordering;

/// Fewest values on either side for the normal approximation of the rank sum (the tables of Mann and
/// Whitney, Annals of Mathematical Statistics 18, 1947, end at 8).
const FEWEST_RANKED: usize = 9;

/// The probability that the first values are so much larger than the second ones by chance: the
/// one-sided rank test of Mann and Whitney, normal approximation with continuity correction. 1 where
/// too few values are compared.
pub fn chance_of_larger(first: &[f64], second: &[f64]) -> f64 {
    if first.len() < FEWEST_RANKED || second.len() < FEWEST_RANKED {
        return 1.0;
    }
    let (n, m) = (first.len() as f64, second.len() as f64);
    // How many pairs the first ones win; a tie is half a win.
    let wins: f64 = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| a.total_cmp(b)))
        .map(|order| match order {
            Ordering::Greater => 1.0,
            Ordering::Equal => 0.5,
            Ordering::Less => 0.0,
        })
        .sum();
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - tied(first, second) / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (wins - n * m / 2.0 - 0.5) / variance.sqrt();
    Normal::standard().sf(z)
}

/// The sum of t³ − t over all groups of t equal values.
fn tied(first: &[f64], second: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = first.iter().chain(second).copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
        .chunk_by(|a, b| a == b)
        .map(|group| (group.len() as f64).powi(3) - group.len() as f64)
        .sum()
}

/// The probability that of `marked` among `all` chunks at least `hits` fall among `drawn` given ones
/// when they lie in random order (Fisher's permutation test, which is exact).
pub fn chance_of_hits(all: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
    let Ok(law) = Hypergeometric::new(all, marked, drawn) else {
        return 1.0;
    };
    (hits..=marked.min(drawn)).map(|n| law.pmf(n)).sum()
}

/// Which of several bets are won when at most `share` of the won ones may be luck, from the logarithms
/// of their capitals (e-BH: Wang and Ramdas, Journal of the Royal Statistical Society B 84, 2022). The
/// bets may depend on one another in any way.
pub fn won_together(log_capitals: &[f64], share: f64) -> Vec<bool> {
    let mut sorted = log_capitals.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let all = log_capitals.len() as f64;
    let threshold = sorted
        .iter()
        .zip(1u32..)
        .filter(|(capital, rank)| **capital >= (all / (share * f64::from(*rank))).ln())
        .map(|(capital, _)| *capital)
        .fold(f64::INFINITY, f64::min);
    log_capitals.iter().map(|c| *c >= threshold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_tell_larger_from_smaller_and_nothing_from_few() {
        let low: Vec<f64> = (0..12).map(f64::from).collect();
        let high: Vec<f64> = (0..12).map(|n| f64::from(n) + 10.0).collect();
        assert!(chance_of_larger(&high, &low) < 1e-3);
        assert!(chance_of_larger(&low, &high) > 0.99);
        // Mann and Whitney by hand: U = 72 of 144, exactly the mean, and half a step of correction.
        assert!((chance_of_larger(&low, &low) - 0.5115).abs() < 0.001);
        assert_eq!(chance_of_larger(&high[..8], &low), 1.0);
        assert_eq!(chance_of_larger(&[1.0; 9], &[1.0; 9]), 1.0);
    }

    #[test]
    fn hits_by_chance_match_hand_values() {
        // 2 marked of 4, 2 drawn: both with probability 1/6, at least one with 5/6.
        assert!((chance_of_hits(4, 2, 2, 2) - 1.0 / 6.0).abs() < 1e-9);
        assert!((chance_of_hits(4, 2, 2, 1) - 5.0 / 6.0).abs() < 1e-9);
        assert!(chance_of_hits(640, 6, 5, 5) < 1e-9);
    }

    #[test]
    fn bets_are_judged_together() {
        let capital = |x: f64| x.ln();
        // Of three, at 5 %: one alone needs 60, two need 30 each.
        assert_eq!(
            won_together(&[capital(59.0), 0.0, 0.0], 0.05),
            [false, false, false]
        );
        assert_eq!(
            won_together(&[capital(61.0), capital(2.0), 0.0], 0.05),
            [true, false, false]
        );
        assert_eq!(
            won_together(&[capital(31.0), 0.0, capital(31.0)], 0.05),
            [true, false, true]
        );
        assert_eq!(won_together(&[], 0.05), Vec::<bool>::new());
    }
}

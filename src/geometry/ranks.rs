//! Tests by ranks, for times that are skewed, quantised and tied.

use statrs::distribution::{ContinuousCDF, Normal};

/// The two-sided probability of ranks at least this far apart if both samples came from one
/// distribution: Mann and Whitney's test (Annals of Mathematical Statistics 18, 1947) in its normal
/// approximation, with corrections for ties and continuity. 1 for samples too small to tell.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> = a
        .iter()
        .map(|x| (*x, true))
        .chain(b.iter().map(|x| (*x, false)))
        .collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    // Equal values share the mean of their ranks.
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|x, y| x.0.total_cmp(&y.0).is_eq()) {
        let size = group.len() as f64;
        let rank = before + (size + 1.0) / 2.0;
        rank_sum += rank * group.iter().filter(|x| x.1).count() as f64;
        ties += size.powi(3) - size;
        before += size;
    }
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)).max(1.0));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Normal::new(0.0, 1.0).map_or(1.0, |normal| (2.0 * normal.sf(z)).min(1.0))
}

/// Which of these tests are significant when of those called significant no more than the share `q`
/// may be false (Benjamini and Hochberg, Journal of the Royal Statistical Society B 57, 1995).
pub fn benjamini_hochberg(probabilities: &[f64], q: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let tests = probabilities.len() as f64;
    let last = order
        .iter()
        .enumerate()
        .rfind(|(rank, test)| probabilities[**test] <= (*rank as f64 + 1.0) / tests * q);
    let mut significant = vec![false; probabilities.len()];
    if let Some((last, _)) = last {
        for test in &order[..=last] {
            significant[*test] = true;
        }
    }
    significant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_test_matches_a_hand_computed_value() {
        // No overlap of 8 and 12: U = 0, mean 48, variance 8·12·21/12 = 168,
        // z = 47.5/12.961 = 3.6648, two-sided 0.000248.
        let low: Vec<f64> = (0..8).map(f64::from).collect();
        let high: Vec<f64> = (20..32).map(f64::from).collect();
        assert!((mann_whitney(&low, &high) - 0.000_248).abs() < 2e-6);
        assert!((mann_whitney(&high, &low) - 0.000_248).abs() < 2e-6);
    }

    #[test]
    fn samples_that_are_alike_or_all_tied_tell_nothing() {
        assert!(mann_whitney(&[1.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 6.0, 0.0]) > 0.5);
        assert!(mann_whitney(&[2.0; 9], &[2.0; 9]) > 0.99);
        assert!(mann_whitney(&[], &[1.0]) > 0.99);
    }

    #[test]
    fn one_small_probability_among_many_is_no_discovery_and_a_smaller_one_is() {
        let mut all = vec![0.5; 20];
        all[3] = 0.01;
        assert!(!benjamini_hochberg(&all, 0.05).contains(&true));
        all[7] = 0.001;
        let found = benjamini_hochberg(&all, 0.05);
        assert!(found[7] && !found[3] && !found[0]);
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
    }
}

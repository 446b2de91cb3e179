//! Robust statistics for skewed, quantised, heavy-tailed times: medians, ranks and bets, no means
//! and no normal theory.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The error of the median of normal values, relative to that of their mean: √(π/2) (the asymptotic
/// variance of a median is π/2 times that of the mean).
pub const MEDIAN_ERROR: f64 = 1.2533;

/// The median; 0 for nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The standard deviation of a normal distribution with the same median absolute deviation
/// (factor 1.4826 = 1 / Φ⁻¹(3/4)).
pub fn mad_sigma(values: &[f64]) -> f64 {
    let centre = median(values);
    let mut distances: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    distances.sort_by(f64::total_cmp);
    1.4826 * median_of_sorted(&distances)
}

/// The standard deviation of a normal distribution with the same distance between the 10 % and the
/// 90 % point (2 · 1.2816 σ). Unlike the median absolute deviation it does not collapse to zero
/// when more than half of quantised values are equal.
pub fn decile_sigma(values: &[f64]) -> f64 {
    if values.len() < 10 {
        return 0.0;
    }
    (quantile(values, 0.9) - quantile(values, 0.1)) / (2.0 * 1.281_55)
}

/// The value below which this share of the values lies, interpolated; 0 for nothing.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    // Not negative, and below the length.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let below = place.floor() as usize;
    let low = sorted.get(below).copied().unwrap_or(0.0);
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    low + (high - low) * (place - below as f64)
}

/// The mean of what is left when the lowest and the highest fifth are cut off.
pub fn trimmed_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 5;
    let kept = &sorted[cut..sorted.len() - cut];
    if kept.is_empty() {
        0.0
    } else {
        kept.iter().sum::<f64>() / kept.len() as f64
    }
}

/// The standard error of [`trimmed_mean`], from the Winsorised variance (Tukey and McLaughlin,
/// Sankhya A 25, 1963).
pub fn trimmed_mean_error(values: &[f64]) -> f64 {
    let n = values.len();
    let cut = n / 5;
    if n < 5 {
        return f64::INFINITY;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[cut], sorted[n - 1 - cut]);
    let winsorised: Vec<f64> = sorted.iter().map(|v| v.clamp(low, high)).collect();
    let mean = winsorised.iter().sum::<f64>() / n as f64;
    let variance = winsorised.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let kept = (n - 2 * cut) as f64 / n as f64;
    (variance / n as f64).sqrt() / kept
}

/// The probability that Student's t with `freedom` degrees is at least `t`.
pub fn t_tail(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(0.5, |d| d.sf(t))
}

/// The density of Student's t with three degrees of freedom: heavy enough in the tails that one
/// garbage collection in the background does not decide anything.
pub fn t3_density(x: f64, location: f64, scale: f64) -> f64 {
    // 2 / (π √3): the normalising constant for ν = 3.
    const PEAK: f64 = 0.367_552_596_947_861_4;
    let z = (x - location) / scale;
    let q = 1.0 + z * z / 3.0;
    PEAK / (scale * q * q)
}

/// An e-process against "a success has probability `null`" in favour of more successes: a bet whose
/// capital stays below 1/α with probability 1 − α for ever when the null is true, however often one
/// looks (Ville's inequality).
///
/// Each step bets the predictable estimate `max(null, (S + 1) / (i + 0.5))`, where `S` counts
/// earlier successes and `i` is the step.
#[derive(Clone, Copy, Debug)]
pub struct SuccessBet {
    null: f64,
    log_capital: f64,
    steps: u32,
    successes: u32,
}

impl SuccessBet {
    /// A fresh bet against `null`.
    pub fn new(null: f64) -> SuccessBet {
        SuccessBet {
            null,
            log_capital: 0.0,
            steps: 0,
            successes: 0,
        }
    }

    /// One more observation.
    pub fn observe(&mut self, success: bool) {
        let step = f64::from(self.steps) + 1.0;
        // Away from 0 and 1, so that one surprise never ruins the capital for good.
        let p = ((f64::from(self.successes) + 1.0) / (step + 0.5)).clamp(self.null, 0.98);
        let factor = if success {
            p / self.null
        } else {
            (1.0 - p) / (1.0 - self.null)
        };
        self.log_capital += factor.ln();
        self.steps += 1;
        self.successes += u32::from(success);
    }

    /// The logarithm of the capital.
    pub fn log_capital(&self) -> f64 {
        self.log_capital
    }

    /// Observations so far.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Successes so far.
    pub fn successes(&self) -> u32 {
        self.successes
    }
}

/// ln Σ exp(x), without overflow; −∞ for nothing.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn medians_and_spreads_match_hand_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((mad_sigma(&[1.0, 2.0, 3.0, 4.0, 100.0]) - 1.4826).abs() < 1e-12);
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 3.0);
        let even: Vec<f64> = (0..101).map(f64::from).collect();
        assert!((decile_sigma(&even) - 80.0 / 2.5631).abs() < 1e-9);
    }

    #[test]
    fn the_t3_density_integrates_to_one() {
        let total: f64 = (-40_000..40_000)
            .map(|n| t3_density(f64::from(n) * 0.01, 3.0, 2.0) * 0.01)
            .sum();
        assert!((total - 1.0).abs() < 1e-4, "{total}");
    }

    #[test]
    fn a_true_null_almost_never_wins_a_bet() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut wins = 0;
        for _ in 0..400 {
            let mut bet = SuccessBet::new(1.0 / 3.0);
            let mut won = false;
            for _ in 0..200 {
                bet.observe(rng.random_range(0..3) == 0);
                won |= bet.log_capital() >= 20f64.ln();
            }
            wins += u32::from(won);
        }
        // At most 5 % of 400 in expectation; 34 is three standard deviations above.
        assert!(wins <= 34, "{wins}");
    }

    #[test]
    fn a_clear_effect_wins_within_a_dozen_steps() {
        let mut bet = SuccessBet::new(1.0 / 3.0);
        for _ in 0..12 {
            bet.observe(true);
        }
        assert!(bet.log_capital() > 100f64.ln());
    }

    #[test]
    fn t_tails_match_tables() {
        assert!((t_tail(2.353, 3.0) - 0.05).abs() < 1e-4);
        assert!((t_tail(0.0, 10.0) - 0.5).abs() < 1e-12);
    }
}

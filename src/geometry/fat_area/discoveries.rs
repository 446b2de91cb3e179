//! Many comparisons at once: which of the differences are real?

use crate::geometry::evidence::chance_of_larger;

/// The probability by chance of values so far apart, in either direction.
pub(super) fn chance_of_difference(a: &[f64], b: &[f64]) -> f64 {
    (2.0 * chance_of_larger(a, b).min(chance_of_larger(b, a))).min(1.0)
}

/// Which of these tests are significant when of those called significant no more than the share `q`
/// may be false (Benjamini and Hochberg, Journal of the Royal Statistical Society B 57, 1995).
pub(super) fn benjamini_hochberg(probabilities: &[f64], q: f64) -> Vec<bool> {
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
    fn values_far_apart_are_unlikely_either_way_and_mixed_ones_are_not() {
        // No overlap of 9 and 12: U = 0, mean 54, variance 9*12*22/12 = 198,
        // z = 53.5/14.071 = 3.802, two-sided 0.000143.
        let low: Vec<f64> = (0..9).map(f64::from).collect();
        let high: Vec<f64> = (20..32).map(f64::from).collect();
        assert!((chance_of_difference(&low, &high) - 0.000_143).abs() < 2e-6);
        assert!((chance_of_difference(&high, &low) - 0.000_143).abs() < 2e-6);
        let even: Vec<f64> = (0..10).map(|n| f64::from(2 * n)).collect();
        let odd: Vec<f64> = (0..10).map(|n| f64::from(2 * n + 1)).collect();
        assert!(chance_of_difference(&even, &odd) > 0.5);
        assert!(chance_of_difference(&[2.0; 9], &[2.0; 9]) > 0.99);
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

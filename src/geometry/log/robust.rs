//! Small statistics that outliers do not move.

/// The middle value; the mean of the two middle ones. `None` without values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    })
}

/// The median deviation from the median, scaled to the standard deviation of a normal sample
/// (1 / 0.6745).
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let away: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    Some(1.4826 * median(&away)?)
}

/// The standard deviation of a sample; 0 for less than two values.
pub(super) fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// `ln(exp(a) + exp(b) + …)` without overflow; minus infinity without values.
pub(super) fn ln_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither_median_nor_deviation() {
        let values = [10.0, 11.0, 9.0, 10.5, 9.5, 1e6];
        assert!((median(&values).unwrap() - 10.25).abs() < 1e-9);
        assert!(deviation(&values).unwrap() < 2.0);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
    }

    #[test]
    fn sums_of_exponentials_do_not_overflow() {
        assert!((ln_sum([1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-9);
        assert_eq!(ln_sum([]), f64::NEG_INFINITY);
    }
}

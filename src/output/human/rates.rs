//! Rates by request size, drawn: which block size to use for copying.

use super::words::Text;
use crate::geometry::Rate;
use crate::output::report::Report;
use crate::units::Bytes;

/// The longest bar.
const LONGEST: usize = 24;

/// One curve for reading, one for writing. Nothing where nothing was measured.
pub(super) fn rates(report: &Report, text: &mut Text) {
    let curves = &report.geometry.throughput;
    for (title, curve, efficient) in [
        ("Reading, by request size", &curves.read, None),
        (
            "Writing in order, by request size",
            &curves.write,
            curves.efficient_bytes,
        ),
    ] {
        if curve.is_empty() {
            continue;
        }
        text.heading(title);
        let most = curve
            .iter()
            .map(|rate| rate.bytes_per_second)
            .fold(0.0, f64::max);
        for rate in curve {
            text.line(&line(rate, most, efficient));
        }
    }
}

fn line(rate: &Rate, most: f64, efficient: Option<Bytes>) -> String {
    let share = if most > 0.0 {
        rate.bytes_per_second / most
    } else {
        0.0
    };
    let length = (0..LONGEST)
        .filter(|n| *n as f64 + 0.5 < share * LONGEST as f64)
        .count();
    let mark = if efficient == Some(rate.bytes) {
        "<- 70 % of the best rate"
    } else {
        ""
    };
    format!(
        "  {:>9}  {:<LONGEST$}  {:>10}  {mark}",
        rate.bytes.to_string(),
        "#".repeat(length),
        amount(rate.bytes_per_second),
    )
    .trim_end()
    .to_owned()
}

/// Decimal, as sticks are sold.
fn amount(bytes_per_second: f64) -> String {
    let (value, unit) = if bytes_per_second >= 1e6 {
        (bytes_per_second / 1e6, "MB/s")
    } else {
        (bytes_per_second / 1e3, "kB/s")
    };
    if value >= 100.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bytes_per_second: f64) -> Rate {
        Rate {
            bytes: Bytes::kib(16),
            bytes_per_second,
        }
    }

    #[test]
    fn the_best_rate_has_the_longest_bar_and_the_efficient_size_a_mark() {
        let drawn = line(&rate(10e6), 20e6, Some(Bytes::kib(16)));
        assert_eq!(drawn.matches('#').count(), 12);
        assert!(
            drawn.ends_with("10.0 MB/s  <- 70 % of the best rate"),
            "{drawn}"
        );
        assert_eq!(line(&rate(20e6), 20e6, None).matches('#').count(), 24);
        assert_eq!(line(&rate(0.0), 0.0, None).matches('#').count(), 0);
        assert!(line(&rate(9_999e6), 9_999e6, Some(Bytes::kib(16))).len() <= 80);
    }

    #[test]
    fn rates_are_in_the_units_that_sticks_are_sold_in() {
        assert_eq!(amount(744e3), "744 kB/s");
        assert_eq!(amount(6.58e6), "6.6 MB/s");
        assert_eq!(amount(150e6), "150 MB/s");
    }
}

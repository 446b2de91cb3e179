//! A small picture of what a boundary costs.

use super::words::{Text, short_time};
use crate::geometry::erase_block::ChartBar;
use crate::output::report::Report;
use crate::units::Bytes;

/// The longest bar.
const LONGEST: f64 = 24.0;

/// Bars of extra read time, largest boundary first. Nothing when no boundary was told: bars that
/// show noise alone look like a finding.
pub(super) fn chart(report: &Report, text: &mut Text) {
    if report.chart.is_empty() || !report.is_told() {
        return;
    }
    let found = &report.geometry.erase_block;
    let phase = found.phase_bytes.unwrap_or(Bytes::ZERO);
    text.heading("Extra time of a read across a boundary");
    text.wrapped(
        "  ",
        &match phase {
            Bytes::ZERO => "Each counts with the largest size that divides its place.".to_owned(),
            _ => format!(
                "Each counts with the largest size that divides its place, seen from {phase}."
            ),
        },
    );
    let most = report
        .chart
        .iter()
        .map(|bar| bar.cost_us)
        .fold(0.0, f64::max);
    for bar in &report.chart {
        let mark = if Some(bar.boundary) == found.bytes {
            "<- erase block"
        } else if Some(bar.boundary) == found.sub_unit_bytes {
            "<- sub-unit"
        } else {
            ""
        };
        text.line(&line(bar, most, mark));
    }
}

fn line(bar: &ChartBar, most: f64, mark: &str) -> String {
    let share = if most > 0.0 { bar.cost_us / most } else { 0.0 };
    // Between 0 and LONGEST, whatever the cost is.
    let length = (0..24)
        .filter(|n| f64::from(*n) + 0.5 < share * LONGEST)
        .count();
    format!(
        "  {:>9}  {:<24}  {:>9}  {:>3} places  {mark}",
        bar.boundary.to_string(),
        "#".repeat(length),
        short_time(bar.cost_us),
        bar.places
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(cost_us: f64) -> ChartBar {
        ChartBar {
            boundary: Bytes::mib(8),
            cost_us,
            places: 12,
        }
    }

    #[test]
    fn the_costliest_boundary_has_the_longest_bar_and_a_negative_one_none() {
        let hashes = |cost| line(&bar(cost), 200.0, "").matches('#').count();
        assert_eq!(hashes(200.0), 24);
        assert_eq!(hashes(100.0), 12);
        assert_eq!(hashes(0.1), 0);
        assert_eq!(hashes(-50.0), 0);
        assert_eq!(line(&bar(f64::NAN), 0.0, "").matches('#').count(), 0);
    }

    #[test]
    fn a_line_fits_the_page() {
        let longest = ChartBar {
            boundary: Bytes::mib(1000),
            cost_us: 9999.0,
            places: 999,
        };
        assert!(line(&longest, 9999.0, "<- erase block").len() <= 80);
    }
}

//! What is drawn: charts as values, one bar each, before anybody draws them.

use super::numbers::{rate, short_time};
use crate::geometry::{OpenAu, Rate, open_au};
use crate::output::report::Report;
use crate::units::Bytes;

/// A chart of bars that all begin at zero.
pub(in crate::output) struct Bars {
    /// What is drawn against what.
    pub(in crate::output) title: &'static str,
    /// How to read it, when that is not plain.
    pub(in crate::output) note: Option<String>,
    /// In the order in which they are drawn.
    pub(in crate::output) bars: Vec<Bar>,
}

/// One bar.
pub(in crate::output) struct Bar {
    /// What it stands for.
    pub(in crate::output) label: String,
    /// How long it is, in a unit of the chart.
    pub(in crate::output) value: f64,
    /// The same in words.
    pub(in crate::output) amount: String,
    /// How many places were measured, where that differs from bar to bar.
    pub(in crate::output) places: Option<usize>,
    /// What is special about it.
    pub(in crate::output) mark: Option<&'static str>,
    /// Whether it stays when a long chart has to be thinned out.
    pub(in crate::output) landmark: bool,
    /// Whether a picture in colours gives it another one: what is marked, and what is within a limit.
    pub(in crate::output) stands_out: bool,
}

impl Bars {
    /// How much of the longest bar this one has: 0 to 1, and 0 for what is negative or no number.
    pub(in crate::output) fn share(&self, bar: &Bar) -> f64 {
        let most = self.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        if most > 0.0 && bar.value > 0.0 {
            bar.value / most
        } else {
            0.0
        }
    }
}

/// Extra time of a read across a boundary, largest boundary first. Nothing when no boundary was
/// told: bars that show noise alone look like a finding.
pub(in crate::output) fn boundaries(report: &Report) -> Vec<Bars> {
    if report.chart.is_empty() || !report.is_told() {
        return Vec::new();
    }
    let found = &report.geometry.erase_block;
    let phase = found.phase_bytes.unwrap_or(Bytes::ZERO);
    let note = match phase {
        Bytes::ZERO => "Each counts with the largest size that divides its place.".to_owned(),
        _ => {
            format!("Each counts with the largest size that divides its place, seen from {phase}.")
        }
    };
    let mark = |boundary| {
        if Some(boundary) == found.bytes {
            Some("erase block")
        } else if Some(boundary) == found.sub_unit_bytes {
            Some("sub-unit")
        } else {
            None
        }
    };
    let bars = report.chart.iter().map(|bar| Bar {
        label: bar.boundary.to_string(),
        value: bar.cost_us,
        amount: short_time(bar.cost_us),
        places: Some(bar.places),
        mark: mark(bar.boundary),
        landmark: true,
        stands_out: mark(bar.boundary).is_some(),
    });
    vec![Bars {
        title: "Extra time of a read across a boundary",
        note: Some(note),
        bars: bars.collect(),
    }]
}

/// Rates by request size: which block size to use for copying. One chart for reading, one for
/// writing, as far as they were measured.
pub(in crate::output) fn rates(report: &Report) -> Vec<Bars> {
    let curves = &report.geometry.throughput;
    let chart = |title, curve: &[Rate], efficient: Option<Bytes>| Bars {
        title,
        note: None,
        bars: curve
            .iter()
            .map(|point| Bar {
                label: point.bytes.to_string(),
                value: point.bytes_per_second,
                amount: rate(point.bytes_per_second),
                places: None,
                mark: (efficient == Some(point.bytes)).then_some("70 % of the best rate"),
                landmark: true,
                stands_out: efficient == Some(point.bytes),
            })
            .collect(),
    };
    let mut charts = vec![
        chart("Reading, by request size", &curves.read, None),
        chart(
            "Writing in order, by request size",
            &curves.write,
            curves.efficient_bytes,
        ),
    ];
    charts.retain(|chart| !chart.bars.is_empty());
    charts
}

/// Speed against open units, one chart for each way of writing that was tested.
pub(in crate::output) fn open_units(report: &Report) -> Vec<Bars> {
    let open = &report.geometry.open_au;
    let chart = |title, climb: &[open_au::scan::Bar], counted: &OpenAu| Bars {
        title,
        note: None,
        bars: climb
            .iter()
            .enumerate()
            .map(|(n, bar)| Bar {
                label: bar.open.to_string(),
                value: bar.rate,
                amount: rate(bar.rate),
                places: None,
                mark: None,
                // Powers of two, and the last three: those are around the limit.
                landmark: bar.open.is_power_of_two() || n + 3 >= climb.len(),
                stands_out: counted.verdict.is_told()
                    && counted
                        .limit
                        .and_then(|limit| usize::try_from(limit).ok())
                        .is_some_and(|limit| bar.open <= limit),
            })
            .collect(),
    };
    let mut charts = vec![
        chart(
            "Speed against open units, in order",
            &report.speeds.linear,
            &open.linear,
        ),
        chart(
            "Speed against open units, in any order",
            &report.speeds.random,
            &open.random.count,
        ),
    ];
    charts.retain(|chart| chart.bars.len() >= 2);
    charts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Verdict};
    use crate::output::report::Cost;
    use crate::topology::{Facts, Transport};
    use crate::units::LogicalBlock;

    fn report() -> Report {
        let device = Facts::bare("x", Transport::Usb, Some(Bytes::gib(8)), LogicalBlock::B512);
        Report::new(device, Geometry::default(), Cost::default())
    }

    #[test]
    fn the_longest_bar_has_a_share_of_one_and_a_negative_one_none() {
        let mut report = report();
        report.geometry.throughput.read = [200.0, 100.0, -50.0, f64::NAN]
            .map(|bytes_per_second| Rate {
                bytes: Bytes::kib(16),
                bytes_per_second,
            })
            .to_vec();
        let charts = rates(&report);
        let [chart] = &charts[..] else {
            panic!("{}", charts.len())
        };
        let shares: Vec<f64> = chart.bars.iter().map(|bar| chart.share(bar)).collect();
        assert_eq!(shares, [1.0, 0.5, 0.0, 0.0]);
    }

    #[test]
    fn a_long_climb_keeps_powers_of_two_and_what_lies_around_the_limit() {
        let mut report = report();
        report.speeds.linear = (1..=19)
            .map(|open| open_au::scan::Bar { open, rate: 1e6 })
            .collect();
        // A single bar compares with nothing.
        report.speeds.random = report.speeds.linear[..1].to_vec();
        let charts = open_units(&report);
        assert_eq!(charts.len(), 1);
        let kept: Vec<&str> = charts[0]
            .bars
            .iter()
            .filter(|bar| bar.landmark)
            .map(|bar| bar.label.as_str())
            .collect();
        assert_eq!(kept, ["1", "2", "4", "8", "16", "17", "18", "19"]);
        assert!(charts[0].bars.iter().all(|bar| !bar.stands_out));
        report.geometry.open_au.linear.limit = Some(18);
        report.geometry.open_au.linear.verdict = Verdict::Likely;
        let within = open_units(&report)[0]
            .bars
            .iter()
            .filter(|bar| bar.stands_out)
            .count();
        assert_eq!(within, 18);
    }
}

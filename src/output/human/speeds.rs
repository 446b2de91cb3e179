//! Small pictures of what writes showed: speed against open units, speed along the first megabytes.

use super::words::Text;
use crate::geometry::{fat_area, open_au};
use crate::output::report::Report;

/// The longest bar.
const LONGEST: u32 = 24;
/// A table shows no more open units than this.
const MOST_LINES: usize = 12;

/// Speed against open units, for both ways of writing. Nothing when it was not tested.
pub(super) fn against_open_units(report: &Report, text: &mut Text) {
    for (title, bars) in [
        ("Speed against open units, in order", &report.speeds.linear),
        (
            "Speed against open units, in any order",
            &report.speeds.random,
        ),
    ] {
        if bars.len() < 2 {
            continue;
        }
        text.heading(title);
        let most = bars.iter().map(|bar| bar.rate).fold(0.0, f64::max);
        for bar in chosen(bars) {
            text.line(&format!(
                "  {:>9}  {}  {:>10}",
                bar.open,
                bar_of(bar.rate, most),
                speed(bar.rate)
            ));
        }
    }
}

/// Speed along the first megabytes, relative to the middle of the device.
pub(super) fn along_the_start(report: &Report, text: &mut Text) {
    let bars = &report.speeds.start;
    if bars.is_empty() {
        return;
    }
    text.heading("Speed along the first megabytes, as a share of that elsewhere");
    text.line("               random  in turns with data  linear");
    for bar in bars {
        text.line(&start_line(bar));
    }
}

fn start_line(bar: &fat_area::scan::Bar) -> String {
    let [random, alternating, linear] = bar.rates.map(|rate| format!("{rate:.2}"));
    format!(
        "  {:>9}  {random:>8}  {alternating:>18}  {linear:>6}  {}",
        bar.from.to_string(),
        if bar.special { "<- special" } else { "" }
    )
}

/// Powers of two, and the last three: those are around the limit.
fn chosen(bars: &[open_au::scan::Bar]) -> Vec<&open_au::scan::Bar> {
    if bars.len() <= MOST_LINES {
        return bars.iter().collect();
    }
    bars.iter()
        .enumerate()
        .filter(|(n, bar)| bar.open.is_power_of_two() || n + 3 >= bars.len())
        .map(|(_, bar)| bar)
        .collect()
}

fn bar_of(rate: f64, most: f64) -> String {
    let share = if most > 0.0 { rate / most } else { 0.0 };
    let length = (0..LONGEST)
        .filter(|n| f64::from(*n) + 0.5 < share * f64::from(LONGEST))
        .count();
    format!("{:<24}", "#".repeat(length))
}

/// Bytes per second as sticks are sold: powers of ten.
fn speed(rate: f64) -> String {
    if rate >= 1e6 {
        format!("{:.1} MB/s", rate / 1e6)
    } else {
        format!("{:.0} kB/s", rate / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_long_climb_shows_powers_of_two_and_what_lies_around_the_limit() {
        let bars: Vec<open_au::scan::Bar> = (1..=19)
            .map(|open| open_au::scan::Bar { open, rate: 1e6 })
            .collect();
        let shown: Vec<usize> = chosen(&bars).iter().map(|bar| bar.open).collect();
        assert_eq!(shown, [1, 2, 4, 8, 16, 17, 18, 19]);
        assert_eq!(chosen(&bars[..12]).len(), 12);
    }

    #[test]
    fn the_fastest_has_the_longest_bar_and_nothing_none() {
        assert_eq!(bar_of(5.0, 5.0).trim_end().len(), 24);
        assert_eq!(bar_of(2.5, 5.0).trim_end().len(), 12);
        assert_eq!(bar_of(0.0, 0.0).trim_end().len(), 0);
        assert_eq!(
            (speed(21.4e6), speed(34_900.0)),
            ("21.4 MB/s".to_owned(), "35 kB/s".to_owned())
        );
    }

    #[test]
    fn lines_fit_the_page() {
        let bar = fat_area::scan::Bar {
            from: Bytes::mib(1023),
            rates: [100.0, 100.0, 100.0],
            special: true,
        };
        assert!(start_line(&bar).len() <= 80);
    }
}

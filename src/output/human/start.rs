//! Speed along the first megabytes, as a table.

use super::words::Text;
use crate::geometry::fat_area;
use crate::output::report::Report;

/// Relative to the middle of the device. Nothing when it was not tested.
pub(super) fn along_the_start(report: &Report, text: &mut Text) {
    let bars = &report.speeds.start;
    if bars.is_empty() {
        return;
    }
    text.heading("Speed along the first megabytes, as a share of that elsewhere");
    text.line("               random  in turns with data  linear");
    for bar in bars {
        text.line(&line(bar));
    }
}

fn line(bar: &fat_area::scan::Bar) -> String {
    let [random, alternating, linear] = bar.rates.map(|rate| format!("{rate:.2}"));
    format!(
        "  {:>9}  {random:>8}  {alternating:>18}  {linear:>6}  {}",
        bar.from.to_string(),
        if bar.special { "<- special" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn lines_fit_the_page() {
        let bar = fat_area::scan::Bar {
            from: Bytes::mib(1023),
            rates: [100.0, 100.0, 100.0],
            special: true,
        };
        assert!(line(&bar).len() <= 80);
    }
}

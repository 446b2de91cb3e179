//! Small pictures: bars of `#`.

use super::words::Text;
use crate::output::telling::bars::{Bar, Bars};

/// The longest bar.
const LONGEST: usize = 24;
/// A chart that is longer shows its landmarks only.
const MOST_LINES: usize = 12;

/// One chart under the other.
pub(super) fn draw(charts: Vec<Bars>, text: &mut Text) {
    for chart in charts {
        text.heading(chart.title);
        if let Some(note) = &chart.note {
            text.wrapped("  ", note);
        }
        let all = chart.bars.len() <= MOST_LINES;
        for bar in chart.bars.iter().filter(|bar| all || bar.landmark) {
            text.line(&line(bar, chart.share(bar)));
        }
    }
}

fn line(bar: &Bar, share: f64) -> String {
    let length = (0..LONGEST)
        .filter(|n| *n as f64 + 0.5 < share * LONGEST as f64)
        .count();
    let mut line = format!("  {:>9}  {:<LONGEST$}  ", bar.label, "#".repeat(length));
    line += &match bar.places {
        Some(places) => format!("{:>9}  {places:>3} places", bar.amount),
        None => format!("{:>10}", bar.amount),
    };
    if let Some(mark) = bar.mark {
        line += &format!("  <- {mark}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(amount: &str, places: Option<usize>, mark: Option<&'static str>) -> Bar {
        Bar {
            label: "1000 MiB".to_owned(),
            value: 1.0,
            amount: amount.to_owned(),
            places,
            mark,
            landmark: true,
            stands_out: false,
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let hashes = |share| line(&bar("1 s", None, None), share).matches('#').count();
        assert_eq!(hashes(1.0), 24);
        assert_eq!(hashes(0.5), 12);
        assert_eq!(hashes(0.001), 0);
        assert_eq!(hashes(0.0), 0);
    }

    #[test]
    fn a_line_fits_the_page() {
        for longest in [
            bar("9999.9 ms", Some(999), Some("erase block")),
            bar("99.9 MB/s", None, Some("70 % of the best rate")),
        ] {
            let line = line(&longest, 1.0);
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_long_chart_shows_its_landmarks() {
        let chart = |bars| Bars {
            title: "T",
            note: Some("N".to_owned()),
            bars,
        };
        let lines = |count: usize| {
            let mut bars: Vec<Bar> = (0..count).map(|_| bar("1 s", None, None)).collect();
            bars[0].landmark = false;
            let mut text = Text::new();
            draw(vec![chart(bars)], &mut text);
            text.finish().lines().count()
        };
        // A gap, the title, the note, and the bars.
        assert_eq!(lines(12), 3 + 12);
        assert_eq!(lines(13), 3 + 12);
        assert_eq!(lines(14), 3 + 13);
    }
}

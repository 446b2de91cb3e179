//! Horizontal bars as SVG. Widths are shares of the picture, heights and letters are not: the
//! picture becomes narrower on a phone, its letters do not become smaller.

use super::markup::Html;
use crate::output::telling::bars::{Bar, Bars};

/// From one bar to the next, in CSS pixels: a line of letters above, the bar below.
const ROW: u32 = 40;
/// Where the letters stand.
const BASELINE: u32 = 15;
/// Where the bar begins.
const BAR: u32 = 22;
/// How thick it is.
const THICK: u32 = 8;

/// A figure with its title.
pub(super) fn draw(chart: &Bars, html: &mut Html) {
    html.element("figure", &[], |html| {
        html.element("figcaption", &[], |html| {
            html.text_element("h3", &[], chart.title);
            if let Some(note) = &chart.note {
                html.text_element("p", &[], note);
            }
        });
        let count = u32::try_from(chart.bars.len()).unwrap_or(u32::MAX);
        let height = count.saturating_mul(ROW).to_string();
        let attributes = [
            ("class", "bars"),
            ("width", "100%"),
            ("height", height.as_str()),
            ("role", "img"),
        ];
        html.element("svg", &attributes, |html| {
            html.text_element("title", &[], chart.title);
            html.text_element("desc", &[], &in_words(chart));
            for (row, bar) in (0..count).zip(&chart.bars) {
                one(bar, chart.share(bar), row * ROW, html);
            }
        });
    });
}

fn one(bar: &Bar, share: f64, top: u32, html: &mut Html) {
    let baseline = (top + BASELINE).to_string();
    html.element("text", &[("x", "0"), ("y", &baseline)], |html| {
        html.text(&bar.label);
        if let Some(mark) = bar.mark {
            html.text_element("tspan", &[("class", "mark"), ("dx", "8")], mark);
        }
    });
    let value = [("class", "value"), ("x", "100%"), ("y", baseline.as_str())];
    html.text_element("text", &value, &value_of(bar));
    let (top, width) = ((top + BAR).to_string(), format!("{:.2}%", share * 100.0));
    let thick = THICK.to_string();
    for (class, width) in [
        ("track", "100%"),
        (
            if bar.stands_out { "bar marked" } else { "bar" },
            width.as_str(),
        ),
    ] {
        let attributes = [
            ("class", class),
            ("x", "0"),
            ("y", top.as_str()),
            ("width", width),
            ("height", thick.as_str()),
            ("rx", "4"),
        ];
        html.element("rect", &attributes, |_| {});
    }
}

fn value_of(bar: &Bar) -> String {
    match bar.places {
        Some(1) => format!("{}, 1 place", bar.amount),
        Some(places) => format!("{}, {places} places", bar.amount),
        None => bar.amount.clone(),
    }
}

/// For those who listen to the page.
fn in_words(chart: &Bars) -> String {
    let bars: Vec<String> = chart
        .bars
        .iter()
        .map(|bar| match bar.mark {
            Some(mark) => format!("{} ({mark}): {}", bar.label, value_of(bar)),
            None => format!("{}: {}", bar.label, value_of(bar)),
        })
        .collect();
    bars.join("; ")
}

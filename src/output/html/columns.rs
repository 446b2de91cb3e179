//! Many narrow columns as SVG, for what is measured step by step. As with bars, only the places along
//! the picture are shares of its width.

use super::markup::Html;

/// Height of the picture, in CSS pixels.
const HEIGHT: u32 = 190;
/// Where a column as high as the highest begins.
const TOP: f64 = 22.0;
/// Where all columns end.
const FLOOR: f64 = 164.0;
/// Where the letters below stand.
const BASELINE: &str = "182";
/// How much of its place a column fills.
const FILLED: f64 = 0.76;
/// No more labels than fit on a phone: about 330 pixels, of which a number needs 25 and a size 60.
const SHORT_LABELS: usize = 12;
const LONG_LABELS: usize = 5;

/// A chart of columns.
pub(super) struct Columns<'a> {
    /// What is drawn against what.
    pub(super) title: &'a str,
    /// How to read it.
    pub(super) note: Option<String>,
    /// From left to right.
    pub(super) columns: Vec<Column>,
    /// A value in words.
    pub(super) in_words: fn(f64) -> String,
    /// A value to compare with, drawn as a dashed line.
    pub(super) reference: Option<f64>,
}

/// One column.
pub(super) struct Column {
    /// What it stands for.
    pub(super) label: String,
    /// How high it is, in a unit of the chart.
    pub(super) value: f64,
    /// Whether it stands out.
    pub(super) marked: bool,
}

/// A figure with its title, and its numbers to unfold.
pub(super) fn draw(chart: &Columns, html: &mut Html) {
    let values = chart.columns.iter().map(|column| column.value);
    let most = values.chain(chart.reference).fold(0.0, f64::max);
    html.element("figure", &[], |html| {
        html.element("figcaption", &[], |html| {
            html.text_element("h3", &[], chart.title);
            if let Some(note) = &chart.note {
                html.text_element("p", &[], note);
            }
        });
        let height = HEIGHT.to_string();
        let attributes = [
            ("class", "columns"),
            ("width", "100%"),
            ("height", height.as_str()),
            ("role", "img"),
        ];
        html.element("svg", &attributes, |html| {
            html.text_element("title", &[], chart.title);
            html.text_element("desc", &[], "The numbers stand in the table below.");
            line("grid", most, most, html);
            html.text_element("text", &[("x", "0"), ("y", "14")], &(chart.in_words)(most));
            let every = every(&chart.columns);
            let count = chart.columns.len();
            for (n, column) in chart.columns.iter().enumerate() {
                let place = Place {
                    left: n as f64 / count as f64,
                    width: 1.0 / count as f64,
                    top: from_above(column.value, most),
                };
                place.draw(column, &(chart.in_words)(column.value), html);
                // Counted from the right: the last one is named, for the limit lies there.
                if (count - 1 - n).is_multiple_of(every) {
                    place.name(column, html);
                }
            }
            line("floor", 0.0, most, html);
            if let Some(reference) = chart.reference {
                line("reference", reference, most, html);
            }
        });
        numbers(chart, html);
    });
}

/// Which columns are named: every so many.
fn every(columns: &[Column]) -> usize {
    let longest = columns.iter().map(|column| column.label.len()).max();
    let most = match longest {
        Some(..=3) => SHORT_LABELS,
        _ => LONG_LABELS,
    };
    columns.len().div_ceil(most).max(1)
}

/// The height of a value in the picture, from above.
fn from_above(value: f64, most: f64) -> f64 {
    let share = if most > 0.0 && value > 0.0 {
        value / most
    } else {
        0.0
    };
    FLOOR - share * (FLOOR - TOP)
}

/// Where a column stands: shares of the width, and pixels from above.
struct Place {
    left: f64,
    width: f64,
    top: f64,
}

impl Place {
    fn draw(&self, column: &Column, amount: &str, html: &mut Html) {
        let x = percent(self.left + self.width * (1.0 - FILLED) / 2.0);
        let (width, height) = (percent(self.width * FILLED), pixels(FLOOR - self.top));
        let y = pixels(self.top);
        let attributes = [
            ("class", if column.marked { "bar marked" } else { "bar" }),
            ("x", x.as_str()),
            ("y", y.as_str()),
            ("width", width.as_str()),
            ("height", height.as_str()),
        ];
        html.element("rect", &attributes, |html| {
            html.text_element("title", &[], &format!("{}: {amount}", column.label));
        });
    }

    /// Write its label below it; at the edge such that it stays inside the picture.
    fn name(&self, column: &Column, html: &mut Html) {
        let (class, x) = match self.left + self.width / 2.0 {
            middle if middle < 0.06 => ("first", 0.0),
            middle if middle > 0.94 => ("last", 1.0),
            middle => ("middle", middle),
        };
        let x = percent(x);
        html.text_element(
            "text",
            &[("class", class), ("x", &x), ("y", BASELINE)],
            &column.label,
        );
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn pixels(height: f64) -> String {
    format!("{height:.1}")
}

fn line(class: &'static str, value: f64, most: f64, html: &mut Html) {
    let y = pixels(from_above(value, most));
    let attributes = [
        ("class", class),
        ("x1", "0"),
        ("x2", "100%"),
        ("y1", y.as_str()),
        ("y2", y.as_str()),
    ];
    html.element("line", &attributes, |_| {});
}

fn numbers(chart: &Columns, html: &mut Html) {
    html.element("details", &[], |html| {
        html.text_element("summary", &[], "The numbers");
        html.element("table", &[], |html| {
            for column in &chart.columns {
                html.element("tr", &[], |html| {
                    html.text_element("th", &[("scope", "row")], &column.label);
                    html.text_element("td", &[], &(chart.in_words)(column.value));
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(count: usize, label: &str) -> Vec<Column> {
        (0..count)
            .map(|n| Column {
                label: label.to_owned(),
                value: n as f64,
                marked: false,
            })
            .collect()
    }

    #[test]
    fn no_more_columns_are_named_than_a_phone_has_room_for() {
        for (count, label, named) in [
            (12, "16", 1),
            (19, "16", 2),
            (64, "8", 6),
            (5, "4 MiB", 1),
            (32, "4 MiB", 7),
        ] {
            assert_eq!(every(&columns(count, label)), named, "{count} {label}");
        }
    }

    #[test]
    fn columns_stand_on_the_floor_and_end_below_the_top() {
        assert_eq!(from_above(5.0, 5.0), TOP);
        assert_eq!(from_above(0.0, 5.0), FLOOR);
        for odd in [-1.0, f64::NAN] {
            assert_eq!(from_above(odd, 5.0), FLOOR);
            assert_eq!(from_above(1.0, odd), FLOOR);
        }
    }
}

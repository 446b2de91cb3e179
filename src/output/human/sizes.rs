//! The sizes, in two columns.

use super::words::Text;
use crate::output::report::Report;
use crate::output::telling::sizes::{about_pages, rows};

/// Where the second column begins.
const COLUMN: usize = 28;

/// Smallest efficient write, erase block, alignment to use.
pub(super) fn sizes(report: &Report, text: &mut Text) {
    text.heading("Sizes");
    for (name, value) in rows(report) {
        row(text, name, &value);
    }
    row(text, "", &format!("because: {}", report.alignment.reason));
}

/// Where the smallest efficient write comes from. Nothing when it was not tested.
pub(super) fn page_evidence(report: &Report, text: &mut Text) {
    let page = &report.geometry.page;
    let Some(meaning) = about_pages(page) else {
        return;
    };
    text.heading("Why this smallest efficient write");
    text.wrapped("  ", meaning);
    text.items(&page.evidence);
}

fn row(text: &mut Text, name: &str, value: &str) {
    let indent = " ".repeat(COLUMN);
    text.hanging(
        &format!("  {name:<width$}", width = COLUMN - 2),
        &indent,
        value,
    );
}

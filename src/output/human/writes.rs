//! What only writes show: open allocation units and the FAT area.

use super::words::Text;
use crate::output::report::Report;
use crate::output::telling::writes;

/// How many allocation units stay open. Nothing when it was not tested.
pub(super) fn open_units(report: &Report, text: &mut Text) {
    let open = &report.geometry.open_au;
    let Some(both) = writes::open_units(open) else {
        return;
    };
    text.heading("Allocation units that can be written in turns");
    for units in both {
        let (name, count) = units.row;
        text.hanging(&format!("  {name:<26}"), &" ".repeat(28), &count);
        text.items(units.evidence);
    }
    if let Some(slow) = writes::smallest_random_write(open) {
        text.wrapped("  ", &slow);
    }
}

/// Special zones at the start of the device. Nothing when they were not tested.
pub(super) fn fat_area(report: &Report, text: &mut Text) {
    let area = &report.geometry.fat_area;
    let Some(zones) = writes::zones(area) else {
        return;
    };
    text.heading("Special zones near the start, such as for a FAT");
    for zone in zones {
        text.line(&format!("  {zone}"));
    }
    text.items(&area.evidence);
}

/// Open units and special zones on a line each, without the evidence. Nothing where nothing was
/// tested.
pub(super) fn counts(report: &Report, text: &mut Text) {
    let units = writes::open_units(&report.geometry.open_au);
    let zones = writes::zones(&report.geometry.fat_area);
    let mut rows: Vec<(String, String)> = units
        .into_iter()
        .flatten()
        .map(|units| (format!("written in turns, {}", units.row.0), units.row.1))
        .collect();
    rows.extend(zones.map(|zones| ("special zones near the start".to_owned(), zones.join(", "))));
    if rows.is_empty() {
        return;
    }
    text.heading("Only writes show");
    for (name, words) in rows {
        text.hanging(&format!("  {name:<32}"), &" ".repeat(34), &words);
    }
}

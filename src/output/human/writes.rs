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

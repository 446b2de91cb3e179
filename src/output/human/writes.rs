//! What only writes show: open allocation units and the FAT area.

use super::words::Text;
use crate::geometry::{Cutoff, OpenAu, Verdict, ZoneKind};
use crate::output::report::Report;

/// How many allocation units stay open. Nothing when it was not tested.
pub(super) fn open_units(report: &Report, text: &mut Text) {
    let open = &report.geometry.open_au;
    let tested = |au: &OpenAu| au.verdict != Verdict::NotTested;
    if !tested(&open.linear) && !tested(&open.random.count) {
        return;
    }
    text.heading("Allocation units that can be written in turns");
    for (name, au) in [
        ("each in order", &open.linear),
        ("in any order", &open.random.count),
    ] {
        text.hanging(&format!("  {name:<26}"), &" ".repeat(28), &count(au));
        text.items(&au.evidence);
    }
    if let Some(size) = open.random.smallest_efficient_write_bytes {
        text.wrapped(
            "  ",
            &format!("Writes in any order are slow below {size}, even in one unit."),
        );
    }
}

/// Open units and special zones on a line each, without the evidence. Nothing where nothing was
/// tested.
pub(super) fn counts(report: &Report, text: &mut Text) {
    let open = &report.geometry.open_au;
    let area = &report.geometry.fat_area;
    let of_units = [
        ("written in turns, in order", &open.linear),
        ("written in turns, any order", &open.random.count),
    ];
    let tested = of_units.map(|(_, au)| au.verdict != Verdict::NotTested);
    if area.verdict == Verdict::NotTested && !tested.contains(&true) {
        return;
    }
    text.heading("Only writes show");
    for ((name, au), tested) in of_units.into_iter().zip(tested) {
        if tested {
            text.hanging(&format!("  {name:<30}"), &" ".repeat(32), &count(au));
        }
    }
    if area.verdict != Verdict::NotTested {
        let zones: Vec<String> = area
            .zones
            .iter()
            .map(|zone| {
                format!(
                    "{} to {}: {}",
                    zone.from_bytes,
                    zone.to_bytes,
                    kind(zone.kind)
                )
            })
            .collect();
        let words = match (area.verdict.is_told(), zones.is_empty()) {
            (false, _) => "could not be told".to_owned(),
            (true, true) => format!("none ({})", area.verdict),
            (true, false) => format!("{} ({})", zones.join(", "), area.verdict),
        };
        text.hanging(
            &format!("  {:<30}", "special zones near the start"),
            &" ".repeat(32),
            &words,
        );
    }
}

fn count(au: &OpenAu) -> String {
    let number = match (au.limit, au.at_least, au.at_most) {
        _ if au.verdict == Verdict::NotTested => return "not tested".to_owned(),
        _ if !au.verdict.is_told() => return "could not be told".to_owned(),
        (Some(limit), _, _) => limit.to_string(),
        (None, Some(least), Some(most)) => format!("between {least} and {most}"),
        (None, Some(least), None) => format!("no limit up to {least}"),
        (None, None, Some(most)) => format!("at most {most}"),
        (None, None, None) => {
            return format!(
                "even a single one is slow when written in small pieces ({})",
                au.verdict
            );
        }
    };
    let unit = au
        .unit_bytes
        .map(|unit| format!(" of {unit}"))
        .unwrap_or_default();
    let cutoff = match au.cutoff {
        Some(Cutoff::Hard) => "; one more, and every write waits for a collection",
        Some(Cutoff::Soft) => "; with more of them writes become slower at one step",
        Some(Cutoff::Gradual) => "; writes become slower with each more of them",
        Some(Cutoff::None) | None => "",
    };
    format!("{number}{unit} ({}){cutoff}", au.verdict)
}

/// Special zones at the start of the device. Nothing when they were not tested.
pub(super) fn fat_area(report: &Report, text: &mut Text) {
    let area = &report.geometry.fat_area;
    if area.verdict == Verdict::NotTested {
        return;
    }
    text.heading("Special zones near the start, such as for a FAT");
    if !area.verdict.is_told() {
        text.line("  could not be told");
    } else if area.zones.is_empty() {
        text.line(&format!("  none ({})", area.verdict));
    }
    for zone in &area.zones {
        text.line(&format!(
            "  {} to {}: {} ({})",
            zone.from_bytes,
            zone.to_bytes,
            kind(zone.kind),
            area.verdict
        ));
    }
    text.items(&area.evidence);
}

const fn kind(kind: ZoneKind) -> &'static str {
    match kind {
        ZoneKind::Faster => "faster",
        ZoneKind::Slower => "slower",
        ZoneKind::Different => "different",
    }
}

//! What only writes show: open allocation units and the FAT area.

use super::sizes::Row;
use crate::geometry::{Cutoff, FatArea, OpenAu, OpenAus, Verdict, ZoneKind};

/// How many allocation units stay open, one way of writing each.
pub(in crate::output) struct OpenUnits<'a> {
    /// The way of writing, and the count.
    pub(in crate::output) row: Row,
    /// One sentence each.
    pub(in crate::output) evidence: &'a [String],
}

/// Both ways of writing. `None` when neither was tested.
pub(in crate::output) fn open_units(open: &OpenAus) -> Option<[OpenUnits<'_>; 2]> {
    let tested = |au: &OpenAu| au.verdict != Verdict::NotTested;
    if !tested(&open.linear) && !tested(&open.random.count) {
        return None;
    }
    let units = |name, au| OpenUnits {
        row: (name, count(au)),
        evidence: &au.evidence,
    };
    Some([
        units("each in order", &open.linear),
        units("in any order", &open.random.count),
    ])
}

/// Which writes are slow even in a single unit. `None` when none are.
pub(in crate::output) fn smallest_random_write(open: &OpenAus) -> Option<String> {
    let size = open.random.smallest_efficient_write_bytes?;
    Some(format!(
        "Writes in any order are slow below {size}, even in one unit."
    ))
}

/// How many, of what, how sure, and what happens beyond.
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

/// The special zones at the start of the device, one phrase each, or that there are none. `None` when
/// they were not tested.
pub(in crate::output) fn zones(area: &FatArea) -> Option<Vec<String>> {
    if area.verdict == Verdict::NotTested {
        return None;
    }
    if !area.verdict.is_told() {
        return Some(vec!["could not be told".to_owned()]);
    }
    if area.zones.is_empty() {
        return Some(vec![format!("none ({})", area.verdict)]);
    }
    let zones = area.zones.iter().map(|zone| {
        let kind = match zone.kind {
            ZoneKind::Faster => "faster",
            ZoneKind::Slower => "slower",
            ZoneKind::Different => "different",
        };
        format!(
            "{} to {}: {kind} ({})",
            zone.from_bytes, zone.to_bytes, area.verdict
        )
    });
    Some(zones.collect())
}

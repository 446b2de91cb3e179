//! A check for people.

use super::check::CheckReport;
use crate::plan::TableKind;
use crate::plan::types::type_name;
use crate::quote::ascii;
use crate::table::check::{Cost, Decides, Finding, Item, Place, Weight};
use crate::units::Bytes;
use std::fmt::Write;

/// The text. Only printable ASCII: names come from the medium.
pub fn render(report: &CheckReport) -> String {
    let mut text = String::new();
    head(report, &mut text);
    for item in &report.checked.items {
        text.push('\n');
        one(report, item, &mut text);
    }
    for (weight, title) in [
        (Weight::Inconsistent, "Inconsistent:"),
        (Weight::Note, "Worth knowing:"),
    ] {
        let of_weight: Vec<&Finding> = report
            .checked
            .findings
            .iter()
            .filter(|finding| finding.weight == weight)
            .collect();
        if !of_weight.is_empty() {
            line(&mut text, &format!("\n{title}"));
        }
        for finding in of_weight {
            line(&mut text, &format!("  - {}", ascii(&finding.text)));
        }
    }
    line(&mut text, &format!("\n{}", verdict(report)));
    text
}

// Writing to a String cannot fail.
fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

fn head(report: &CheckReport, text: &mut String) {
    let table = match report.table {
        None => "no partition table".to_owned(),
        Some(table) => {
            let id = table
                .disk_id
                .map_or_else(|| "no disk identifier".to_owned(), |id| id.to_string());
            let sectors = match table.kind {
                TableKind::Gpt => format!(" in {}-byte sectors", table.sector.bytes().get()),
                TableKind::Mbr => String::new(),
            };
            format!("{}{sectors}, {id}", table.kind)
        }
    };
    line(
        text,
        &format!(
            "{}: {} ({} bytes), {table}",
            ascii(&report.path),
            report.capacity,
            report.capacity.get()
        ),
    );
    let grid = report.choice.ends();
    line(
        text,
        &format!("grid: {grid} ({})", ascii(&report.choice.reason)),
    );
}

fn one(report: &CheckReport, item: &Item, text: &mut String) {
    let what = match item.number {
        Some(number) => format!("partition {number}"),
        None => "whole device".to_owned(),
    };
    let kind = item.kind.map_or_else(String::new, |kind| {
        let name = type_name(kind);
        match kind {
            crate::plan::PartitionType::Mbr(_) => format!(", type {kind} {name}"),
            crate::plan::PartitionType::Gpt(_) => format!(", type {name}"),
        }
    });
    let name = if item.name.is_empty() {
        String::new()
    } else {
        format!(", \"{}\"", ascii(&item.name))
    };
    let content = match (item.content, item.filesystem) {
        (Some(content), Some(found)) => format!(", {content} with units of {}", found.block),
        (Some(content), None) => format!(", {content}"),
        (None, _) => ", nothing known in it".to_owned(),
    };
    line(
        text,
        &format!(
            "{what}: {} from {}{kind}{name}{content}",
            item.range.length(),
            place(report, item.range.from)
        ),
    );
    judge(report, item, text);
    told_unit(report, item, text);
}

fn judge(report: &CheckReport, item: &Item, text: &mut String) {
    match (item.decides, item.data) {
        (Decides::Nothing(why), _) => {
            line(text, &format!("  its place does not matter: {why}"));
            return;
        }
        (Decides::Later(why), _) => {
            line(
                text,
                &format!("  note: its start is {}: {why}", behind(item.start)),
            );
            return;
        }
        (Decides::StartOnly(why), _) => {
            line(text, &format!("  start only: {why}"));
            if !item.start.is_on_grid() {
                line(text, &format!("  start: {}", word(item.start)));
            }
        }
        (Decides::DataArea, Some((data, what))) => {
            line(
                text,
                &format!("  {what} at {}: {}", place(report, data.at), word(data)),
            );
            if !item.start.is_on_grid() && data.is_on_grid() {
                line(
                    text,
                    "  the start is off the grid, and need not be on it: the data decide",
                );
            }
        }
        _ => line(text, &format!("  start: {}", word(item.start))),
    }
    if item.is_good() {
        return;
    }
    let before = item
        .good_start_before
        .map(|start| format!("{} before", place(report, start)));
    let behind = item
        .good_start_behind
        .map(|start| format!("{} behind", place(report, start)));
    let good: Vec<String> = before.into_iter().chain(behind).collect();
    if !good.is_empty() {
        line(text, &format!("  nearest good starts: {}", good.join(", ")));
    }
    if item.cost != Cost::None {
        line(text, &format!("  cost: {}", item.cost.sentence()));
    }
}

fn told_unit(report: &CheckReport, item: &Item, text: &mut String) {
    let grain = report.choice.unit;
    if let Some(unit) = item.filesystem.and_then(|found| found.told_unit)
        && !unit.is_multiple_of(grain)
        && !grain.is_multiple_of(unit)
    {
        line(
            text,
            &format!(
                "  it was made for units of {unit}, which neither fill nor divide the grid of {grain}"
            ),
        );
    }
}

fn word(place: Place) -> String {
    if place.is_on_grid() {
        "on the grid".to_owned()
    } else {
        format!("OFF THE GRID, {}", behind(place))
    }
}

fn behind(place: Place) -> String {
    format!("{} behind a boundary", place.past)
}

fn place(report: &CheckReport, at: Bytes) -> String {
    match report.sectors(at) {
        Some(sector) => format!("sector {sector} ({at})"),
        None => format!("byte {}", at.get()),
    }
}

fn verdict(report: &CheckReport) -> String {
    let all = report.checked.items.len();
    let off = report
        .checked
        .items
        .iter()
        .filter(|item| !item.is_good())
        .count();
    let wrong = report
        .checked
        .findings
        .iter()
        .filter(|finding| finding.weight == Weight::Inconsistent)
        .count();
    let count = |is: fn(Decides) -> bool| {
        let items = &report.checked.items;
        items.iter().filter(|item| is(item.decides)).count()
    };
    let later = count(|decides| matches!(decides, Decides::Later(_)));
    let start_only = count(|decides| matches!(decides, Decides::StartOnly(_)));
    let mut grid = match (all, off) {
        (0, _) => "nothing to hold against the grid".to_owned(),
        (_, 0) if later + start_only > 0 => "nothing off the grid that could be on it".to_owned(),
        (_, 0) => "everything on the grid".to_owned(),
        _ => format!("{off} of {all} off the grid"),
    };
    for (number, what) in [
        (start_only, "with its start only"),
        (later, "not decided yet"),
    ] {
        if number > 0 {
            grid += &format!(", {number} {what}");
        }
    }
    let consistent = match wrong {
        0 => "nothing inconsistent".to_owned(),
        1 => "1 inconsistency".to_owned(),
        _ => format!("{wrong} inconsistencies"),
    };
    let doubt = if off > 0 && report.choice.fallback {
        "; the grid is a precaution, not a measurement: measure with flashfit scan --report FILE, then check --report FILE"
    } else {
        ""
    };
    format!("Verdict: {grid}, {consistent}{doubt}")
}

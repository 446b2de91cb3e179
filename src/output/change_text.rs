//! What a write would do, for people: what is there, what becomes of it, and every sector that is
//! written. ASCII only.

use super::layout_text;
use crate::plan::Layout;
use crate::plan::types::type_name;
use crate::quote::ascii;
use crate::table::restore::{Restoring, State};
use crate::table::wipe::Fate;
use crate::table::{Extent, Part, Prepared};
use crate::topology::Facts;
use crate::units::Bytes;
use std::fmt::Write;

/// All of it, with a final line break. Writing to a String cannot fail, hence the ignored results
/// in this file.
pub fn render(facts: &Facts, prepared: &Prepared) -> String {
    let mut text = device(facts);
    text.push('\n');
    before(prepared, &mut text);
    let _ = writeln!(text, "\nafter:");
    text += &layout_text::render(prepared.layout());
    text.push('\n');
    writes(prepared, &mut text);
    text
}

/// What is lost and what is written, without the layout: for somebody who has just seen that.
pub fn changes(facts: &Facts, prepared: &Prepared) -> String {
    let mut text = device(facts);
    before(prepared, &mut text);
    writes(prepared, &mut text);
    text
}

/// Who the device is, on one line.
pub fn device(facts: &Facts) -> String {
    let mut words: Vec<String> = Vec::new();
    let vendor_and_model = [&facts.vendor, &facts.model];
    words.extend(
        vendor_and_model
            .into_iter()
            .flatten()
            .map(|word| ascii(word)),
    );
    let mut text = format!("device: {}", ascii(&facts.path));
    if !words.is_empty() {
        let _ = write!(text, ", {}", words.join(" "));
    }
    if let Some(serial) = &facts.serial {
        let _ = write!(text, ", serial number {}", ascii(serial));
    }
    let capacity = facts.capacity.unwrap_or_default();
    let _ = writeln!(
        text,
        ", {}, {} bytes ({capacity}) in sectors of {}",
        facts.transport,
        capacity.get(),
        facts.logical_block.bytes().get()
    );
    text
}

fn before(prepared: &Prepared, text: &mut String) {
    let before = prepared.before();
    let unit = before.logical_block.bytes().get();
    let sector = |bytes: Bytes| bytes.get() / unit;
    match before.table {
        None => text.push_str("before: no table\n"),
        Some(table) => {
            let id = table.disk_id.map_or("none".to_owned(), |id| id.to_string());
            let _ = writeln!(text, "before: {} table, disk identifier {id}", table.kind);
        }
    }
    for partition in &before.partitions {
        let content = match partition.content {
            Some(content) => format!(", {content}"),
            None => String::new(),
        };
        let name = match partition.name.as_str() {
            "" => String::new(),
            name => format!(", '{}'", ascii(name)),
        };
        let _ = writeln!(
            text,
            "  {}: sectors {} to {} ({}), {}{content}{name}",
            partition.number,
            sector(partition.range.from),
            sector(partition.range.to).saturating_sub(1),
            partition.range.length(),
            type_name(partition.kind)
        );
    }
    if prepared.old().is_empty() {
        return;
    }
    text.push_str("  what others would find:\n");
    for old in prepared.old() {
        let fate = match old.fate {
            Fate::Zeroed => "is zeroed",
            Fate::Replaced => "is replaced by the new table",
            Fate::Kept => "stays, it lies in a keep-out range",
        };
        let _ = writeln!(
            text,
            "  {} ({}) at byte {} {fate}",
            old.signature.name,
            old.signature.kind.words(),
            old.signature.at.get()
        );
    }
}

fn writes(prepared: &Prepared, text: &mut String) {
    let _ = writeln!(text, "sectors to write, in this order:");
    for run in runs(prepared.extents()) {
        let Some((first, last)) = run.first().zip(run.last()) else {
            continue;
        };
        let same = run.iter().filter(|extent| extent.is_unchanged()).count();
        let zeros = run
            .iter()
            .filter(|extent| !extent.is_unchanged() && extent.old.iter().all(|byte| *byte == 0))
            .count();
        let data = run.len() - same - zeros;
        let over = [
            (same, "hold it already"),
            (zeros, "over zeros"),
            (data, "over data"),
        ];
        let over: Vec<String> = over
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let _ = writeln!(
            text,
            "  {} to {} ({}): {}; {}",
            first.at,
            last.at,
            run.len(),
            first.part,
            over.join(", ")
        );
    }
    let changed = || {
        prepared
            .extents()
            .iter()
            .filter(|extent| !extent.is_unchanged())
    };
    let wiped = changed().filter(|extent| extent.part == Part::Wipe).count();
    let _ = writeln!(
        text,
        "  together {} sectors, {wiped} of them over old signatures",
        changed().count()
    );
}

/// Neighbours of one part.
fn runs(extents: &[Extent]) -> impl Iterator<Item = &[Extent]> {
    extents.chunk_by(|a, b| a.part == b.part && a.at.get() + 1 == b.at.get())
}

/// The line that a successful write ends with, without the backup.
pub fn done(name: &str, layout: &Layout) -> String {
    let count = layout.partitions.len();
    format!(
        "{}: {} table with {count} partition{} written and verified\n",
        ascii(name),
        layout.table,
        if count == 1 { "" } else { "s" }
    )
}

/// What a restore would put back.
pub fn restore(facts: &Facts, restoring: &Restoring) -> String {
    let mut text = device(facts);
    let backup = restoring.backup();
    let _ = writeln!(
        text,
        "backup: {} sectors ({} bytes) of {}",
        backup.sectors.len(),
        backup.length().get(),
        ascii(&backup.device.path)
    );
    let states = [
        (State::Old, "hold the old bytes already"),
        (
            State::Replaced,
            "hold what was written then, and get the old bytes back",
        ),
        (
            State::Other,
            "hold something else: it was written since, or a write was cut there; it is lost",
        ),
    ];
    for (state, words) in states {
        let count = restoring.count(state).get();
        if count > 0 {
            let _ = writeln!(text, "  {count} {words}");
        }
    }
    text
}

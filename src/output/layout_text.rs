//! A layout for people: a picture, a table, and every gap explained. ASCII only, so that it reads
//! the same over a serial line.

use super::layout_picture;
use crate::plan::filesystem::advice::{Advice, Suits};
use crate::plan::filesystem::{Format, Inside};
use crate::plan::layout::{AlignedBy, Layout, Partition};
use crate::plan::types::type_name;
use crate::quote::ascii;
use crate::units::{Bytes, MIB};
use std::fmt::Write;

/// The text, with a final line break.
pub fn render(layout: &Layout) -> String {
    let mut text = String::new();
    head(layout, &mut text);
    text.push('\n');
    text += &layout_picture::render(layout);
    text.push('\n');
    table(layout, &mut text);
    text.push('\n');
    gaps(layout, &mut text);
    remarks(layout, &mut text);
    text
}

/// Writing to a String cannot fail, hence the ignored results in this file.
fn head(layout: &Layout, text: &mut String) {
    let grid = &layout.alignment;
    let per_block = |size: Bytes| size.get() / layout.logical_block.bytes().get();
    let _ = writeln!(
        text,
        "{} table, disk identifier {}\n  {}",
        layout.table, layout.disk_id, layout.table_reason
    );
    let _ = writeln!(
        text,
        "medium of {} ({} sectors of {} bytes)",
        mib(layout.capacity_bytes()),
        layout.capacity,
        layout.logical_block.bytes().get()
    );
    let _ = write!(
        text,
        "starts on a grid of {} ({} sectors)",
        grid.alignment,
        per_block(grid.alignment.grain())
    );
    let _ = writeln!(
        text,
        ", sizes in units of {} ({} sectors)\n  {}",
        grid.unit,
        per_block(grid.unit),
        ascii(&grid.reason)
    );
}

fn table(layout: &Layout, text: &mut String) {
    let header: [&str; 9] = [
        "no",
        "start MiB",
        "size MiB",
        "first",
        "last",
        "sectors",
        "type",
        "fs",
        "name",
    ];
    let mut rows: Vec<[String; 9]> = vec![header.map(str::to_owned)];
    for (index, partition) in layout.partitions.iter().enumerate() {
        rows.push(row(layout, index + 1, partition));
    }
    let widths: Vec<usize> = (0..9)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Numbers to the right, words to the left.
            let _ = if column < 6 {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (index, partition) in layout.partitions.iter().enumerate() {
        if let Some(uuid) = partition.uuid {
            let _ = writeln!(text, "  {}: uuid {uuid}", index + 1);
        }
        if let AlignedBy::DataArea { reason } = &partition.aligned_by {
            let _ = writeln!(
                text,
                "  {}: data area on the grid: {}",
                index + 1,
                ascii(reason)
            );
        }
        if let Some(format) = &partition.format {
            inside(layout, index + 1, partition, format, text);
        }
        if let Some(other) = &partition.alternative {
            let _ = writeln!(text, "  {}: or {}", index + 1, ascii(other));
        }
    }
}

/// What of a file system lies on the grid, and how to mount it.
fn inside(
    layout: &Layout,
    number: usize,
    partition: &Partition,
    format: &Format,
    text: &mut String,
) {
    if let Inside::OnGrid(offset) = &format.inside
        && *offset != Bytes::ZERO
    {
        let start = layout.byte_range(partition).from;
        let place = Bytes(start.get().saturating_add(offset.get()));
        let _ = writeln!(
            text,
            "  {number}: {} data area at {}, on the grid",
            partition.filesystem,
            mib(place)
        );
    }
    if format.inside == Inside::UnitsOnGrid {
        let _ = writeln!(
            text,
            "  {number}: what {} allocates lies on the grid",
            partition.filesystem
        );
    }
    if !format.mount.is_empty() {
        let _ = writeln!(text, "  {number}: mount with -o {}", ascii(&format.mount));
    }
}

fn row(layout: &Layout, index: usize, partition: &Partition) -> [String; 9] {
    let range = layout.byte_range(partition);
    let label = partition.label.as_deref().unwrap_or(&partition.name);
    let active = if partition.bootable || partition.attributes & 4 != 0 {
        "*"
    } else {
        ""
    };
    [
        format!("{active}{index}"),
        number(range.from),
        number(range.length()),
        partition.first.to_string(),
        partition.last().to_string(),
        partition.sectors.to_string(),
        match partition.kind {
            crate::plan::PartitionType::Mbr(_) => {
                format!("{} {}", partition.kind, type_name(partition.kind))
            }
            crate::plan::PartitionType::Gpt(_) => type_name(partition.kind).to_owned(),
        },
        partition.filesystem.to_string(),
        ascii(label),
    ]
}

fn gaps(layout: &Layout, text: &mut String) {
    let _ = writeln!(text, "not covered by partitions:");
    for gap in &layout.gaps {
        let size = Bytes(
            (gap.to.get().saturating_sub(gap.from.get()))
                .saturating_mul(layout.logical_block.bytes().get()),
        );
        let _ = writeln!(
            text,
            "  sectors {} to {} ({}): {}",
            gap.from,
            gap.to.get().saturating_sub(1),
            mib(size),
            ascii(&gap.reason)
        );
    }
}

fn remarks(layout: &Layout, text: &mut String) {
    if !layout.notes.is_empty() || !layout.warnings.is_empty() {
        text.push('\n');
    }
    for note in &layout.notes {
        let _ = writeln!(text, "note: {}", ascii(note));
    }
    for warning in &layout.warnings {
        let _ = writeln!(text, "warning: {}", ascii(&warning.text));
    }
    if !layout.mkfs.is_empty() {
        let _ = writeln!(text, "\nfile systems:");
    }
    for command in &layout.mkfs {
        // Escaped it would be another command.
        let shown = match command.is_ascii() {
            true => ascii(command),
            false => "one with letters beyond ASCII: --format mkfs prints it".to_owned(),
        };
        let _ = writeln!(text, "  {shown}");
    }
    if let Some(advice) = &layout.advice {
        let _ = writeln!(text);
        advise(advice, text);
    }
}

/// One paragraph, then one line for each file system.
fn advise(advice: &Advice, text: &mut String) {
    let _ = writeln!(text, "which file system:");
    wrapped(&advice.paragraph, text);
    wrapped(
        &format!("What misalignment costs: {}.", advice.misalignment),
        text,
    );
    // Before anything is known of the stick the lines would all say the same.
    let judged = |suits: Suits| suits != Suits::Unknown;
    let any = advice.choices.iter().any(|choice| judged(choice.suits));
    for choice in advice.choices.iter().filter(|_| any) {
        let _ = writeln!(
            text,
            "  {:<6} {:<17} {}",
            ascii(&choice.filesystem),
            choice.suits.words(),
            ascii(&choice.reasons.join("; "))
        );
    }
}

/// Words in lines of at most 78 characters behind two spaces: a plain console is 80 wide.
fn wrapped(words: &str, text: &mut String) {
    let mut line = String::from(" ");
    for word in ascii(words).split(' ') {
        if line.len() + 1 + word.len() > 80 {
            let _ = writeln!(text, "{line}");
            " ".clone_into(&mut line);
        }
        line.push(' ');
        line += word;
    }
    let _ = writeln!(text, "{line}");
}

/// MiB with at most three decimals; `~` in front when that is not exact.
pub(super) fn number(size: Bytes) -> String {
    let thousandths = u128::from(size.get()) * 1000;
    let unit = u128::from(MIB);
    let rounded = thousandths / unit;
    let mark = if thousandths % unit == 0 { "" } else { "~" };
    let (whole, part) = (rounded / 1000, rounded % 1000);
    if part == 0 {
        return format!("{mark}{whole}");
    }
    let part = format!("{part:03}");
    format!("{mark}{whole}.{}", part.trim_end_matches('0'))
}

pub(super) fn mib(size: Bytes) -> String {
    if size.get() < MIB {
        return size.to_string();
    }
    format!("{} MiB", number(size))
}

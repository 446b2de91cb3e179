//! A layout as a script for sfdisk.
//!
//! sfdisk takes a line with `start=` and `size=` in sectors literally and never moves it, whatever
//! grain it would choose itself or a USB bridge makes it believe. So nothing is left to it: sectors
//! only, numeric MBR types and full GUIDs, identifiers always. What is left out, and why:
//!
//! * `grain:` moves nothing that has a start and a size, and sfdisk refuses grains below the
//!   minimum I/O size that a bridge claims. The grid is stated in a comment instead.
//! * `device:` is informative only, and the name would be wrong after the next re-plug.
//! * Size suffixes: sfdisk rounds them to the nearest grain, also downwards.
//!
//! Comments are whole lines beginning with `#`; sfdisk skips them everywhere.

use crate::plan::gpt_shape::STANDARD_ENTRIES;
use crate::plan::layout::{Layout, Partition};
use crate::plan::{PartitionType, TableKind};
use crate::quote::in_a_comment;
use std::fmt::Write;

/// The oldest util-linux that takes the script: 2.35 writes the `sector-size:` header but refuses
/// to read it (util-linux issues 949 and 1080), 2.36 reads it.
pub const MINIMUM_UTIL_LINUX: &str = "2.36";

/// Characters in a comment. sfdisk reads lines into a buffer of `BUFSIZ` (8192) bytes, and what
/// does not fit would be read as the next line.
const LONGEST_COMMENT: usize = 1000;

/// The script. Feed it to `sfdisk DEVICE`.
pub fn render(layout: &Layout) -> String {
    let mut text = String::new();
    comments(layout, &mut text);
    headers(layout, &mut text);
    text.push('\n');
    for partition in &layout.partitions {
        text += &line(partition);
        text.push('\n');
    }
    text
}

fn comments(layout: &Layout, text: &mut String) {
    let grid = &layout.alignment;
    let block = layout.logical_block.bytes().get();
    let mut comment = |line: String| {
        // Reasons may come from a file: a line break in one must not become a command.
        let line: String = line.chars().take(LONGEST_COMMENT).collect();
        text.push_str("# ");
        text.push_str(&in_a_comment(&line));
        text.push('\n');
    };
    comment(format!(
        "flashfit partition script for sfdisk, util-linux {MINIMUM_UTIL_LINUX} or newer"
    ));
    comment("look:  sfdisk --no-act DEVICE < SCRIPT".to_owned());
    comment("write: sfdisk --lock --backup DEVICE < SCRIPT".to_owned());
    comment(format!(
        "medium: {} bytes, {} sectors of {block} bytes",
        layout.capacity_bytes().get(),
        layout.capacity
    ));
    comment(match grid.erase_block {
        Some(erase_block) => format!("erase block: {erase_block}"),
        None => "erase block: not told".to_owned(),
    });
    comment(format!(
        "alignment: starts on {}, sizes in units of {}: {}",
        grid.alignment, grid.unit, grid.reason
    ));
    comment(format!(
        "table: {} ({})",
        layout.table.word(),
        layout.table_reason
    ));
    for gap in &layout.gaps {
        comment(format!("free: {} to {}: {}", gap.from, gap.to, gap.reason));
    }
    for (index, partition) in layout.partitions.iter().enumerate() {
        if !storable(&partition.name) {
            comment(format!(
                "warning: partition {}: sfdisk cannot store its name, so it gets none",
                index + 1
            ));
        }
    }
    for warning in &layout.warnings {
        comment(format!("warning: {}", warning.text));
    }
}

fn headers(layout: &Layout, text: &mut String) {
    let label = match layout.table {
        TableKind::Mbr => "dos",
        TableKind::Gpt => "gpt",
    };
    let mut header = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    header("label", &label);
    header("label-id", &layout.disk_id);
    header("unit", &"sectors");
    if layout.table == TableKind::Gpt {
        // Without it sfdisk refuses any start below 1 MiB, and stores 2048 as first usable sector,
        // which makes Windows move the entry array where some boot loaders do not look for it.
        header("first-lba", &layout.first_usable);
        header("last-lba", &layout.last_usable);
        if let Some(shape) = layout.gpt.filter(|shape| shape.entries != STANDARD_ENTRIES) {
            header("table-length", &shape.entries);
        }
    }
    header("sector-size", &layout.logical_block.bytes().get());
}

fn line(partition: &Partition) -> String {
    let mut fields = vec![
        format!("start={}", partition.first),
        format!("size={}", partition.sectors),
        match partition.kind {
            PartitionType::Mbr(code) => format!("type={code:x}"),
            PartitionType::Gpt(guid) => format!("type={guid}"),
        },
    ];
    if let Some(uuid) = partition.uuid {
        fields.push(format!("uuid={uuid}"));
    }
    if !partition.name.is_empty() && storable(&partition.name) {
        fields.push(format!("name=\"{}\"", escaped(&partition.name)));
    }
    if partition.attributes != 0 {
        fields.push(format!("attrs=\"{}\"", attributes(partition.attributes)));
    }
    if partition.bootable {
        fields.push("bootable".to_owned());
    }
    fields.join(", ")
}

/// Whether sfdisk stores the name: 2.38 drops one with a character beyond U+FFFF without a word.
fn storable(name: &str) -> bool {
    name.chars().all(|c| u32::from(c) <= 0xffff)
}

/// A name between double quotes: sfdisk decodes `\xHH` and nothing else, byte by byte, so quotes,
/// backslashes and everything beyond ASCII are written so. This also makes the script independent
/// of the locale it is read in.
fn escaped(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'$' | b'`' => format!("\\x{byte:02x}"),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect()
}

/// Attribute bits in the words of sfdisk.
fn attributes(bits: u64) -> String {
    const NAMED: [&str; 3] = [
        "RequiredPartition",
        "NoBlockIOProtocol",
        "LegacyBIOSBootable",
    ];
    let set = |bit: usize| bits >> bit & 1 == 1;
    let mut words: Vec<String> = NAMED
        .iter()
        .enumerate()
        .filter(|(bit, _)| set(*bit))
        .map(|(_, word)| (*word).to_owned())
        .collect();
    let numbers: Vec<String> = (NAMED.len()..64)
        .filter(|bit| set(*bit))
        .map(|bit| bit.to_string())
        .collect();
    if !numbers.is_empty() {
        words.push(format!("GUID:{}", numbers.join(",")));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_backslashes_and_other_scripts_are_written_as_bytes() {
        assert_eq!(escaped("plain, name; #1"), "plain, name; #1");
        assert_eq!(escaped("a\"b\\c$`"), "a\\x22b\\x5cc\\x24\\x60");
        assert_eq!(escaped("é"), "\\xc3\\xa9");
    }

    #[test]
    fn attribute_bits_have_names_or_numbers() {
        assert_eq!(
            attributes(0b111),
            "RequiredPartition NoBlockIOProtocol LegacyBIOSBootable"
        );
        assert_eq!(
            attributes(1 << 60 | 1 << 63 | 4),
            "LegacyBIOSBootable GUID:60,63"
        );
    }
}

//! A layout as a shell script around parted, as far as its commands reach.
//!
//! parted 3.5 makes disk and partition identifiers itself and cannot be told any; it derives the
//! type from a hint and from flags. Where that does not give the planned type or attributes, a
//! comment says so. Places are given in sectors, ends inclusive, with `--align none`: parted would
//! move them otherwise.

use super::script::{comment, device, head};
use crate::plan::gpt_shape::STANDARD_ENTRIES;
use crate::plan::layout::{LEGACY_BIOS_BOOTABLE, Layout, Partition};
use crate::plan::types::{BASIC_DATA, LINUX_DATA, LINUX_SWAP};
use crate::plan::{Guid, PartitionType, TableKind};
use crate::quote::script_word;

/// Why there is no such script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "parted makes a GPT of {STANDARD_ENTRIES} entries and this layout has {0}: use --format sfdisk or sgdisk"
)]
pub struct OnlyStandardGpt(u32);

/// The EFI system partition (UEFI specification, table 5.7).
const ESP: Guid = Guid::from_u128(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B);

/// The script.
///
/// # Errors
/// A GPT with another number of entries than the standard.
pub fn render(layout: &Layout) -> Result<String, OnlyStandardGpt> {
    if let Some(shape) = layout.gpt.filter(|shape| shape.entries != STANDARD_ENTRIES) {
        return Err(OnlyStandardGpt(shape.entries));
    }
    let mut text = String::new();
    head(layout, "parted 3.5 or newer", &mut text);
    comment(
        &mut text,
        "identifiers: parted makes its own; the script for sfdisk sets those of the plan",
    );
    let mut words = vec![
        "mklabel".to_owned(),
        match layout.table {
            TableKind::Mbr => "msdos".to_owned(),
            TableKind::Gpt => "gpt".to_owned(),
        },
    ];
    let mut lines = vec![words.join(" ")];
    for (index, partition) in layout.partitions.iter().enumerate() {
        words = make(partition, layout.table);
        lines.push(words.join(" "));
        let number = index + 1;
        let reach = flags(partition);
        for (flag, state) in reach.flags {
            lines.push(format!("set {number} {flag} {state}"));
        }
        if !reach.complete {
            comment(
                &mut text,
                &format!(
                    "warning: partition {number}: parted cannot set its type {} and attributes as planned",
                    partition.kind
                ),
            );
        }
    }
    device(layout, &mut text);
    text += "parted --script --align none -- \"$device\"";
    for line in lines {
        text += " \\\n    ";
        text += &line;
    }
    text.push('\n');
    Ok(text)
}

/// `mkpart` with its words.
fn make(partition: &Partition, table: TableKind) -> Vec<String> {
    let first = match table {
        TableKind::Mbr => "primary".to_owned(),
        TableKind::Gpt => script_word(&for_parted(&partition.name)),
    };
    vec![
        "mkpart".to_owned(),
        first,
        hint(partition.kind).to_owned(),
        format!("{}s", partition.first),
        format!("{}s", partition.last()),
    ]
}

/// A word as parted itself reads it, behind the shell: between double quotes, where a backslash
/// takes the meaning from what follows.
fn for_parted(word: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

/// The file system from which parted derives the type. What really will be in it does not matter.
const fn hint(kind: PartitionType) -> &'static str {
    match kind {
        PartitionType::Mbr(0x07) => "ntfs",
        PartitionType::Mbr(0x04 | 0x06 | 0x0e) => "fat16",
        PartitionType::Mbr(0x0b | 0x0c | 0xef) => "fat32",
        PartitionType::Mbr(0x82) => "linux-swap",
        PartitionType::Mbr(_) => "ext2",
        PartitionType::Gpt(guid) => match guid {
            _ if same(guid, BASIC_DATA) || same(guid, ESP) => "fat32",
            _ if same(guid, LINUX_SWAP) => "linux-swap",
            _ => "ext2",
        },
    }
}

const fn same(a: Guid, b: Guid) -> bool {
    u128::from_be_bytes(a.bytes()) == u128::from_be_bytes(b.bytes())
}

/// Flags to set, and whether they give the planned type and attributes.
struct Reach {
    flags: Vec<(&'static str, &'static str)>,
    complete: bool,
}

fn flags(partition: &Partition) -> Reach {
    let mut flags = Vec::new();
    let mut complete = true;
    match partition.kind {
        PartitionType::Mbr(code) => match code {
            0x0c | 0x0e => flags.push(("lba", "on")),
            0x06 | 0x0b => flags.push(("lba", "off")),
            0xef => flags.push(("esp", "on")),
            0x07 | 0x82 | 0x83 => {}
            _ => complete = false,
        },
        PartitionType::Gpt(guid) if guid == ESP => flags.push(("esp", "on")),
        PartitionType::Gpt(guid) => {
            complete = [BASIC_DATA, LINUX_DATA, LINUX_SWAP].contains(&guid);
        }
    }
    if partition.bootable {
        flags.push(("boot", "on"));
    }
    if partition.attributes & LEGACY_BIOS_BOOTABLE != 0 {
        flags.push(("legacy_boot", "on"));
    }
    if partition.attributes & !LEGACY_BIOS_BOOTABLE != 0 {
        complete = false;
    }
    Reach { flags, complete }
}

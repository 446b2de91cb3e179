//! What to tell people about a layout: what was rounded, and what may surprise.

use super::alignment::AlignmentChoice;
use super::fitted::Fitted;
use super::gpt_shape::{GptShape, STANDARD_ENTRIES};
use super::intent::{DiskIdChoice, Intent, PartitionIntent, PartitionSize};
use super::label::gpt_name;
use super::layout::Warning;
use super::medium::Medium;
use super::types::{FileSystem, TableKind};
use crate::units::LogicalBlock;

/// Every size that is not the one asked for, echoed in sectors.
pub(super) fn notes(
    partitions: &[PartitionIntent],
    fitted: &[Fitted],
    choice: &AlignmentChoice,
    block: LogicalBlock,
) -> Vec<String> {
    let unit = match choice.erase_block {
        Some(erase_block) if erase_block == choice.unit => {
            format!("whole erase blocks of {erase_block}")
        }
        _ => format!("whole units of {}", choice.unit),
    };
    partitions
        .iter()
        .zip(fitted)
        .enumerate()
        .filter_map(|(index, (wish, fitted))| {
            let given = fitted.place.length();
            let why = if fitted.moved {
                "the start is chosen for the file system and the end lies on the grid".to_owned()
            } else {
                format!("rounded up to {unit}")
            };
            let sectors = given.get() / block.bytes().get();
            let number = index + 1;
            match wish.size {
                PartitionSize::Exact(size) => {
                    let asked = size.in_bytes(block)?;
                    (asked != given).then(|| {
                        format!(
                            "partition {number}: {asked} asked for, {given} given ({sectors} sectors): {why}"
                        )
                    })
                }
                PartitionSize::Share(_) => Some(format!(
                    "partition {number}: share rounded down to {given} ({sectors} sectors)"
                )),
                PartitionSize::Rest => None,
            }
        })
        .collect()
}

/// What may surprise, each with a fixed word for programs.
pub(super) fn warnings(
    partitions: &[PartitionIntent],
    table: TableKind,
    shape: Option<GptShape>,
    choice: &AlignmentChoice,
    intent: &Intent,
    medium: &Medium,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code: &str, text: String| {
        warnings.push(Warning {
            code: code.to_owned(),
            text,
        });
    };
    let entries = shape.map_or(STANDARD_ENTRIES, |shape| shape.entries);
    if let Some((code, text)) = intent.boot.warning(table, entries) {
        warn(code, text);
    }
    let hidden = partitions
        .iter()
        .skip(1)
        .position(|partition| partition.filesystem.is_exchange());
    if let Some(index) = hidden {
        warn(
            "windows_shows_first_only",
            format!(
                "partition {} is for exchange but not the first: Windows before 10 version 1703 shows only the first partition of a removable medium",
                index + 2
            ),
        );
    }
    if let Some(erase_block) = choice.erase_block
        && !choice.unit.is_multiple_of(erase_block)
    {
        warn(
            "off_erase_block",
            format!(
                "the alignment asked for, {}, is no multiple of the erase block of {erase_block}: partitions will share erase blocks",
                choice.alignment
            ),
        );
    }
    if choice.fallback {
        warn(
            "fallback_alignment",
            format!(
                "the grid is a precaution, not a measurement: {}",
                choice.reason
            ),
        );
    }
    if intent.disk_id == DiskIdChoice::Keep && medium.disk_id.is_none() {
        warn(
            "no_disk_id_to_keep",
            "the medium has no disk identifier to keep, a new one was made".to_owned(),
        );
    }
    let capped = intent
        .max_size
        .and_then(|size| size.in_bytes(medium.logical_block))
        .is_some_and(|size| size < medium.capacity);
    if capped && table == TableKind::Gpt {
        warn(
            "backup_gpt_beyond_max_size",
            "the backup GPT lies in the last sectors, beyond the largest size that may be used: use --table mbr if they do not exist".to_owned(),
        );
    }
    let simplified = |partition: &PartitionIntent| {
        let label = partition.label.as_deref().unwrap_or_default();
        gpt_name(label) != label
    };
    if table == TableKind::Gpt
        && let Some(index) = partitions.iter().position(simplified)
    {
        warn(
            "name_simplified",
            format!(
                "partition {}: characters beyond U+FFFF became _ in the name of its GPT entry, since sfdisk drops names that hold one",
                index + 1
            ),
        );
    }
    let nameless: Vec<String> = partitions
        .iter()
        .enumerate()
        .filter(|(_, p)| p.filesystem == FileSystem::None && p.label.is_some())
        .map(|(index, _)| (index + 1).to_string())
        .collect();
    if table == TableKind::Mbr && !nameless.is_empty() {
        warn(
            "label_has_no_place",
            format!(
                "partition {}: without a file system its label has no place in an MBR table",
                nameless.join(", ")
            ),
        );
    }
    warnings
}

//! What a layout says of its file systems: the commands that make them, notes, what does not suit,
//! and the advice.

use super::filesystem::advice::{self, Made, Suits, advice};
use super::filesystem::command::{UNKNOWN_DISK, command, partition_node};
use super::filesystem::{Format, Inside, fit};
use super::fitted::{Fitted, Setting};
use super::intent::Intent;
use super::layout::{Layout, Partition, Warning};
use super::medium::Medium;
use super::types::FileSystem;
use crate::units::Lba;

/// How a file system is made: in its partition, where the layout has one, else as it would be in the
/// place of the largest.
fn made(fs: FileSystem, layout: &Layout, fitted: &[Fitted], setting: &Setting<'_>) -> Made {
    let own = layout
        .partitions
        .iter()
        .find(|partition| partition.filesystem == fs)
        .and_then(|partition| {
            let start = layout.byte_range(partition).from;
            Some((start, partition.format.clone()?))
        });
    let there = || {
        let largest = fitted.iter().max_by_key(|it| it.range.length())?;
        let fit = fit(fs, &setting.site(largest.floor, largest.range)).ok()?;
        Some((fit.start, fit.format?))
    };
    Made {
        block: layout.logical_block,
        format: own.or_else(there),
    }
}

/// What the layout says of its file systems: commands, notes, advice, and what does not suit.
pub(super) fn about_file_systems(
    layout: &mut Layout,
    medium: &Medium,
    intent: &Intent,
    fitted: &[Fitted],
    setting: &Setting<'_>,
) {
    let disk = medium.disk.as_deref().unwrap_or(UNKNOWN_DISK);
    let block = layout.logical_block;
    layout.name_disk(disk);
    for (index, (partition, fitted)) in layout.partitions.iter_mut().zip(fitted).enumerate() {
        let number = index + 1;
        layout.notes.extend(
            fitted
                .fit
                .notes
                .iter()
                .map(|note| format!("partition {number}: {note}")),
        );
        if let Some(other) = &fitted.fit.alternative {
            let node = partition_node(disk, number);
            let first = Lba(other.start.get() / block.bytes().get());
            let moved = Partition {
                first,
                ..partition.clone()
            };
            let line = command(&other.format, &moved, block, &node).line();
            partition.alternative = Some(format!(
                "{}: partition at sector {first}, {line}",
                other.reason
            ));
        }
        if let Some(Format {
            inside: Inside::StartOnly(why),
            ..
        }) = &partition.format
        {
            layout.warnings.push(Warning {
                code: "start_aligned_only".to_owned(),
                text: format!("partition {number}: {}: {why}", partition.filesystem),
            });
        }
        let (suits, reasons) = advice::judge(partition.filesystem, &medium.stick);
        if suits == Suits::Badly {
            layout.warnings.push(Warning {
                code: "file_system_does_not_suit".to_owned(),
                text: format!(
                    "partition {number}: {} does not suit this stick: {}",
                    partition.filesystem,
                    reasons.join("; ")
                ),
            });
        }
    }
    if medium.stick.measured || intent.purpose.is_some() {
        layout.advice = Some(advice(
            intent.purpose,
            medium.capacity,
            &layout.alignment,
            &medium.stick,
            &|fs| made(fs, layout, fitted, setting),
        ));
    }
}

//! The layout that SD cards come with and that the SD Association's formatter makes: recognised so
//! that nobody wonders about the gap, or destroys it without knowing.
//!
//! The boundary units are those of the SD specification, part 2 (file system), as the man page of
//! mkfs.exfat (exfatprogs) tabulates them. FAT12 and FAT16 shift the start of the partition so that
//! the clusters, not the partition, begin on a multiple of the unit; FAT32 and exFAT start on the
//! unit, and their clusters begin on a multiple of it as well.

use super::super::read::contents::Contents;
use super::super::read::filesystem::{DataArea, FileSystemKind};
use super::Finding;
use crate::plan::TableKind;
use crate::units::Bytes;

/// Up to which capacity, which boundary unit.
const UNITS: [(u64, Bytes); 9] = [
    (8 << 20, Bytes::kib(8)),
    (64 << 20, Bytes::kib(16)),
    (256 << 20, Bytes::kib(32)),
    (1 << 30, Bytes::kib(64)),
    (2 << 30, Bytes::kib(64)),
    (32 << 30, Bytes::mib(4)),
    (128 << 30, Bytes::mib(16)),
    (512 << 30, Bytes::mib(32)),
    (2 << 40, Bytes::mib(64)),
];

/// The note, when it is that layout.
pub(super) fn recognise(contents: &Contents) -> Option<Finding> {
    let [partition] = contents.partitions.as_slice() else {
        return None;
    };
    if contents.table?.kind != TableKind::Mbr {
        return None;
    }
    let (_, unit) = UNITS
        .into_iter()
        .find(|(most, _)| contents.capacity.get() <= *most)?;
    let found = partition.filesystem?;
    let DataArea::At { offset, .. } = found.data else {
        return None;
    };
    let start = partition.range.from;
    let data = start.checked_add(offset)?;
    let starts_right = match found.kind {
        FileSystemKind::Fat12 | FileSystemKind::Fat16 => start < Bytes(2 * unit.get()),
        FileSystemKind::Fat32 | FileSystemKind::ExFat => start == unit,
        _ => false,
    };
    (starts_right && data.is_multiple_of(unit)).then(|| {
        Finding::note(
            "sd_factory_layout",
            format!(
                "the layout that cards of this size come with: {} with its clusters on multiples of {unit}, the boundary unit of the SD specification; the {start} in front of it are part of it",
                found.kind.name()
            ),
        )
    })
}

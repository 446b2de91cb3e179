//! Could this start be one that a file system will be made for?
//!
//! Some file systems put their data on the grid from a start that on purpose is not on it. Before
//! mkfs has run nothing on the medium says so; the type of the partition tells which of them may
//! come.

use super::super::read::contents::PartitionFound;
use super::Place;
use crate::plan::types::BASIC_DATA;
use crate::plan::{Guid, PartitionType};
use crate::units::{Alignment, Bytes};

/// EFI system partition, a FAT (UEFI specification, "Defined GPT Partition Entry - Partition Type GUIDs").
const EFI_SYSTEM: Guid = Guid::from_u128(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B);

/// Clusters are counted from the start and are seldom smaller than this: from a start that is no
/// multiple of it, such as sector 63, data areas do not come onto any grid.
const FINEST_CLUSTER: Bytes = Bytes::kib(4);

/// How device extents of Btrfs lie: all 5 MiB behind multiples of 8 MiB from the start (btrfs-progs
/// 6.2, read back with `btrfs inspect-internal dump-tree -t dev`).
pub(super) const BTRFS_PERIOD: Bytes = Bytes::mib(8);
const BTRFS_EXTENTS: Bytes = Bytes::mib(5);

/// Why the start of this partition does not yet decide; `None` when it does.
pub(super) fn why(partition: &PartitionFound, grid: Alignment) -> Option<&'static str> {
    let from = partition.range.from;
    if partition.content.is_some() || Place::on(grid, from).is_on_grid() {
        return None;
    }
    let clusters = match partition.kind {
        // FAT12, FAT16, FAT32, exFAT and NTFS, EFI system (util-linux, pt-mbr-partnames.h).
        PartitionType::Mbr(code) => {
            matches!(code, 0x01 | 0x04 | 0x06 | 0x07 | 0x0b | 0x0c | 0x0e | 0xef)
        }
        PartitionType::Gpt(guid) => guid == BASIC_DATA || guid == EFI_SYSTEM,
    };
    if clusters {
        return from.is_multiple_of(FINEST_CLUSTER).then_some(
            "no known file system is in it yet, and where the data area of a FAT or exFAT will lie decides: check again after mkfs",
        );
    }
    let extents = from.checked_add(BTRFS_EXTENTS)?;
    (BTRFS_PERIOD.is_multiple_of(grid.grain()) && Place::on(grid, extents).is_on_grid()).then_some(
        "no known file system is in it yet: right for Btrfs, whose chunks will lie on the grid, and off the grid for others: check again after mkfs",
    )
}

//! How does the SD Association format cards?
//!
//! Cards come from the factory, and from the Association's formatter, with one partition that starts
//! on a "boundary unit" and a data area on another (SD specification part 2, file system; the table
//! is quoted in the manual of mkfs.exfat, the rules can be read in the free program sdFormatLinux).
//! Boundary units are powers of two: on a card with erase blocks of 12 MiB this is not aligned.

use super::{FatAreaChoice, Site};
use crate::plan::types::FileSystem;
use crate::units::{Alignment, ByteRange, Bytes};

/// What the specification prescribes for a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standard {
    /// The largest capacity of this row.
    pub capacity: Bytes,
    /// The file system; `None` for FAT12, which flashfit does not make.
    pub fs: Option<FileSystem>,
    /// The cluster.
    pub cluster: Bytes,
    /// The boundary unit.
    pub unit: Bytes,
}

/// The rows, smallest capacity first.
pub const ROWS: [Standard; 9] = [
    row(Bytes::mib(8), None, 8, Bytes::kib(8)),
    row(Bytes::mib(64), None, 16, Bytes::kib(16)),
    row(Bytes::mib(256), Some(FileSystem::Fat16), 16, Bytes::kib(32)),
    row(Bytes::gib(1), Some(FileSystem::Fat16), 16, Bytes::kib(64)),
    row(Bytes::gib(2), Some(FileSystem::Fat16), 32, Bytes::kib(64)),
    row(Bytes::gib(32), Some(FileSystem::Fat32), 32, Bytes::mib(4)),
    row(
        Bytes::gib(128),
        Some(FileSystem::ExFat),
        128,
        Bytes::mib(16),
    ),
    row(
        Bytes::gib(512),
        Some(FileSystem::ExFat),
        256,
        Bytes::mib(32),
    ),
    row(
        Bytes::gib(2048),
        Some(FileSystem::ExFat),
        512,
        Bytes::mib(64),
    ),
];

const fn row(capacity: Bytes, fs: Option<FileSystem>, cluster: u64, unit: Bytes) -> Standard {
    Standard {
        capacity,
        fs,
        cluster: Bytes::kib(cluster),
        unit,
    }
}

/// The row of a capacity; `None` beyond 2 TiB.
pub fn of(capacity: Bytes) -> Option<Standard> {
    ROWS.into_iter().find(|row| capacity <= row.capacity)
}

/// The file system that cards of this capacity come with. FAT16 also for what comes with FAT12.
pub fn file_system(capacity: Bytes) -> FileSystem {
    match of(capacity) {
        Some(row) => row.fs.unwrap_or(FileSystem::Fat16),
        None => FileSystem::ExFat,
    }
}

/// The start of the factory layout, on a card where it lies on the grid and is free.
pub(super) fn start(fs: FileSystem, site: &Site<'_>) -> Option<Bytes> {
    let row = row_for(fs, site)?;
    (fs == FileSystem::Fat32 && fits(&row, site)).then_some(row.unit)
}

/// The row, when this is the first partition of a card and the factory would have put the same file
/// system there. Not for FAT16, where the specification counts in 64 KiB and without rounding FATs
/// to clusters, which mkfs.fat does.
pub(super) fn row_for(fs: FileSystem, site: &Site<'_>) -> Option<Standard> {
    let row = of(site.range.to)?;
    let counted = matches!(fs, FileSystem::Fat32 | FileSystem::ExFat) && row.fs == Some(fs);
    (counted && site.stick.card && site.floor <= row.unit).then_some(row)
}

/// Whether both places of the factory layout, start and data, are on the grid.
pub(super) fn fits(row: &Standard, site: &Site<'_>) -> bool {
    let unit = row.unit;
    let twice = Bytes(unit.get() * 2);
    site.starts.contains(unit)
        && site.boundaries.contains(twice)
        && site.floor <= unit
        && twice < site.range.to
}

/// The site as the specification sees it: the same partition on the grid of the boundary unit,
/// whatever the stick. `None` when this is no card, or no first partition of the file system that
/// the factory would have put there.
pub(super) fn site<'a>(fs: FileSystem, site: &Site<'a>) -> Option<Site<'a>> {
    let row = row_for(fs, site)?;
    let grid = Alignment::new(row.unit, Bytes::ZERO)?;
    (row.unit < site.range.to).then(|| Site {
        range: ByteRange {
            from: row.unit,
            to: site.range.to,
        },
        starts: grid,
        boundaries: grid,
        fat_area: FatAreaChoice::Ignore,
        ..site.clone()
    })
}

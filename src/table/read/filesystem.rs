//! What file system lies in a partition, and where its data begin.

use super::btrfs::Btrfs;
use super::exfat::ExFat;
use super::ext::Ext;
use super::f2fs::F2fs;
use super::fat::{Fat, FatBits};
use super::ntfs::Ntfs;
use super::xfs::Xfs;
use crate::units::Bytes;

/// How many bytes at the start of a partition [`FileSystemFound::identify`] wants to see: the
/// superblock of Btrfs, the last of them, ends at 68 KiB.
pub const HEAD: Bytes = Bytes::kib(72);

/// A file system and where its data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemFound {
    /// Which one.
    pub kind: FileSystemKind,
    /// Bytes of one cluster or block.
    pub block: Bytes,
    /// The size that it believes to have.
    pub total: Bytes,
    /// Where it lies on a boundary, or does not.
    pub data: DataArea,
    /// The unit that it was told to align to; `None` when it knows none or was not told.
    pub told_unit: Option<Bytes>,
}

/// The file systems whose insides are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// FAT12.
    Fat12,
    /// FAT16.
    Fat16,
    /// FAT32.
    Fat32,
    /// exFAT.
    ExFat,
    /// ext2.
    Ext2,
    /// ext3.
    Ext3,
    /// ext4.
    Ext4,
    /// F2FS.
    F2fs,
    /// Btrfs.
    Btrfs,
    /// NTFS.
    Ntfs,
    /// XFS.
    Xfs,
}

impl FileSystemKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            FileSystemKind::Fat12 => "FAT12",
            FileSystemKind::Fat16 => "FAT16",
            FileSystemKind::Fat32 => "FAT32",
            FileSystemKind::ExFat => "exFAT",
            FileSystemKind::Ext2 => "ext2",
            FileSystemKind::Ext3 => "ext3",
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::F2fs => "F2FS",
            FileSystemKind::Btrfs => "Btrfs",
            FileSystemKind::Ntfs => "NTFS",
            FileSystemKind::Xfs => "XFS",
        }
    }

    /// Whether it is one of the three FATs.
    pub const fn is_fat(self) -> bool {
        matches!(
            self,
            FileSystemKind::Fat12 | FileSystemKind::Fat16 | FileSystemKind::Fat32
        )
    }
}

/// What of a file system has to lie on the erase-block grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataArea {
    /// This place, counted from the start of the partition.
    At {
        /// The place.
        offset: Bytes,
        /// What begins there: "clusters", "main area".
        what: &'static str,
    },
    /// It counts its blocks from the start of the partition, which therefore decides.
    FromStart,
}

impl FileSystemFound {
    /// The file system that the first bytes of a partition announce; [`HEAD`] of them are enough.
    /// `None` when it is none of those whose insides are understood.
    pub fn identify(head: &[u8]) -> Option<FileSystemFound> {
        // Those with a magic first: the boot sector of FAT has none.
        exfat(head)
            .or_else(|| ntfs(head))
            .or_else(|| xfs(head))
            .or_else(|| btrfs(head))
            .or_else(|| f2fs(head))
            .or_else(|| ext(head))
            .or_else(|| fat(head))
    }
}

fn fat(head: &[u8]) -> Option<FileSystemFound> {
    let fat = Fat::parse(head)?;
    Some(FileSystemFound {
        kind: match fat.bits {
            FatBits::Fat12 => FileSystemKind::Fat12,
            FatBits::Fat16 => FileSystemKind::Fat16,
            FatBits::Fat32 => FileSystemKind::Fat32,
        },
        block: fat.cluster,
        total: fat.total,
        data: DataArea::At {
            offset: fat.data_at,
            what: "clusters",
        },
        told_unit: None,
    })
}

fn exfat(head: &[u8]) -> Option<FileSystemFound> {
    let fs = ExFat::parse(head)?;
    Some(FileSystemFound {
        kind: FileSystemKind::ExFat,
        block: fs.cluster,
        total: fs.total,
        data: DataArea::At {
            offset: fs.data_at,
            what: "clusters",
        },
        told_unit: None,
    })
}

/// Large requests are aligned to stripes that count from the first block (`ext4_mb_scan_aligned` in
/// Linux `fs/ext4/mballoc.c`).
fn ext(head: &[u8]) -> Option<FileSystemFound> {
    let fs = Ext::parse(head)?;
    Some(FileSystemFound {
        kind: match fs.name {
            "ext2" => FileSystemKind::Ext2,
            "ext3" => FileSystemKind::Ext3,
            _ => FileSystemKind::Ext4,
        },
        block: fs.block,
        total: fs.total,
        data: DataArea::FromStart,
        told_unit: (fs.stripe_width != Bytes::ZERO).then_some(fs.stripe_width),
    })
}

fn f2fs(head: &[u8]) -> Option<FileSystemFound> {
    let fs = F2fs::parse(head)?;
    Some(FileSystemFound {
        kind: FileSystemKind::F2fs,
        block: fs.block,
        total: fs.total,
        data: DataArea::At {
            offset: fs.data_at,
            what: "main area",
        },
        told_unit: Some(fs.section),
    })
}

fn btrfs(head: &[u8]) -> Option<FileSystemFound> {
    let fs = Btrfs::parse(head)?;
    Some(FileSystemFound {
        kind: FileSystemKind::Btrfs,
        block: fs.block,
        // Of several devices together nothing is said about this one.
        total: if fs.devices == 1 {
            fs.total
        } else {
            Bytes::ZERO
        },
        data: match fs.chunk_at {
            Some(offset) => DataArea::At {
                offset,
                what: "chunks",
            },
            None => DataArea::FromStart,
        },
        told_unit: None,
    })
}

fn ntfs(head: &[u8]) -> Option<FileSystemFound> {
    let fs = Ntfs::parse(head)?;
    Some(FileSystemFound {
        kind: FileSystemKind::Ntfs,
        block: fs.cluster,
        total: fs.total,
        data: DataArea::FromStart,
        told_unit: None,
    })
}

/// Allocation groups are multiples of the stripe unit, counted from the first block.
fn xfs(head: &[u8]) -> Option<FileSystemFound> {
    let fs = Xfs::parse(head)?;
    Some(FileSystemFound {
        kind: FileSystemKind::Xfs,
        block: fs.block,
        total: fs.total,
        data: DataArea::FromStart,
        told_unit: (fs.stripe_unit != Bytes::ZERO).then_some(fs.stripe_unit),
    })
}

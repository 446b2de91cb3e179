//! What is there that other systems would recognise: the marks of tables, file systems, RAIDs and
//! containers, each with the place where it lies and the blocks to zero so that nobody finds it.
//!
//! An old mark that survives a new table wins over it: `blkid` calls the whole stick a FAT, a
//! firmware prefers the old backup table in the last sector, an installer refuses a stick that
//! claims blocks of 2048 bytes.

mod controllers;
mod fixed;
mod foreign;
mod from_the_end;
mod probe;
mod tables;

use crate::device::{AccessError, ReadDevice};
use crate::units::{ByteRange, Bytes};
use probe::Probe;

/// One mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// What it announces: `FAT32`, `GPT backup`, `LUKS2 second header`.
    pub name: &'static str,
    /// What kind of thing that is.
    pub kind: SignatureKind,
    /// Where the magic bytes lie, counted from the start of the device.
    pub at: Bytes,
    /// Whole logical blocks, counted from the start of the device: with zeros in them, nothing
    /// recognises it any more.
    pub wipe: ByteRange,
}

/// What kind of thing a mark announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SignatureKind {
    /// A partition table, or one of its copies.
    PartitionTable,
    /// A file system.
    FileSystem,
    /// Swap space or a hibernated system.
    Swap,
    /// An encrypted container.
    Encrypted,
    /// A member of a RAID.
    Raid,
    /// A physical volume of a volume manager, or a cache.
    Volume,
}

impl SignatureKind {
    /// For people: "file system", "partition table".
    pub const fn words(self) -> &'static str {
        match self {
            SignatureKind::PartitionTable => "partition table",
            SignatureKind::FileSystem => "file system",
            SignatureKind::Swap => "swap space",
            SignatureKind::Encrypted => "encrypted container",
            SignatureKind::Raid => "RAID member",
            SignatureKind::Volume => "volume",
        }
    }
}

/// Every mark in the things that `ranges` are: the whole device, an old or a new partition. Marks
/// are looked for relative to the start and to the end of each range, so a range must be a thing,
/// not a stretch of bytes to search. What lies behind the end of the device is not looked at.
///
/// In the order of the ranges, then of the places; a mark found through two ranges is given once.
/// In a sector 0 that is both the boot sector of a file system and a table both are given. Blocks to
/// wipe may overlap, and they may lie where a new table goes: wipe first, then write.
///
/// # Errors
/// The first read that fails.
pub fn signatures(
    device: &mut dyn ReadDevice,
    ranges: &[ByteRange],
) -> Result<Vec<Signature>, AccessError> {
    let mut found: Vec<Signature> = Vec::new();
    for range in ranges {
        let mut probe = Probe::new(device, *range);
        tables::probe(&mut probe)?;
        fixed::probe(&mut probe)?;
        from_the_end::probe(&mut probe)?;
        controllers::probe(&mut probe)?;
        let mut here = probe.found();
        here.sort_by_key(|signature| (signature.at, signature.name));
        for signature in here {
            let known =
                |other: &Signature| (other.name, other.at) == (signature.name, signature.at);
            if !found.iter().any(known) {
                found.push(signature);
            }
        }
    }
    Ok(found)
}

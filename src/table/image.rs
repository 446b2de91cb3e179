//! The sectors that change, in the order in which they are written.
//!
//! The order is such that a cut after any of them leaves the old table, the new one, or none that
//! anybody takes for a table; never a third. Old signatures go first, while the old table still
//! stands. Of a GPT the second copy comes first: as long as it is incomplete the old table is whole,
//! and once it is complete, a torn first copy leads to it, or to nothing. The protective MBR comes
//! last, since an old MBR there is what systems go by until then. Of an MBR there is one sector, and
//! it comes last.

use super::overlay::Overlay;
use crate::device::AccessError;
use crate::units::{Bytes, Lba, LogicalBlock};
use std::fmt;

/// One sector that changes.
#[derive(Clone, PartialEq, Eq)]
pub struct Extent {
    /// Where.
    pub at: Lba,
    /// What it belongs to.
    pub part: Part,
    /// What it held before.
    pub old: Vec<u8>,
    /// What it shall hold; as long as `old`.
    pub new: Vec<u8>,
}

impl Extent {
    /// Its first byte; saturates, such a device does not exist.
    pub fn place(&self, block: LogicalBlock) -> Bytes {
        self.at.to_bytes(block).unwrap_or(Bytes(u64::MAX))
    }

    /// Whether it already holds what it shall hold, so that it need not be written.
    pub fn is_unchanged(&self) -> bool {
        self.old == self.new
    }
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extent({} at {})", self.part, self.at)
    }
}

/// What a sector belongs to; their order is the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// An old signature.
    Wipe,
    /// The entries of the second copy of a GPT.
    BackupEntries,
    /// The header of the second copy of a GPT.
    BackupHeader,
    /// The entries of the first copy of a GPT.
    PrimaryEntries,
    /// The header of the first copy of a GPT.
    PrimaryHeader,
    /// Sector 0 in front of a GPT.
    ProtectiveMbr,
    /// Sector 0 with an MBR.
    Mbr,
}

impl Part {
    /// All of them, in the order of writing.
    pub const ALL: [Part; 7] = [
        Part::Wipe,
        Part::BackupEntries,
        Part::BackupHeader,
        Part::PrimaryEntries,
        Part::PrimaryHeader,
        Part::ProtectiveMbr,
        Part::Mbr,
    ];

    /// The word in backup files.
    pub const fn word(self) -> &'static str {
        match self {
            Part::Wipe => "wipe",
            Part::BackupEntries => "gpt_backup_entries",
            Part::BackupHeader => "gpt_backup_header",
            Part::PrimaryEntries => "gpt_primary_entries",
            Part::PrimaryHeader => "gpt_primary_header",
            Part::ProtectiveMbr => "protective_mbr",
            Part::Mbr => "mbr",
        }
    }
}

impl fmt::Display for Part {
    /// For people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Part::Wipe => "zeros over an old signature",
            Part::BackupEntries => "GPT second copy, entries",
            Part::BackupHeader => "GPT second copy, header",
            Part::PrimaryEntries => "GPT first copy, entries",
            Part::PrimaryHeader => "GPT first copy, header",
            Part::ProtectiveMbr => "protective MBR",
            Part::Mbr => "MBR",
        })
    }
}

/// Every changed sector with its old content, in the order of writing. `part_of` says what a sector
/// belongs to.
pub(super) fn extents(
    overlay: &mut Overlay<'_>,
    part_of: impl Fn(Lba) -> Part,
) -> Result<Vec<Extent>, AccessError> {
    let changed: Vec<(Lba, Vec<u8>)> = overlay
        .changed()
        .map(|(at, data)| (at, data.to_vec()))
        .collect();
    let mut extents = Vec::with_capacity(changed.len());
    for (at, new) in changed {
        extents.push(Extent {
            at,
            part: part_of(at),
            old: overlay.original(at)?,
            new,
        });
    }
    extents.sort_by_key(|extent| (extent.part, extent.at));
    Ok(extents)
}

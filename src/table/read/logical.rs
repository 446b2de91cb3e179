//! The partitions inside an extended one: a chain of sectors that each look like an MBR with one
//! partition and one link.

use super::mbr::{Mbr, MbrEntry};
use super::window;
use crate::device::{AccessError, ReadDevice};
use crate::units::{Bytes, Lba};

/// Chains are followed so far. Linux stops at 256 partitions altogether (`DISK_MAX_PARTS` in
/// include/linux/blkdev.h); real ones have a handful, and a chain may bite its tail.
const LONGEST_CHAIN: usize = 128;

/// A logical partition, in sectors of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logical {
    /// The entry; `first` counts from the start of the device.
    pub entry: MbrEntry,
    /// The sector of its link.
    pub link_at: Lba,
}

/// The logical partitions in order, and whether the chain ends as it should.
pub(super) fn logical(
    device: &mut dyn ReadDevice,
    extended: &MbrEntry,
    sector: Bytes,
) -> Result<(Vec<Logical>, bool), AccessError> {
    let base = extended.first;
    let mut found = Vec::new();
    let mut visited = Vec::new();
    let mut here = base;
    loop {
        if visited.contains(&here) || visited.len() >= LONGEST_CHAIN || here >= extended.end() {
            return Ok((found, false));
        }
        visited.push(here);
        let bytes = match here.get().checked_mul(sector.get()) {
            Some(at) => window::read(device, Bytes(at), Bytes(512))?,
            None => Vec::new(),
        };
        let Some(link) = Mbr::parse(&bytes) else {
            return Ok((found, false));
        };
        let [partition, next, ..] = link.entries;
        if !partition.is_unused() && !partition.is_extended() {
            let first = Lba(here.get().saturating_add(partition.first.get()));
            found.push(Logical {
                entry: MbrEntry { first, ..partition },
                link_at: here,
            });
        }
        if next.is_unused() || !next.is_extended() {
            return Ok((found, true));
        }
        here = Lba(base.get().saturating_add(next.first.get()));
    }
}

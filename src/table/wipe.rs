//! Old signatures that a new table leaves behind would win over it: `blkid` calls the whole stick a
//! FAT, a desktop mounts an old file system in a new partition, a firmware boots the old backup
//! table. They are listed before anybody consents, saved with everything else, and zeroed.

use super::overlay::Overlay;
use super::read::{Signature, signatures};
use crate::device::AccessError;
use crate::plan::Layout;
use crate::units::{ByteRange, Bytes, Lba};
use std::collections::HashSet;

/// An old signature, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Old {
    /// What and where it is.
    pub signature: Signature,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of an old signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Its sectors are zeroed.
    Zeroed,
    /// The new table is written over it.
    Replaced,
    /// It lies in a range that nothing may touch.
    Kept,
}

/// The things whose starts and ends matter after the write: the device and every new partition.
pub(super) fn things(layout: &Layout) -> Vec<ByteRange> {
    let device = ByteRange {
        from: Bytes::ZERO,
        to: layout.capacity_bytes(),
    };
    let partitions = layout.partitions.iter().map(|p| layout.byte_range(p));
    std::iter::once(device).chain(partitions).collect()
}

/// Find what is on the device now, decide what becomes of each, and zero in the overlay what has to
/// go. The overlay holds the new table already, and nothing else.
pub(super) fn wipe(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<Vec<Old>, AccessError> {
    let table: HashSet<Lba> = overlay.changed().map(|(at, _)| at).collect();
    let found = signatures(overlay.device(), &things(layout))?;
    let unit = layout.logical_block.bytes().get();
    let sector_of = |at: Bytes| Lba(at.get() / unit);
    let is_kept = |sector: Lba| {
        let from = Bytes(sector.get().saturating_mul(unit));
        let to = Bytes(from.get().saturating_add(unit));
        let range = ByteRange { from, to };
        layout
            .keep_out
            .iter()
            .any(|kept| kept.range.overlaps(range))
    };
    let mut all = Vec::with_capacity(found.len());
    for signature in found {
        let magic = sector_of(signature.at);
        let fate = if table.contains(&magic) {
            Fate::Replaced
        } else if is_kept(magic) {
            Fate::Kept
        } else {
            Fate::Zeroed
        };
        if fate != Fate::Kept {
            let sectors = signature.wipe.from.get() / unit..signature.wipe.to.get().div_ceil(unit);
            for sector in sectors.map(Lba) {
                if !table.contains(&sector) && !is_kept(sector) {
                    overlay.put(sector, &[]);
                }
            }
        }
        all.push(Old { signature, fate });
    }
    Ok(all)
}

//! A piece of the stick for writes that follow one another.

use super::Ground;
use crate::plan::alignment;
use crate::units::{ByteRange, Bytes};

/// Where the stick's own units are not known and the free ranges are narrow, any start must do.
const ANY_START: Bytes = Bytes::mib(1);

/// Take a stretch of this length, from the middle of the device on, that begins where a unit begins:
/// on the grid that partitions would be placed on. `None` when there is no room.
pub(super) fn take(ground: &mut Ground<'_>, length: Bytes, capacity: Bytes) -> Option<ByteRange> {
    let grid = alignment(ground.geometry, ground.facts).alignment;
    let middle = Bytes(capacity.get() / 2);
    for unit in [grid.grain(), ANY_START] {
        let whole = Bytes(length.get().div_ceil(unit.get()) * unit.get());
        let found = ground
            .territory
            .units(whole, grid.phase(), 1, 1, middle)
            .first()
            .copied();
        if let Some(found) = found {
            let stretch = ByteRange {
                from: found.from,
                to: Bytes(found.from.get() + length.get()),
            };
            // The rest of its last unit is in the middle of something from now on.
            ground.territory.take(found);
            return Some(stretch);
        }
    }
    None
}

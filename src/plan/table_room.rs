//! Which sectors a table owns, and which it leaves for partitions.

use super::gpt_shape::{GptShape, STANDARD_ENTRIES};
use super::types::TableKind;
use crate::units::{Lba, LogicalBlock, Sectors};

/// Sectors that an MBR can count: its fields are 32 bits wide, and 2^32 itself does not fit.
pub const MBR_SECTORS: Sectors = Sectors(u32::MAX as u64);

/// How many partitions each table holds: four primary entries, or 128.
pub const fn most_partitions(kind: TableKind) -> usize {
    match kind {
        TableKind::Mbr => 4,
        TableKind::Gpt => 128,
    }
}

/// The sectors between the parts of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRoom {
    /// The first sector that a partition may use.
    pub first: Lba,
    /// The first sector behind the last one.
    pub end: Lba,
}

/// The room that `kind` leaves on a medium of `capacity` sectors, or `None` when the table alone
/// fills it. A GPT has its standard number of entries, see [`GptShape`] for others.
///
/// GPT with 512-byte sectors: 34 to N−34; with 4096-byte sectors: 6 to N−6 (both inclusive).
/// MBR: from 1, up to the 32-bit limit.
pub fn table_room(kind: TableKind, block: LogicalBlock, capacity: Sectors) -> Option<TableRoom> {
    let room = match kind {
        TableKind::Mbr => TableRoom {
            first: Lba(1),
            end: Lba(capacity.get().min(MBR_SECTORS.get())),
        },
        TableKind::Gpt => GptShape::new(STANDARD_ENTRIES, block, capacity)?.room(block),
    };
    (room.first < room.end).then_some(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpt_leaves_34_to_n_minus_34_or_6_to_n_minus_6() {
        let room = |block, n| table_room(TableKind::Gpt, block, Sectors(n)).unwrap();
        let small = room(LogicalBlock::B512, 120_176_640);
        assert_eq!((small.first, small.end), (Lba(34), Lba(120_176_607)));
        let large = room(LogicalBlock::B4096, 1000);
        assert_eq!((large.first, large.end), (Lba(6), Lba(995)));
    }

    #[test]
    fn an_mbr_ends_at_the_32_bit_limit() {
        let room = |n| table_room(TableKind::Mbr, LogicalBlock::B512, Sectors(n)).unwrap();
        assert_eq!(room(4_294_967_295).end, Lba(4_294_967_295));
        assert_eq!(room(7_812_937_728).end, Lba(4_294_967_295));
    }

    #[test]
    fn a_medium_smaller_than_the_table_has_no_room() {
        assert_eq!(
            table_room(TableKind::Gpt, LogicalBlock::B512, Sectors(67)),
            None
        );
        assert_eq!(
            table_room(TableKind::Gpt, LogicalBlock::B512, Sectors(3)),
            None
        );
        assert_eq!(
            table_room(TableKind::Mbr, LogicalBlock::B512, Sectors(1)),
            None
        );
    }
}

//! How the two copies of a GPT lie on the medium.

use super::table_room::TableRoom;
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock, Sectors};

/// Entries of an ordinary GPT: the least that fills the 16 KiB which the UEFI specification,
/// section 5.3, wants reserved for them. Fewer are made only for a board whose loader lies there.
pub const STANDARD_ENTRIES: u32 = 128;

/// Bytes of one entry (UEFI specification, section 5.3.3).
pub const ENTRY_BYTES: Bytes = Bytes(128);

/// Protective MBR and header, in front of the first entry array.
const ARRAY_LBA: Lba = Lba(2);

/// Where the parts of a GPT lie, beside the headers in sector 1 and in the last sector. What a
/// renderer needs and cannot derive from the partitions; the header's first and last usable sector
/// are [`super::Layout::first_usable`] and [`super::Layout::last_usable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GptShape {
    /// How many entries of 128 bytes each copy has; whole sectors of them.
    pub entries: u32,
    /// The first sector of the first entry array. Always 2: some boards look for it nowhere else.
    pub array_lba: Lba,
    /// The first sector of the second entry array; it ends where the last sector begins.
    pub backup_array_lba: Lba,
}

impl GptShape {
    /// The shape with this many entries, rounded up to whole sectors; `None` when the medium has no
    /// room for both copies and a sector between them.
    pub fn new(entries: u32, block: LogicalBlock, capacity: Sectors) -> Option<GptShape> {
        let unit = block.bytes().get();
        let array = (u64::from(entries) * ENTRY_BYTES.get())
            .div_ceil(unit)
            .max(1);
        let backup = capacity.get().checked_sub(array + 1)?;
        let first = ARRAY_LBA.get() + array;
        (first < backup).then_some(())?;
        Some(GptShape {
            entries: u32::try_from(array * unit / ENTRY_BYTES.get()).ok()?,
            array_lba: ARRAY_LBA,
            backup_array_lba: Lba(backup),
        })
    }

    /// The most entries that an array in front of `place` has, up to the standard 128; `None` when
    /// not even one sector of them fits.
    pub fn most_entries_before(place: Bytes, block: LogicalBlock) -> Option<u32> {
        let unit = block.bytes().get();
        let sectors = (place.get() / unit).checked_sub(ARRAY_LBA.get())?;
        let entries = sectors.saturating_mul(unit / ENTRY_BYTES.get());
        let entries = u32::try_from(entries).unwrap_or(STANDARD_ENTRIES);
        (entries > 0).then_some(entries.min(STANDARD_ENTRIES))
    }

    /// Sectors of one entry array.
    pub fn array_sectors(&self, block: LogicalBlock) -> Sectors {
        let bytes = u64::from(self.entries) * ENTRY_BYTES.get();
        Sectors(bytes.div_ceil(block.bytes().get()))
    }

    /// What it leaves for partitions.
    pub fn room(&self, block: LogicalBlock) -> TableRoom {
        let first = self
            .array_lba
            .get()
            .saturating_add(self.array_sectors(block).get());
        TableRoom {
            first: Lba(first),
            end: self.backup_array_lba,
        }
    }

    /// The bytes of the table itself: protective MBR, header and entries in front; entries and
    /// header at the end.
    pub fn owned(&self, block: LogicalBlock, capacity: Sectors) -> [ByteRange; 2] {
        let bytes = |sectors: u64| Bytes(sectors.saturating_mul(block.bytes().get()));
        [
            ByteRange {
                from: Bytes::ZERO,
                to: bytes(self.room(block).first.get()),
            },
            ByteRange {
                from: bytes(self.backup_array_lba.get()),
                to: bytes(capacity.get()),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_table_leaves_34_to_n_minus_34() {
        let shape = GptShape::new(128, LogicalBlock::B512, Sectors(1000)).unwrap();
        assert_eq!(
            (shape.array_lba, shape.backup_array_lba),
            (Lba(2), Lba(967))
        );
        assert_eq!(shape.room(LogicalBlock::B512).first, Lba(34));
        let shape = GptShape::new(128, LogicalBlock::B4096, Sectors(1000)).unwrap();
        assert_eq!(shape.room(LogicalBlock::B4096).first, Lba(6));
        assert_eq!(shape.backup_array_lba, Lba(995));
    }

    #[test]
    fn a_loader_at_8_kib_leaves_56_entries() {
        let entries = GptShape::most_entries_before(Bytes::kib(8), LogicalBlock::B512).unwrap();
        assert_eq!(entries, 56);
        let shape = GptShape::new(entries, LogicalBlock::B512, Sectors(1000)).unwrap();
        assert_eq!((shape.entries, shape.backup_array_lba), (56, Lba(985)));
        assert_eq!(shape.room(LogicalBlock::B512).first, Lba(16));
        // With large sectors it lies where the array begins.
        assert_eq!(
            GptShape::most_entries_before(Bytes::kib(8), LogicalBlock::B4096),
            None
        );
        assert_eq!(
            GptShape::most_entries_before(Bytes::kib(1), LogicalBlock::B512),
            None
        );
        assert_eq!(
            GptShape::most_entries_before(Bytes(u64::MAX), LogicalBlock::B512),
            Some(128)
        );
    }

    #[test]
    fn entries_fill_whole_sectors_and_both_copies_need_room() {
        let of = |n| {
            GptShape::new(n, LogicalBlock::B4096, Sectors(1000))
                .unwrap()
                .entries
        };
        assert_eq!((of(0), of(33), of(128)), (32, 64, 128));
        let fits = |sectors| GptShape::new(128, LogicalBlock::B512, Sectors(sectors)).is_some();
        assert!(!fits(3) && !fits(67) && fits(68));
    }
}

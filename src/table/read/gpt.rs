//! One copy of a GUID partition table: header and entries.
//!
//! Fields and offsets: UEFI specification, sections 5.3.2 and 5.3.3. Nothing is believed without
//! its checksum; what a damaged header says is still told, but marked.

use super::bytes::{array, stands, u32_le, u64_le};
use super::crc::crc32;
use crate::plan::Guid;
use crate::units::{Bytes, Lba};

/// The first bytes of a header.
pub const MAGIC: &[u8] = b"EFI PART";

/// Bytes that the fields of a header take.
pub const HEADER_LENGTH: usize = 92;

/// The largest entry array that is read: 8192 entries of 128 bytes. No partitioner makes more than
/// a few hundred, and the number comes from the device.
pub const LARGEST_ARRAY: Bytes = Bytes::mib(1);

/// A header, as it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GptHeader {
    /// Where it believes to be.
    pub my_lba: Lba,
    /// Where it believes the other copy to be.
    pub alternate_lba: Lba,
    /// The first sector for partitions.
    pub first_usable: Lba,
    /// The last one.
    pub last_usable: Lba,
    /// The identifier of the disk.
    pub disk: Guid,
    /// The first sector of the entries.
    pub array_lba: Lba,
    /// How many entries.
    pub entries: u32,
    /// Bytes of one.
    pub entry: Bytes,
    /// The checksum of all of them.
    pub array_crc: u32,
}

/// What is wrong with a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GptFault {
    /// The header says it is longer than a sector, or shorter than its fields.
    #[error("its header claims {0} bytes")]
    Length(u32),
    /// Some byte of the header is not the one that was written.
    #[error("the checksum of its header is wrong")]
    HeaderCrc,
    /// A copy from elsewhere.
    #[error("it lies in sector {found} and says it belongs into {said}", found = .found, said = .said)]
    Misplaced {
        /// Where it lies.
        found: Lba,
        /// Where it says it lies.
        said: Lba,
    },
    /// Entries of a size that does not exist, or more than a megabyte of them.
    #[error("it claims {entries} entries of {size} bytes", size = .size.get())]
    Entries {
        /// How many.
        entries: u32,
        /// How large.
        size: Bytes,
    },
    /// The entries lie behind the end of the device.
    #[error("its entries lie behind the end of the device")]
    ArrayOutside,
    /// Some byte of the entries is not the one that was written.
    #[error("the checksum of its entries is wrong")]
    ArrayCrc,
}

impl GptHeader {
    /// Read the first bytes of a sector of `sector` bytes as a header; `None` without its magic.
    /// A damaged header comes with its fault.
    pub fn parse(bytes: &[u8], sector: Bytes) -> Option<(GptHeader, Option<GptFault>)> {
        if !stands(bytes, 0, MAGIC) {
            return None;
        }
        let header = GptHeader {
            my_lba: Lba(u64_le(bytes, 24)?),
            alternate_lba: Lba(u64_le(bytes, 32)?),
            first_usable: Lba(u64_le(bytes, 40)?),
            last_usable: Lba(u64_le(bytes, 48)?),
            disk: Guid::from_disk(array(bytes, 56)?),
            array_lba: Lba(u64_le(bytes, 72)?),
            entries: u32_le(bytes, 80)?,
            entry: Bytes(u32_le(bytes, 84)?.into()),
            array_crc: u32_le(bytes, 88)?,
        };
        let length = u32_le(bytes, 12)?;
        let fault = match usize::try_from(length) {
            Ok(taken)
                if taken >= HEADER_LENGTH
                    && u64::from(length) <= sector.get()
                    && taken <= bytes.len() =>
            {
                let mut summed = bytes.get(..taken)?.to_vec();
                // Its own field counts as zero.
                summed.get_mut(16..20)?.fill(0);
                (Some(crc32(&summed)) != u32_le(bytes, 16)).then_some(GptFault::HeaderCrc)
            }
            _ => Some(GptFault::Length(length)),
        };
        let sane = header.entry.get() >= 128
            && header.entry.get().is_power_of_two()
            && header.array_bytes().is_some();
        let fault = fault.or((!sane).then_some(GptFault::Entries {
            entries: header.entries,
            size: header.entry,
        }));
        Some((header, fault))
    }

    /// The size of the entry array, when it is at most [`LARGEST_ARRAY`].
    pub fn array_bytes(&self) -> Option<Bytes> {
        u64::from(self.entries)
            .checked_mul(self.entry.get())
            .map(Bytes)
            .filter(|size| *size <= LARGEST_ARRAY)
    }
}

/// One used entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GptEntry {
    /// Its place in the array, from 1.
    pub number: usize,
    /// The type.
    pub kind: Guid,
    /// The identifier.
    pub uuid: Guid,
    /// The first sector.
    pub first: Lba,
    /// The last sector, inside.
    pub last: Lba,
    /// Attribute bits.
    pub attributes: u64,
    /// The name; what is no text is shown as such.
    pub name: String,
}

impl GptEntry {
    /// Read one entry; `None` when it is unused or too short.
    pub fn parse(bytes: &[u8], number: usize) -> Option<GptEntry> {
        let kind = Guid::from_disk(array(bytes, 0)?);
        if kind.is_nil() {
            return None;
        }
        let units: [u8; 72] = array(bytes, 56)?;
        let units: Vec<u16> = units
            .chunks_exact(2)
            .filter_map(|pair| pair.try_into().ok().map(u16::from_le_bytes))
            .take_while(|unit| *unit != 0)
            .collect();
        Some(GptEntry {
            number,
            kind,
            uuid: Guid::from_disk(array(bytes, 16)?),
            first: Lba(u64_le(bytes, 32)?),
            last: Lba(u64_le(bytes, 40)?),
            attributes: u64_le(bytes, 48)?,
            name: String::from_utf16_lossy(&units),
        })
    }

    /// The used entries of a whole array.
    pub fn parse_all(bytes: &[u8], entry: Bytes) -> Vec<GptEntry> {
        let length = usize::try_from(entry.get()).unwrap_or(usize::MAX).max(1);
        bytes
            .chunks_exact(length)
            .enumerate()
            .filter_map(|(index, bytes)| GptEntry::parse(bytes, index + 1))
            .collect()
    }
}

/// One copy: its header, its used entries, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GptCopy {
    /// The sector that it was found in.
    pub at: Lba,
    /// What the header says.
    pub header: GptHeader,
    /// The entries; empty when they cannot be read.
    pub entries: Vec<GptEntry>,
    /// The first thing that is wrong with it.
    pub fault: Option<GptFault>,
}

impl GptCopy {
    /// Whether all its checksums hold and it lies where it says.
    pub const fn is_sound(&self) -> bool {
        self.fault.is_none()
    }

    /// Whether both say the same.
    pub fn agrees_with(&self, other: &GptCopy) -> bool {
        self.header.disk == other.header.disk && self.entries == other.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Vec<u8> {
        let mut b = vec![0; 512];
        b[..8].copy_from_slice(MAGIC);
        b[12] = 92;
        b[24] = 1;
        b[32..40].copy_from_slice(&999u64.to_le_bytes());
        b[40] = 34;
        b[48..56].copy_from_slice(&966u64.to_le_bytes());
        b[56] = 7;
        b[72] = 2;
        b[80] = 128;
        b[84] = 128;
        sign(&mut b);
        b
    }

    fn sign(b: &mut [u8]) {
        b[16..20].fill(0);
        let crc = crc32(&b[..92]);
        b[16..20].copy_from_slice(&crc.to_le_bytes());
    }

    fn fault(b: &[u8]) -> Option<GptFault> {
        GptHeader::parse(b, Bytes(512)).unwrap().1
    }

    #[test]
    fn a_header_gives_its_fields_and_its_checksum_is_kept() {
        let b = header();
        let (header, fault_of_it) = GptHeader::parse(&b, Bytes(512)).unwrap();
        assert_eq!(fault_of_it, None);
        assert_eq!(
            (header.my_lba, header.alternate_lba, header.array_lba),
            (Lba(1), Lba(999), Lba(2))
        );
        assert_eq!(header.array_bytes(), Some(Bytes::kib(16)));
        for at in 20..92 {
            let mut bad = b.clone();
            bad[at] ^= 0x10;
            assert!(fault(&bad).is_some(), "{at}");
        }
    }

    #[test]
    fn lengths_and_numbers_that_cannot_be_are_faults() {
        for (at, value) in [(12, 91), (13, 4), (15, 255)] {
            let mut b = header();
            b[at] = value;
            assert!(matches!(fault(&b), Some(GptFault::Length(_))), "{at}");
        }
        for (at, value) in [(84, 64), (84, 129), (83, 255), (87, 255)] {
            let mut b = header();
            b[at] = value;
            sign(&mut b);
            assert!(matches!(fault(&b), Some(GptFault::Entries { .. })), "{at}");
        }
        assert_eq!(GptHeader::parse(&header()[..91], Bytes(512)), None);
        assert_eq!(GptHeader::parse(&[0; 512], Bytes(512)), None);
    }

    #[test]
    fn entries_have_names_in_utf16_and_unused_ones_are_left_out() {
        let mut b = vec![0; 128 * 3];
        b[128] = 1;
        b[128 + 32] = 64;
        b[128 + 40] = 127;
        for (index, unit) in "größe".encode_utf16().enumerate() {
            b[128 + 56 + 2 * index..][..2].copy_from_slice(&unit.to_le_bytes());
        }
        let all = GptEntry::parse_all(&b, Bytes(128));
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].number, all[0].name.as_str()), (2, "größe"));
        assert_eq!((all[0].first, all[0].last), (Lba(64), Lba(127)));
        assert_eq!(GptEntry::parse_all(&b, Bytes(0)), []);
    }
}

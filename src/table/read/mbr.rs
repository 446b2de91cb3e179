//! The master boot record: sector 0 of a disk, and of every file system that carries a boot sector.
//!
//! Layout: boot code, the disk signature at 0x1B8, four entries of 16 bytes at 0x1BE, `55 AA` at
//! 0x1FE (UEFI specification, section 5.2.1; the signature is Microsoft's). The same `55 AA` ends
//! the boot sector of FAT, exFAT and NTFS, whose code then stands where the entries would be.

use super::bytes::{array, stands, u32_le};
use crate::units::{Lba, Sectors};

/// The bytes that an MBR needs.
pub const MBR_LENGTH: usize = 512;

/// Where the boot signature lies.
pub const BOOT_SIGNATURE_AT: usize = 0x1fe;

/// Where the disk signature lies.
const DISK_SIGNATURE_AT: usize = 0x1b8;

/// Where the entries begin, and how long each is.
const ENTRIES_AT: usize = 0x1be;
const ENTRY_LENGTH: usize = 16;

/// The type of the entry that protects a GPT (UEFI specification, section 5.2.3).
pub const PROTECTIVE: u8 = 0xee;

/// Sector 0, read as an MBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbr {
    /// The identifier of the disk; 0 is none.
    pub disk_signature: u32,
    /// The four entries as they stand there, whatever they say.
    pub entries: [MbrEntry; 4],
}

/// One entry, as it stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MbrEntry {
    /// 0x80 active, 0x00 not; everything else is no status.
    pub status: u8,
    /// Cylinder, head and sector of the first sector.
    pub chs_first: Chs,
    /// The type.
    pub kind: u8,
    /// Cylinder, head and sector of the last sector.
    pub chs_last: Chs,
    /// The first sector.
    pub first: Lba,
    /// How many sectors.
    pub sectors: Sectors,
}

/// A place by cylinder, head and sector (from 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chs {
    /// 0 to 1023.
    pub cylinder: u16,
    /// 0 to 255.
    pub head: u8,
    /// 0 to 63; 0 does not exist.
    pub sector: u8,
}

impl Chs {
    /// What is written for every place that cannot be expressed: 1023/254/63.
    pub const BEYOND: Chs = Chs {
        cylinder: 1023,
        head: 254,
        sector: 63,
    };

    /// From the three bytes of an entry: head; sector and the two high bits of the cylinder; the
    /// rest of the cylinder.
    pub const fn from_disk(bytes: [u8; 3]) -> Chs {
        let [head, sector, cylinder] = bytes;
        Chs {
            cylinder: (sector as u16 & 0xc0) << 2 | cylinder as u16,
            head,
            sector: sector & 0x3f,
        }
    }

    /// The place of a sector with 255 heads and 63 sectors, the geometry that all current
    /// partitioners assume; [`Chs::BEYOND`] from 1024 cylinders on.
    pub fn of(place: Lba) -> Chs {
        Chs::with(place, 255, 63)
    }

    /// The same with another geometry; `heads` and `sectors` are not zero.
    fn with(place: Lba, heads: u64, sectors: u64) -> Chs {
        let (track, sector) = (place.get() / sectors, place.get() % sectors);
        let (cylinder, head) = (track / heads, track % heads);
        match (
            u16::try_from(cylinder),
            u8::try_from(head),
            u8::try_from(sector),
        ) {
            (Ok(cylinder @ ..1024), Ok(head), Ok(sector)) => Chs {
                cylinder,
                head,
                sector: sector + 1,
            },
            _ => Chs::BEYOND,
        }
    }
}

impl MbrEntry {
    fn parse(bytes: [u8; ENTRY_LENGTH]) -> MbrEntry {
        let [status, a, b, c, kind, d, e, f, rest @ ..] = bytes;
        let [s0, s1, s2, s3, n0, n1, n2, n3] = rest;
        MbrEntry {
            status,
            chs_first: Chs::from_disk([a, b, c]),
            kind,
            chs_last: Chs::from_disk([d, e, f]),
            first: Lba(u32::from_le_bytes([s0, s1, s2, s3]).into()),
            sectors: Sectors(u32::from_le_bytes([n0, n1, n2, n3]).into()),
        }
    }

    /// Whether it describes no partition: type 0 or no sectors, as the kernel reads it
    /// (`is_parsed` in block/partitions/msdos.c takes entries with sectors only).
    pub const fn is_unused(&self) -> bool {
        self.kind == 0 || self.sectors.get() == 0
    }

    /// The first sector behind it; an entry holds 32-bit numbers, so this cannot overflow.
    pub const fn end(&self) -> Lba {
        Lba(self.first.get() + self.sectors.get())
    }

    /// Whether its cylinder, head and sector are those of its first sector in some geometry that is
    /// in use, or say nothing: all zero, or what is written for places beyond them. Cards come with
    /// fewer heads and sectors, by their capacity (SD specification, part 2, table of geometries).
    pub fn chs_agrees(&self) -> bool {
        let Chs {
            cylinder,
            head,
            sector,
        } = self.chs_first;
        let beyond = cylinder == 1023 && head >= 254 && sector == 63;
        let none = self.chs_first == Chs::default();
        const HEADS: [u64; 9] = [255, 240, 128, 64, 32, 16, 8, 4, 2];
        const SECTORS: [u64; 3] = [63, 32, 16];
        let known = || {
            HEADS.iter().any(|heads| {
                SECTORS
                    .iter()
                    .any(|sectors| self.chs_first == Chs::with(self.first, *heads, *sectors))
            })
        };
        beyond || none || known()
    }

    /// Whether it is a container of logical partitions (types 05, 0F and, of Linux, 85).
    pub const fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }

    /// Whether it lies over the sector that it stands in: what some tools write into the boot
    /// sector of a file system that fills the whole device.
    pub const fn contains_itself(&self) -> bool {
        !self.is_unused() && self.first.get() == 0 && self.kind != PROTECTIVE
    }
}

impl Mbr {
    /// Read 512 bytes as an MBR; `None` when they are too few or `55 AA` is missing.
    pub fn parse(sector: &[u8]) -> Option<Mbr> {
        if !stands(sector, BOOT_SIGNATURE_AT, &[0x55, 0xaa]) {
            return None;
        }
        let mut entries = [MbrEntry::default(); 4];
        for (index, entry) in entries.iter_mut().enumerate() {
            *entry = MbrEntry::parse(array(sector, ENTRIES_AT + index * ENTRY_LENGTH)?);
        }
        Some(Mbr {
            disk_signature: u32_le(sector, DISK_SIGNATURE_AT)?,
            entries,
        })
    }

    /// The entries that describe a partition, with their numbers from 1.
    pub fn used(&self) -> impl Iterator<Item = (usize, &MbrEntry)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| !entry.is_unused())
            .map(|(index, entry)| (index + 1, entry))
    }

    /// Whether every status byte is one of the two that exist. Boot code read as entries fails it.
    pub fn is_plausible(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| matches!(entry.status, 0x00 | 0x80))
    }

    /// Whether one of its entries protects a GPT.
    pub fn is_protective(&self) -> bool {
        self.used().any(|(_, entry)| entry.kind == PROTECTIVE)
    }

    /// Whether it protects a GPT and has entries of its own beside: a hybrid.
    pub fn is_hybrid(&self) -> bool {
        self.is_protective() && self.used().any(|(_, entry)| entry.kind != PROTECTIVE)
    }

    /// Whether it is a partition table, and not the boot sector of a file system that `55 AA` ends
    /// too. `holds_boot_sector` says that the same bytes make sense as one; then an entry that
    /// lies elsewhere is wanted as proof.
    pub fn is_table(&self, holds_boot_sector: bool) -> bool {
        if !self.is_plausible() {
            return false;
        }
        !holds_boot_sector
            || (self.used().next().is_some()
                && !self.used().any(|(_, entry)| entry.contains_itself()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(entries: &[[u8; 16]]) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[DISK_SIGNATURE_AT..][..4].copy_from_slice(&0x0cf7_e848_u32.to_le_bytes());
        for (index, entry) in entries.iter().enumerate() {
            bytes[ENTRIES_AT + 16 * index..][..16].copy_from_slice(entry);
        }
        bytes[0x1fe..].copy_from_slice(&[0x55, 0xaa]);
        bytes
    }

    #[test]
    fn an_entry_gives_all_its_fields() {
        let bytes = sector(&[[
            0x80, 0x82, 0x03, 0x00, 0x0c, 0xfe, 0xff, 0xff, 0x00, 0x20, 0, 0, 0, 0x08, 0x9a, 0x03,
        ]]);
        let mbr = Mbr::parse(&bytes).unwrap();
        assert_eq!(mbr.disk_signature, 0x0cf7_e848);
        let entry = mbr.entries[0];
        assert_eq!((entry.status, entry.kind), (0x80, 0x0c));
        assert_eq!(
            (entry.first, entry.sectors),
            (Lba(8192), Sectors(0x039a_0800))
        );
        assert_eq!(entry.chs_first, Chs::of(Lba(8192)));
        assert_eq!(entry.chs_last, Chs::BEYOND);
        assert_eq!(mbr.used().count(), 1);
        assert!(mbr.is_table(false) && mbr.is_table(true));
    }

    #[test]
    fn known_places_have_their_known_cylinders() {
        for (place, chs) in [
            (0, (0, 0, 1)),
            (63, (0, 1, 1)),
            (2048, (0, 32, 33)),
            (8192, (0, 130, 3)),
            (16384, (1, 5, 5)),
            (32768, (2, 10, 9)),
            (16_450_559, (1023, 254, 63)),
            (16_450_560, (1023, 254, 63)),
            (u64::MAX, (1023, 254, 63)),
        ] {
            let Chs {
                cylinder,
                head,
                sector,
            } = Chs::of(Lba(place));
            assert_eq!((cylinder, head, sector), chs, "{place}");
        }
        assert_eq!(Chs::from_disk([0xfe, 0xff, 0xff]), Chs::BEYOND);
        assert_eq!(Chs::from_disk([5, 5, 1]), Chs::of(Lba(16384)));
    }

    #[test]
    fn boot_code_and_self_containing_entries_are_no_table() {
        let code = sector(&[*b"Remove disks or "]);
        assert!(!Mbr::parse(&code).unwrap().is_table(false));
        let itself = sector(&[[0x80, 0, 1, 0, 6, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0]]);
        let mbr = Mbr::parse(&itself).unwrap();
        assert!(mbr.entries[0].contains_itself());
        assert!(!mbr.is_table(true));
        let empty = Mbr::parse(&sector(&[])).unwrap();
        assert!(empty.is_table(false) && !empty.is_table(true));
    }

    #[test]
    fn a_hybrid_is_told_from_a_protective_one() {
        let guard = [0, 0, 2, 0, 0xee, 255, 255, 255, 1, 0, 0, 0, 255, 0, 0, 0];
        let other = [0x80, 0, 2, 0, 0x0c, 0, 0, 0, 0, 1, 0, 0, 255, 0, 0, 0];
        let plain = Mbr::parse(&sector(&[guard])).unwrap();
        assert!(plain.is_protective() && !plain.is_hybrid());
        let hybrid = Mbr::parse(&sector(&[guard, other])).unwrap();
        assert!(hybrid.is_protective() && hybrid.is_hybrid());
    }

    #[test]
    fn less_than_a_sector_is_no_mbr() {
        let bytes = sector(&[]);
        for length in 0..512 {
            assert_eq!(Mbr::parse(&bytes[..length]), None);
        }
        assert_eq!(Mbr::parse(&[0; 512]), None);
    }
}

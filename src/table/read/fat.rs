//! The boot sector of FAT12, FAT16 and FAT32.
//!
//! Fields and the rule that tells the three apart are those of Microsoft's "FAT: General Overview of
//! On-Disk Format", version 1.03: the number of clusters decides, the words in the boot sector are
//! decoration.

use super::bytes::{u16_le, u32_le};
use crate::units::Bytes;

/// A FAT file system, as its boot sector describes it. Offsets count from the boot sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fat {
    /// 12, 16 or 32.
    pub bits: FatBits,
    /// Bytes of one sector of the file system; need not be the device's.
    pub sector: Bytes,
    /// Bytes of one cluster.
    pub cluster: Bytes,
    /// Where the first file allocation table lies.
    pub fat_at: Bytes,
    /// Bytes of one file allocation table.
    pub fat_length: Bytes,
    /// How many there are.
    pub fats: u8,
    /// Where the first cluster lies.
    pub data_at: Bytes,
    /// How many clusters there are.
    pub clusters: u64,
    /// The size of the whole.
    pub total: Bytes,
    /// Sectors in front of the boot sector, as the formatter noted it; many leave it 0.
    pub hidden: u32,
    /// The second boot sector, of FAT32 only.
    pub backup_at: Option<Bytes>,
}

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatBits {
    /// FAT12.
    Fat12,
    /// FAT16.
    Fat16,
    /// FAT32.
    Fat32,
}

/// Fewer clusters than this are FAT12, fewer than that FAT16.
const FAT16_CLUSTERS: u64 = 4085;
const FAT32_CLUSTERS: u64 = 65525;

/// Bytes of one entry in the root directory of FAT12 and FAT16.
const DIRECTORY_ENTRY: u64 = 32;

impl Fat {
    /// Read a boot sector; `None` when it is not one of FAT, or contradicts itself.
    pub fn parse(boot: &[u8]) -> Option<Fat> {
        let byte = |at: usize| boot.get(at).copied();
        let sector = u64::from(u16_le(boot, 0x0b)?);
        let per_cluster = u64::from(byte(0x0d)?);
        let reserved = u64::from(u16_le(boot, 0x0e)?);
        let fats = byte(0x10)?;
        let root_entries = u64::from(u16_le(boot, 0x11)?);
        let total_16 = u64::from(u16_le(boot, 0x13)?);
        let media = byte(0x15)?;
        let fat_16 = u64::from(u16_le(boot, 0x16)?);
        let hidden = u32_le(boot, 0x1c)?;
        let total_32 = u64::from(u32_le(boot, 0x20)?);
        let fat_32 = u64::from(u32_le(boot, 0x24)?);
        let backup = u64::from(u16_le(boot, 0x32)?);

        let sane = matches!(sector, 512 | 1024 | 2048 | 4096)
            && per_cluster.is_power_of_two()
            && reserved != 0
            && (1..=4).contains(&fats)
            && (media == 0xf0 || media >= 0xf8);
        if !sane {
            return None;
        }
        let length = if fat_16 != 0 { fat_16 } else { fat_32 };
        let total = if total_16 != 0 { total_16 } else { total_32 };
        let root = (root_entries * DIRECTORY_ENTRY).div_ceil(sector);
        let data = reserved + u64::from(fats) * length + root;
        if length == 0 || data >= total {
            return None;
        }
        let clusters = (total - data) / per_cluster;
        let bits = match clusters {
            // Without a 16-bit length it is FAT32, whatever its size: formatters that are told to
            // make small ones do, and every system reads them so.
            _ if fat_16 == 0 => FatBits::Fat32,
            ..FAT16_CLUSTERS => FatBits::Fat12,
            FAT16_CLUSTERS..FAT32_CLUSTERS => FatBits::Fat16,
            _ => return None,
        };
        // All factors have at most 32 bits and a sector 12.
        Some(Fat {
            bits,
            sector: Bytes(sector),
            cluster: Bytes(sector * per_cluster),
            fat_at: Bytes(sector * reserved),
            fat_length: Bytes(sector * length),
            fats,
            data_at: Bytes(sector * data),
            clusters,
            total: Bytes(sector * total),
            hidden,
            backup_at: (bits == FatBits::Fat32 && (1..reserved).contains(&backup))
                .then_some(Bytes(sector * backup)),
        })
    }

    /// The name by which people know it.
    pub const fn name(&self) -> &'static str {
        match self.bits {
            FatBits::Fat12 => "FAT12",
            FatBits::Fat16 => "FAT16",
            FatBits::Fat32 => "FAT32",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 512-byte sectors.
    fn boot(
        per_cluster: u8,
        reserved: u16,
        root: u16,
        total: u32,
        fat: u32,
        wide: bool,
    ) -> Vec<u8> {
        let mut b = vec![0; 512];
        b[0x0b..0x0d].copy_from_slice(&512u16.to_le_bytes());
        b[0x0d] = per_cluster;
        b[0x0e..0x10].copy_from_slice(&reserved.to_le_bytes());
        b[0x10] = 2;
        b[0x11..0x13].copy_from_slice(&root.to_le_bytes());
        b[0x15] = 0xf8;
        b[0x20..0x24].copy_from_slice(&total.to_le_bytes());
        if wide {
            b[0x24..0x28].copy_from_slice(&fat.to_le_bytes());
            b[0x32] = 6;
        } else {
            b[0x16..0x18].copy_from_slice(&u16::try_from(fat).unwrap().to_le_bytes());
        }
        b
    }

    #[test]
    fn the_data_area_of_a_card_is_found() {
        // A 29 GiB card: 64 sectors reserved, two tables of 7424 sectors.
        let fat = Fat::parse(&boot(64, 64, 0, 60_391_424, 7424, true)).unwrap();
        assert_eq!(fat.bits, FatBits::Fat32);
        assert_eq!(fat.data_at, Bytes(14_912 * 512));
        assert_eq!(fat.cluster, Bytes::kib(32));
        assert_eq!(fat.backup_at, Some(Bytes(6 * 512)));
    }

    #[test]
    fn the_number_of_clusters_tells_fat12_from_fat16() {
        let data = |clusters: u32| 1 + 2 * 16 + 32 + clusters;
        let of = |clusters| Fat::parse(&boot(1, 1, 512, data(clusters), 16, false)).unwrap();
        assert_eq!(of(4084).bits, FatBits::Fat12);
        assert_eq!(of(4085).bits, FatBits::Fat16);
        assert_eq!(of(4085).data_at, Bytes((1 + 32 + 32) * 512));
    }

    #[test]
    fn what_contradicts_itself_is_no_fat() {
        let good = boot(64, 64, 0, 60_391_424, 7424, true);
        for (at, value) in [
            (0x0c, 3),
            (0x0d, 3),
            (0x0d, 0),
            (0x10, 0),
            (0x15, 0),
            (0x0c, 0),
        ] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(Fat::parse(&bad), None, "{at:#x}");
        }
        assert_eq!(Fat::parse(&boot(64, 64, 0, 100, 7424, true)), None);
        assert_eq!(Fat::parse(&[0xff; 512]), None);
        assert_eq!(Fat::parse(&good[..0x33]), None);
    }
}

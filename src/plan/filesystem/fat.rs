//! The arithmetic of a FAT volume, as mkfs.fat does it.
//!
//! ```text
//! [R reserved][F FAT] x fats [RD root directory, not in FAT32][data]
//! ```
//!
//! mkfs.fat 4.2 (dosfstools) rounds R, F and RD up to whole clusters unless the volume has at most
//! 8192 sectors, takes `-R` as a minimum, and cuts the volume to whole tracks. So the reserved
//! sectors decide where the data area begins: [`reserve_up_to`] finds the R that puts it on a given
//! sector. Found and verified by running mkfs.fat on sparse images and reading the boot sectors;
//! `tests/mkfs_fat.rs` repeats it.

use crate::units::{Bytes, LogicalBlock, Sectors};
use serde::{Deserialize, Serialize};

/// Volumes of up to this many sectors are laid out by mkfs.fat without rounding to clusters (the
/// size of a floppy disk of the 1980s; measured on mkfs.fat 4.2).
const UNROUNDED_SECTORS: u64 = 8192;

/// Reserved sectors are counted in 16 bits of the boot sector.
pub const MOST_RESERVED: Sectors = Sectors(u16::MAX as u64);

/// Entries of the root directory of FAT12 and FAT16: what mkfs.fat makes by default and what the SD
/// specification prescribes.
const ROOT_ENTRIES: u64 = 512;

/// Bytes of a directory entry.
const ROOT_ENTRY: u64 = 32;

/// Heads and sectors per track, as a FAT boot sector names them (`mkfs.fat -g`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FatGeometry {
    /// Heads.
    pub heads: u16,
    /// Sectors per track; mkfs.fat cuts the volume to whole tracks.
    pub sectors_per_track: u16,
}

impl Default for FatGeometry {
    /// Tracks of 32 sectors, so that a volume of whole 16 KiB is not cut: with the usual 63 it would
    /// lose up to 62 sectors.
    fn default() -> FatGeometry {
        FatGeometry {
            heads: 255,
            sectors_per_track: 32,
        }
    }
}

/// How wide the entries of the FAT are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FatWidth {
    /// 12 bits.
    Fat12,
    /// 16 bits.
    Fat16,
    /// 32 bits, of which 28 count.
    Fat32,
}

impl FatWidth {
    /// Bits of an entry, as `mkfs.fat -F` takes them.
    pub const fn bits(self) -> u64 {
        match self {
            FatWidth::Fat12 => 12,
            FatWidth::Fat16 => 16,
            FatWidth::Fat32 => 32,
        }
    }

    /// The fewest and the most clusters (both inclusive). The type of a FAT follows from the number
    /// of clusters: below 4085 FAT12, below 65525 FAT16. Microsoft's FAT specification (fatgen103,
    /// "FAT type determination") advises to stay 16 clusters away from both, since many drivers
    /// are off by some; 28-bit entries end at 268435444 clusters.
    pub const fn clusters(self) -> (u64, u64) {
        match self {
            FatWidth::Fat12 => (1, 4084 - 16),
            FatWidth::Fat16 => (4085 + 16, 65524 - 16),
            FatWidth::Fat32 => (65525 + 16, 268_435_444),
        }
    }

    /// The fewest reserved sectors: one boot sector, or the 32 of FAT32 that hold boot sector,
    /// FSInfo and their copies with room (default of mkfs.fat and Windows).
    pub const fn least_reserved(self) -> u64 {
        match self {
            FatWidth::Fat12 | FatWidth::Fat16 => 1,
            FatWidth::Fat32 => 32,
        }
    }
}

/// What is given to mkfs.fat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// `-F`.
    pub width: FatWidth,
    /// `-S`.
    pub block: LogicalBlock,
    /// The size of the partition.
    pub sectors: Sectors,
    /// `-s`, in bytes: a power of two of sectors, at most 128.
    pub cluster: Bytes,
    /// `-f`.
    pub fats: u8,
    /// `-g`.
    pub geometry: FatGeometry,
}

/// What mkfs.fat makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fat {
    /// The width of the entries.
    pub width: FatWidth,
    /// The cluster.
    #[serde(rename = "cluster_bytes")]
    pub cluster: Bytes,
    /// Reserved sectors.
    #[serde(rename = "reserved_sectors")]
    pub reserved: Sectors,
    /// How many FATs.
    pub fats: u8,
    /// Sectors of one FAT.
    #[serde(rename = "fat_sectors")]
    pub fat: Sectors,
    /// Sectors of the root directory; 0 in FAT32, where it is a file.
    #[serde(rename = "root_sectors")]
    pub root: Sectors,
    /// The size of the volume.
    #[serde(rename = "volume_sectors")]
    pub volume: Sectors,
    /// How many clusters.
    pub clusters: u64,
    /// What the boot sector names as heads and sectors per track.
    #[serde(default)]
    pub geometry: FatGeometry,
}

impl Fat {
    /// Sectors in front of the data area.
    pub fn data(&self) -> Sectors {
        // A boot sector holds these in 16, 8, 32 and 16 bits: the sum stays far below 2^64.
        let fats = u64::from(self.fats).saturating_mul(self.fat.get());
        Sectors(
            fats.saturating_add(self.reserved.get())
                .saturating_add(self.root.get()),
        )
    }

    /// Whether the number of clusters belongs to the width, with the distance that drivers need.
    pub fn is_sound(&self) -> bool {
        let (least, most) = self.width.clusters();
        (least..=most).contains(&self.clusters)
    }
}

/// The volume that mkfs.fat makes with at least `reserved` sectors in front of the FATs; `None` when
/// it does not fit, or when numbers exceed the fields of a boot sector.
pub fn volume(wish: &Wish, reserved: Sectors) -> Option<Fat> {
    let sector = wish.block.bytes().get();
    let bits = wish.width.bits();
    let fats = u64::from(wish.fats);
    let per_cluster = wish.cluster.get() / sector;
    if per_cluster == 0 || per_cluster > 128 || !per_cluster.is_power_of_two() {
        return None;
    }
    let track = u64::from(wish.geometry.sectors_per_track);
    let sectors = wish.sectors.get().checked_div(track)? * track;
    if sectors > u64::from(u32::MAX) {
        return None;
    }
    let unit = if sectors > UNROUNDED_SECTORS {
        per_cluster
    } else {
        1
    };
    let reserved = reserved.get().checked_next_multiple_of(unit)?;
    if reserved > MOST_RESERVED.get() {
        return None;
    }
    let root = match wish.width {
        FatWidth::Fat12 | FatWidth::Fat16 => (ROOT_ENTRIES * ROOT_ENTRY)
            .div_ceil(sector)
            .next_multiple_of(unit),
        FatWidth::Fat32 => 0,
    };
    let free = sectors.checked_sub(reserved + root)?;
    // Each cluster costs its own sectors and one entry in every FAT; two entries are used up.
    // In bits, since FAT12 has one and a half bytes.
    let sector_bits = sector * 8;
    let estimate =
        (free * sector_bits + fats * 2 * bits) / (per_cluster * sector_bits + fats * bits);
    let fat = ((estimate + 2) * bits)
        .div_ceil(sector_bits)
        .next_multiple_of(unit);
    let clusters = free.checked_sub(fats * fat)? / per_cluster;
    Some(Fat {
        width: wish.width,
        cluster: wish.cluster,
        reserved: Sectors(reserved),
        fats: wish.fats,
        fat: Sectors(fat),
        root: Sectors(root),
        volume: Sectors(sectors),
        clusters,
        geometry: wish.geometry,
    })
}

/// Whether mkfs.fat makes exactly this volume in a partition of so many sectors.
pub(super) fn is_volume(fat: &Fat, block: LogicalBlock, sectors: Sectors) -> bool {
    let wish = Wish {
        width: fat.width,
        block,
        sectors,
        cluster: fat.cluster,
        fats: fat.fats,
        geometry: fat.geometry,
    };
    let track = u64::from(fat.geometry.sectors_per_track);
    (1..=2).contains(&fat.fats)
        && (1..=255).contains(&fat.geometry.heads)
        && (1..=63).contains(&track)
        && volume(&wish, fat.reserved) == Some(*fat)
}

/// The sectors in front of the data area with as few reserved ones as possible.
pub fn shortest(wish: &Wish) -> Option<Fat> {
    volume(wish, Sectors(wish.width.least_reserved()))
}

/// The volume whose data area begins exactly `data` sectors behind its start, by the choice of the
/// reserved sectors. `None` when they would be too few, more than 65535, or when no number leads
/// there.
pub fn reserve_up_to(wish: &Wish, data: Sectors) -> Option<Fat> {
    let mut fat = shortest(wish)?;
    // More reserved sectors leave fewer clusters and can shorten the FAT by a cluster, which the
    // next round takes into account. Two or three rounds settle it.
    for _ in 0..8 {
        let rest = u64::from(fat.fats) * fat.fat.get() + fat.root.get();
        let reserved = data.get().checked_sub(rest)?;
        if reserved < wish.width.least_reserved() || reserved > MOST_RESERVED.get() {
            return None;
        }
        let next = volume(wish, Sectors(reserved))?;
        if next.data() == data {
            return Some(next);
        }
        if next.fat == fat.fat {
            // The FAT is as long as was assumed, and rounding to clusters moved the data.
            return None;
        }
        fat = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 2048;

    /// A partition from `start` to the last boundary of `erase_block` MiB, two FATs.
    fn wish(capacity: u64, erase_block: u64, phase: u64, start: u64) -> Wish {
        let unit = erase_block * MIB;
        let end = (capacity / 512 - phase * MIB) / unit * unit + phase * MIB;
        Wish {
            width: FatWidth::Fat32,
            block: LogicalBlock::B512,
            sectors: Sectors(end - start),
            cluster: Bytes::kib(32),
            fats: 2,
            geometry: FatGeometry::default(),
        }
    }

    #[test]
    fn reserved_sectors_put_the_data_area_where_it_is_wanted() {
        const CARD: u64 = 31_914_983_424;
        const STICK: u64 = (1907 * 8) << 20;
        // Capacity, erase block and phase in MiB, start, then reserved, FAT, data, clusters.
        for (capacity, erase, phase, start, reserved, fat, data, clusters) in [
            (STICK, 8, 0, 16384, 8704, 3840, 32768, 487_680),
            (CARD, 12, 0, 24576, 9344, 7616, 49152, 973_056),
            (CARD, 12, 0, 8192, 1152, 7616, 24576, 973_440),
            (CARD, 12, 4, 8192, 9344, 7616, 32768, 973_440),
            (CARD, 8, 0, 8192, 9344, 7616, 32768, 973_312),
            (CARD, 24, 0, 49152, 33920, 7616, 98304, 972_288),
        ] {
            let made =
                reserve_up_to(&wish(capacity, erase, phase, start), Sectors(data - start)).unwrap();
            assert_eq!(
                (made.reserved.get(), made.fat.get(), made.clusters),
                (reserved, fat, clusters),
                "{erase} MiB at {start}"
            );
            assert_eq!((data - phase * MIB) % (erase * MIB), 0);
        }
    }

    #[test]
    fn the_example_of_a_pull_request_comes_out() {
        // 60391424 sectors at 8192: without -R the data begins at byte 11829248, with 1536 reserved
        // sectors at 12 MiB, with 9728 at 16 MiB (measured with mkfs.fat 4.2).
        let wish = Wish {
            sectors: Sectors(60_391_424),
            ..wish(1 << 40, 4, 0, 0)
        };
        let plain = shortest(&wish).unwrap();
        assert_eq!((plain.reserved.get(), plain.fat.get()), (64, 7424));
        assert_eq!((8192 + plain.data().get()) * 512, 11_829_248);
        for (data, reserved) in [(12, 1536), (16, 9728)] {
            let made = reserve_up_to(&wish, Sectors(data * MIB - 8192)).unwrap();
            assert_eq!(made.reserved.get(), reserved);
        }
    }

    #[test]
    fn what_a_boot_sector_cannot_hold_is_refused() {
        let wish = wish(31_914_983_424, 12, 0, 24576);
        assert_eq!(reserve_up_to(&wish, Sectors(64 * MIB)), None);
        assert_eq!(reserve_up_to(&wish, Sectors(15_000)), None);
        // Data areas begin on whole clusters behind the start.
        assert_eq!(reserve_up_to(&wish, Sectors(24577)), None);
        let odd = Wish {
            cluster: Bytes::kib(48),
            ..wish
        };
        assert_eq!(shortest(&odd), None);
        let huge = Wish {
            sectors: Sectors(1 << 33),
            ..wish
        };
        assert_eq!(shortest(&huge), None);
        let tiny = Wish {
            sectors: Sectors(63),
            ..wish
        };
        assert_eq!(shortest(&tiny), None);
    }

    #[test]
    fn the_number_of_clusters_decides_the_width() {
        let fat = |clusters| Fat {
            clusters,
            ..shortest(&wish(31_914_983_424, 12, 0, 24576)).unwrap()
        };
        assert!(!fat(65_525).is_sound() && fat(65_541).is_sound());
        assert!(!fat(268_435_445).is_sound());
    }
}

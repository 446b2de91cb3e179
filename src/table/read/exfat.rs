//! The boot sector of exFAT (Microsoft's "exFAT file system specification", section 3.1).

use super::bytes::{stands, u32_le, u64_le};
use crate::units::Bytes;

/// An exFAT file system, as its boot sector describes it. Offsets count from the boot sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExFat {
    /// Sectors in front of it, as the formatter noted them; 0 is "not noted".
    pub partition_offset: u64,
    /// The size of the whole.
    pub total: Bytes,
    /// Where the file allocation table lies.
    pub fat_at: Bytes,
    /// Its size.
    pub fat_length: Bytes,
    /// Where the clusters begin.
    pub data_at: Bytes,
    /// Bytes of one cluster.
    pub cluster: Bytes,
    /// How many there are.
    pub clusters: u64,
}

impl ExFat {
    /// Read a boot sector; `None` when it is not one of exFAT, or contradicts itself.
    pub fn parse(boot: &[u8]) -> Option<ExFat> {
        if !stands(boot, 3, b"EXFAT   ") || !stands(boot, 0x1fe, &[0x55, 0xaa]) {
            return None;
        }
        let sector_shift = u32::from(*boot.get(108)?);
        let cluster_shift = u32::from(*boot.get(109)?);
        // Sectors of 512 to 4096 bytes, clusters of at most 32 MiB (sections 3.1.14 and 3.1.15).
        if !(9..=12).contains(&sector_shift) || cluster_shift > 25 - sector_shift {
            return None;
        }
        let sectors = |count: u64| count.checked_mul(1 << sector_shift).map(Bytes);
        let field = |at: usize| u32_le(boot, at).map(u64::from);
        let length = u64_le(boot, 72)?;
        let heap = field(88)?;
        let clusters = field(92)?;
        let total = sectors(length)?;
        let inside =
            heap >= 24 && heap.checked_add(clusters.checked_shl(cluster_shift)?)? <= length;
        if !inside {
            return None;
        }
        Some(ExFat {
            partition_offset: u64_le(boot, 64)?,
            total,
            fat_at: sectors(field(80)?)?,
            fat_length: sectors(field(84)?)?,
            data_at: sectors(heap)?,
            cluster: Bytes(1 << (sector_shift + cluster_shift)),
            clusters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factory_card_of_64_gb_is_understood() {
        let mut b = vec![0; 512];
        b[3..11].copy_from_slice(b"EXFAT   ");
        b[64..72].copy_from_slice(&32768u64.to_le_bytes());
        b[72..80].copy_from_slice(&124_702_720u64.to_le_bytes());
        b[80..84].copy_from_slice(&16384u32.to_le_bytes());
        b[84..88].copy_from_slice(&16384u32.to_le_bytes());
        b[88..92].copy_from_slice(&32768u32.to_le_bytes());
        b[92..96].copy_from_slice(&486_991u32.to_le_bytes());
        b[108] = 9;
        b[109] = 8;
        b[0x1fe..].copy_from_slice(&[0x55, 0xaa]);
        let fs = ExFat::parse(&b).unwrap();
        assert_eq!(fs.data_at, Bytes::mib(16));
        assert_eq!(fs.fat_at, Bytes::mib(8));
        assert_eq!(fs.cluster, Bytes::kib(128));
        for (at, value) in [
            (108, 8),
            (108, 13),
            (109, 17),
            (3, 0),
            (95, 255),
            (88 + 3, 255),
        ] {
            let mut bad = b.clone();
            bad[at] = value;
            assert_eq!(ExFat::parse(&bad), None, "{at}");
        }
        assert_eq!(ExFat::parse(&b[..511]), None);
    }
}

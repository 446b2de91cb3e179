//! The boot sector of NTFS (Microsoft's "NTFS volume boot sector": the BIOS parameter block of
//! Windows NT). Cluster 0 is the boot sector itself.

use super::bytes::{stands, u16_le, u64_le};
use crate::units::Bytes;

/// An NTFS file system, as its boot sector describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ntfs {
    /// Bytes of one cluster.
    pub cluster: Bytes,
    /// The size of the whole, without the second boot sector behind it.
    pub total: Bytes,
}

impl Ntfs {
    /// Read a boot sector; `None` when it is not one of NTFS.
    pub fn parse(boot: &[u8]) -> Option<Ntfs> {
        if !stands(boot, 3, b"NTFS    ") {
            return None;
        }
        let sector = u64::from(u16_le(boot, 0x0b)?);
        if !matches!(sector, 512 | 1024 | 2048 | 4096) {
            return None;
        }
        // Above 128 sectors the byte is a negative exponent of two (since Windows 10, clusters up
        // to 2 MiB).
        let per_cluster = match *boot.get(0x0d)? {
            count @ 1..=128 if count.is_power_of_two() => u64::from(count),
            exponent @ 0xf4..=0xff => 1 << (256 - u32::from(exponent)),
            _ => return None,
        };
        Some(Ntfs {
            cluster: Bytes(sector * per_cluster),
            total: Bytes(u64_le(boot, 0x28)?.checked_mul(sector)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_counts_or_exponents() {
        let mut b = vec![0; 512];
        b[3..11].copy_from_slice(b"NTFS    ");
        b[0x0c] = 2;
        b[0x0d] = 8;
        b[0x2a] = 1;
        let fs = Ntfs::parse(&b).unwrap();
        assert_eq!((fs.cluster, fs.total), (Bytes::kib(4), Bytes::mib(32)));
        b[0x0d] = 0xf4;
        assert_eq!(Ntfs::parse(&b).unwrap().cluster, Bytes::mib(2));
        for value in [0, 3, 0x81, 0xf3] {
            b[0x0d] = value;
            assert_eq!(Ntfs::parse(&b), None, "{value}");
        }
    }
}

//! The superblock of XFS (Linux `fs/xfs/libxfs/xfs_format.h`, `struct xfs_dsb`; big-endian).

use super::bytes::{array, stands, u32_be};
use crate::units::Bytes;

/// An XFS file system, as its superblock describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xfs {
    /// Bytes of one block.
    pub block: Bytes,
    /// The size of the whole.
    pub total: Bytes,
    /// The stripe unit, counted from the first block; zero when it was not told.
    pub stripe_unit: Bytes,
}

impl Xfs {
    /// Read the first bytes of a partition; `None` when they are no superblock of XFS.
    pub fn parse(head: &[u8]) -> Option<Xfs> {
        if !stands(head, 0, b"XFSB") {
            return None;
        }
        let block = u64::from(u32_be(head, 4)?);
        if !(block.is_power_of_two() && (512..=65536).contains(&block)) {
            return None;
        }
        let blocks = u64::from_be_bytes(array(head, 8)?);
        Some(Xfs {
            block: Bytes(block),
            total: Bytes(blocks.checked_mul(block)?),
            stripe_unit: Bytes(u64::from(u32_be(head, 184)?) * block),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_gives_block_size_and_stripe_unit() {
        let mut b = vec![0; 512];
        b[..4].copy_from_slice(b"XFSB");
        b[6] = 0x10;
        b[13] = 1;
        b[186] = 4;
        let fs = Xfs::parse(&b).unwrap();
        assert_eq!((fs.block, fs.stripe_unit), (Bytes::kib(4), Bytes::mib(4)));
        assert_eq!(fs.total, Bytes::mib(256));
        b[5] = 1;
        assert_eq!(Xfs::parse(&b), None);
    }
}

//! The superblock of ext2, ext3 and ext4 (Linux `Documentation/filesystems/ext4/super.rst`).

use super::bytes::{u16_le, u32_le};
use crate::units::Bytes;

/// Where the superblock lies.
pub const SUPERBLOCK_AT: usize = 1024;

/// An ext file system, as its superblock describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext {
    /// `ext2`, `ext3` or `ext4`.
    pub name: &'static str,
    /// Bytes of one block.
    pub block: Bytes,
    /// The size of the whole.
    pub total: Bytes,
    /// What the allocator aligns large requests to, counted from the first block of the file
    /// system; zero when it was not told.
    pub stripe_width: Bytes,
}

/// Features that tell the three apart (`fs/ext4/ext4.h`).
const HAS_JOURNAL: u32 = 0x4;
const IS_64_BIT: u32 = 0x80;
/// Everything but compression, file types, recovery, journal device and meta block groups.
const NOT_OF_EXT3: u32 = !0x1f;

impl Ext {
    /// Read the first bytes of a partition; `None` when no superblock of ext is among them.
    pub fn parse(head: &[u8]) -> Option<Ext> {
        let block = head.get(SUPERBLOCK_AT..SUPERBLOCK_AT + 1024)?;
        if u16_le(block, 0x38)? != 0xef53 {
            return None;
        }
        let shift = u32_le(block, 0x18)?;
        // 1 KiB to 64 KiB.
        if shift > 6 {
            return None;
        }
        let size = Bytes(1024 << shift);
        let incompatible = u32_le(block, 0x60)?;
        let high = if incompatible & IS_64_BIT == 0 {
            0
        } else {
            u32_le(block, 0x150)?
        };
        let blocks = u64::from(high) << 32 | u64::from(u32_le(block, 0x04)?);
        let name = if incompatible & NOT_OF_EXT3 != 0 {
            "ext4"
        } else if u32_le(block, 0x5c)? & HAS_JOURNAL != 0 {
            "ext3"
        } else {
            "ext2"
        };
        Some(Ext {
            name,
            block: size,
            total: Bytes(blocks.checked_mul(size.get())?),
            stripe_width: Bytes(u64::from(u32_le(block, 0x170)?) * size.get()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_gives_block_size_and_stripe() {
        let mut head = vec![0; 4096];
        head[1024 + 0x38..][..2].copy_from_slice(&[0x53, 0xef]);
        head[1024 + 0x18] = 2;
        head[1024 + 5] = 1;
        head[1024 + 0x60] = 0x40;
        head[1024 + 0x171] = 4;
        let fs = Ext::parse(&head).unwrap();
        assert_eq!((fs.name, fs.block), ("ext4", Bytes::kib(4)));
        assert_eq!(fs.total, Bytes::mib(1));
        assert_eq!(fs.stripe_width, Bytes::mib(4));
        head[1024 + 0x18] = 7;
        assert_eq!(Ext::parse(&head), None);
        assert_eq!(Ext::parse(&head[..2047]), None);
    }
}

//! The superblock of F2FS (Linux `include/linux/f2fs_fs.h`, `struct f2fs_super_block`).

use super::bytes::{u32_le, u64_le};
use crate::units::Bytes;

/// Where the first copy lies.
pub const SUPERBLOCK_AT: usize = 1024;

/// Its first bytes.
pub const MAGIC: u32 = 0xf2f5_2010;

/// An F2FS file system, as its superblock describes it. Offsets count from the partition's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F2fs {
    /// Bytes of one block.
    pub block: Bytes,
    /// What is cleaned as one.
    pub section: Bytes,
    /// Where the main area, the segments for data and nodes, begins.
    pub data_at: Bytes,
    /// The size of the whole.
    pub total: Bytes,
}

impl F2fs {
    /// Read the first bytes of a partition; `None` when no superblock of F2FS is among them.
    pub fn parse(head: &[u8]) -> Option<F2fs> {
        let block = head.get(SUPERBLOCK_AT..)?;
        if u32_le(block, 0)? != MAGIC {
            return None;
        }
        let shift = u32_le(block, 16)?;
        let per_segment = u32_le(block, 20)?;
        // Blocks of one page, 4 to 64 KiB; segments of 512 blocks (`F2FS_MIN_LOG_SECTOR_SIZE` and
        // the checks in fs/f2fs/super.c).
        if !(12..=16).contains(&shift) || per_segment != 9 {
            return None;
        }
        let blocks = |count: u64| count.checked_mul(1 << shift).map(Bytes);
        Some(F2fs {
            block: Bytes(1 << shift),
            section: blocks(u64::from(u32_le(block, 24)?) << per_segment)?,
            data_at: blocks(u32_le(block, 92)?.into())?,
            total: blocks(u64_le(block, 36)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_area_is_found() {
        let mut head = vec![0; 4096];
        head[1024..1028].copy_from_slice(&MAGIC.to_le_bytes());
        head[1024 + 16] = 12;
        head[1024 + 20] = 9;
        head[1024 + 24] = 6;
        head[1024 + 93] = 0x28;
        let fs = F2fs::parse(&head).unwrap();
        assert_eq!(fs.section, Bytes::mib(12));
        assert_eq!(fs.data_at, Bytes(0x2800 * 4096));
        head[1024 + 16] = 64;
        assert_eq!(F2fs::parse(&head), None);
        assert_eq!(F2fs::parse(&head[..1040]), None);
    }
}

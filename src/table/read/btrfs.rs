//! The superblock of Btrfs ("On-disk format" of the btrfs documentation, `struct
//! btrfs_super_block`).
//!
//! Btrfs has no data area: it allocates chunks where it likes. The superblock carries the chunks of
//! the chunk tree itself, and those of a fresh file system lie one behind the other in steps of
//! 8 MiB; so the first of them tells how all of them lie.

use super::bytes::{stands, u16_le, u32_le, u64_le};
use crate::units::Bytes;

/// Where the first copy lies.
pub const SUPERBLOCK_AT: usize = 64 << 10;

/// A Btrfs file system, as its superblock describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Btrfs {
    /// Bytes of one sector, the unit of data.
    pub block: Bytes,
    /// Bytes of one node, the unit of metadata.
    pub node: Bytes,
    /// The size of all devices together.
    pub total: Bytes,
    /// How many devices it spans.
    pub devices: u64,
    /// Where the first system chunk lies on this device, when it can be told. `None` too where data and
    /// metadata share their block groups: those are of any size, so one says nothing of the next.
    pub chunk_at: Option<Bytes>,
}

/// The chunk array in the superblock: where it lies and how long it can be.
const CHUNKS_AT: usize = 0x32b;
const CHUNKS_LENGTH: usize = 2048;

/// Features that a reader must know ("On-disk format", superblock), and the one of mixed block groups
/// (`BTRFS_FEATURE_INCOMPAT_MIXED_GROUPS` in Linux `include/uapi/linux/btrfs.h`).
const INCOMPATIBLE_AT: usize = 0xbc;
const MIXED_GROUPS: u64 = 1 << 2;

/// A key of 17 bytes, a chunk of 48, and its stripes of 32 each.
const KEY: usize = 17;
const CHUNK: usize = 48;
const STRIPE: usize = 32;

impl Btrfs {
    /// Read the first bytes of a partition; `None` when no superblock of Btrfs is among them.
    pub fn parse(head: &[u8]) -> Option<Btrfs> {
        let block = head.get(SUPERBLOCK_AT..)?;
        if !stands(block, 0x40, b"_BHRfS_M") {
            return None;
        }
        let sector = u32_le(block, 0x90)?;
        let node = u32_le(block, 0x94)?;
        let is_mixed = u64_le(block, INCOMPATIBLE_AT)? & MIXED_GROUPS != 0;
        if !(sector.is_power_of_two() && (4096..=65536).contains(&sector)) {
            return None;
        }
        Some(Btrfs {
            block: Bytes(sector.into()),
            node: Bytes(node.into()),
            total: Bytes(u64_le(block, 0x70)?),
            devices: u64_le(block, 0x88)?,
            chunk_at: chunk(block).filter(|_| !is_mixed),
        })
    }
}

/// The place of the first stripe on this device.
fn chunk(block: &[u8]) -> Option<Bytes> {
    let taken = usize::try_from(u32_le(block, 0xa0)?).ok()?;
    let chunks = block.get(CHUNKS_AT..CHUNKS_AT + taken.min(CHUNKS_LENGTH))?;
    // The device's own number stands in its item.
    let device = u64_le(block, 0xc9)?;
    let stripes = usize::from(u16_le(chunks, KEY + 44)?);
    (0..stripes.min(CHUNKS_LENGTH / STRIPE))
        .map(|index| KEY + CHUNK + index * STRIPE)
        .find(|at| u64_le(chunks, *at) == Some(device))
        .and_then(|at| u64_le(chunks, at + 8))
        .map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_system_chunk_is_found() {
        let mut head = vec![0; 72 << 10];
        let b = &mut head[SUPERBLOCK_AT..];
        b[0x40..0x48].copy_from_slice(b"_BHRfS_M");
        b[0x91] = 0x10;
        b[0x95] = 0x40;
        b[0xa0] = 129;
        b[0xc9] = 1;
        b[CHUNKS_AT + KEY + 44] = 2;
        b[CHUNKS_AT + KEY + CHUNK] = 9;
        b[CHUNKS_AT + KEY + CHUNK + STRIPE] = 1;
        b[CHUNKS_AT + KEY + CHUNK + STRIPE + 8..][..8]
            .copy_from_slice(&(21u64 << 20).to_le_bytes());
        let fs = Btrfs::parse(&head).unwrap();
        assert_eq!(fs.chunk_at, Some(Bytes::mib(21)));
        assert_eq!((fs.block, fs.node), (Bytes::kib(4), Bytes::kib(16)));
        head[SUPERBLOCK_AT + INCOMPATIBLE_AT] = 4;
        assert_eq!(Btrfs::parse(&head).unwrap().chunk_at, None);
        head[SUPERBLOCK_AT + INCOMPATIBLE_AT] = 0;
        head[SUPERBLOCK_AT + CHUNKS_AT + KEY + 45] = 255;
        head[SUPERBLOCK_AT + 0xc9] = 7;
        assert_eq!(Btrfs::parse(&head).unwrap().chunk_at, None);
    }
}

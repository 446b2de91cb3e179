//! Marks of what is seldom found on a stick: file systems of other systems, of clusters and of
//! read-only media, and layers of storage. Any of them would be recognised in a new partition.

use super::super::bytes::{stands, u16_le, u32_be, u32_le};
use super::SignatureKind::{self, FileSystem, PartitionTable, Raid, Swap, Volume};
use super::fixed::{Fixed, fixed};
use super::probe::Probe;
use crate::device::AccessError;
use crate::units::Bytes;

/// As `fixed::FIXED`. Sources: Linux `include/uapi/linux/magic.h` and the headers beside each file
/// system (cramfs, romfs, ubifs, bfs, befs, ocfs2 `ocfs2_fs.h` with its superblock in block 2 of
/// 512 to 4096 bytes, zonefs, reiser4), UBI `ubi-media.h`, device-mapper documentation (snapshot,
/// verity, integrity), DRBD proxy and VDO volume headers, Ceph "BlueStore" device label, Stratis
/// "on-disk format" 3 (both copies of the signature block), VMFS volume and file system headers,
/// Oracle ASM disk header, Veritas VxFS superblock (1 KiB little-endian, 8 KiB big-endian), OS/2 HPFS
/// superblock in sector 16, Windows `ReFS` boot sector, Highpoint BIOS RAID block in sector 9, and
/// BSD, SGI, AIX and ULTRIX disk labels. Each but those of BeOS, BSD, SGI, Stratis and ReiserFS, which ask
/// for more than the magic, was checked against what wipefs of util-linux 2.38 recognises.
pub(super) const FIXED: &[Fixed] = &[
    fixed("reiser4", FileSystem, 64 << 10, b"ReIsEr4"),
    fixed("ReiserFS", FileSystem, (8 << 10) + 52, b"ReIsEr"),
    number("cramfs", FileSystem, 0, &0x28cd_3d45_u32.to_le_bytes()),
    number("cramfs", FileSystem, 0, &0x28cd_3d45_u32.to_be_bytes()),
    fixed("romfs", FileSystem, 0, b"-rom1fs-"),
    fixed("SquashFS", FileSystem, 0, b"sqsh"),
    fixed("zonefs", FileSystem, 0, b"SFOZ"),
    number("UBIFS", FileSystem, 0, &0x0610_1831_u32.to_le_bytes()),
    fixed("UBI", Volume, 0, b"UBI#"),
    number("BFS", FileSystem, 0, &0x1bad_face_u32.to_le_bytes()),
    fixed("BeFS", FileSystem, 32, b"BFS1"),
    fixed("BeFS", FileSystem, 32, b"1SFB"),
    fixed("BeFS", FileSystem, 512 + 32, b"BFS1"),
    fixed("BeFS", FileSystem, 512 + 32, b"1SFB"),
    fixed("ReFS", FileSystem, 3, b"ReFS\0"),
    number("HPFS", FileSystem, 8 << 10, &0xf995_e849_u32.to_le_bytes()),
    fixed("NSS", FileSystem, 4 << 10, b"SPB5"),
    fixed("OCFS2", FileSystem, 1 << 10, b"OCFSV2"),
    fixed("OCFS2", FileSystem, 2 << 10, b"OCFSV2"),
    fixed("OCFS2", FileSystem, 4 << 10, b"OCFSV2"),
    fixed("OCFS2", FileSystem, 8 << 10, b"OCFSV2"),
    number("VxFS", FileSystem, 1 << 10, &0xa501_fcf5_u32.to_le_bytes()),
    number("VxFS", FileSystem, 8 << 10, &0xa501_fcf5_u32.to_be_bytes()),
    number("VMFS", FileSystem, 2 << 20, &0x2fab_f15e_u32.to_le_bytes()),
    fixed("mpool", FileSystem, 0, b"mpoolDev"),
    number(
        "VMFS volume",
        Volume,
        1 << 20,
        &0xc001_d00d_u32.to_le_bytes(),
    ),
    fixed("Oracle ASM", Volume, 32, b"ORCLDISK"),
    fixed("BlueStore", Volume, 0, b"bluestore block device"),
    fixed("LVM1 physical volume", Volume, 0, b"HM\x01\0"),
    fixed("LVM1 physical volume", Volume, 0, b"HM\x02\0"),
    fixed("snapshot store", Volume, 0, b"SnAp"),
    fixed("dm-verity", Volume, 0, b"verity\0\0"),
    fixed("dm-integrity", Volume, 0, b"integrt\0"),
    fixed("VDO", Volume, 0, b"dmvdo001"),
    fixed("DRBD proxy", Volume, 0, b"DRBDdlh*"),
    fixed("Stratis", Volume, 512 + 4, STRATIS),
    fixed("Stratis", Volume, 9 * 512 + 4, STRATIS),
    fixed(
        "hibernated system",
        Swap,
        0,
        b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c",
    ),
    number(
        "Highpoint RAID",
        Raid,
        HIGHPOINT_37,
        &0x5a78_16f0_u32.to_le_bytes(),
    ),
    number(
        "Highpoint RAID",
        Raid,
        HIGHPOINT_37,
        &0x5a78_16fd_u32.to_le_bytes(),
    ),
    number("BSD disklabel", PartitionTable, 512, &BSD.to_le_bytes()),
    number("BSD disklabel", PartitionTable, 512, &BSD.to_be_bytes()),
    number("BSD disklabel", PartitionTable, 64, &BSD.to_le_bytes()),
    number(
        "SGI volume header",
        PartitionTable,
        0,
        &0x0be5_a941_u32.to_be_bytes(),
    ),
    fixed("AIX label", PartitionTable, 0, b"\xc9\xc2\xd4\xc1"),
    number(
        "ULTRIX label",
        PartitionTable,
        (16 << 10) - 72,
        &0x0003_2957_u32.to_le_bytes(),
    ),
];

const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";
const BSD: u32 = 0x8256_4557;
const HIGHPOINT_37: u64 = 9 * 512 + 32;

/// A number on the disk, in the byte order that it is given in.
const fn number(
    name: &'static str,
    kind: SignatureKind,
    at: u64,
    magic: &'static [u8; 4],
) -> Fixed {
    fixed(name, kind, at, magic)
}

/// Marks of two bytes, or whose meaning hangs on what stands beside them.
pub(super) fn probe(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    ufs(probe)?;
    gfs(probe)?;
    minix(probe)?;
    hfs(probe)?;
    nilfs(probe)?;
    sysv(probe)?;
    sun(probe)
}

/// The superblock of UFS1 or UFS2 lies at one of four places, in the byte order of the machine that
/// made it (`sys/ufs/ffs/fs.h` of the BSDs: `SBLOCKSEARCH`, magic at 1372).
fn ufs(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const MAGICS: [u32; 2] = [0x0001_1954, 0x1954_0119];
    for kib in [0u64, 8, 64, 256] {
        let at = Bytes((kib << 10) + 1372);
        let word = probe.bytes(at, Bytes(4))?;
        let is_magic = |number: Option<u32>| number.is_some_and(|number| MAGICS.contains(&number));
        if is_magic(u32_le(&word, 0)) || is_magic(u32_be(&word, 0)) {
            probe.note_magic("UFS", FileSystem, at, 4);
        }
    }
    Ok(())
}

/// GFS and GFS2: the magic begins every block of theirs; a superblock is of type 1
/// (`include/uapi/linux/gfs2_ondisk.h`).
fn gfs(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let at = Bytes(64 << 10);
    let head = probe.bytes(at, Bytes(8))?;
    if u32_be(&head, 0) == Some(0x0116_1970) && u32_be(&head, 4) == Some(1) {
        probe.note_magic("GFS2", FileSystem, at, 4);
    }
    Ok(())
}

/// Minix 1 to 3 (`include/uapi/linux/minix_fs.h`): two bytes of magic, so the maps of inodes and
/// zones must be there as well.
fn minix(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let superblock = probe.bytes(Bytes(1024), Bytes(32))?;
    let has_maps = |inodes, zones| {
        u16_le(&superblock, inodes).is_some_and(|blocks| blocks > 0)
            && u16_le(&superblock, zones).is_some_and(|blocks| blocks > 0)
    };
    let old = u16_le(&superblock, 16)
        .is_some_and(|magic| matches!(magic, 0x137f | 0x138f | 0x2468 | 0x2478));
    if old && has_maps(4, 6) {
        probe.note_magic("Minix", FileSystem, Bytes(1024 + 16), 2);
    } else if u16_le(&superblock, 24) == Some(0x4d5a) && has_maps(6, 8) {
        probe.note_magic("Minix", FileSystem, Bytes(1024 + 24), 2);
    }
    Ok(())
}

/// HFS as it was before HFS+ ("Inside Macintosh: Files", master directory block), with allocation
/// blocks of whole sectors.
fn hfs(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let block = probe.bytes(Bytes(1024), Bytes(24))?;
    if stands(&block, 0, b"BD")
        && u32_be(&block, 20).is_some_and(|size| size > 0 && size.is_multiple_of(512))
    {
        probe.note_magic("HFS", FileSystem, Bytes(1024), 2);
    }
    Ok(())
}

/// NILFS2 (`include/uapi/linux/nilfs2_ondisk.h`): two bytes of magic behind revision 2; the second
/// superblock lies in the last whole block of 4 KiB.
fn nilfs(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const BLOCK: u64 = 4096;
    let second = (probe.length().get() / BLOCK).saturating_sub(1) * BLOCK;
    for (name, at) in [("NILFS2", 1024), ("NILFS2 second superblock", second)] {
        let head = probe.bytes(Bytes(at), Bytes(8))?;
        if u32_le(&head, 0) == Some(2) && u16_le(&head, 6) == Some(0x3434) {
            probe.note_magic(name, FileSystem, Bytes(at + 6), 2);
        }
    }
    Ok(())
}

/// System V and its relatives (`include/linux/sysv_fs.h`): the magic at 0x1f8 of the superblock in
/// sector 1, followed by the type of its blocks, 1 to 3.
fn sysv(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let at = Bytes(512 + 0x1f8);
    let words = probe.bytes(at, Bytes(8))?;
    let is_magic = |number| number == Some(0xfd18_7e20);
    let is_type = |number: Option<u32>| number.is_some_and(|kind| (1..=3).contains(&kind));
    if is_magic(u32_le(&words, 0)) && is_type(u32_le(&words, 4))
        || is_magic(u32_be(&words, 0)) && is_type(u32_be(&words, 4))
    {
        probe.note_magic("System V", FileSystem, at, 4);
    }
    Ok(())
}

/// A Sun disk label: the magic, and an exclusive or of all its words that is zero
/// (`block/partitions/sun.c`).
fn sun(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const MAGIC_AT: usize = 508;
    let label = probe.bytes(Bytes::ZERO, Bytes(512))?;
    let sum = label
        .as_chunks::<2>()
        .0
        .iter()
        .fold(0, |sum, word| sum ^ u16::from_be_bytes(*word));
    if stands(&label, MAGIC_AT, &[0xda, 0xbe]) && sum == 0 {
        probe.note_magic("Sun label", PartitionTable, Bytes(MAGIC_AT as u64), 2);
    }
    Ok(())
}

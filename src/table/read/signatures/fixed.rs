//! Marks at a fixed distance from the start of the thing.

use super::super::bytes::{stands, u32_le, u64_le};
use super::super::ext::{Ext, SUPERBLOCK_AT};
use super::super::fat::Fat;
use super::SignatureKind::{self, Encrypted, FileSystem, Raid, Swap, Volume};
use super::foreign;
use super::probe::Probe;
use crate::device::AccessError;
use crate::units::Bytes;

/// A mark that its bytes alone prove.
pub(super) struct Fixed {
    pub(super) name: &'static str,
    pub(super) kind: SignatureKind,
    pub(super) at: u64,
    pub(super) magic: &'static [u8],
}

pub(super) const fn fixed(
    name: &'static str,
    kind: SignatureKind,
    at: u64,
    magic: &'static [u8],
) -> Fixed {
    Fixed {
        name,
        kind,
        at,
        magic,
    }
}

/// Sources: exFAT specification 3.1.2 and 2.1 (second boot region at sector 12); NTFS and BitLocker:
/// Windows boot sectors, OEM name at offset 3; Linux headers: f2fs `include/linux/f2fs_fs.h`
/// (superblock at 1024, second copy one 4096-byte block later), XFS `fs/xfs/libxfs/xfs_format.h`,
/// btrfs "On-disk format" (superblocks at 64 KiB, 64 MiB and 256 GiB, magic at +64), EROFS
/// `fs/erofs/erofs_fs.h`, SquashFS `include/uapi/linux/magic.h`, ReiserFS and JFS the same,
/// bcache and bcachefs `bcache_ondisk.h` (superblock in sector 8, magic at +24), LUKS
/// "On-Disk Format Specification" 1.2.3 and "LUKS2 On-Disk Format Specification" 2.1 (second headers),
/// LVM2 `lib/format_text/layout.h` and `label.h` (label in one of the first four sectors); APFS
/// "Apple File System Reference" (`NXSB` at 32); HFS and HFS+ Apple TN1150 (volume header at 1024);
/// UDF ECMA-167 2/8 (descriptors from 32 KiB on in steps of 2048).
const FIXED: &[Fixed] = &[
    fixed("exFAT", FileSystem, 3, b"EXFAT   "),
    fixed(
        "exFAT second boot sector",
        FileSystem,
        12 * 512 + 3,
        b"EXFAT   ",
    ),
    fixed(
        "exFAT second boot sector",
        FileSystem,
        12 * 4096 + 3,
        b"EXFAT   ",
    ),
    fixed("NTFS", FileSystem, 3, b"NTFS    "),
    fixed("BitLocker", Encrypted, 3, b"-FVE-FS-"),
    fixed("F2FS", FileSystem, 1024, &0xf2f5_2010_u32.to_le_bytes()),
    fixed(
        "F2FS second superblock",
        FileSystem,
        5120,
        &0xf2f5_2010_u32.to_le_bytes(),
    ),
    fixed("XFS", FileSystem, 0, b"XFSB"),
    fixed("Btrfs", FileSystem, (64 << 10) + 64, b"_BHRfS_M"),
    fixed(
        "Btrfs second superblock",
        FileSystem,
        (64 << 20) + 64,
        b"_BHRfS_M",
    ),
    fixed(
        "Btrfs third superblock",
        FileSystem,
        (256 << 30) + 64,
        b"_BHRfS_M",
    ),
    fixed("EROFS", FileSystem, 1024, &0xe0f5_e1e2_u32.to_le_bytes()),
    fixed("SquashFS", FileSystem, 0, b"hsqs"),
    fixed("JFS", FileSystem, 32 << 10, b"JFS1"),
    fixed("ReiserFS", FileSystem, (64 << 10) + 52, b"ReIsEr"),
    fixed("APFS", FileSystem, 32, b"NXSB"),
    fixed("HFS+", FileSystem, 1024, b"H+\0\x04"),
    fixed("HFSX", FileSystem, 1024, b"HX\0\x05"),
    fixed("LUKS1", Encrypted, 0, b"LUKS\xba\xbe\0\x01"),
    fixed("LUKS2", Encrypted, 0, b"LUKS\xba\xbe\0\x02"),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x4000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x8000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x1_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x2_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x4_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x8_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x10_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x20_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed(
        "LUKS2 second header",
        Encrypted,
        0x40_0000,
        b"SKUL\xba\xbe\0\x02",
    ),
    fixed("bcache", Volume, 4096 + 24, &BCACHE),
    fixed("bcachefs", FileSystem, 4096 + 24, &BCACHEFS),
];

const BCACHE: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

/// The magic of Linux software RAID (`include/uapi/linux/raid/md_p.h`).
pub(super) const MD_MAGIC: u32 = 0xa92b_4efc;

/// Page sizes that swap space is made with; its magic ends the first page (`mm/swapfile.c`).
const PAGES: [u64; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

pub(super) fn probe(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for mark in FIXED.iter().chain(foreign::FIXED) {
        let length = mark.magic.len();
        if probe.bytes(Bytes(mark.at), Bytes(length as u64))? == mark.magic {
            probe.note_magic(mark.name, mark.kind, Bytes(mark.at), length);
        }
    }
    fat(probe)?;
    ext(probe)?;
    swap(probe)?;
    lvm(probe)?;
    md(probe)?;
    foreign::probe(probe)?;
    optical(probe)
}

/// FAT has no magic: its boot sector has to make sense. The words `FAT16` and `FAT32` in it are
/// looked at as well, since others go by them alone.
fn fat(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let boot = probe.bytes(Bytes::ZERO, Bytes(512))?;
    match Fat::parse(&boot) {
        Some(fat) => {
            probe.note_magic(fat.name(), FileSystem, Bytes::ZERO, boot.len());
            if let Some(at) = fat.backup_at {
                let copy = probe.bytes(at, Bytes(512))?;
                if Fat::parse(&copy).is_some() {
                    probe.note_magic("FAT32 second boot sector", FileSystem, at, copy.len());
                }
            }
        }
        None => {
            for (name, at, word) in [
                ("FAT12", 0x36, b"FAT12   "),
                ("FAT16", 0x36, b"FAT16   "),
                ("FAT32", 0x52, b"FAT32   "),
            ] {
                if stands(&boot, at, word) {
                    probe.note_magic(name, FileSystem, Bytes(at as u64), word.len());
                }
            }
        }
    }
    Ok(())
}

/// A superblock that contradicts itself still carries the magic that others go by.
fn ext(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const MAGIC_AT: usize = 0x38;
    let head = probe.bytes(Bytes::ZERO, Bytes(2048))?;
    let at = SUPERBLOCK_AT + MAGIC_AT;
    if stands(&head, at, &[0x53, 0xef]) {
        let name = Ext::parse(&head).map_or("ext", |fs| fs.name);
        probe.note_magic(name, FileSystem, Bytes(at as u64), 2);
    }
    Ok(())
}

fn swap(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for page in PAGES {
        let at = Bytes(page - 10);
        let magic = probe.bytes(at, Bytes(10))?;
        let name = match magic.as_slice() {
            b"SWAPSPACE2" | b"SWAP-SPACE" => "swap",
            b"S1SUSPEND\0" | b"S2SUSPEND\0" | b"ULSUSPEND\0" | b"LINHIB0001" => "hibernated system",
            _ => continue,
        };
        probe.note_magic(name, Swap, at, magic.len());
    }
    Ok(())
}

fn lvm(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for sector in 0..4u64 {
        let label = probe.bytes(Bytes(sector * 512), Bytes(32))?;
        if stands(&label, 0, b"LABELONE") && stands(&label, 24, b"LVM2 001") {
            probe.note_magic("LVM2 physical volume", Volume, Bytes(sector * 512), 8);
        }
    }
    Ok(())
}

/// md superblocks of version 1.1 (at the start) and 1.2 (4 KiB behind it).
fn md(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for (name, at) in [("md RAID 1.1", 0u64), ("md RAID 1.2", 4096)] {
        let block = probe.bytes(Bytes(at), Bytes(256))?;
        if is_md_1(&block, at / 512) {
            probe.note_magic(name, Raid, Bytes(at), 4);
        }
    }
    Ok(())
}

/// A version-1 superblock notes the sector that it lies in (`super_offset`).
pub(super) fn is_md_1(block: &[u8], sector: u64) -> bool {
    u32_le(block, 0) == Some(MD_MAGIC)
        && u32_le(block, 4) == Some(1)
        && u64_le(block, 144) == Some(sector)
}

/// The volume descriptors of ISO 9660 (ECMA-119, section 7.1.1: from sector 16 on) and UDF, in steps
/// of 2048 bytes.
fn optical(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    /// More than any disc has; the set ends at the first place that holds none.
    const MOST: u64 = 16;
    // The forerunner of ISO 9660 has its word eight bytes later.
    let high_sierra = Bytes((32 << 10) + 9);
    if probe.bytes(high_sierra, Bytes(5))? == b"CDROM" {
        probe.note_magic("High Sierra", FileSystem, high_sierra, 5);
    }
    for index in 0..MOST {
        let at = Bytes((32 << 10) + index * 2048 + 1);
        let word = probe.bytes(at, Bytes(5))?;
        let name = match word.as_slice() {
            b"CD001" => "ISO9660",
            b"BEA01" | b"NSR02" | b"NSR03" | b"TEA01" => "UDF",
            _ => break,
        };
        probe.note_magic(name, FileSystem, at, word.len());
    }
    Ok(())
}

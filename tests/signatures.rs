//! What the real tools write is found, and with the listed blocks zeroed nobody recognises it any
//! more: util-linux' wipefs is the judge.

// Helpers of a test may fail and speak as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "signatures/foreign.rs"]
mod foreign;

use common::need;
use flashfit::device::image;
use flashfit::device::{AlignedBuffer, ReadDevice};
use flashfit::table::read::{Signature, SignatureKind, signatures};
use flashfit::units::{ByteRange, Bytes, LogicalBlock, MIB};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A sparse image of this many MiB.
fn blank(folder: &Path, mib: u64) -> std::path::PathBuf {
    let path = folder.join("image");
    File::create(&path).unwrap().set_len(mib * MIB).unwrap();
    path
}

fn run(tool: &str, words: &[&str], image: &Path, input: &str) {
    let mut child = Command::new(common::tool(tool).unwrap())
        .args(words)
        .arg(image)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A tool that asks nothing may be gone before the input is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = child.wait_with_output().unwrap();
    assert!(
        done.status.success(),
        "{tool}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn found(path: &Path, block: LogicalBlock) -> Vec<Signature> {
    let mut device = image::open(path, block).unwrap();
    let whole = ByteRange {
        from: Bytes::ZERO,
        to: device.capacity(),
    };
    signatures(&mut device, &[whole]).unwrap()
}

fn names(found: &[Signature]) -> Vec<&'static str> {
    found.iter().map(|signature| signature.name).collect()
}

/// Offsets that wipefs reports.
fn offsets(path: &Path) -> Vec<u64> {
    let read = Command::new(common::tool("wipefs").unwrap())
        .args(["--no-act", "--parsable"])
        .arg(path)
        .output()
        .unwrap();
    assert!(read.status.success());
    String::from_utf8(read.stdout)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let offset = line.split(',').next().unwrap();
            u64::from_str_radix(offset.strip_prefix("0x").unwrap(), 16).unwrap()
        })
        .collect()
}

fn wipe(path: &Path, found: &[Signature]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    for signature in found {
        let length = usize::try_from(signature.wipe.length().get()).unwrap();
        file.write_all_at(&vec![0; length], signature.wipe.from.get())
            .unwrap();
    }
}

/// Make something with a real tool; it must be found under these names, and be gone after the wipe.
fn check(tool: &str, mib: u64, words: &[&str], input: &str, expected: &[&str]) {
    if !(need(tool) && need("wipefs")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = blank(folder.path(), mib);
    run(tool, words, &path, input);
    for block in [LogicalBlock::B512, LogicalBlock::B4096] {
        let found = found(&path, block);
        assert_eq!(names(&found), expected, "{tool} {words:?}");
        for offset in offsets(&path) {
            assert!(
                found.iter().any(|signature| {
                    (signature.wipe.from.get()..signature.wipe.to.get()).contains(&offset)
                }),
                "{tool}: wipefs sees something at {offset:#x}, and {found:?} does not cover it"
            );
        }
        for signature in &found {
            let unit = block.bytes();
            assert!(signature.wipe.from.is_multiple_of(unit));
            assert!(signature.wipe.to.is_multiple_of(unit));
            assert!(signature.wipe.from <= signature.at && signature.at < signature.wipe.to);
        }
        if block == LogicalBlock::B4096 {
            continue;
        }
        let copy = folder.path().join("wiped");
        std::fs::copy(&path, &copy).unwrap();
        wipe(&copy, &found);
        assert_eq!(offsets(&copy), [] as [u64; 0], "{tool} {words:?}");
        assert_eq!(names(&self::found(&copy, block)), [] as [&str; 0]);
    }
}

#[test]
fn file_systems_of_the_real_tools_are_found_and_gone_after_the_wipe() {
    let fat = |bits| ["-F", bits];
    check("mkfs.fat", 16, &fat("12"), "", &["FAT12"]);
    check("mkfs.fat", 64, &fat("16"), "", &["FAT16"]);
    let fat32 = ["FAT32", "FAT32 second boot sector"];
    check("mkfs.fat", 64, &fat("32"), "", &fat32);
    let exfat = ["exFAT", "exFAT second boot sector"];
    check("mkfs.exfat", 64, &[], "", &exfat);
    check("mkfs.ext2", 64, &["-q", "-F"], "", &["ext2"]);
    check("mkfs.ext3", 64, &["-q", "-F"], "", &["ext3"]);
    check("mkfs.ext4", 64, &["-q", "-F"], "", &["ext4"]);
    let f2fs = ["F2FS", "F2FS second superblock"];
    check("mkfs.f2fs", 256, &["-q", "-f"], "", &f2fs);
    let btrfs = ["Btrfs", "Btrfs second superblock"];
    check("mkfs.btrfs", 256, &["-q", "-f"], "", &btrfs);
    check("mkfs.xfs", 320, &["-q", "-f"], "", &["XFS"]);
    let ntfs = ["NTFS", "NTFS second boot sector"];
    check("mkfs.ntfs", 64, &["-Q", "-F", "-q"], "", &ntfs);
    check("mkswap", 64, &[], "", &["swap"]);
    check("mkswap", 64, &["--pagesize", "65536"], "", &["swap"]);
}

#[test]
fn tables_of_the_real_tools_are_found_with_all_their_copies() {
    check("sfdisk", 64, &["-q"], "label: dos\n,,c\n", &["MBR"]);
    check("sfdisk", 64, &["-q"], "label: dos\n", &["MBR"]);
    let gpt = ["MBR", "GPT", "GPT backup"];
    check("sfdisk", 64, &["-q"], "label: gpt\n,,L\n", &gpt);
    check("sgdisk", 64, &["-o", "-n", "1:0:0"], "", &gpt);
}

#[test]
fn a_superfloppy_under_a_new_table_is_found_beside_it() {
    if !(need("mkfs.fat") && need("sfdisk") && need("wipefs")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = blank(folder.path(), 64);
    run("mkfs.fat", &["--mbr=no"], &path, "");
    assert_eq!(names(&found(&path, LogicalBlock::B512)), ["FAT16"]);
    run("sfdisk", &["-q", "--wipe", "never"], &path, ",,c\n");
    let both = found(&path, LogicalBlock::B512);
    assert_eq!(names(&both), ["FAT16", "MBR"]);
    // The boot sector with an entry for itself is no table.
    let path = blank(folder.path(), 64);
    run("mkfs.fat", &["--mbr=yes"], &path, "");
    assert_eq!(names(&found(&path, LogicalBlock::B512)), ["FAT16"]);
}

#[test]
fn a_gpt_of_a_smaller_image_is_found_with_its_backup_in_between() {
    if !need("sfdisk") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = blank(folder.path(), 64);
    run("sfdisk", &["-q"], &path, "label: gpt\n,,L\n");
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(96 * MIB)
        .unwrap();
    let all = found(&path, LogicalBlock::B512);
    assert_eq!(names(&all), ["MBR", "GPT", "GPT backup"]);
    assert_eq!(all[2].at, Bytes(64 * MIB - 512));
}

/// What no tool on this machine writes, byte by byte as its format says.
#[test]
fn marks_are_found_where_their_formats_put_them() {
    const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
    let size = 64 * MIB;
    let md1 = |sector: u64| {
        let mut block = vec![0; 256];
        block[..4].copy_from_slice(&MD);
        block[4] = 1;
        block[144..152].copy_from_slice(&sector.to_le_bytes());
        block
    };
    let lvm = |sector: u8| {
        let mut label = vec![0; 32];
        label[..8].copy_from_slice(b"LABELONE");
        label[8] = sector;
        label[24..].copy_from_slice(b"LVM2 001");
        label
    };
    let end_1_0 = size / 512 - 16;
    let end_0_90 = size - (64 << 10);
    let cases: Vec<(&str, SignatureKind, u64, u64, Vec<u8>)> = vec![
        (
            "LUKS1",
            SignatureKind::Encrypted,
            0,
            0,
            b"LUKS\xba\xbe\0\x01".to_vec(),
        ),
        (
            "LUKS2",
            SignatureKind::Encrypted,
            0,
            0,
            b"LUKS\xba\xbe\0\x02".to_vec(),
        ),
        (
            "LUKS2 second header",
            SignatureKind::Encrypted,
            0x4000,
            0x4000,
            b"SKUL\xba\xbe\0\x02".to_vec(),
        ),
        (
            "LUKS2 second header",
            SignatureKind::Encrypted,
            0x40_0000,
            0x40_0000,
            b"SKUL\xba\xbe\0\x02".to_vec(),
        ),
        (
            "LVM2 physical volume",
            SignatureKind::Volume,
            512,
            512,
            lvm(1),
        ),
        ("md RAID 1.1", SignatureKind::Raid, 0, 0, md1(0)),
        ("md RAID 1.2", SignatureKind::Raid, 4096, 4096, md1(8)),
        (
            "md RAID 1.0",
            SignatureKind::Raid,
            end_1_0 * 512,
            end_1_0 * 512,
            md1(end_1_0),
        ),
        (
            "md RAID 0.90",
            SignatureKind::Raid,
            end_0_90,
            end_0_90,
            [&MD[..], &[0; 4]].concat(),
        ),
        (
            "ISO9660",
            SignatureKind::FileSystem,
            0x8001,
            0x8001,
            b"CD001".to_vec(),
        ),
        (
            "Apple driver descriptor",
            SignatureKind::PartitionTable,
            0,
            0,
            b"ER\x08\0".to_vec(),
        ),
        (
            "Apple partition map",
            SignatureKind::PartitionTable,
            2048,
            2048,
            b"PM\0\0\0\0\0\x01".to_vec(),
        ),
        (
            "bcache",
            SignatureKind::Volume,
            4120,
            4120,
            b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81".to_vec(),
        ),
        (
            "ZFS label",
            SignatureKind::FileSystem,
            (128 << 10) + 4096,
            (128 << 10) + 4096,
            0x00ba_b10c_u64.to_le_bytes().to_vec(),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, kind, place, at, bytes) in cases {
        let path = blank(folder.path(), size / MIB);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&bytes, place).unwrap();
        let all = found(&path, LogicalBlock::B512);
        assert_eq!(names(&all), [name]);
        assert_eq!((all[0].kind, all[0].at), (kind, Bytes(at)));
        wipe(&path, &all);
        assert_eq!(names(&found(&path, LogicalBlock::B512)), [] as [&str; 0]);
    }
}

#[test]
fn marks_are_looked_for_in_partitions_and_not_behind_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = blank(folder.path(), 64);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"XFSB", 8 * MIB).unwrap();
    let mut device = image::open(&path, LogicalBlock::B4096).unwrap();
    let mib = |from: u64, to: u64| ByteRange {
        from: Bytes::mib(from),
        to: Bytes::mib(to),
    };
    let ranges = [
        mib(0, 64),
        mib(8, 16),
        mib(8, 1 << 30),
        mib(64, 65),
        mib(9, 3),
    ];
    let all = signatures(&mut device, &ranges).unwrap();
    assert_eq!(names(&all), ["XFS"]);
    assert_eq!(all[0].at, Bytes::mib(8));
    assert_eq!(
        all[0].wipe,
        ByteRange {
            from: Bytes::mib(8),
            to: Bytes(8 * MIB + 4096)
        }
    );
    let mut buffer = AlignedBuffer::new(4096);
    device.read(all[0].wipe.from, &mut buffer).unwrap();
    assert_eq!(&buffer[..4], b"XFSB");
}

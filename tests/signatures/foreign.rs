//! Marks that no tool of the test machine writes: crafted as their formats say, and wipefs of
//! util-linux is asked whether it recognises the same thing at the same place.

use super::{blank, found, names, need, offsets, wipe};
use flashfit::table::read::SignatureKind::{self, FileSystem, PartitionTable, Raid, Swap, Volume};
use flashfit::units::{Bytes, LogicalBlock, MIB};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

const MIBS: u64 = 64;
const END: u64 = MIBS * MIB;

struct Case {
    name: &'static str,
    kind: SignatureKind,
    /// Where the magic lies.
    at: u64,
    /// What is written, and where.
    writes: Vec<(u64, Vec<u8>)>,
    /// Whether wipefs goes by these bytes alone.
    judged: bool,
}

fn case(name: &'static str, kind: SignatureKind, at: u64, magic: &[u8]) -> Case {
    Case {
        name,
        kind,
        at,
        writes: vec![(at, magic.to_vec())],
        judged: true,
    }
}

impl Case {
    fn with(mut self, at: u64, bytes: &[u8]) -> Case {
        self.writes.push((at, bytes.to_vec()));
        self
    }

    fn not_judged(mut self) -> Case {
        self.judged = false;
        self
    }
}

fn le(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn be(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn file_systems() -> Vec<Case> {
    let mut cases = vec![
        case("reiser4", FileSystem, 65536, b"ReIsEr4"),
        case("ReiserFS", FileSystem, 8192 + 52, b"ReIsErFs").not_judged(),
        case("cramfs", FileSystem, 0, &le(0x28cd_3d45)).with(16, b"Compressed ROMFS"),
        case("romfs", FileSystem, 0, b"-rom1fs-"),
        case("SquashFS", FileSystem, 0, b"sqsh").with(28, &[0, 3]),
        case("zonefs", FileSystem, 0, &le(0x5a4f_4653)),
        case("UBIFS", FileSystem, 0, &le(0x0610_1831)),
        case("BFS", FileSystem, 0, &le(0x1bad_face)),
        case("BeFS", FileSystem, 544, b"1SFB").not_judged(),
        case("ReFS", FileSystem, 3, b"ReFS\0"),
        case("HPFS", FileSystem, 8192, &le(0xf995_e849)).with(8704, &le(0xf991_1849)),
        case("NSS", FileSystem, 4096, b"SPB5"),
        case("VxFS", FileSystem, 1024, &le(0xa501_fcf5)),
        case("VxFS", FileSystem, 8192, &be(0xa501_fcf5)),
        case("VMFS", FileSystem, 2 * MIB, &le(0x2fab_f15e)),
        case("mpool", FileSystem, 0, b"mpoolDev"),
        case("GFS2", FileSystem, 65536, &be(0x0116_1970))
            .with(65540, &be(1))
            .with(65536 + 24, &[be(1801), be(1900)].concat()),
        case("HFS", FileSystem, 1024, b"BD").with(1024 + 20, &be(4096)),
        case("High Sierra", FileSystem, 32768 + 9, b"CDROM"),
        case("System V", FileSystem, 0x3f8, &le(0xfd18_7e20)).with(0x3fc, &le(2)),
    ];
    for at in [1024, 2048, 4096, 8192] {
        cases.push(case("OCFS2", FileSystem, at, b"OCFSV2"));
    }
    for kib in [0, 8, 64, 256] {
        let at = kib * 1024 + 1372;
        cases.push(case("UFS", FileSystem, at, &le(0x0001_1954)));
        cases.push(case("UFS", FileSystem, at, &be(0x1954_0119)));
    }
    for (name, superblock) in [("NILFS2", 1024), ("NILFS2 second superblock", END - 4096)] {
        let sizes = [0x34, 0x34, 24, 1];
        cases.push(
            case(name, FileSystem, superblock + 6, &sizes[..2])
                .with(superblock, &le(2))
                .with(superblock + 8, &sizes[2..]),
        );
    }
    let counts = [1000u16, 3000, 1, 1, 40].map(u16::to_le_bytes).concat();
    for magic in [0x137f_u16, 0x138f, 0x2468, 0x2478] {
        cases.push(
            case("Minix", FileSystem, 1040, &magic.to_le_bytes())
                .with(1024, &counts)
                .with(1044, &le(3000)),
        );
    }
    let counts = [1000u16, 0, 0, 1, 1, 40].map(u16::to_le_bytes).concat();
    cases.push(
        case("Minix", FileSystem, 1048, &[0x5a, 0x4d])
            .with(1024, &counts)
            .with(1044, &le(3000))
            .with(1052, &[0, 4]),
    );
    cases
}

fn layers_and_labels() -> Vec<Case> {
    let stratis = b"!Stra0tis\x86\xff\x02^\x41rh";
    vec![
        case("UBI", Volume, 0, b"UBI#"),
        case("VMFS volume", Volume, MIB, &le(0xc001_d00d)),
        case("Oracle ASM", Volume, 32, b"ORCLDISK"),
        case("BlueStore", Volume, 0, b"bluestore block device"),
        case("LVM1 physical volume", Volume, 0, b"HM\x01\0"),
        case("snapshot store", Volume, 0, b"SnAp"),
        case("dm-verity", Volume, 0, b"verity\0\0").with(8, &le(1)),
        case("dm-integrity", Volume, 0, b"integrt\0").with(8, &[1]),
        case("VDO", Volume, 0, b"dmvdo001"),
        case("DRBD proxy", Volume, 0, b"DRBDdlh*"),
        case("DRBD", Volume, END - 4096 + 60, &be(0x8374_026b)),
        case("DRBD", Volume, END - 4096 + 60, &be(0x8374_026d)),
        case("Stratis", Volume, 516, stratis).not_judged(),
        case("Stratis", Volume, 9 * 512 + 4, stratis).not_judged(),
        case(
            "hibernated system",
            Swap,
            0,
            b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c",
        ),
        case("hibernated system", Swap, 4086, b"ULSUSPEND\0"),
        case("hibernated system", Swap, 4086, b"LINHIB0001"),
        case("BSD disklabel", PartitionTable, 512, &le(0x8256_4557)).not_judged(),
        case("SGI volume header", PartitionTable, 0, &be(0x0be5_a941)).not_judged(),
        case("AIX label", PartitionTable, 0, b"\xc9\xc2\xd4\xc1"),
        case("ULTRIX label", PartitionTable, 16384 - 72, &le(0x0003_2957)).with(16316, &le(1)),
        case("Sun label", PartitionTable, 508, b"\xda\xbe\xda\xbe"),
    ]
}

fn raids() -> Vec<Case> {
    let last = END - 512;
    let mut via = [0; 51];
    via[..2].copy_from_slice(&[0x55, 0xaa]);
    via[50] = 0xff;
    let mut jmicron = vec![0; 128];
    jmicron[..4].copy_from_slice(b"JM\x01\0");
    // Makes all words add up to nothing.
    let rest = 0u16.wrapping_sub(0x4d4a + 1);
    jmicron[4..6].copy_from_slice(&rest.to_le_bytes());
    let mut cases = vec![
        case("DDF RAID", Raid, last, &be(0xde11_de11)),
        case("DDF RAID", Raid, last, &le(0xde11_de11)),
        case("DDF RAID", Raid, END - 257 * 512, &be(0xde11_de11)),
        case(
            "Intel RAID",
            Raid,
            END - 1024,
            b"Intel Raid ISM Cfg Sig. 1.3.00",
        ),
        case("LSI MegaRAID", Raid, last, b"$XIDE$"),
        case("NVIDIA RAID", Raid, END - 1024, b"NVIDIA  "),
        case("Highpoint RAID", Raid, END - 11 * 512, &le(0x5a78_16f3)),
        case("Highpoint RAID", Raid, END - 11 * 512, &le(0x5a78_16fd)),
        case("Highpoint RAID", Raid, 9 * 512 + 32, &le(0x5a78_16f0)),
        case("VIA RAID", Raid, last, &via),
        case("JMicron RAID", Raid, last, &jmicron),
        case("Adaptec RAID", Raid, last, &be(0x37fc_4d1e)).with(last + 256, b"DPTM"),
        case("Silicon Image RAID", Raid, last + 0x60, &le(0x2f00_0000)),
    ];
    for sector in [
        16, 63, 255, 256, 399, 591, 675, 735, 911, 951, 974, 991, 3087,
    ] {
        let at = END - sector * 512;
        cases.push(case("Promise RAID", Raid, at, b"Promise Technology, Inc."));
    }
    cases
}

#[test]
fn seldom_seen_marks_are_found_where_wipefs_finds_them_and_gone_after_the_wipe() {
    let judge = need("wipefs");
    let folder = tempfile::tempdir().unwrap();
    for case in file_systems()
        .into_iter()
        .chain(layers_and_labels())
        .chain(raids())
    {
        let path = blank(folder.path(), MIBS);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for (at, bytes) in &case.writes {
            file.write_all_at(bytes, *at).unwrap();
        }
        let all = found(&path, LogicalBlock::B512);
        assert_eq!(names(&all), [case.name], "at {}", case.at);
        assert_eq!((all[0].kind, all[0].at), (case.kind, Bytes(case.at)));
        if judge && case.judged {
            let seen = offsets(&path);
            assert!(!seen.is_empty(), "wipefs knows no {} like this", case.name);
            for offset in seen {
                assert!(
                    all[0].wipe.from.get() <= offset && offset < all[0].wipe.to.get(),
                    "{}: wipefs sees it at {offset:#x}",
                    case.name
                );
            }
        }
        wipe(&path, &all);
        assert_eq!(names(&found(&path, LogicalBlock::B512)), [] as [&str; 0]);
        if judge {
            assert_eq!(
                offsets(&path),
                [] as [u64; 0],
                "{} after the wipe",
                case.name
            );
        }
    }
}

#[test]
fn two_bytes_of_magic_alone_are_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = blank(folder.path(), MIBS);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for (at, bytes) in [
        (1024, &b"BD"[..]),
        (1040, &[0x7f, 0x13]),
        (1048, &[0x5a, 0x4d]),
        (1030, &[0x34, 0x34]),
        (508, &[0xda, 0xbe]),
        (END - 512, &[0x55, 0xaa]),
        (65536, &be(0x0116_1970)),
    ] {
        file.write_all_at(bytes, at).unwrap();
    }
    assert_eq!(names(&found(&path, LogicalBlock::B512)), [] as [&str; 0]);
}

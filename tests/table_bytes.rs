//! The bytes of rendered tables: what the table crates leave out, cut or get wrong is right here.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod table_support;

use flashfit::device::memory::MemoryDevice;
use flashfit::output::layout_json;
use flashfit::plan::{DiskId, Layout, TableKind};
use flashfit::table::wipe::Fate;
use flashfit::table::{self, Part, PrepareError};
use flashfit::units::{Bytes, LogicalBlock, Sectors};
use table_support::*;

const BLOCKS: [LogicalBlock; 2] = [LogicalBlock::B512, LogicalBlock::B4096];

fn written(device: &MemoryDevice, layout: &Layout) -> MemoryDevice {
    let mut device = device.clone();
    write(&mut device, layout);
    device
}

fn refused(device: &MemoryDevice, layout: &Layout) -> PrepareError {
    table::prepare(&mut device.clone(), layout).unwrap_err()
}

#[test]
fn every_mbr_entry_has_its_cylinders_and_beyond_8_gb_the_marker() {
    // The first sectors of an 8 GB stick, and one behind the last cylinder.
    let device = sized(LogicalBlock::B512, 16 << 30);
    let wishes = ["4MiB:swap", "7GiB:fat32", "1GiB:exfat", "rest:ext4"];
    let after = written(&device, &layout(&device, TableKind::Mbr, "a", &wishes));
    let sector = after.bytes(Bytes::ZERO, 512);
    let chs = |entry: usize| {
        let entry = &sector[446 + 16 * entry..][..16];
        (entry[1..4].to_vec(), entry[5..8].to_vec())
    };
    // 8192 = 0/130/3 and 16383 = 1/5/4, with 255 heads and 63 sectors.
    assert_eq!(chs(0), (vec![130, 3, 0], vec![5, 4, 1]));
    let marker = vec![0xfe, 0xff, 0xff];
    // 14696447 = 0x392/206/60; the two high bits of the cylinder stand in the sector byte.
    assert_eq!(chs(1).1, vec![206, 60 | 3 << 6, 0x92]);
    assert_eq!(
        (chs(2).1, chs(3)),
        (marker.clone(), (marker.clone(), marker))
    );
    // The status, the signature in its order, the end mark.
    assert!((0..4).all(|entry| sector[446 + 16 * entry] == 0));
    assert_eq!(sector[510..], [0x55, 0xaa]);
}

#[test]
fn the_disk_signature_keeps_its_leading_zero_and_byte_order() {
    let device = blank(LogicalBlock::B512);
    let mut plan = layout(&device, TableKind::Mbr, "a", &["rest:fat32"]);
    plan.disk_id = DiskId::Mbr(0x0cf7_e848);
    let after = written(&device, &plan);
    assert_eq!(after.bytes(Bytes(440), 4), [0x48, 0xe8, 0xf7, 0x0c]);
    let found = table::read::contents(&mut after.clone()).unwrap();
    assert_eq!(found.table.unwrap().disk_id, Some(plan.disk_id));
}

#[test]
fn an_active_partition_is_the_only_status_and_boot_code_goes() {
    let device = device(LogicalBlock::B512, Old::Mbr);
    let mut plan = layout(&device, TableKind::Mbr, "a", &["8MiB:fat16", "rest:ext4"]);
    plan.partitions[1].bootable = true;
    let sector = written(&device, &plan).bytes(Bytes::ZERO, 512);
    assert_eq!((sector[446], sector[462]), (0, 0x80));
    assert!(sector[..440].iter().all(|byte| *byte == 0));
}

#[test]
fn extended_and_protective_types_are_refused() {
    let device = blank(LogicalBlock::B512);
    let mut plan = layout(&device, TableKind::Mbr, "a", &["rest:fat32"]);
    for code in [0x05, 0x0f, 0x85, 0xee] {
        plan.partitions[0].kind = flashfit::plan::PartitionType::Mbr(code);
        let error = refused(&device, &plan).to_string();
        assert!(error.contains("another table"), "{error}");
    }
}

#[test]
fn a_layout_that_contradicts_itself_never_reaches_the_crates() {
    let device = blank(LogicalBlock::B512);
    for kind in [TableKind::Mbr, TableKind::Gpt] {
        let good = layout(&device, kind, "a", &["8MiB:fat16", "8MiB:ext4"]);
        // Over the next one, and past the end: mbrman and gpt take both.
        let mut over = good.clone();
        over.partitions[0].sectors = Sectors(20480);
        let mut past = good.clone();
        past.partitions[1].sectors = Sectors(1 << 20);
        for bad in [over, past] {
            let error = refused(&device, &bad);
            assert!(matches!(error, PrepareError::Fault(_)), "{error}");
        }
    }
}

#[test]
fn a_layout_of_another_size_or_sector_is_refused() {
    let small = blank(LogicalBlock::B512);
    let plan = layout(&small, TableKind::Gpt, "a", &NEW);
    for (device, says) in [
        (sized(LogicalBlock::B512, SIZE * 2), "134217728"),
        (sized(LogicalBlock::B512, SIZE - 512), "67108352"),
        (blank(LogicalBlock::B4096), "sectors of 512"),
    ] {
        let error = refused(&device, &plan).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn the_protective_mbr_covers_what_32_bits_reach() {
    for (size, length) in [(SIZE, SIZE / 512 - 1), (3 << 40, u64::from(u32::MAX))] {
        let device = sized(LogicalBlock::B512, size);
        let after = written(&device, &layout(&device, TableKind::Gpt, "a", &NEW));
        let entry = after.bytes(Bytes(446), 64);
        assert_eq!(
            entry[..12],
            [0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0]
        );
        assert_eq!(entry[12..16], u32::try_from(length).unwrap().to_le_bytes());
        assert!(entry[16..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn both_copies_of_a_gpt_stand_where_they_say() {
    for (block, first, array) in [(LogicalBlock::B512, 34, 32), (LogicalBlock::B4096, 6, 4)] {
        let device = blank(block);
        let after = written(&device, &layout(&device, TableKind::Gpt, "a", &NEW));
        let unit = block.bytes().get();
        let last = SIZE / unit - 1;
        let fields = |lba: u64| {
            let header = after.bytes(Bytes(lba * unit), 92);
            let at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
            [at(24), at(32), at(40), at(48), at(72)]
        };
        let usable = [first, last - array - 1];
        assert_eq!(fields(1), [1, last, usable[0], usable[1], 2]);
        assert_eq!(fields(last), [last, 1, usable[0], usable[1], last - array]);
        // Reserved up to the end of the sector.
        let unit = usize::try_from(unit).unwrap();
        assert!(
            after.bytes(Bytes(unit as u64), unit)[92..]
                .iter()
                .all(|b| *b == 0)
        );
    }
}

#[test]
fn a_gpt_holds_128_partitions_and_keeps_their_numbers() {
    let device = sized(LogicalBlock::B512, 4 << 30);
    let wishes = vec!["4MiB:none"; 128];
    let plan = layout(&device, TableKind::Gpt, "a", &wishes);
    let found = table::read::contents(&mut written(&device, &plan)).unwrap();
    let numbers: Vec<usize> = found.partitions.iter().map(|p| p.number).collect();
    assert_eq!(numbers, (1..=128).collect::<Vec<_>>());
    assert_eq!(found.partitions[127].uuid, plan.partitions[127].uuid);
}

#[test]
fn a_name_of_36_units_is_whole_and_a_longer_one_is_refused_before() {
    let device = blank(LogicalBlock::B4096);
    let mut plan = layout(&device, TableKind::Gpt, "a", &["rest:ext4"]);
    // Eighteen characters of two units each: a cut after 36 units would be at a boundary.
    let name = "\u{1f600}".repeat(18);
    plan.partitions[0].name.clone_from(&name);
    let found = table::read::contents(&mut written(&device, &plan)).unwrap();
    assert_eq!(found.partitions[0].name, name);
    // One unit and eighteen pairs: the crate would cut the last pair in two.
    plan.partitions[0].name = format!("a{name}");
    assert!(matches!(refused(&device, &plan), PrepareError::Fault(_)));
}

#[test]
fn attributes_and_types_arrive_as_they_are() {
    let device = blank(LogicalBlock::B512);
    let mut plan = layout(&device, TableKind::Gpt, "a", &["rest:fat32"]);
    let attributes = 1 << 63 | 1 << 60 | 5;
    plan.partitions[0].attributes = attributes;
    let after = written(&device, &plan);
    let entry = after.bytes(Bytes(1024), 128);
    // Basic data: the first three groups little-endian, the others as written.
    assert_eq!(entry[..4], [0xa2, 0xa0, 0xd0, 0xeb]);
    assert_eq!(
        entry[8..16],
        [0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7]
    );
    assert_eq!(entry[48..56], u64::to_le_bytes(attributes));
}

#[test]
fn the_bytes_of_a_keep_out_range_stay_and_the_entries_make_room() {
    let mut device = blank(LogicalBlock::B512);
    // A boot loader at 8 KiB, in the middle of where 128 entries would lie.
    let loader: Vec<u8> = (1..=251).cycle().take(40_000).collect();
    device.place(Bytes::kib(8), &loader);
    let mut plan = layout(&device, TableKind::Gpt, "a", &["rest:ext4:root"]);
    let shape = flashfit::plan::gpt_shape::GptShape::new(56, plan.logical_block, plan.capacity);
    plan.gpt = shape;
    plan.keep_out = vec![flashfit::plan::layout::KeptOut {
        range: flashfit::units::ByteRange {
            from: Bytes::kib(8),
            to: Bytes::kib(1024),
        },
        reason: "boot loader".to_owned(),
    }];
    let (prepared, _) = prepare(&mut device, &plan);
    let entries = |part: Part| prepared.extents().iter().filter(|e| e.part == part).count();
    assert_eq!(entries(Part::PrimaryEntries), 14);
    assert_eq!(entries(Part::BackupEntries), 14);
    let after = written(&device, &plan);
    assert_eq!(after.bytes(Bytes::kib(8), loader.len()), loader);
    assert_eq!(after.bytes(Bytes(512 + 80), 4), [56, 0, 0, 0]);
    assert_eq!(seen(&after), Some(expected(&plan)));
}

#[test]
fn a_table_over_a_keep_out_range_is_refused() {
    let device = blank(LogicalBlock::B512);
    for (table, from, to) in [
        (TableKind::Mbr, 0, 512),
        (TableKind::Gpt, 512, 1024),
        (TableKind::Gpt, SIZE - 512, SIZE),
    ] {
        let mut plan = layout(&device, table, "a", &["8MiB:ext4"]);
        plan.keep_out = vec![flashfit::plan::layout::KeptOut {
            range: flashfit::units::ByteRange {
                from: Bytes(from),
                to: Bytes(to),
            },
            reason: "test".to_owned(),
        }];
        let error = refused(&device, &plan);
        assert!(
            matches!(error, PrepareError::KeepOut { .. } | PrepareError::Fault(_)),
            "{error}"
        );
    }
}

#[test]
fn old_signatures_are_listed_with_their_fate_and_gone_afterwards() {
    for block in BLOCKS {
        for old in ALL_OLD {
            for table in [TableKind::Mbr, TableKind::Gpt] {
                let before = device(block, old);
                let plan = layout(&before, table, "new", &NEW);
                let (prepared, _) = prepare(&mut before.clone(), &plan);
                if old != Old::Nothing {
                    assert!(!prepared.old().is_empty(), "{old:?}");
                }
                if old == Old::GptAndFileSystem {
                    let ext = |it: &&table::wipe::Old| it.signature.name.starts_with("ext");
                    let found = prepared.of_fate(Fate::Zeroed).find(ext).unwrap();
                    assert_eq!(found.signature.at, Bytes((4 << 20) + 1024 + 56));
                }
                let after = written(&before, &plan);
                assert_eq!(seen(&after), Some(expected(&plan)), "{block:?} {old:?}");
                // Writing it again finds only itself, and changes nothing.
                let (again, _) = prepare(&mut after.clone(), &plan);
                assert!(again.extents().iter().all(table::Extent::is_unchanged));
                assert!(again.old().iter().all(|old| old.fate == Fate::Replaced));
                assert_eq!(
                    again.old().len(),
                    if table == TableKind::Mbr { 1 } else { 3 }
                );
            }
        }
    }
}

#[test]
fn installer_images_raids_and_containers_are_wiped() {
    let mut before = blank(LogicalBlock::B512);
    let md = {
        let mut block = vec![0; 256];
        block[..4].copy_from_slice(&0xa92b_4efcu32.to_le_bytes());
        block[4] = 1;
        block[128..136].copy_from_slice(&8u64.to_le_bytes());
        block
    };
    let marks: [(u64, &[u8], &str); 7] = [
        (0, b"ER\x08\x00", "Apple driver descriptor"),
        (2048, b"PM\0\0\0\0\0\x01", "Apple partition map"),
        (32768, b"\x01CD001\x01", "ISO 9660"),
        ((4 << 20) + 512, b"LABELONE", "LVM"),
        ((12 << 20), b"LUKS\xba\xbe\0\x02", "LUKS2"),
        (
            (12 << 20) + 0x4000,
            b"SKUL\xba\xbe\0\x02",
            "LUKS2 second header",
        ),
        ((24 << 20) + 4096, &md, "md RAID"),
    ];
    for (at, bytes, _) in marks {
        before.place(Bytes(at), bytes);
    }
    before.place(Bytes((4 << 20) + 512 + 24), b"LVM2 001");
    before.place(Bytes((4 << 20) + 512 + 8), &1u64.to_le_bytes());
    let plan = layout(&before, TableKind::Gpt, "new", &NEW);
    let (prepared, _) = prepare(&mut before.clone(), &plan);
    for (at, _, name) in marks {
        let found = prepared.old().iter().any(|old| {
            old.signature
                .name
                .starts_with(name.split(' ').next().unwrap())
                && old.signature.wipe.from <= Bytes(at)
                && Bytes(at) < old.signature.wipe.to
        });
        let all: Vec<_> = prepared.old().iter().map(|old| old.signature).collect();
        assert!(
            found || name == "LVM" || name == "md RAID",
            "{name}: {all:?}"
        );
    }
    let after = written(&before, &plan);
    for (at, bytes, name) in marks.iter().filter(|(_, _, name)| name.contains("LUKS")) {
        assert_ne!(after.bytes(Bytes(*at), bytes.len()), *bytes, "{name}");
    }
}

#[test]
fn a_signature_in_a_keep_out_range_stays_and_is_told() {
    let mut before = blank(LogicalBlock::B512);
    before.place(Bytes::kib(32), b"\x01CD001\x01");
    let mut plan = layout(&before, TableKind::Mbr, "a", &["rest:ext4"]);
    plan.keep_out = vec![flashfit::plan::layout::KeptOut {
        range: flashfit::units::ByteRange {
            from: Bytes::kib(32),
            to: Bytes::kib(1024),
        },
        reason: "loader".to_owned(),
    }];
    let (prepared, _) = prepare(&mut before.clone(), &plan);
    assert_eq!(prepared.of_fate(Fate::Kept).count(), 1);
    let after = written(&before, &plan);
    assert_eq!(after.bytes(Bytes::kib(32), 7), b"\x01CD001\x01");
}

#[test]
fn a_written_layout_file_is_what_the_device_says_afterwards() {
    for table in [TableKind::Mbr, TableKind::Gpt] {
        let device = blank(LogicalBlock::B512);
        let plan = layout(&device, table, "a", &NEW);
        let read = layout_json::parse(&layout_json::render(&plan)).unwrap();
        assert_eq!(
            written(&device, &read).content(),
            written(&device, &plan).content()
        );
    }
}

//! Layouts from the outside: exact numbers of real media, and properties of random ones.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

use flashfit::output::{layout_json, layout_text, sfdisk};
use flashfit::plan::intent::TableChoice;
use flashfit::plan::intent::{DiskIdChoice, Intent, KeepOut, PartitionIntent, PartitionSize};
use flashfit::plan::layout::GapKind;
use flashfit::plan::{
    AlignmentChoice, DiskId, FileSystem, Layout, Medium, PartitionType, PlanError, TableKind,
    alignment_of, layout,
};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Alignment, Bytes, LogicalBlock, MIB, Sectors, Size};
use proptest::prelude::*;

const ENTROPY: [u8; 16] = *b"sixteen bytes...";

fn facts(capacity: u64, block: LogicalBlock) -> Facts {
    Facts::bare("test", Transport::Usb, Some(Bytes(capacity)), block)
}

fn medium(capacity: u64) -> Medium {
    Medium::from_facts(&facts(capacity, LogicalBlock::B512)).unwrap()
}

fn grid(grain: Bytes) -> AlignmentChoice {
    AlignmentChoice {
        alignment: Alignment::new(grain, Bytes::ZERO).unwrap(),
        unit: grain,
        erase_block: Some(grain),
        reason: "test".to_owned(),
        fallback: false,
    }
}

fn intent(partitions: &[&str]) -> Intent {
    Intent {
        partitions: partitions.iter().map(|p| p.parse().unwrap()).collect(),
        ..Intent::default()
    }
}

fn with_table(table: TableKind, partitions: &[&str]) -> Intent {
    Intent {
        table: TableChoice::Kind(table),
        ..intent(partitions)
    }
}

fn plan(capacity: u64, grain: Bytes, intent: &Intent) -> Result<Layout, PlanError> {
    layout(&medium(capacity), &grid(grain), intent, ENTROPY)
}

fn places(layout: &Layout) -> Vec<(u64, u64)> {
    layout
        .partitions
        .iter()
        .map(|p| (p.first.get(), p.sectors.get()))
        .collect()
}

fn warns(layout: &Layout, code: &str) -> bool {
    layout.warnings.iter().any(|w| w.code == code)
}

#[test]
fn the_gpt_tail_is_counted_from_the_end_and_shares_no_erase_block() {
    let wish = with_table(TableKind::Gpt, &["rest:ext4"]);
    let plan = plan(61_530_439_680, Bytes::mib(4), &wish).unwrap();
    assert_eq!(plan.last_usable.get(), 120_176_606);
    assert_eq!(plan.partitions[0].last().get(), 120_168_447);
    assert_eq!(plan.partitions[0].first.get(), 8192);
    let tail = plan.gaps.last().unwrap();
    assert_eq!((tail.from.get(), tail.to.get()), (120_168_448, 120_176_640));
    assert_eq!(tail.reason, "backup GPT and grid tail");
}

#[test]
fn a_share_ends_where_the_next_partition_may_start() {
    let wish = intent(&["10%:ext4", "rest:ext4"]);
    let plan = plan(500_107_859_968, Bytes::mib(8), &wish).unwrap();
    let [first, second] = places(&plan)[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(first.0, 16384);
    assert_eq!(second.0, first.0 + first.1);
    assert_eq!(second.0 % 16384, 0);
    // 10 % of what lies between 8 MiB and the last end, in whole 8 MiB.
    assert_eq!(first.1 / 16384, (500_107_859_968 / (8 * MIB) - 1) / 10);
}

#[test]
fn half_open_ranges_leave_neither_odd_sizes_nor_accidental_gaps() {
    let wish = intent(&["512MiB:fat32", "32MiB:ext4"]);
    let plan = plan(16_012_804_096, Bytes::mib(1), &wish).unwrap();
    assert_eq!(places(&plan), [(2048, 1_048_576), (1_050_624, 65_536)]);
    assert_eq!(plan.partitions[0].last().get(), 1_050_623);
}

#[test]
fn the_last_partition_may_be_as_small_as_one_grain() {
    let wish = with_table(TableKind::Mbr, &["16384s:none", "1MiB:none"]);
    let plan = plan(10_485_760, Bytes::mib(1), &wish).unwrap();
    assert_eq!(places(&plan), [(2048, 16384), (18432, 2048)]);
}

#[test]
fn sizes_are_rounded_up_to_erase_blocks_and_echoed_in_sectors() {
    let wish = intent(&["100MiB:fat32", "rest:ext4"]);
    let plan = plan(31_914_983_424, Bytes::mib(8), &wish).unwrap();
    assert_eq!(places(&plan)[0], (16384, 212_992));
    assert_eq!(
        plan.notes,
        [
            "partition 1: 100 MiB asked for, 104 MiB given (212992 sectors): rounded up to whole erase blocks of 8 MiB"
        ]
    );
}

#[test]
fn an_mbr_over_2_tib_is_refused_with_both_ways_out() {
    let capacity = 7_812_937_728 * 512;
    let wish = with_table(TableKind::Mbr, &["rest:exfat"]);
    let error = plan(capacity, Bytes::mib(4), &wish)
        .unwrap_err()
        .to_string();
    assert!(error.contains("--table gpt"), "{error}");
    assert!(error.contains("--max-size 2199023255040B"), "{error}");
    let auto = plan(capacity, Bytes::mib(4), &intent(&["rest:exfat"])).unwrap();
    assert_eq!(auto.table, TableKind::Gpt);
    let mut capped = with_table(TableKind::Mbr, &["rest:exfat"]);
    capped.max_size = Some(Size::Bytes(Bytes(2_199_023_255_040)));
    let capped = plan(capacity, Bytes::mib(4), &capped).unwrap();
    assert!(capped.partitions[0].end().get() <= u64::from(u32::MAX));
    let small = with_table(TableKind::Mbr, &["1TiB:exfat"]);
    assert!(plan(capacity, Bytes::mib(4), &small).is_ok());
    let two_tib = plan(1 << 41, Bytes::mib(4), &intent(&["rest:exfat"])).unwrap();
    assert_eq!(two_tib.table, TableKind::Mbr);
}

#[test]
fn with_4096_byte_sectors_an_mbr_reaches_16_tib() {
    let medium = Medium::from_facts(&facts(4 << 40, LogicalBlock::B4096)).unwrap();
    let wish = with_table(TableKind::Mbr, &["rest:exfat"]);
    let plan = layout(&medium, &grid(Bytes::mib(4)), &wish, ENTROPY).unwrap();
    assert_eq!(plan.partitions[0].first.get(), 1024);
}

#[test]
fn a_disk_identifier_is_kept_with_its_leading_zero() {
    let mut medium = medium(16_012_804_096);
    medium.disk_id = Some(DiskId::Mbr(0x0cf7_e848));
    let mut wish = intent(&["256MiB:fat32", "rest:ext4"]);
    wish.disk_id = DiskIdChoice::Keep;
    let plan = layout(&medium, &grid(Bytes::mib(4)), &wish, ENTROPY).unwrap();
    assert!(sfdisk::render(&plan).contains("label-id: 0x0cf7e848\n"));
    wish.table = TableChoice::Kind(TableKind::Gpt);
    let error = layout(&medium, &grid(Bytes::mib(4)), &wish, ENTROPY).unwrap_err();
    assert!(matches!(error, PlanError::WrongDiskId { .. }), "{error}");
    medium.disk_id = None;
    let plan = layout(&medium, &grid(Bytes::mib(4)), &wish, ENTROPY).unwrap();
    assert!(warns(&plan, "no_disk_id_to_keep"));
}

#[test]
fn exchange_media_get_an_mbr_and_linux_disks_a_gpt() {
    let table = |partitions: &[&str]| {
        plan(16_012_804_096, Bytes::mib(4), &intent(partitions))
            .unwrap()
            .table
    };
    assert_eq!(table(&["rest:fat32"]), TableKind::Mbr);
    assert_eq!(table(&["rest:exfat"]), TableKind::Mbr);
    assert_eq!(table(&["256MiB:fat32", "rest:ext4"]), TableKind::Mbr);
    assert_eq!(table(&["rest:ext4"]), TableKind::Gpt);
    assert_eq!(table(&["1GiB:swap", "rest:btrfs"]), TableKind::Gpt);
    let five = ["8MiB:fat32", "8MiB", "8MiB", "8MiB", "rest"];
    assert_eq!(table(&five), TableKind::Gpt);
}

#[test]
fn five_partitions_do_not_fit_into_an_mbr() {
    let wish = with_table(TableKind::Mbr, &["8MiB", "8MiB", "8MiB", "8MiB", "rest"]);
    let error = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap_err();
    assert!(error.to_string().contains("--table gpt"), "{error}");
}

#[test]
fn an_exchange_partition_behind_another_is_warned_about() {
    let warned = |partitions: &[&str]| {
        let plan = plan(16_012_804_096, Bytes::mib(4), &intent(partitions)).unwrap();
        warns(&plan, "windows_shows_first_only")
    };
    assert!(warned(&["64MiB:fat32:boot", "rest:exfat:data"]));
    assert!(!warned(&["64MiB:fat32", "rest:ext4"]));
}

#[test]
fn without_partitions_one_covers_the_device() {
    for (capacity, code) in [
        (1_015_808_000, 0x06),
        (16_012_804_096, 0x0c),
        (128_000_000_000, 0x07),
    ] {
        let plan = plan(capacity, Bytes::mib(4), &Intent::default()).unwrap();
        assert_eq!(plan.partitions.len(), 1);
        assert_eq!(plan.partitions[0].kind, PartitionType::Mbr(code));
    }
}

#[test]
fn keep_out_ranges_are_skipped_and_explained() {
    let mut wish = intent(&["64MiB:fat32", "rest:ext4"]);
    wish.keep_out = vec![
        "64s-32768s".parse().unwrap(),
        "100MiB-101MiB".parse().unwrap(),
    ];
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    assert_eq!(places(&plan)[0], (32768, 131_072));
    assert_eq!(places(&plan)[1].0, 212_992);
    let kinds: Vec<GapKind> = plan.gaps.iter().map(|gap| gap.kind).collect();
    assert_eq!(
        kinds,
        [
            GapKind::Table,
            GapKind::KeepOut,
            GapKind::Unused,
            GapKind::KeepOut,
            GapKind::Rounding,
            GapKind::Tail
        ]
    );
}

#[test]
fn a_keep_out_over_the_table_is_refused_or_avoided() {
    let with = |table, range: &str| {
        let mut wish = intent(&["rest:ext4"]);
        wish.table = table;
        wish.keep_out = vec![range.parse().unwrap()];
        plan(16_012_804_096, Bytes::mib(4), &wish)
    };
    // A boot loader at 8 KiB lies in the entry array of a GPT.
    let auto = with(TableChoice::Auto, "8KiB-1MiB").unwrap();
    assert_eq!(auto.table, TableKind::Mbr);
    let error = with(TableChoice::Kind(TableKind::Gpt), "8KiB-1MiB").unwrap_err();
    assert!(error.to_string().contains("use --table mbr"), "{error}");
    let error = with(TableChoice::Auto, "0B-1MiB").unwrap_err().to_string();
    assert!(error.contains("begin the range at"), "{error}");
    assert!(!error.contains('\n'));
}

#[test]
fn wrong_keep_outs_are_refused() {
    let with = |ranges: &[&str]| {
        let mut wish = intent(&["rest:ext4"]);
        wish.keep_out = ranges.iter().map(|r| r.parse().unwrap()).collect();
        plan(16_012_804_096, Bytes::mib(4), &wish).map_err(|error| error.to_string())
    };
    for (ranges, says) in [
        (&["2MiB-4MiB", "3MiB-5MiB"][..], "overlap"),
        (&["4MiB-2MiB"], "empty"),
        (&["4MiB-4MiB"], "empty"),
        (&["4MiB-64GiB"], "beyond the medium"),
        (&["1s-36028797018963968s"], "beyond 2^64"),
    ] {
        let error = with(ranges).unwrap_err();
        assert!(error.contains(says), "{ranges:?}: {error}");
    }
    assert!(with(&["2MiB-3MiB", "3MiB-5MiB"]).is_ok());
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let error = |partitions: &[&str]| {
        plan(16_012_804_096, Bytes::mib(4), &intent(partitions))
            .unwrap_err()
            .to_string()
    };
    assert!(error(&["20GiB:ext4"]).contains("partition 1 needs 20 GiB"));
    assert!(error(&["rest:ext4", "rest:ext4"]).contains("partitions 1 and 2 both"));
    assert!(error(&["14GiB:ext4", "2GiB:ext4"]).contains("partition 2 needs 2 GiB"));
    let tiny = plan(16 << 20, Bytes::mib(48), &intent(&["rest:ext4"])).unwrap_err();
    assert!(matches!(tiny, PlanError::NoRoom { .. }), "{tiny}");
    for capacity in [0, 512, 34 * 512, MIB] {
        assert!(plan(capacity, Bytes::mib(1), &intent(&["rest:ext4"])).is_err());
    }
    let size = PartitionSize::Exact(Size::Sectors(Sectors(0)));
    let zero = Intent {
        partitions: vec![PartitionIntent::new(size, FileSystem::Ext4)],
        ..Intent::default()
    };
    let zero = plan(16_012_804_096, Bytes::mib(4), &zero).unwrap_err();
    assert!(zero.to_string().contains("size zero"), "{zero}");
}

#[test]
fn the_end_of_the_medium_can_be_left_free() {
    let mut wish = with_table(TableKind::Mbr, &["rest:exfat"]);
    wish.reserve_end = Some(Size::Bytes(Bytes::gib(1)));
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let end = plan.partitions[0].end().get() * 512;
    assert_eq!(end, (16_012_804_096 - (1 << 30)) / (4 * MIB) * (4 * MIB));
    assert_eq!(plan.gaps.last().unwrap().kind, GapKind::Reserved);
}

#[test]
fn a_capacity_that_may_be_a_lie_can_be_capped() {
    let mut wish = with_table(TableKind::Gpt, &["rest:exfat"]);
    wish.max_size = Some("7864320s".parse().unwrap());
    let plan = plan(2_000_398_934_016, Bytes::mib(4), &wish).unwrap();
    assert_eq!(plan.partitions[0].end().get(), 7_864_320);
    assert!(warns(&plan, "backup_gpt_beyond_max_size"));
    let beyond = |gap: &flashfit::plan::layout::Gap| gap.kind == GapKind::BeyondMaxSize;
    assert!(plan.gaps.iter().any(beyond));
    wish.table = TableChoice::Auto;
    wish.partitions = vec!["rest:ext4".parse().unwrap()];
    let auto = layout(
        &medium(2_000_398_934_016),
        &grid(Bytes::mib(4)),
        &wish,
        ENTROPY,
    )
    .unwrap();
    assert_eq!(auto.table, TableKind::Mbr);
}

#[test]
fn the_same_seed_gives_the_same_layout_and_entropy_another() {
    let mut wish = with_table(TableKind::Gpt, &["64MiB:fat32", "rest:ext4"]);
    let medium = medium(16_012_804_096);
    let with = |wish: &Intent, entropy| layout(&medium, &grid(Bytes::mib(4)), wish, entropy);
    let (one, other) = (with(&wish, ENTROPY).unwrap(), with(&wish, [7; 16]).unwrap());
    assert_ne!(one.disk_id, other.disk_id);
    assert_ne!(one.partitions[0].uuid, other.partitions[0].uuid);
    wish.id_seed = Some("lab 3".to_owned());
    assert_eq!(with(&wish, ENTROPY), with(&wish, [7; 16]));
}

#[test]
fn an_alignment_off_the_erase_block_is_followed_and_warned_about() {
    let mut wish = with_table(TableKind::Mbr, &["rest:exfat"]);
    wish.align = Some("192KiB".parse().unwrap());
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    // The first multiple of 192 KiB from 1 MiB on.
    assert_eq!(plan.partitions[0].first.get(), 2304);
    assert!(warns(&plan, "off_erase_block"));
}

#[test]
fn a_phase_shifts_starts_and_ends() {
    let facts = facts(31_914_983_424, LogicalBlock::B512);
    let choice = alignment_of(Bytes::mib(12), Bytes::mib(4), &facts).unwrap();
    let medium = Medium::from_facts(&facts).unwrap();
    let wish = with_table(TableKind::Mbr, &["rest:fat32"]);
    let plan = layout(&medium, &choice, &wish, ENTROPY).unwrap();
    assert_eq!(plan.partitions[0].first.get(), 8192);
    assert_eq!((plan.partitions[0].end().get() - 8192) % 24576, 0);
}

#[test]
fn a_name_that_partition_tools_drop_is_simplified_and_said() {
    let wish = with_table(TableKind::Gpt, &["rest:ext4:a😀"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    assert_eq!(plan.partitions[0].name, "a_");
    assert_eq!(plan.partitions[0].label.as_deref(), Some("a😀"));
    assert!(warns(&plan, "name_simplified"));
}

#[test]
fn the_text_is_ascii_and_names_every_partition_and_gap() {
    let wishes = ["64MiB:fat32:boot", "rest:ext4:größe\u{202e}"];
    let mut wish = with_table(TableKind::Gpt, &wishes);
    wish.keep_out = vec!["100MiB-101MiB".parse().unwrap()];
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let text = layout_text::render(&plan);
    let printable = |c: char| c == '\n' || (' '..='~').contains(&c);
    assert!(text.chars().all(printable), "{text}");
    for p in &plan.partitions {
        assert!(text.contains(&p.first.to_string()), "{text}");
        assert!(text.contains(&p.sectors.to_string()), "{text}");
    }
    // Small partitions keep a place in the picture.
    let bar = text.lines().find(|line| line.starts_with('[')).unwrap();
    assert_eq!(bar.len(), 66, "{bar}");
    assert!(bar.starts_with("[#12222"), "{bar}");
    for gap in &plan.gaps {
        assert!(text.contains(&gap.reason), "{}", gap.reason);
    }
    assert!(text.lines().all(|line| line.len() <= 160), "{text}");
}

#[test]
fn a_layout_survives_json() {
    let wishes = ["64MiB:fat32:boot", "rest:ext4:a \"b\" \\ ü"];
    let mut wish = with_table(TableKind::Gpt, &wishes);
    wish.partitions[0].bootable = true;
    wish.keep_out = vec!["100MiB-101MiB".parse().unwrap()];
    let plan = plan(16_012_804_096, Bytes::mib(12), &wish).unwrap();
    let read = layout_json::parse(&layout_json::render(&plan)).unwrap();
    assert_eq!(read, plan);
}

#[test]
fn a_layout_file_is_checked_number_by_number() {
    let wish = with_table(TableKind::Mbr, &["64MiB:fat32", "64MiB:ext4"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        layout_json::parse(&file.to_string()).map_err(|error| error.to_string())
    };
    let linux = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
    let kept = serde_json::json!([{"from_bytes": 8 * MIB, "to_bytes": 9 * MIB}]);
    let none = serde_json::json!([]);
    for (pointer, value, says) in [
        (
            "/schema",
            "flashfit.layout/2".into(),
            "'flashfit.layout/2' is not known",
        ),
        ("/schema", 1.into(), "no \"schema\""),
        ("/table", "dos".into(), "'dos'"),
        ("/disk_id", "0x1".into(), "disk_id"),
        ("/disk_id", "0x00000000".into(), "disk_id"),
        ("/logical_block_size", 2048.into(), "2048"),
        ("/logical_block_size", 4096.into(), "capacity_sectors"),
        ("/capacity_sectors", 5.into(), "capacity_sectors"),
        ("/alignment/bytes", 0.into(), "zero"),
        ("/alignment/bytes", (6 * MIB).into(), "units"),
        ("/alignment/phase_bytes", (4 * MIB).into(), "phase_bytes"),
        ("/alignment/size_unit_bytes", 0.into(), "units"),
        ("/first_usable_lba", 0.into(), "usable"),
        ("/last_usable_lba", u64::MAX.into(), "usable"),
        ("/partitions", none, "no partitions"),
        ("/partitions/0/first_lba", 2048.into(), "not on the grid"),
        ("/partitions/0/first_lba", 0.into(), "not inside"),
        ("/partitions/0/first_lba", (-1).into(), "not a layout file"),
        (
            "/partitions/0/first_lba",
            8192.5.into(),
            "not a layout file",
        ),
        ("/partitions/0/sectors", 0.into(), "no sectors"),
        ("/partitions/0/sectors", 131_073.into(), "not on the grid"),
        ("/partitions/0/sectors", u64::MAX.into(), "not inside"),
        ("/partitions/1/first_lba", 8192.into(), "behind partition 1"),
        ("/partitions/0/type", "0x00".into(), "unused"),
        ("/partitions/0/type", linux.into(), "does not belong"),
        ("/partitions/0/name", "x".into(), "cannot hold its name"),
        ("/partitions/0/aligned_by", "luck".into(), "luck"),
        ("/partitions/0/filesystem", "zfs".into(), "zfs"),
        ("/partitions/0/number", 2.into(), "numbered"),
        ("/gaps/0/sectors", 1.into(), "exactly once"),
        ("/keep_out", kept, "touches the keep-out"),
    ] {
        let error = with(pointer, value).unwrap_err();
        assert!(error.contains(says), "{pointer}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let mut more = good.clone();
    more["from_the_future"] = 1.into();
    more["partitions"][0]["colour"] = "red".into();
    assert_eq!(layout_json::parse(&more.to_string()).unwrap(), plan);
    let bare = "{\"schema\":\"flashfit.layout/1\"}";
    for text in ["", "[]", "{}", "null", bare, "\u{0}"] {
        assert!(layout_json::parse(text).is_err(), "{text}");
    }
}

#[test]
fn gaps_missing_from_a_layout_file_are_filled_in() {
    let wish = with_table(TableKind::Mbr, &["64MiB:fat32"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let text = layout_json::render(&plan);
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in [
        "gaps",
        "capacity_sectors",
        "first_usable_lba",
        "version",
        "notes",
    ] {
        file.as_object_mut().unwrap().remove(key);
    }
    let read = layout_json::parse(&file.to_string()).unwrap();
    assert_eq!(read.partitions, plan.partitions);
    assert_eq!(read.gaps.len(), 2);
}

/// Random sizes in sectors, so that nothing is a multiple of anything.
fn any_medium() -> impl Strategy<Value = Medium> {
    (any::<bool>(), 24u32..43, any::<u64>()).prop_map(|(large, bits, noise)| {
        let block = if large {
            LogicalBlock::B4096
        } else {
            LogicalBlock::B512
        };
        let unit = block.bytes().get();
        let capacity = ((1u64 << bits) + noise % (1u64 << bits)) / unit * unit;
        Medium::from_facts(&facts(capacity.min(8 << 40), block)).unwrap()
    })
}

fn any_erase_block() -> impl Strategy<Value = (Bytes, u64)> {
    let sizes = vec![
        512, 1024, 1536, 2048, 3072, 4096, 4608, 6144, 8192, 12288, 24576, 65536,
    ];
    (prop::sample::select(sizes), any::<u64>()).prop_map(|(kib, phase)| (Bytes::kib(kib), phase))
}

fn any_partition() -> impl Strategy<Value = String> {
    (
        0u8..4,
        1u64..3_000_000,
        prop::sample::select(vec!["none", "fat32", "exfat", "ext4", "swap"]),
    )
        .prop_map(|(kind, size, fs)| match kind {
            0 => format!("{size}s:{fs}"),
            1 => format!("{}MiB:{fs}", size % 700 + 1),
            2 => format!("{}%:{fs}", size % 25 + 1),
            _ => format!("{size}kB:{fs}"),
        })
}

fn any_keep_out() -> impl Strategy<Value = KeepOut> {
    (0u64..400, 1u64..50).prop_map(|(from, length)| KeepOut {
        from: Size::Bytes(Bytes(from * 777_777 + 20_000)),
        to: Size::Bytes(Bytes((from + length) * 777_777 + 20_000)),
        // Owned ranges may overlap each other, which is harder to place around.
        owner: Some("boot loader".to_owned()),
    })
}

fn any_intent() -> impl Strategy<Value = Intent> {
    (
        prop::collection::vec(any_partition(), 1..6),
        prop::option::of(0usize..6),
        prop::collection::vec(any_keep_out(), 0..3),
        prop::option::of(1u64..100_000_000),
        prop::option::of(20_000_000u64..20_000_000_000),
        prop::sample::select(vec![
            TableChoice::Auto,
            TableChoice::Kind(TableKind::Mbr),
            TableChoice::Kind(TableKind::Gpt),
        ]),
        prop::option::of(prop::sample::select(vec![192u64, 1024, 4096, 6144])),
    )
        .prop_map(|(mut sizes, rest, keep_out, reserve, max, table, align)| {
            if let Some(index) = rest {
                sizes.insert(index.min(sizes.len()), "rest:exfat".to_owned());
            }
            let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
            Intent {
                keep_out,
                reserve_end: reserve.map(|n| Size::Bytes(Bytes(n))),
                max_size: max.map(|n| Size::Bytes(Bytes(n))),
                table,
                align: align.map(|n| Size::Bytes(Bytes::kib(n))),
                ..intent(&sizes)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        rng_seed: prop::test_runner::RngSeed::Fixed(20_130_402),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_layout_lies_on_its_grid_and_accounts_for_every_sector(
        medium in any_medium(),
        (erase_block, phase) in any_erase_block(),
        wish in any_intent(),
    ) {
        let block = medium.logical_block;
        let unit = block.bytes().get();
        let phase = Bytes(phase % erase_block.get() / 4096 * 4096);
        let facts = facts(medium.capacity.get(), block);
        let choice = alignment_of(erase_block, phase, &facts).unwrap();
        let plan = match layout(&medium, &choice, &wish, ENTROPY) {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(!matches!(error, PlanError::Inconsistent(_)), "{error}");
                let text = error.to_string();
                prop_assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
                return Ok(());
            }
        };
        let sectors = medium.capacity.get() / unit;
        let (grain, size_unit, phase) = match wish.align {
            Some(Size::Bytes(align)) => (align, align, Bytes::ZERO),
            _ => (choice.alignment.grain(), choice.unit, choice.alignment.phase()),
        };
        if wish.align.is_none() {
            prop_assert_eq!(grain.get() % erase_block.get(), 0);
            prop_assert_eq!(size_unit, erase_block);
        }
        let mut pieces = Vec::new();
        let mut last_end = 0;
        for p in &plan.partitions {
            let (from, to) = (p.first.get() * unit, p.end().get() * unit);
            prop_assert_eq!((from - phase.get()) % grain.get(), 0, "start");
            prop_assert_eq!((to - phase.get()) % size_unit.get(), 0, "end");
            prop_assert!(from >= MIB && from < to && from >= last_end);
            prop_assert!(p.end().get() <= sectors);
            if plan.table == TableKind::Gpt {
                let tail = if unit == 512 { 33 } else { 5 };
                prop_assert!(p.end().get() <= sectors - tail);
            } else {
                prop_assert!(p.end().get() <= u64::from(u32::MAX));
            }
            if let Some(Size::Bytes(max)) = wish.max_size {
                prop_assert!(to <= max.get());
            }
            if let Some(Size::Bytes(reserve)) = wish.reserve_end {
                prop_assert!(to + reserve.get() <= medium.capacity.get());
            }
            for kept in &wish.keep_out {
                if let (Size::Bytes(a), Size::Bytes(b)) = (kept.from, kept.to) {
                    prop_assert!(to <= a.get() || from >= b.get(), "keep-out");
                }
            }
            last_end = to;
            pieces.push((p.first.get(), p.end().get()));
        }
        for (index, p) in wish.partitions.iter().enumerate() {
            if let PartitionSize::Exact(size) = p.size {
                let asked = size.in_bytes(block).unwrap().get();
                let given = plan.partitions[index].sectors.get() * unit;
                prop_assert_eq!(given, asked.div_ceil(size_unit.get()) * size_unit.get());
            }
        }
        pieces.extend(plan.gaps.iter().map(|gap| (gap.from.get(), gap.to.get())));
        pieces.sort_unstable();
        let mut reached = 0;
        for (from, to) in pieces {
            prop_assert_eq!(from, reached);
            prop_assert!(to > from);
            reached = to;
        }
        prop_assert_eq!(reached, sectors);
        prop_assert_eq!(plan.check(), Ok(()));
        prop_assert_eq!(&layout_json::parse(&layout_json::render(&plan)).unwrap(), &plan);
        prop_assert!(layout_text::render(&plan).is_ascii());
    }

    #[test]
    fn a_device_of_random_numbers_never_panics(
        capacity in any::<u64>(),
        erase_block in any::<u64>(),
        phase in any::<u64>(),
        size in any::<u64>(),
        shift in 0u32..64,
    ) {
        let facts = facts(capacity >> shift, LogicalBlock::B512);
        let medium = Medium::from_facts(&facts).unwrap();
        if let Ok(choice) = alignment_of(Bytes(erase_block >> shift), Bytes(phase), &facts) {
            let mut wish = intent(&["rest"]);
            let size = PartitionSize::Exact(Size::Bytes(Bytes(size)));
            wish.partitions.push(PartitionIntent::new(size, FileSystem::None));
            if let Ok(plan) = layout(&medium, &choice, &wish, ENTROPY) {
                prop_assert!(plan.check().is_ok());
            }
        }
    }
}

//! Layouts from the outside: exact numbers of real media.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

#[path = "plan_support/mod.rs"]
mod plan_support;

use flashfit::output::{layout_text, sfdisk};
use flashfit::plan::intent::TableChoice;
use flashfit::plan::intent::{DiskIdChoice, Intent, PartitionIntent, PartitionSize};
use flashfit::plan::layout::GapKind;
use flashfit::plan::{
    DiskId, FileSystem, Medium, PartitionType, PlanError, TableKind, alignment_of, layout,
};
use flashfit::units::{Bytes, LogicalBlock, MIB, Sectors, Size};
use plan_support::*;

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
    let five = ["8MiB:fat16", "8MiB", "8MiB", "8MiB", "rest"];
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
    // All of it is the table's: no other range would do.
    let error = with(TableChoice::Auto, "0B-1B").unwrap_err().to_string();
    assert!(error.ends_with("leave it out"), "{error}");
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
fn what_is_said_of_parameters_is_true_and_says_something() {
    let noted = |wish: &str, mib: u64| {
        let plan = plan(31_914_983_424, Bytes::mib(mib), &intent(&[wish])).unwrap();
        let warned = plan.warnings.iter().map(|warning| warning.text.clone());
        plan.notes
            .iter()
            .cloned()
            .chain(warned)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let group = noted("rest:ext4", 256);
    assert!(group.contains("larger than a block group"), "{group}");
    for mib in [1, 2, 4, 12] {
        let boundary = noted("rest:exfat", mib);
        assert!(!boundary.contains("-b 1 MiB"), "{boundary}");
    }
    let error = plan(16 * MIB, Bytes::mib(64), &intent(&["rest:fat16"])).unwrap_err();
    assert!(
        error.to_string().contains("smaller grid with --align"),
        "{error}"
    );
    let mut wish = intent(&["rest:fat16"]);
    wish.align = Some("64MiB".parse().unwrap());
    let error = plan(16 * MIB, Bytes::mib(4), &wish).unwrap_err();
    assert!(
        error.to_string().contains("choose a smaller --align"),
        "{error}"
    );
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
    let mut wish = with_table(TableKind::Mbr, &["rest:ext4"]);
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

//! File systems on sticks: worked examples number for number, and what people ran into.
//! No tools are run here; `mkfs_*.rs` run them.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "plan_support/mod.rs"]
mod plan_support;

use common::program::flashfit;
use flashfit::geometry::{Zone, ZoneKind};
use flashfit::output::layout_json;
use flashfit::plan::filesystem::fat::Fat;
use flashfit::plan::filesystem::{FatAreaChoice, Inside, Parameters};
use flashfit::plan::intent::Intent;
use flashfit::plan::layout::AlignedBy;
use flashfit::plan::{Layout, Medium, PlanError, alignment_of, layout};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock, MIB};
use plan_support::{ENTROPY, facts, intent, plan, warns};

/// The 32 GB card whose erase block is 8 or 12 MiB.
const CARD: u64 = 31_914_983_424;

fn on(
    medium: &Medium,
    erase_block: Bytes,
    phase: Bytes,
    wish: &Intent,
) -> Result<Layout, PlanError> {
    let facts = facts(medium.capacity.get(), medium.logical_block);
    let choice = alignment_of(erase_block, phase, &facts).unwrap();
    layout(medium, &choice, wish, ENTROPY)
}

/// A medium with a special zone in MiB.
fn with_zone(capacity: u64, from: u64, to: u64, kind: ZoneKind) -> Medium {
    let mut medium = plan_support::medium(capacity);
    medium.stick.zones = vec![Zone {
        from_bytes: Bytes::mib(from),
        to_bytes: Bytes::mib(to),
        kind,
    }];
    medium.stick.zones_told = true;
    medium
}

#[track_caller]
fn fat(layout: &Layout) -> Fat {
    match &layout.partitions[0].format.as_ref().unwrap().parameters {
        Parameters::Fat(fat) => *fat,
        other => panic!("{other:?}"),
    }
}

/// Start, reserved sectors, FAT, data area, clusters.
fn numbers(layout: &Layout) -> [u64; 5] {
    let fat = fat(layout);
    let start = layout.partitions[0].first.get();
    [
        start,
        fat.reserved.get(),
        fat.fat.get(),
        start + fat.data().get(),
        fat.clusters,
    ]
}

#[test]
fn the_data_area_of_fat32_lies_on_the_boundary_behind_the_start() {
    let fat32 = intent(&["rest:fat32"]);
    for (capacity, erase, phase, expected) in [
        (1907 * 8 * MIB, 8, 0, [16384, 8704, 3840, 32768, 487_680]),
        (CARD, 12, 0, [24576, 9344, 7616, 49152, 973_056]),
        (CARD, 12, 4, [8192, 9344, 7616, 32768, 973_440]),
        (CARD, 24, 0, [49152, 33920, 7616, 98304, 972_288]),
    ] {
        let medium = plan_support::medium(capacity);
        let plan = on(&medium, Bytes::mib(erase), Bytes::mib(phase), &fat32).unwrap();
        assert_eq!(numbers(&plan), expected, "{erase} MiB");
        assert_eq!(plan.partitions[0].aligned_by, AlignedBy::Start);
        let [start, reserved, ..] = expected;
        assert_eq!(
            plan.mkfs,
            [format!(
                "mkfs.fat -F 32 -s 64 -g 255/32 -R {reserved} -h {start} /dev/sdX1"
            )]
        );
    }
}

#[test]
fn the_fats_go_into_the_special_area_and_the_data_behind_it() {
    let fat32 = intent(&["rest:fat32"]);
    // An 8 GB stick whose first erase block is made for the FAT: counted back from its end.
    let stick = with_zone(8_019_509_248, 0, 4, ZoneKind::Faster);
    let plan = on(&stick, Bytes::mib(4), Bytes::ZERO, &fat32).unwrap();
    assert_eq!(numbers(&plan), [4288, 64, 1920, 8192, 244_608]);
    let AlignedBy::DataArea { reason } = &plan.partitions[0].aligned_by else {
        panic!("{plan:?}");
    };
    assert!(reason.contains("special area 0 B-4 MiB"), "{reason}");
    assert!(plan.notes.iter().any(|note| note.contains("FAT area")));
    plan.check().unwrap();
    // A card whose area begins at 4 MiB: the partition begins there.
    let card = with_zone(CARD, 4, 12, ZoneKind::Different);
    let plan = on(&card, Bytes::mib(12), Bytes::ZERO, &fat32).unwrap();
    assert_eq!(numbers(&plan), [8192, 1152, 7616, 24576, 973_440]);
    // exFAT too.
    let plan = on(&card, Bytes::mib(12), Bytes::ZERO, &intent(&["rest:exfat"])).unwrap();
    let Parameters::ExFat(exfat) = plan.partitions[0].format.as_ref().unwrap().parameters else {
        panic!();
    };
    let start = plan.partitions[0].first.get();
    assert_eq!(start + exfat.fat_offset.get(), 16384);
    assert_eq!(start + exfat.heap_offset.get(), 24576);
}

#[test]
fn a_larger_cluster_makes_room_for_two_fats_in_a_small_area() {
    // 32 GB with 32 KiB clusters need twice 3.7 MiB, with 64 KiB twice 1.9 MiB.
    let stick = with_zone(CARD, 2, 6, ZoneKind::Faster);
    let plan = on(&stick, Bytes::mib(2), Bytes::ZERO, &intent(&["rest:fat32"])).unwrap();
    let fat = fat(&plan);
    assert_eq!(fat.cluster, Bytes::kib(64));
    let start = plan.byte_range(&plan.partitions[0]).from.get();
    let first_fat = start + fat.reserved.get() * 512;
    assert!(first_fat >= 2 * MIB && start + fat.data().get() * 512 == 6 * MIB);
}

#[test]
fn the_special_area_can_be_ignored_or_insisted_on() {
    let wish = |choice| Intent {
        fat_area: choice,
        ..intent(&["rest:fat32"])
    };
    let start = |medium: &Medium, choice| {
        on(medium, Bytes::mib(4), Bytes::ZERO, &wish(choice))
            .map(|plan| plan.partitions[0].first.get())
    };
    let good = with_zone(8_019_509_248, 0, 4, ZoneKind::Faster);
    assert_eq!(start(&good, FatAreaChoice::Ignore), Ok(8192));
    assert_eq!(start(&good, FatAreaChoice::Auto), Ok(4288));
    // A zone that is slower at every size is no place for a FAT.
    let slow = with_zone(8_019_509_248, 0, 4, ZoneKind::Slower);
    assert_eq!(start(&slow, FatAreaChoice::Auto), Ok(8192));
    assert_eq!(start(&slow, FatAreaChoice::Use), Ok(4288));
    // Where none was measured, in front of the first boundary that leaves room for it.
    let unknown = plan_support::medium(8_019_509_248);
    assert_eq!(start(&unknown, FatAreaChoice::Use), Ok(4288));
    // Two FATs of 122 MiB fit nowhere in front of 16 MiB.
    let large = plan_support::medium(1 << 40);
    let error = start(&large, FatAreaChoice::Use).unwrap_err().to_string();
    assert!(error.contains("--fat-area auto"), "{error}");
}

#[test]
fn boundaries_out_of_reach_of_65535_reserved_sectors_move_the_start() {
    let medium = plan_support::medium(32_000_000_000);
    let plan = on(
        &medium,
        Bytes::mib(64),
        Bytes::ZERO,
        &intent(&["rest:fat32"]),
    )
    .unwrap();
    let fat = fat(&plan);
    assert!(fat.reserved.get() <= 65_535);
    let range = plan.byte_range(&plan.partitions[0]);
    assert_eq!((range.from.get() + fat.data().get() * 512) % (64 * MIB), 0);
    assert!(matches!(
        plan.partitions[0].aligned_by,
        AlignedBy::DataArea { .. }
    ));
    // On whole megabytes all the same.
    assert_eq!(range.from.get() % MIB, 0);
}

#[test]
fn a_cluster_that_cannot_be_is_refused_or_chosen_otherwise() {
    // 15 GB with clusters of one sector are too many clusters; with 4 KiB it would be slow.
    let medium = plan_support::medium(30_277_632 * 512);
    let plan = on(
        &medium,
        Bytes::mib(4),
        Bytes::ZERO,
        &intent(&["rest:fat32"]),
    )
    .unwrap();
    assert_eq!(fat(&plan).cluster, Bytes::kib(32));
    let mut rough = medium.clone();
    rough.stick.page = Some(Bytes::kib(64));
    let plan = on(&rough, Bytes::mib(4), Bytes::ZERO, &intent(&["rest:fat32"])).unwrap();
    assert_eq!(fat(&plan).cluster, Bytes::kib(64));
    // Small partitions take smaller ones, so that there are enough.
    let plan = on(
        &medium,
        Bytes::mib(4),
        Bytes::ZERO,
        &intent(&["256MiB:fat32", "rest"]),
    )
    .unwrap();
    assert!(fat(&plan).clusters >= 65_541 && fat(&plan).cluster < Bytes::kib(4));
}

#[test]
fn reserved_sectors_are_whole_clusters_and_alignment_stays_on() {
    let fat32 = intent(&["rest:fat32"]);
    for erase in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64] {
        let medium = plan_support::medium(CARD);
        let plan = on(&medium, Bytes::mib(erase), Bytes::ZERO, &fat32).unwrap();
        let fat = fat(&plan);
        assert_eq!(fat.reserved.get() % (fat.cluster.get() / 512), 0, "{erase}");
        assert!(!plan.mkfs[0].contains(" -a"), "{}", plan.mkfs[0]);
    }
}

/// A card in the kernel's own slot.
fn card(capacity: u64) -> Medium {
    let facts = Facts::bare(
        "/dev/mmcblk0",
        Transport::Mmc,
        Some(Bytes(capacity)),
        LogicalBlock::B512,
    );
    Medium::from_facts(&facts).unwrap()
}

#[test]
fn a_large_card_gets_the_factory_layout_where_it_fits_the_grid() {
    // 64 GB: first sector 32768, clusters from 2 x 16 MiB on, as cards come.
    let exfat = intent(&["rest:exfat"]);
    let plan = on(&card(63_864_569_856), Bytes::mib(4), Bytes::ZERO, &exfat).unwrap();
    assert_eq!(plan.partitions[0].first.get(), 32768);
    assert_eq!(plan.mkfs, ["mkfs.exfat -b 8M -c 128K /dev/mmcblk0p1"]);
    let Parameters::ExFat(made) = plan.partitions[0].format.as_ref().unwrap().parameters else {
        panic!();
    };
    assert_eq!(
        (made.fat_offset.get(), made.heap_offset.get()),
        (16384, 32768)
    );
    assert!(
        plan.notes
            .iter()
            .any(|n| n.contains("close to") && n.contains("not identical")),
        "{:?}",
        plan.notes
    );
    // 12 MiB: offered, with the reason why it is not taken.
    let plan = on(&card(63_864_569_856), Bytes::mib(12), Bytes::ZERO, &exfat).unwrap();
    let other = plan.partitions[0].alternative.as_ref().unwrap();
    assert!(
        other.contains("not on the grid of 12 MiB")
            && other.contains("partition at sector 32768, mkfs.exfat -b 8M -c 128K /dev/mmcblk0p1"),
        "{other}"
    );
    // 32 GB FAT32: the factory starts at 4 MiB with the data on a multiple of it.
    let plan = on(
        &card(CARD),
        Bytes::mib(2),
        Bytes::ZERO,
        &intent(&["rest:fat32"]),
    )
    .unwrap();
    let [start, _, _, data, _] = numbers(&plan);
    assert_eq!((start, data % 4096), (8192, 0));
    // Behind a USB reader nothing says that it is a card.
    let stick = plan_support::medium(63_864_569_856);
    let plan = on(&stick, Bytes::mib(4), Bytes::ZERO, &exfat).unwrap();
    assert_eq!(plan.partitions[0].alternative, None);
}

#[test]
fn btrfs_is_shifted_mixed_or_refused() {
    let wish = intent(&["rest:btrfs"]);
    let medium = plan_support::medium(CARD);
    for (erase, start) in [(8, 3), (4, 3), (2, 1), (1, 1)] {
        let plan = on(&medium, Bytes::mib(erase), Bytes::ZERO, &wish).unwrap();
        assert_eq!(plan.partitions[0].first.get() / 2048, start, "{erase} MiB");
    }
    let plan = on(&medium, Bytes::mib(12), Bytes::ZERO, &wish).unwrap();
    assert!(warns(&plan, "start_aligned_only"));
    assert_eq!(plan.partitions[0].first.get() / 2048, 12);
    let small = intent(&["1GiB:btrfs", "rest"]);
    let plan = on(&medium, Bytes::mib(8), Bytes::ZERO, &small).unwrap();
    assert!(plan.mkfs[0].contains(" -M "), "{}", plan.mkfs[0]);
    assert!(warns(&plan, "start_aligned_only"));
    let tiny = intent(&["64MiB:btrfs", "rest"]);
    let error = on(&medium, Bytes::mib(8), Bytes::ZERO, &tiny).unwrap_err();
    assert!(error.to_string().contains("at least 128 MiB"), "{error}");
}

#[test]
fn ext4_has_the_stripe_of_the_stick_and_asks_nothing() {
    let mut medium = plan_support::medium(CARD);
    let line = |medium: &Medium| {
        let plan = on(medium, Bytes::mib(12), Bytes::ZERO, &intent(&["rest:ext4"])).unwrap();
        plan.mkfs[0].clone()
    };
    assert_eq!(
        line(&medium),
        "mkfs.ext4 -F -q -b 4096 -E nodiscard,stride=3072,stripe_width=3072 /dev/sdX1"
    );
    medium.stick.page = Some(Bytes::kib(16));
    assert!(line(&medium).contains("stride=4,stripe_width=3072"));
    medium.stick.zones = with_zone(CARD, 0, 16, ZoneKind::Faster).stick.zones;
    assert!(line(&medium).contains("packed_meta_blocks=1"));
}

#[test]
fn impossible_sizes_are_refused_with_limit_and_way_out() {
    let medium = plan_support::medium(CARD);
    for (spec, words) in [
        ("8GiB:fat16", "reaches up to 4094 MiB"),
        ("8MiB:btrfs", "at least 128 MiB"),
        ("8MiB:fat32", "at least 33 MiB"),
        ("64MiB:f2fs", "at least 100 MiB"),
        ("200MiB:xfs", "at least 300 MiB"),
        ("4MiB:ext4", "at least 8 MiB"),
        ("8MiB:ntfs", "at least 16 MiB"),
    ] {
        let error = on(&medium, Bytes::mib(4), Bytes::ZERO, &intent(&[spec])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("partition 1: ") && text.contains(words),
            "{spec}: {text}"
        );
        assert!(text.contains(": ") && !text.contains('\n') && !text.ends_with('.'));
        let line = flashfit(&[
            "plan",
            "--capacity",
            "30GiB",
            "--erase-block",
            "4MiB",
            "--partition",
            spec,
        ])
        .failure(2);
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn a_small_partition_grows_until_its_data_area_has_a_boundary() {
    // Behind another partition there is no room in front: one erase block holds the FATs, the next
    // one the data.
    let wish = intent(&["512MiB:ext4", "12MiB:fat16", "rest"]);
    let plan = plan(CARD, Bytes::mib(12), &wish).unwrap();
    let p = &plan.partitions[1];
    assert_eq!(p.sectors.get() / 2048, 24);
    assert!(matches!(
        p.format.as_ref().unwrap().inside,
        Inside::OnGrid(offset) if offset == Bytes::mib(12)
    ));
    assert!(
        plan.notes
            .iter()
            .any(|n| n.contains("partition 2: 12 MiB asked for, 24 MiB given"))
    );
}

#[test]
fn the_mkfs_script_runs_in_a_shell() {
    let text = flashfit(&[
        "plan",
        "--capacity",
        "31914983424B",
        "--erase-block",
        "8MiB",
        "--format",
        "mkfs",
        "--partition",
        "512MiB:fat32:BOOT",
        "--partition",
        "2GiB:exfat:it's $HOME",
        "--partition",
        "64MiB",
        "--partition",
        "rest:ext4:root",
    ])
    .success();
    assert!(text.contains("/dev/sdX1 becomes /dev/mmcblk0p1"), "{text}");
    assert!(
        text.contains("# partition 3: none\n# nothing to make\n"),
        "{text}"
    );
    let stubs = "mkfs.fat() { printf 'fat:%s|' \"$@\"; }; mkfs.exfat() { printf 'exfat:%s|' \"$@\"; }; mkfs.ext4() { printf 'ext4:%s|' \"$@\"; }\n";
    let run = std::process::Command::new("bash")
        .args(["-c", &format!("{stubs}{text}")])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    for words in [
        "fat:BOOT|fat:/dev/sdX1|",
        "exfat:it's $HOME|exfat:/dev/sdX2|",
        "ext4:/dev/sdX4|",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_layout_file_with_other_parameters_contradicts_itself() {
    let plan = plan(CARD, Bytes::mib(4), &intent(&["rest:fat32"])).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        layout_json::parse(&file.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(with("/partitions/0/format/mount", "".into()).unwrap(), plan);
    for (pointer, value) in [
        ("/partitions/0/format/data_offset_bytes", (5 * MIB).into()),
        (
            "/partitions/0/format/data_offset_bytes",
            serde_json::Value::Null,
        ),
        (
            "/partitions/0/format/parameters/reserved_sectors",
            64.into(),
        ),
        ("/partitions/0/format/parameters/fats", 1.into()),
        ("/partitions/0/format/parameters/width", "fat16".into()),
        ("/partitions/0/filesystem", "exfat".into()),
    ] {
        // A data area that is said to be elsewhere, or parameters of another volume.
        let error = with(pointer, value).unwrap_err();
        assert!(
            error.contains("the parameters are not those of"),
            "{pointer}: {error}"
        );
    }
}

#[test]
fn a_file_that_claims_an_aligned_data_area_must_tell_where_it_is() {
    let plan = plan(CARD, Bytes::mib(12), &intent(&["rest:exfat"])).unwrap();
    assert!(plan.partitions[0].aligned_by != AlignedBy::Start);
    let mut file: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    file["partitions"][0]
        .as_object_mut()
        .unwrap()
        .remove("format");
    let error = layout_json::parse(&file.to_string())
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not tell where that is"), "{error}");
}

#[test]
fn exfat_follows_boundaries_that_begin_at_an_odd_place() {
    let medium = plan_support::medium(CARD);
    for phase in [36, 512, 1060] {
        let wish = intent(&["rest:exfat"]);
        let plan = on(&medium, Bytes::mib(6), Bytes::kib(phase), &wish).unwrap();
        let Parameters::ExFat(made) = plan.partitions[0].format.as_ref().unwrap().parameters else {
            panic!();
        };
        let heap = plan.partitions[0].first.get() + made.heap_offset.get();
        assert_eq!(heap * 512 % (6 * MIB), phase * 1024, "{phase} KiB");
    }
}

#[test]
fn a_second_exfat_partition_grows_until_its_heap_has_a_boundary() {
    let wish = intent(&["512MiB:ext4", "12MiB:exfat", "rest"]);
    let plan = plan(CARD, Bytes::mib(12), &wish).unwrap();
    let length = plan.byte_range(&plan.partitions[1]).length();
    assert!(
        length >= Bytes::mib(12) && length <= Bytes::mib(24),
        "{length}"
    );
}

#[test]
fn exfat_can_be_kept_out_of_or_forced_into_an_area() {
    let wish = |choice| Intent {
        fat_area: choice,
        ..intent(&["rest:exfat"])
    };
    let stick = with_zone(8_019_509_248, 0, 4, ZoneKind::Slower);
    let start = |choice| {
        on(&stick, Bytes::mib(4), Bytes::ZERO, &wish(choice))
            .unwrap()
            .partitions[0]
            .first
            .get()
    };
    assert_eq!(start(FatAreaChoice::Auto), 8192);
    // FAT at 3 MiB, heap at 4 MiB.
    assert_eq!(start(FatAreaChoice::Use), 4096);
    let large = with_zone(1 << 40, 0, 4, ZoneKind::Faster);
    let error = on(
        &large,
        Bytes::mib(4),
        Bytes::ZERO,
        &wish(FatAreaChoice::Use),
    )
    .unwrap_err();
    assert!(error.to_string().contains("--fat-area auto"), "{error}");
    assert!(
        on(
            &large,
            Bytes::mib(4),
            Bytes::ZERO,
            &wish(FatAreaChoice::Auto)
        )
        .is_ok()
    );
}

#[test]
fn boot_sectors_far_out_note_no_hidden_sectors_that_do_not_fit() {
    let wish = plan_support::with_table(
        flashfit::plan::TableKind::Gpt,
        &["3TiB:ext4", "8GiB:fat32", "rest"],
    );
    let plan = plan(4 << 40, Bytes::mib(4), &wish).unwrap();
    assert!(plan.partitions[1].first.get() > u64::from(u32::MAX));
    assert!(plan.mkfs[1].contains(" -h 0 /dev/sdX2"), "{}", plan.mkfs[1]);
}

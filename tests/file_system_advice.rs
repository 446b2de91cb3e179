//! Which file system suits a stick, and what is said of it.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "plan_support/mod.rs"]
mod plan_support;

use common::program::{flashfit, flowing};
use flashfit::geometry::{OpenAu, Verdict, Zone, ZoneKind};
use flashfit::output::{layout_json, layout_text};
use flashfit::plan::filesystem::Stick;
use flashfit::plan::filesystem::advice::{Purpose, Suits};
use flashfit::plan::filesystem::stick::Open;
use flashfit::plan::intent::Intent;
use flashfit::plan::{FileSystem, Layout, Medium, PlanError, alignment_of, layout};
use flashfit::units::{Bytes, LogicalBlock};
use plan_support::{ENTROPY, facts, warns};

/// A 32 GB card.
const CARD: u64 = 31_914_983_424;

fn on(medium: &Medium, erase_block: Bytes, wish: &Intent) -> Result<Layout, PlanError> {
    let facts = facts(medium.capacity.get(), medium.logical_block);
    let choice = alignment_of(erase_block, Bytes::ZERO, &facts).unwrap();
    layout(medium, &choice, wish, ENTROPY)
}

/// A stick that keeps so many units open in order and in any order.
fn keeps(linear: u32, random: u32) -> Stick {
    Stick {
        linear: Open::Between(linear, linear),
        random: Open::Between(random, random),
        measured: true,
        ..Stick::default()
    }
}

fn advised(stick: Stick, purpose: Option<Purpose>) -> Layout {
    let mut medium = plan_support::medium(CARD);
    medium.stick = stick;
    let wish = Intent {
        purpose,
        ..Intent::default()
    };
    on(&medium, Bytes::mib(4), &wish).unwrap()
}

#[test]
fn the_advice_follows_the_number_of_open_units() {
    let suits = |linear, random, fs: &str| {
        let advice = advised(keeps(linear, random), None).advice.unwrap();
        advice
            .choices
            .iter()
            .find(|choice| choice.filesystem == fs)
            .unwrap()
            .suits
    };
    for (linear, random, fs, expected) in [
        (2, 2, "exfat", Suits::WithCare),
        (2, 2, "ext4", Suits::Badly),
        (2, 2, "f2fs", Suits::Badly),
        (3, 3, "exfat", Suits::Well),
        (3, 0, "f2fs", Suits::WithCare),
        (3, 3, "ext4", Suits::WithCare),
        (5, 5, "ext4", Suits::Well),
        (18, 16, "f2fs", Suits::Well),
        (18, 16, "btrfs", Suits::Well),
        (18, 0, "btrfs", Suits::Badly),
        (18, 0, "ntfs", Suits::Badly),
        (18, 16, "ntfs", Suits::Well),
        (6, 6, "ntfs", Suits::WithCare),
        (7, 7, "xfs", Suits::Badly),
        (6, 6, "f2fs", Suits::WithCare),
    ] {
        assert_eq!(
            suits(linear, random, fs),
            expected,
            "{fs} on {linear}/{random}"
        );
    }
    let ssd = Stick {
        like_ssd: true,
        linear: Open::AtLeast(130),
        measured: true,
        ..Stick::default()
    };
    let advice = advised(ssd, None).advice.unwrap();
    assert!(
        advice
            .choices
            .iter()
            .all(|choice| choice.suits == Suits::Well)
    );
}

#[test]
fn writes_in_any_order_that_are_never_efficient_in_small_pieces_count() {
    // Even one unit is too many: no limit is told, but the smallest size that works is.
    let mut geometry = flashfit::geometry::Geometry::default();
    geometry.open_au.linear = OpenAu {
        verdict: Verdict::Confirmed,
        limit: Some(18),
        unit_bytes: Some(Bytes::mib(4)),
        ..OpenAu::default()
    };
    geometry.open_au.random.count.verdict = Verdict::Likely;
    geometry.open_au.random.smallest_efficient_write_bytes = Some(Bytes::kib(256));
    let facts = facts(CARD, LogicalBlock::B512);
    let medium = Medium::from_facts(&facts)
        .unwrap()
        .with_geometry(&geometry, &facts);
    let plan = on(&medium, Bytes::mib(8), &Intent::default()).unwrap();
    let advice = plan.advice.unwrap();
    for choice in &advice.choices {
        let well = choice.suits == Suits::Well;
        let expected = ["fat32", "exfat", "f2fs"].contains(&choice.filesystem.as_str());
        assert_eq!(well, expected, "{choice:?}");
    }
    // What is counted is named where it is not the erase block.
    let said = &advice.paragraph;
    assert!(said.contains("keeps 18 units of 4 MiB open"), "{said}");
    assert!(said.contains("erase block of 8 MiB"), "{said}");
}

#[test]
fn the_advice_names_what_the_commands_do() {
    let stick = Stick {
        zones: vec![Zone {
            from_bytes: Bytes::ZERO,
            to_bytes: Bytes::mib(4),
            kind: ZoneKind::Faster,
        }],
        efficient: Some(Bytes::kib(64)),
        ..keeps(5, 5)
    };
    let said = |partition: &str, zone_to: u64| {
        let mut medium = plan_support::medium(CARD);
        medium.stick = stick.clone();
        medium.stick.zones[0].to_bytes = Bytes::mib(zone_to);
        let wish = Intent {
            partitions: vec![partition.parse().unwrap()],
            ..Intent::default()
        };
        on(&medium, Bytes::mib(4), &wish).unwrap()
    };
    // A small partition has smaller clusters than the stick would like.
    for wish in [
        "600MiB:fat32",
        "rest:fat32",
        "100MiB:exfat",
        "rest:exfat",
        "rest:ntfs",
    ] {
        let plan = said(wish, 4);
        let fs = plan.partitions[0].filesystem.word();
        let choice = plan.advice.as_ref().unwrap().choices.iter();
        let choice = choice.clone().find(|it| it.filesystem == fs).unwrap();
        let unit = choice.unit_bytes.unwrap().get();
        let option = match fs {
            "fat32" => format!(" -s {} ", unit / 512),
            "exfat" => format!(" -c {}K ", unit / 1024),
            _ => format!(" -c {unit} "),
        };
        assert!(
            plan.mkfs[0].contains(&option),
            "{}: {choice:?}",
            plan.mkfs[0]
        );
    }
    // The partition starts at 4 MiB: behind a zone of 4 MiB, inside one of 64 MiB.
    for (zone_to, inside) in [(4, false), (64, true)] {
        for fs in ["ext4", "f2fs"] {
            let plan = said(&format!("rest:{fs}"), zone_to);
            let choices = plan.advice.unwrap().choices;
            let choice = choices.iter().find(|it| it.filesystem == fs).unwrap();
            let front = choice.reasons.iter().any(|reason| reason.contains("front"));
            assert_eq!(front, inside, "{choice:?}");
            let packed = plan.mkfs[0].contains("packed_meta_blocks");
            assert_eq!(packed, inside && fs == "ext4", "{}", plan.mkfs[0]);
        }
    }
}

#[test]
fn the_purpose_picks_the_file_system() {
    let picked = |stick, purpose| {
        let plan = advised(stick, Some(purpose));
        assert_eq!(
            plan.advice.as_ref().unwrap().filesystem.as_deref(),
            Some(plan.partitions[0].filesystem.word())
        );
        plan.partitions[0].filesystem
    };
    assert_eq!(picked(keeps(5, 5), Purpose::Camera), FileSystem::Fat32);
    assert_eq!(picked(keeps(5, 5), Purpose::Data), FileSystem::ExFat);
    assert_eq!(picked(keeps(5, 5), Purpose::LinuxRoot), FileSystem::Ext4);
    assert_eq!(picked(keeps(5, 0), Purpose::LinuxRoot), FileSystem::F2fs);
    assert_eq!(picked(keeps(5, 5), Purpose::Boot), FileSystem::Fat32);
    // With two open units no root file system is bearable, and the layout says so.
    let plan = advised(keeps(2, 2), Some(Purpose::LinuxRoot));
    assert!(warns(&plan, "file_system_does_not_suit"));
    assert!(plan.advice.unwrap().paragraph.contains("another stick"));
    // What was asked for goes before.
    let ended = flashfit(&[
        "plan",
        "--capacity",
        "30GiB",
        "--erase-block",
        "4MiB",
        "--use",
        "linux-root",
        "--format",
        "json",
        "--fs",
        "exfat",
    ])
    .success();
    let layout = layout_json::parse(&ended).unwrap();
    assert_eq!(layout.partitions[0].filesystem, FileSystem::ExFat);
}

#[test]
fn the_advice_is_in_text_and_json() {
    let plan = advised(keeps(5, 3), Some(Purpose::Data));
    let json = layout_json::render(&plan);
    assert_eq!(layout_json::parse(&json).unwrap(), plan);
    let text = flowing(&layout_text::render(&plan));
    for words in [
        "keeps 5 erase blocks open at once",
        "Suitable: fat32, exfat, ext4.",
        "For data take exfat",
        "What misalignment costs",
        "15 to 25 %",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Nothing is known of the stick: nothing is said.
    let by_hand = flashfit(&["plan", "--capacity", "30GiB", "--erase-block", "4MiB"]).success();
    assert!(!by_hand.contains("which file system"), "{by_hand}");
    let scanned = flashfit(&["plan", "sim:corsair-voyager"]).success();
    assert!(scanned.contains("which file system"), "{scanned}");
}

#[test]
fn what_was_measured_reaches_the_advice() {
    let mut geometry = flashfit::geometry::Geometry::default();
    geometry.open_au.linear = OpenAu {
        verdict: Verdict::Confirmed,
        limit: Some(18),
        ..OpenAu::default()
    };
    let facts = facts(CARD, LogicalBlock::B512);
    let medium = Medium::from_facts(&facts)
        .unwrap()
        .with_geometry(&geometry, &facts);
    let plan = on(&medium, Bytes::mib(8), &Intent::default()).unwrap();
    assert!(plan.advice.unwrap().paragraph.contains("18 erase blocks"));
}

//! Boards and keep-out ranges bind everything: the places of partitions, the kind of table, and how
//! many entries it has.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

#[path = "plan_support/mod.rs"]
mod plan_support;

use flashfit::output::{layout_json, sfdisk};
use flashfit::plan::filesystem::Parameters;
use flashfit::plan::intent::{Intent, TableChoice};
use flashfit::plan::{
    Board, FileSystem, Layout, Medium, PartitionType, PlanError, TableKind, layout,
};
use flashfit::units::{Bytes, Lba, LogicalBlock, MIB};
use plan_support::*;

/// A 32 GB card.
const CARD: u64 = 31_914_983_424;

fn wish(board: Board, table: Option<TableKind>, partitions: &[&str]) -> Intent {
    Intent {
        boot: board,
        table: table.map_or(TableChoice::Auto, TableChoice::Kind),
        ..intent(partitions)
    }
}

fn for_board(
    board: Board,
    table: Option<TableKind>,
    partitions: &[&str],
) -> Result<Layout, PlanError> {
    plan(CARD, Bytes::mib(4), &wish(board, table, partitions))
}

/// What keeps out, in bytes.
fn kept(layout: &Layout) -> Vec<(u64, u64)> {
    layout
        .keep_out
        .iter()
        .map(|kept| (kept.range.from.get(), kept.range.to.get()))
        .collect()
}

#[test]
fn allwinner_gets_an_mbr_and_on_request_a_gpt_of_56_entries() {
    let plan = for_board(Board::Allwinner, None, &["rest:ext4"]).unwrap();
    assert_eq!(plan.table, TableKind::Mbr);
    assert!(plan.table_reason.contains("8 KiB"), "{}", plan.table_reason);
    assert_eq!(kept(&plan), [(8192, MIB)]);
    let gpt = Some(TableKind::Gpt);
    let plan = for_board(Board::Allwinner, gpt, &["64MiB:fat32", "rest:ext4"]).unwrap();
    let shape = plan.gpt.unwrap();
    assert_eq!((shape.entries, shape.array_lba), (56, Lba(2)));
    // The entries end where the loader begins.
    assert_eq!(plan.first_usable, Lba(16));
    assert_eq!(shape.backup_array_lba.get(), plan.capacity.get() - 15);
    assert!(warns(&plan, "fewer_gpt_entries"));
    assert!(plan.partitions[0].first >= Lba(2048));
    assert!(sfdisk::render(&plan).contains("\ntable-length: 56\n"));
    let read = layout_json::parse(&layout_json::render(&plan)).unwrap();
    assert_eq!(read, plan);
    // With sectors of 4096 bytes the loader lies where the entries begin.
    let facts = facts(CARD, LogicalBlock::B4096);
    let medium = Medium::from_facts(&facts).unwrap();
    let refused = layout(
        &medium,
        &grid(Bytes::mib(4)),
        &wish(Board::Allwinner, gpt, &["rest:ext4"]),
        ENTROPY,
    );
    assert!(matches!(refused, Err(PlanError::BoardRefusesTable { .. })));
}

#[test]
fn rockchip_gets_a_gpt_and_starts_at_16_mib() {
    for partitions in [["rest:ext4"], ["rest:exfat"]] {
        let plan = for_board(Board::Rockchip, None, &partitions).unwrap();
        assert_eq!(plan.table, TableKind::Gpt);
        assert_eq!(plan.gpt.unwrap().entries, 128);
        assert!(plan.partitions[0].first >= Lba(32768));
        assert_eq!(kept(&plan), [(64 * 512, 32768 * 512)]);
        assert!(plan.warnings.is_empty());
        let gap = plan
            .gaps
            .iter()
            .find(|gap| gap.reason.contains("idbloader"));
        assert_eq!((gap.unwrap().from, gap.unwrap().to), (Lba(64), Lba(32768)));
    }
    let plan = for_board(Board::Rockchip, Some(TableKind::Mbr), &["rest:ext4"]).unwrap();
    assert_eq!(plan.table, TableKind::Mbr);
    assert!(warns(&plan, "board_wants_gpt"));
}

#[test]
fn a_loader_of_9_mib_from_sector_64_moves_the_partition_behind_it() {
    let mut wish = wish(Board::Generic, None, &["rest:ext4"]);
    wish.keep_out = vec!["64s-18496s".parse().unwrap()];
    let plan = plan(CARD, Bytes::mib(4), &wish).unwrap();
    assert_eq!(plan.partitions[0].first, Lba(24576));
    // No partition may be laid over it by hand either.
    let mut forged = plan.clone();
    forged.partitions[0].first = Lba(8192);
    assert!(forged.check().is_err());
}

#[test]
fn imx6_refuses_a_gpt_with_the_reason_and_imx8_does_not() {
    let plan = for_board(Board::Imx6, None, &["rest:ext4"]).unwrap();
    assert_eq!(plan.table, TableKind::Mbr);
    assert_eq!(kept(&plan), [(1024, MIB)]);
    let error = for_board(Board::Imx6, Some(TableKind::Gpt), &["rest:ext4"]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("1 KiB") && text.contains("use --table mbr"),
        "{text}"
    );
    assert!(!text.contains('\n'));
    let plan = for_board(Board::Imx8, Some(TableKind::Gpt), &["rest:ext4"]).unwrap();
    assert_eq!(plan.gpt.unwrap().entries, 128);
    assert!(plan.partitions[0].first >= Lba(16384));
}

#[test]
fn a_raspberry_pi_boots_from_fat32_first_on_an_mbr_and_the_4_from_a_gpt_too() {
    let fat_first = ["256MiB:fat32:boot", "rest:ext4:root"];
    let plan = for_board(Board::RaspberryPi, None, &fat_first).unwrap();
    assert_eq!(plan.table, TableKind::Mbr);
    assert_eq!(plan.partitions[0].kind, PartitionType::Mbr(0x0b));
    for partitions in [["rest:ext4"], ["rest:fat16"], ["rest:exfat"]] {
        let error = for_board(Board::RaspberryPi, None, &partitions).unwrap_err();
        assert!(error.to_string().contains("--partition 256MiB:fat32:BOOT"));
    }
    // With larger sectors FAT32 is larger: what the refusal suggests is taken.
    let coarse = |partitions: &[&str]| {
        let facts = plan_support::facts(CARD, LogicalBlock::B4096);
        let choice = grid(Bytes::mib(4));
        let wish = wish(Board::RaspberryPi, None, partitions);
        layout(
            &Medium::from_facts(&facts).unwrap(),
            &choice,
            &wish,
            plan_support::ENTROPY,
        )
    };
    let error = coarse(&["rest:ext4"]).unwrap_err().to_string();
    let (_, suggested) = error.split_once("--partition ").unwrap();
    coarse(&[suggested, "rest:ext4"]).unwrap();
    let error = for_board(Board::RaspberryPi, Some(TableKind::Gpt), &fat_first).unwrap_err();
    assert!(
        error.to_string().contains("--boot raspberry-pi-4"),
        "{error}"
    );
    let plan = for_board(Board::RaspberryPi4, Some(TableKind::Gpt), &fat_first).unwrap();
    // Entries in sector 2 and sector 34 usable, although partitions start much later.
    assert_eq!(plan.gpt.unwrap().array_lba, Lba(2));
    assert_eq!(plan.first_usable, Lba(34));
    assert!(sfdisk::render(&plan).contains("\nfirst-lba: 34\n"));
    // Asked for nothing it is one partition that it can boot from, also on a large card.
    let bare = wish(Board::RaspberryPi, None, &[]);
    let plan = plan_support::plan(64_000_000_000, Bytes::mib(4), &bare).unwrap();
    assert_eq!(plan.partitions[0].filesystem, FileSystem::Fat32);
}

#[test]
fn am335x_gets_an_active_fat_partition_behind_its_loaders() {
    let plan = for_board(Board::Am335x, None, &["64MiB:fat16", "rest:ext4"]).unwrap();
    assert_eq!(plan.table, TableKind::Mbr);
    assert!(plan.partitions[0].bootable && !plan.partitions[1].bootable);
    // mkfs.fat cuts to whole tracks of 63 sectors, and the ROM wants the FAT to fill its partition.
    assert!(warns(&plan, "fat_shorter_than_partition"));
    let said = plan
        .warnings
        .iter()
        .find(|w| w.code == "fat_shorter_than_partition");
    assert!(said.unwrap().text.contains("a multiple of 516096s"));
    let whole = for_board(Board::Am335x, None, &["516096s:fat16", "rest:ext4"]).unwrap();
    assert!(whole.warnings.is_empty());
    let geometry = Board::Am335x.wishes().fat_geometry.unwrap();
    assert_eq!((geometry.heads, geometry.sectors_per_track), (255, 63));
    assert!(whole.mkfs[0].contains(" -g 255/63 "), "{}", whole.mkfs[0]);
    let Parameters::Fat(fat) = whole.partitions[0].format.as_ref().unwrap().parameters else {
        panic!();
    };
    assert_eq!(fat.volume, whole.partitions[0].sectors);
    // Only the first FAT is the ROM's; it wants whole tracks, the others whole units.
    let two = ["516096s:fat16", "256MiB:fat32", "rest:ext4"];
    let two = for_board(Board::Am335x, None, &two).unwrap();
    assert!(two.mkfs[1].contains(" -g 255/32 "), "{}", two.mkfs[1]);
    assert_eq!(Board::Generic.wishes().fat_geometry, None);
    assert!(plan.partitions[0].first >= Lba(8192));
    assert!(for_board(Board::Am335x, None, &["rest:ext4"]).is_err());
    let plan = for_board(Board::Am335x, Some(TableKind::Gpt), &["64MiB:fat16"]).unwrap();
    assert!(!plan.partitions[0].bootable && plan.gpt.unwrap().entries == 128);
}

#[test]
fn the_generic_board_changes_nothing() {
    let plan = for_board(Board::Generic, None, &["rest:exfat"]).unwrap();
    let without = plan_support::plan(CARD, Bytes::mib(4), &intent(&["rest:exfat"])).unwrap();
    assert_eq!(plan, without);
    assert_eq!(plan.table, TableKind::Mbr);
    assert_eq!(plan.partitions[0].kind, PartitionType::Mbr(0x07));
}

#[test]
fn only_a_board_shortens_a_gpt_and_a_typed_range_over_its_entries_is_refused() {
    let typed = |board, range: &str| {
        let mut wish = wish(board, Some(TableKind::Gpt), &["rest:ext4"]);
        wish.keep_out = vec![range.parse().unwrap()];
        plan(CARD, Bytes::mib(4), &wish)
    };
    for range in ["16s-2048s", "2s-3s", "33s-34s", "1s-2s"] {
        let error = typed(Board::Generic, range).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, PlanError::KeepOutOverTable { .. }),
            "{text}"
        );
        assert!(text.contains("use --table mbr"), "{text}");
    }
    // Behind the 56 entries of the board it is free.
    assert!(typed(Board::Allwinner, "20s-30s").is_ok());
    assert!(typed(Board::Allwinner, "10s-30s").is_err());
    // Neither may the second copy be covered.
    let last = CARD / 512 - 20;
    assert!(typed(Board::Generic, &format!("{last}s-{}s", last + 1)).is_err());
    assert!(typed(Board::Allwinner, &format!("{last}s-{}s", last + 1)).is_ok());
}

#[test]
fn an_mbr_only_board_on_a_large_medium_is_not_sent_to_a_gpt() {
    let plan_large = |board, partitions: &[&str]| {
        let wish = wish(board, None, partitions);
        plan(4 << 40, Bytes::mib(4), &wish)
    };
    let text = plan_large(Board::Imx6, &["rest:ext4"])
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("--max-size") && !text.contains("--table gpt"),
        "{text}"
    );
    let five = ["8MiB:ext4"; 5];
    let text = plan_large(Board::Imx6, &five).unwrap_err().to_string();
    assert!(!text.contains("--table gpt"), "{text}");
    // One that only prefers an MBR gets a GPT where an MBR does not reach.
    let plan = plan_large(Board::Allwinner, &["rest:ext4"]).unwrap();
    assert_eq!(
        (plan.table, plan.gpt.unwrap().entries),
        (TableKind::Gpt, 56)
    );
    let many = ["8MiB:ext4"; 57];
    assert!(matches!(
        plan_large(Board::Allwinner, &many),
        Err(PlanError::TooMany { most: 56, .. })
    ));
}

#[test]
fn a_medium_smaller_than_the_loaders_is_refused() {
    let wish = wish(Board::Rockchip, None, &["rest:ext4"]);
    let error = plan(12 * MIB, Bytes::mib(1), &wish).unwrap_err();
    assert!(
        matches!(error, PlanError::KeepOutBeyondEnd { .. }),
        "{error}"
    );
}

#[test]
fn the_reserve_at_the_end_binds_boards_too() {
    let mut wish = wish(Board::Rockchip, None, &["rest:ext4"]);
    wish.reserve_end = Some("1GiB".parse().unwrap());
    let plan = plan(CARD, Bytes::mib(4), &wish).unwrap();
    let end = plan.byte_range(&plan.partitions[0]).to;
    assert!(end.get() + 1024 * MIB <= CARD);
}

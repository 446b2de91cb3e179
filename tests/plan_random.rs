//! Random media, grids and wishes: what every layout keeps.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "plan_support/mod.rs"]
mod plan_support;

use flashfit::output::{layout_json, layout_text, parted, sgdisk};
use flashfit::plan::boot::{Board, FirstWish};
use flashfit::plan::filesystem::{Format, Inside};
use flashfit::plan::intent::TableChoice;
use flashfit::plan::intent::{Intent, KeepOut, PartitionIntent, PartitionSize};
use flashfit::plan::layout::AlignedBy;
use flashfit::plan::{FileSystem, Medium, PlanError, TableKind, alignment_of, layout};
use flashfit::units::{Bytes, LogicalBlock, MIB, Size};
use plan_support::*;
use proptest::prelude::*;

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
        prop::sample::select(vec![
            "none", "none", "fat16", "fat32", "exfat", "exfat", "ext4", "f2fs", "btrfs", "xfs",
            "ntfs", "swap",
        ]),
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
        prop_oneof![
            2 => Just(Board::Generic),
            1 => prop::sample::select(Board::ALL.to_vec()),
        ],
    )
        .prop_map(
            |(mut sizes, rest, keep_out, reserve, max, table, align, boot)| {
                if boot.wishes().first != FirstWish::Any && sizes.len() < 4 {
                    sizes.insert(0, "64MiB:fat32".to_owned());
                }
                if let Some(index) = rest {
                    sizes.insert(index.min(sizes.len()), "rest:exfat".to_owned());
                }
                let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
                Intent {
                    keep_out,
                    reserve_end: reserve.map(|n| Size::Bytes(Bytes(n))),
                    max_size: max.map(|n| Size::Bytes(Bytes(n))),
                    table,
                    boot,
                    align: align.map(|n| Size::Bytes(Bytes::kib(n))),
                    ..intent(&sizes)
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if common::full() { 100_000 } else { 3000 },
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
            match &p.aligned_by {
                AlignedBy::Start => {
                    prop_assert_eq!((from - phase.get()) % grain.get(), 0, "start");
                }
                AlignedBy::DataArea { reason } => {
                    prop_assert!(!reason.is_empty());
                    let inside = p.format.as_ref().map(|format| &format.inside);
                    prop_assert!(matches!(inside, Some(Inside::OnGrid(_) | Inside::UnitsOnGrid)), "{:?}", p);
                }
            }
            if let Some(Format { inside: Inside::OnGrid(offset), .. }) = &p.format {
                let data = from + offset.get();
                prop_assert_eq!((data - phase.get()) % size_unit.get(), 0, "data area");
                prop_assert!(data < to, "data area");
            }
            prop_assert_eq!((to - phase.get()) % size_unit.get(), 0, "end");
            prop_assert!(from >= MIB && from < to && from >= last_end);
            prop_assert!(p.end().get() <= sectors);
            if plan.table == TableKind::Gpt {
                let shape = plan.gpt.unwrap();
                prop_assert!(p.end() <= shape.backup_array_lba);
                prop_assert!(p.first >= shape.room(block).first);
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
            for loader in wish.boot.wishes().loaders {
                prop_assert!(to <= loader.from.get() || from >= loader.to.get(), "loader");
            }
            last_end = to;
            pieces.push((p.first.get(), p.end().get()));
        }
        match plan.gpt {
            Some(shape) => {
                prop_assert_eq!(plan.table, TableKind::Gpt);
                for owned in shape.owned(block, plan.capacity) {
                    prop_assert!(!plan.keep_out.iter().any(|kept| kept.range.overlaps(owned)));
                }
                // Only a board whose loader lies there makes it shorter.
                prop_assert!(shape.entries == 128 || wish.boot == Board::Allwinner);
                prop_assert!(sgdisk::render(&plan).is_ok());
            }
            None => prop_assert_eq!(plan.table, TableKind::Mbr),
        }
        prop_assert!(parted::render(&plan).is_ok() || wish.boot == Board::Allwinner);
        for (index, p) in wish.partitions.iter().enumerate() {
            if let PartitionSize::Exact(size) = p.size {
                let asked = size.in_bytes(block).unwrap().get();
                let given = plan.partitions[index].sectors.get() * unit;
                let least = asked.div_ceil(size_unit.get()) * size_unit.get();
                if p.filesystem.is_linux_only() && p.filesystem != FileSystem::Btrfs
                    && p.filesystem != FileSystem::F2fs || p.filesystem == FileSystem::None {
                    prop_assert_eq!(given, least);
                } else {
                    // The file system may move the start, and then the partition gets more.
                    prop_assert!(given >= asked, "{given} of {asked}");
                }
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

#[test]
fn most_random_wishes_lead_to_a_layout() {
    use proptest::strategy::ValueTree;
    let mut runner = prop::test_runner::TestRunner::deterministic();
    let mut some = |_| {
        let medium = any_medium().new_tree(&mut runner).unwrap().current();
        let (erase_block, _) = any_erase_block().new_tree(&mut runner).unwrap().current();
        let wish = any_intent().new_tree(&mut runner).unwrap().current();
        let facts = facts(medium.capacity.get(), medium.logical_block);
        let choice = alignment_of(erase_block, Bytes::ZERO, &facts).unwrap();
        layout(&medium, &choice, &wish, ENTROPY)
    };
    let made = (0..400).filter_map(|n| some(n).ok()).collect::<Vec<_>>();
    let off_grid = made.iter().flat_map(|plan| &plan.partitions);
    let off_grid = off_grid
        .filter(|p| p.aligned_by != AlignedBy::Start)
        .count();
    // Else the rules above were hardly tried.
    assert!(
        made.len() > 80 && off_grid > 40,
        "{} {off_grid}",
        made.len()
    );
}

//! Random media, grids and wishes: what is rendered reads back as the layout, and touches nothing
//! that it must not.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod table_support;

use flashfit::device::ReadDevice;
use flashfit::plan::intent::{Intent, KeepOut, TableChoice};
use flashfit::plan::{Medium, TableKind, alignment_of, layout};
use flashfit::table::{self, Part};
use flashfit::units::{ByteRange, Bytes, LogicalBlock, Size};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use table_support::*;

fn pick<T: Copy>(random: &mut Xoshiro256PlusPlus, from: &[T]) -> T {
    from[random.random_range(0..from.len())]
}

fn any_intent(random: &mut Xoshiro256PlusPlus) -> Intent {
    let count = random.random_range(1..7);
    let mut partitions = Vec::new();
    for _ in 0..count {
        let fs = pick(
            random,
            &["none", "fat16", "fat32", "exfat", "ext4", "swap", "ntfs"],
        );
        let size = match random.random_range(0..3) {
            0 => format!("{}s", random.random_range(1..3_000_000)),
            1 => format!("{}MiB", random.random_range(1..700)),
            _ => format!("{}%", random.random_range(1..25)),
        };
        partitions.push(format!("{size}:{fs}").parse().unwrap());
    }
    let kept = |random: &mut Xoshiro256PlusPlus| {
        let from = random.random_range(0..400u64) * 777_777 + 20_000;
        KeepOut {
            from: Size::Bytes(Bytes(from)),
            to: Size::Bytes(Bytes(from + random.random_range(1..40_000_000))),
            owner: Some("boot loader".to_owned()),
        }
    };
    Intent {
        table: pick(
            random,
            &[
                TableChoice::Auto,
                TableChoice::Kind(TableKind::Mbr),
                TableChoice::Kind(TableKind::Gpt),
            ],
        ),
        partitions,
        keep_out: (0..random.random_range(0..3))
            .map(|_| kept(random))
            .collect(),
        id_seed: Some(random.random::<u64>().to_string()),
        ..Intent::default()
    }
}

#[test]
fn every_random_layout_renders_and_reads_back() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_131_130);
    let (mut made, rounds) = ([0; 2], if common::full() { 20_000 } else { 300 });
    for _ in 0..rounds {
        let block = pick(&mut random, &[LogicalBlock::B512, LogicalBlock::B4096]);
        let bits = random.random_range(26..43);
        let size = (1u64 << bits) + random.random_range(0..1u64 << bits);
        let mut device = sized(block, size.min(8 << 40));
        let erase_block = Bytes::kib(pick(&mut random, &[1536, 4096, 6144, 8192, 12288, 65536]));
        let phase = Bytes(random.random_range(0..erase_block.get()) / 4096 * 4096);
        let choice = alignment_of(erase_block, phase, device.facts()).unwrap();
        let medium = Medium::from_facts(device.facts()).unwrap();
        let Ok(plan) = layout(&medium, &choice, &any_intent(&mut random), [7; 16]) else {
            continue;
        };
        made[usize::from(plan.table == TableKind::Gpt)] += 1;
        let prepared =
            table::prepare(&mut device, &plan).unwrap_or_else(|e| panic!("{e}: {plan:?}"));
        let unit = block.bytes().get();
        for extent in prepared.extents() {
            assert!(extent.at.get() < plan.capacity.get());
            let from = extent.at.get() * unit;
            let sector = ByteRange {
                from: Bytes(from),
                to: Bytes(from + unit),
            };
            assert!(
                plan.keep_out
                    .iter()
                    .all(|kept| !kept.range.overlaps(sector))
            );
            let inside = plan
                .partitions
                .iter()
                .any(|p| plan.byte_range(p).overlaps(sector));
            assert!(extent.part == Part::Wipe || !inside);
        }
        write(&mut device, &plan);
        assert_eq!(seen(&device), Some(expected(&plan)));
    }
    assert!(made[0] * 8 > rounds && made[1] * 8 > rounds, "{made:?}");
}

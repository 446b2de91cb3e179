//! ext4, F2FS, Btrfs, XFS and NTFS made by the real tools: their units lie on the grid where the
//! plan says so, judged by the readers of their own packages.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod mkfs_support;

use common::{need, need_loop};
use flashfit::plan::filesystem::{Inside, Parameters};
use flashfit::plan::layout::{Layout, Partition};
use flashfit::plan::{FileSystem, PlanError};
use flashfit::units::{Bytes, LogicalBlock, MIB};
use mkfs_support::*;

/// The layouts that the plan makes, with the image. Others must be refused with limit and way out.
fn each(fs: FileSystem, sample: usize, check: impl Fn(Case, &Layout, &Partition, &Volume)) {
    let mut made_some = 0;
    let mut sticks = cases(LogicalBlock::B512, sample);
    if need_loop() {
        sticks.extend(cases(LogicalBlock::B4096, sample / 5));
    }
    for case in sticks {
        let plan = match case.plan(fs) {
            Ok(plan) => plan,
            Err(PlanError::FileSystem { error, .. }) => {
                let text = error.to_string();
                assert!(
                    text.contains("needs at least") && text.contains("make the partition larger"),
                    "{case:?}: {text}"
                );
                assert!(case.capacity < 1_100_000_000, "{case:?}: {text}");
                continue;
            }
            Err(other) => panic!("{case:?}: {other}"),
        };
        let (volume, _) = made(&plan);
        check(case, &plan, &plan.partitions[0], &volume);
        made_some += 1;
    }
    assert!(made_some >= sample / 2, "{made_some}");
}

fn start(plan: &Layout) -> u64 {
    plan.byte_range(&plan.partitions[0]).from.get()
}

fn parameters(partition: &Partition) -> &Parameters {
    &partition.format.as_ref().unwrap().parameters
}

fn on_grid(partition: &Partition) -> bool {
    let inside = &partition.format.as_ref().unwrap().inside;
    !matches!(inside, Inside::StartOnly(_))
}

#[test]
fn ext4_stripes_are_erase_blocks_and_count_from_a_boundary() {
    if !(need("mkfs.ext4") && need("dumpe2fs")) {
        return;
    }
    each(FileSystem::Ext4, 40, |case, plan, partition, volume| {
        assert!(
            on_grid(partition) && case.is_boundary(start(plan)),
            "{case:?}"
        );
        let told = told("dumpe2fs", &["-h"], &volume.path);
        assert_eq!(number_behind(&told, "Block size:"), 4096);
        assert_eq!(
            number_behind(&told, "RAID stripe width:") * 4096,
            case.erase_block,
            "{told}"
        );
        let stride = number_behind(&told, "RAID stride:");
        assert_eq!(case.erase_block % (stride * 4096), 0, "{told}");
    });
}

#[test]
fn f2fs_has_its_main_area_on_the_grid_except_with_a_phase() {
    if !(need("mkfs.f2fs") && need("dump.f2fs")) {
        return;
    }
    each(FileSystem::F2fs, 40, |case, plan, partition, volume| {
        let told = told("dump.f2fs", &["-d", "1"], &volume.path);
        let field = |name: &str| {
            let (_, rest) = told.split_once(name).unwrap_or_else(|| panic!("{told}"));
            number_behind(rest, " : ")
        };
        let main = start(plan) + field("main_blkaddr") * 4096;
        let Parameters::F2fs(f2fs) = parameters(partition) else {
            panic!("{case:?}");
        };
        assert_eq!(field("segs_per_sec"), f2fs.segments_per_section);
        assert_eq!(on_grid(partition), case.phase == 0, "{case:?}");
        if on_grid(partition) {
            assert!(case.is_boundary(main), "{case:?}: main area at {main}");
            let zone = f2fs.segments_per_section * f2fs.sections_per_zone * 2 * MIB;
            assert_eq!(zone % case.erase_block, 0, "{case:?}");
        } else {
            assert!(
                plan.warnings.iter().any(|w| w.code == "start_aligned_only"),
                "{case:?}"
            );
        }
        assert!(case.is_boundary(start(plan)), "{case:?}");
    });
}

#[test]
fn btrfs_has_its_extents_on_grids_that_divide_8_mib() {
    if !(need("mkfs.btrfs") && need("btrfs")) {
        return;
    }
    each(FileSystem::Btrfs, 40, |case, plan, partition, volume| {
        let told = told(
            "btrfs",
            &["inspect-internal", "dump-tree", "-t", "dev"],
            &volume.path,
        );
        let extents: Vec<u64> = told
            .lines()
            .filter_map(|line| line.split_once("DEV_EXTENT "))
            .filter_map(|(_, rest)| rest.split(')').next()?.parse().ok())
            .collect();
        assert!(!extents.is_empty(), "{case:?}: {told}");
        let divides = (8 * MIB).is_multiple_of(case.erase_block);
        let large = plan.byte_range(partition).length() >= Bytes::gib(5);
        assert_eq!(on_grid(partition), divides && large, "{case:?}");
        if on_grid(partition) {
            for extent in extents {
                let place = start(plan) + extent;
                assert!(case.is_boundary(place), "{case:?}: extent at {extent}");
            }
        } else {
            assert!(case.is_boundary(start(plan)), "{case:?}");
            assert!(
                plan.warnings.iter().any(
                    |w| w.code == "start_aligned_only" && w.text.contains("start aligned only")
                ),
                "{case:?}"
            );
        }
    });
}

#[test]
fn xfs_groups_begin_on_boundaries() {
    if !(need("mkfs.xfs") && need("xfs_db")) {
        return;
    }
    each(FileSystem::Xfs, 40, |case, plan, partition, volume| {
        assert!(
            on_grid(partition) && case.is_boundary(start(plan)),
            "{case:?}"
        );
        let told = told(
            "xfs_db",
            &[
                "-r",
                "-c",
                "sb 0",
                "-c",
                "p unit width agblocks agcount blocksize",
            ],
            &volume.path,
        );
        let field = |name: &str| number_behind(&told, &format!("{name} = "));
        assert_eq!(field("blocksize"), 4096);
        assert_eq!(field("unit") * 4096, case.erase_block, "{told}");
        assert_eq!(field("agblocks") * 4096 % case.erase_block, 0, "{told}");
    });
}

#[test]
fn no_group_of_xfs_is_empty_however_few_erase_blocks_there_are() {
    if !need("mkfs.xfs") {
        return;
    }
    let full = common::full();
    let mut made_some = 0;
    // Nine erase blocks are what three groups take all of.
    let sample =
        |erase_block: u64, units: u64| units == 9 || (erase_block + units).is_multiple_of(23);
    for erase_block in [36, 48, 64, 96, 128, 192, 256] {
        for units in (7..=40).filter(|units| full || sample(erase_block, *units)) {
            let case = Case {
                // One unit in front of the partition and one behind it.
                capacity: (units + 2) * erase_block * MIB,
                erase_block: erase_block * MIB,
                phase: 0,
                block: LogicalBlock::B512,
            };
            let size = format!("{}MiB:xfs", units * erase_block);
            match case.plan_of(size.parse().unwrap()) {
                Ok(plan) => {
                    made(&plan);
                    made_some += 1;
                }
                Err(error) => assert!(error.to_string().contains("needs at least"), "{error}"),
            }
        }
    }
    assert!(made_some >= 7, "{made_some}");
}

#[test]
fn ntfs_starts_on_the_grid_and_says_that_this_is_all() {
    if !need("mkntfs") {
        return;
    }
    each(FileSystem::Ntfs, 6, |case, plan, partition, volume| {
        assert!(case.is_boundary(start(plan)) && !on_grid(partition));
        let mut boot = [0u8; 512];
        let mut file = std::fs::File::open(&volume.path).unwrap();
        std::io::Read::read_exact(&mut file, &mut boot).unwrap();
        assert_eq!(&boot[3..7], b"NTFS");
        let hidden = u32::from_le_bytes(boot[28..32].try_into().unwrap());
        assert_eq!(u64::from(hidden), partition.first.get());
    });
}

#[test]
fn sections_of_f2fs_are_counted_not_exponents() {
    if !(need("mkfs.f2fs") && need("dump.f2fs")) {
        return;
    }
    for (erase_block, segments) in [(1536, 3), (3072, 3), (4096, 2), (12288, 6), (2048, 1)] {
        let case = Case {
            capacity: 8_000_000_000,
            erase_block: erase_block * 1024,
            phase: 0,
            block: LogicalBlock::B512,
        };
        let plan = case.plan(FileSystem::F2fs).unwrap();
        assert!(
            plan.mkfs[0].contains(&format!(" -s {segments} ")),
            "{}",
            plan.mkfs[0]
        );
        let said = format!("sections of {}", Bytes::mib(2 * segments));
        assert!(
            plan.notes
                .iter()
                .any(|n| n.contains(&said) && n.contains("1.6")),
            "{:?}",
            plan.notes
        );
    }
}

#[test]
fn a_second_run_over_an_old_file_system_asks_nothing() {
    for (fs, tool) in [
        (FileSystem::Ext4, "mkfs.ext4"),
        (FileSystem::F2fs, "mkfs.f2fs"),
        (FileSystem::Btrfs, "mkfs.btrfs"),
        (FileSystem::Xfs, "mkfs.xfs"),
        (FileSystem::ExFat, "mkfs.exfat"),
        (FileSystem::Swap, "mkswap"),
    ] {
        if !need(tool) {
            continue;
        }
        let case = Case {
            capacity: 1_000_000_000,
            erase_block: 4 * MIB,
            phase: 0,
            block: LogicalBlock::B512,
        };
        let plan = case.plan(fs).unwrap();
        let (volume, _) = made(&plan);
        // `make` insists on success; nobody answers on stdin.
        volume.make(&plan, &plan.partitions[0]);
    }
}

//! exFAT made by the real mkfs.exfat has its cluster heap where the plan says, judged by the boot
//! sector and by dump.exfat.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod mkfs_support;

use common::{need, need_loop};
use flashfit::plan::FileSystem;
use flashfit::plan::filesystem::Parameters;
use flashfit::plan::layout::AlignedBy;
use flashfit::units::{LogicalBlock, MIB};
use mkfs_support::*;

/// Plan, make, read back. Whether the partition starts on the grid.
fn check(case: Case) -> bool {
    let plan = case
        .plan(FileSystem::ExFat)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let (volume, line) = made(&plan);
    let mut boot = [0u8; 512];
    let mut file = std::fs::File::open(&volume.path).unwrap();
    std::io::Read::read_exact(&mut file, &mut boot).unwrap();
    assert_eq!(&boot[3..11], b"EXFAT   ", "{case:?}: {line}");
    let le = |at: usize| u64::from(u32::from_le_bytes(boot[at..at + 4].try_into().unwrap()));
    let sector = 1u64 << boot[108];
    assert_eq!(sector, case.block.bytes().get());
    let partition = &plan.partitions[0];
    let Some(Parameters::ExFat(planned)) = partition.format.as_ref().map(|f| &f.parameters) else {
        panic!("{case:?}");
    };
    assert_eq!(le(80), planned.fat_offset.get(), "{case:?}: {line}");
    assert_eq!(le(84), planned.fat.get(), "{case:?}: {line}");
    assert_eq!(le(88), planned.heap_offset.get(), "{case:?}: {line}");
    assert_eq!(le(92), planned.clusters, "{case:?}: {line}");
    assert_eq!(
        sector << boot[109],
        planned.cluster.get(),
        "{case:?}: {line}"
    );
    let start = plan.byte_range(partition).from.get();
    let heap = start + le(88) * sector;
    assert!(case.is_boundary(heap), "{case:?}: {line}: heap at {heap}");
    let fat = start + le(80) * sector;
    assert_eq!(fat % (128 << 10), 0, "{case:?}: {line}: FAT at {fat}");
    let told = told("dump.exfat", &[], &volume.path);
    let offset = number_behind(&told, "Cluster Heap Offset (sector offset):");
    assert_eq!(start + offset * sector, heap, "{told}");
    partition.aligned_by == AlignedBy::Start
}

#[test]
fn exfat_has_its_heap_on_the_grid() {
    if !(need("mkfs.exfat") && need("dump.exfat")) {
        return;
    }
    let on_grid = cases(LogicalBlock::B512, 60)
        .into_iter()
        .filter(|case| check(*case))
        .count();
    // Both kinds of start occur.
    assert!(on_grid > 10, "{on_grid}");
}

#[test]
fn exfat_has_its_heap_on_the_grid_with_4096_byte_sectors() {
    if !(need_loop() && need("mkfs.exfat") && need("dump.exfat")) {
        return;
    }
    for case in cases(LogicalBlock::B4096, 20) {
        check(case);
    }
}

#[test]
fn an_erase_block_of_12_mib_is_met_by_the_start_since_b_takes_powers_of_two() {
    let case = Case {
        capacity: 31_914_983_424,
        erase_block: 12 * MIB,
        phase: 0,
        block: LogicalBlock::B512,
    };
    let plan = case.plan(FileSystem::ExFat).unwrap();
    assert_eq!(plan.partitions[0].first.get(), 8192);
    assert!(matches!(
        plan.partitions[0].aligned_by,
        AlignedBy::DataArea { .. }
    ));
    assert!(
        plan.mkfs[0].starts_with("mkfs.exfat -b 4M "),
        "{}",
        plan.mkfs[0]
    );
}

#[test]
fn without_b_the_default_is_one_megabyte_and_off_a_grid_of_4_mib() {
    if !(need("mkfs.exfat") && need("dump.exfat")) {
        return;
    }
    // The 128 GB card of the exfatprogs pull request 145: sectors 32768 to 251394048, clusters of
    // 128 KiB.
    let volume = Volume::new(251_361_280 * 512, LogicalBlock::B512);
    let node = volume.path.to_str().unwrap().to_owned();
    for (options, fat, heap) in [
        (&[][..], 2048, 10_240),
        (&["-b", "4M"], 8192, 16_384),
        (&["-b", "16M"], 32_768, 65_536),
    ] {
        let mut words: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
        words.push(node.clone());
        run("mkfs.exfat", &words);
        let told = told("dump.exfat", &[], &volume.path);
        assert_eq!(number_behind(&told, "FAT Offset(sector offset):"), fat);
        assert_eq!(
            number_behind(&told, "Cluster Heap Offset (sector offset):"),
            heap
        );
    }
    let case = Case {
        capacity: 251_394_048 * 512,
        erase_block: 4 * MIB,
        phase: 0,
        block: LogicalBlock::B512,
    };
    let plan = case.plan(FileSystem::ExFat).unwrap();
    assert!(plan.mkfs[0].contains(" -b "), "{}", plan.mkfs[0]);
    assert!(
        plan.notes
            .iter()
            .any(|note| note.contains("the boundary is 1 MiB")),
        "{:?}",
        plan.notes
    );
}

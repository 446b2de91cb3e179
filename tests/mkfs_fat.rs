//! FAT made by the real mkfs.fat has its data area where the plan says, judged by the boot sector
//! and by fsck.fat, never by the exit status.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod mkfs_support;

use common::{need, need_loop};
use flashfit::plan::filesystem::Parameters;
use flashfit::plan::filesystem::fat::{Fat, FatGeometry, FatWidth, Wish, volume};
use flashfit::plan::{FileSystem, PlanError};
use flashfit::units::{Bytes, LogicalBlock, MIB, Sectors};
use mkfs_support::*;
use std::io::Read;
use std::path::Path;

/// What the boot sector says, read here on its own.
#[derive(Debug, PartialEq)]
struct Boot {
    sector: u64,
    cluster: u64,
    reserved: u64,
    fats: u64,
    root: u64,
    fat: u64,
    volume: u64,
    hidden: u64,
}

fn boot_sector(path: &Path) -> Boot {
    let mut b = [0u8; 512];
    std::fs::File::open(path)
        .unwrap()
        .read_exact(&mut b)
        .unwrap();
    assert_eq!(b[510..], [0x55, 0xaa]);
    let le = |at: usize, n: usize| {
        (0..n)
            .rev()
            .fold(0, |sum, i| sum << 8 | u64::from(b[at + i]))
    };
    let or = |small: u64, large: u64| if small == 0 { large } else { small };
    let sector = le(11, 2);
    Boot {
        sector,
        cluster: le(13, 1),
        reserved: le(14, 2),
        fats: le(16, 1),
        root: (le(17, 2) * 32).div_ceil(sector),
        fat: or(le(22, 2), le(36, 4)),
        volume: or(le(19, 2), le(32, 4)),
        hidden: le(28, 4),
    }
}

impl Boot {
    fn data(&self) -> u64 {
        self.reserved + self.fats * self.fat + self.root
    }

    #[track_caller]
    fn is(&self, fat: &Fat, block: LogicalBlock) {
        let sector = block.bytes().get();
        let expected = Boot {
            sector,
            cluster: fat.cluster.get() / sector,
            reserved: fat.reserved.get(),
            fats: u64::from(fat.fats),
            root: fat.root.get(),
            fat: fat.fat.get(),
            volume: fat.volume.get(),
            hidden: self.hidden,
        };
        assert_eq!(*self, expected, "{fat:?}");
        let clusters = (self.volume - self.data()) / self.cluster;
        assert_eq!(clusters, fat.clusters);
    }
}

/// Plan, make, read back.
fn check(case: Case, fs: FileSystem) {
    let plan = case
        .plan(fs)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let (volume, line) = made(&plan);
    let boot = boot_sector(&volume.path);
    let partition = &plan.partitions[0];
    let Some(Parameters::Fat(fat)) = partition.format.as_ref().map(|f| &f.parameters) else {
        panic!("{case:?}");
    };
    boot.is(fat, case.block);
    let start = plan.byte_range(partition).from.get();
    assert_eq!(boot.hidden * boot.sector, start, "{line}");
    let data = start + boot.data() * boot.sector;
    assert!(case.is_boundary(data), "{case:?}: {line}: data at {data}");
    assert!(fat.is_sound(), "{case:?}: {line}: {fat:?}");
    // Nothing is lost to tracks.
    assert_eq!(boot.volume, partition.sectors.get(), "{case:?}: {line}");
    if boot.sector == 512 || fs == FileSystem::Fat32 {
        let told = told("fsck.fat", &["-v", "-n"], &volume.path);
        let offset = number_behind(&told, "Data area starts at byte");
        assert_eq!(start + offset, data, "{told}");
    }
}

#[test]
fn fat32_has_its_data_area_on_the_grid() {
    if !(need("mkfs.fat") && need("fsck.fat")) {
        return;
    }
    for case in cases(LogicalBlock::B512, 60) {
        check(case, FileSystem::Fat32);
    }
}

#[test]
fn fat32_has_its_data_area_on_the_grid_with_4096_byte_sectors() {
    if !(need_loop() && need("mkfs.fat") && need("fsck.fat")) {
        return;
    }
    for case in cases(LogicalBlock::B4096, 20) {
        check(case, FileSystem::Fat32);
    }
}

#[test]
fn fat16_has_its_data_area_on_the_grid_up_to_2_gib() {
    if !(need("mkfs.fat") && need("fsck.fat")) {
        return;
    }
    for capacity in [
        128 * MIB + 512,
        505_413_632,
        1_000_000_000,
        2_000_000_000,
        2048 * MIB,
    ] {
        for case in cases(LogicalBlock::B512, 60)
            .iter()
            .filter(|c| c.capacity == 1_000_000_000 || c.capacity == 4_000_000_000)
        {
            check(Case { capacity, ..*case }, FileSystem::Fat16);
        }
    }
}

/// Numbers with no pattern: a linear congruential generator (Knuth, MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn the_arithmetic_is_that_of_mkfs_fat_for_any_size_and_options() {
    if !need("mkfs.fat") {
        return;
    }
    let mut chance = Chance(20_111_103);
    let rounds = if common::full() { 2000 } else { 150 };
    let mut compared = 0;
    for _ in 0..rounds {
        let (width, least, most) = [
            (FatWidth::Fat12, 20, 4000),
            (FatWidth::Fat16, 4200, 65_000),
            (FatWidth::Fat32, 66_000, 200_000),
        ][usize::try_from(chance.below(3)).unwrap()];
        let block = [LogicalBlock::B512, LogicalBlock::B4096][usize::from(chance.below(4) == 0)];
        let sector = block.bytes().get();
        let per_cluster = 1 << chance.below(8);
        let fats = 1 + u8::from(chance.below(2) == 0);
        let reserved = [
            2,
            3,
            9,
            32,
            33,
            per_cluster.max(2),
            chance.below(9000) + 2,
            chance.below(65_000) + 2,
        ][usize::try_from(chance.below(8)).unwrap()];
        let sectors =
            (least + chance.below(most - least)) * per_cluster + chance.below(99) + reserved;
        let wish = Wish {
            width,
            block,
            sectors: Sectors(sectors),
            cluster: Bytes(per_cluster * sector),
            fats,
            geometry: FatGeometry {
                heads: 255,
                sectors_per_track: if chance.below(4) == 0 { 63 } else { 32 },
            },
        };
        let Some(expected) = volume(&wish, Sectors(reserved)) else {
            continue;
        };
        if !expected.is_sound() {
            continue;
        }
        let volume = Volume::new(sectors * sector, LogicalBlock::B512);
        // Without -r mkfs.fat takes fewer entries for the sizes of old floppy disks.
        let root = if width == FatWidth::Fat32 {
            ""
        } else {
            "-r 512 "
        };
        let words = format!(
            "{root}-F {} -S {sector} -s {per_cluster} -f {fats} -g 255/{} -R {reserved} -h 8192",
            width.bits(),
            wish.geometry.sectors_per_track
        );
        let mut arguments: Vec<String> = words.split(' ').map(str::to_owned).collect();
        arguments.push(volume.path.to_str().unwrap().to_owned());
        let output = run("mkfs.fat", &arguments);
        assert!(output.status.success(), "{words}: {output:?}");
        boot_sector(&volume.path).is(&expected, block);
        compared += 1;
    }
    assert!(compared > rounds / 2, "only {compared} of {rounds}");
}

#[test]
fn a_second_run_over_an_old_file_system_asks_nothing() {
    if !need("mkfs.fat") {
        return;
    }
    let case = Case {
        capacity: 1_000_000_000,
        erase_block: 4 * MIB,
        phase: 0,
        block: LogicalBlock::B512,
    };
    let plan = case.plan(FileSystem::Fat32).unwrap();
    let (volume, _) = made(&plan);
    let first = boot_sector(&volume.path);
    volume.make(&plan, &plan.partitions[0]);
    assert_eq!(boot_sector(&volume.path), first);
}

#[test]
fn fat16_and_fat32_of_impossible_sizes_are_refused_with_limit_and_way_out() {
    let refused = |capacity, fs| {
        let case = Case {
            capacity,
            erase_block: 4 * MIB,
            phase: 0,
            block: LogicalBlock::B512,
        };
        match case.plan(fs) {
            Err(error @ PlanError::FileSystem { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let text = refused(8 << 30, FileSystem::Fat16);
    assert!(
        text.contains("4094 MiB") && text.contains("fat32"),
        "{text}"
    );
    let text = refused(32 << 20, FileSystem::Fat32);
    assert!(
        text.contains("at least 33 MiB") && text.contains("fat16"),
        "{text}"
    );
    let text = refused(3 << 40, FileSystem::Fat32);
    assert!(text.contains("2 TiB") && text.contains("exfat"), "{text}");
    assert!(!text.contains('\n'));
}

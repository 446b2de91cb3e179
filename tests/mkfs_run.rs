//! The runner: an image with a table becomes a loop device, the real tools make every file system,
//! and what is read back decides.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod mkfs_support;

use common::{need, need_loop};
use flashfit::output::sfdisk;
use flashfit::plan::filesystem::{Inside, Parameters};
use flashfit::plan::intent::Intent;
use flashfit::plan::layout::Layout;
use flashfit::plan::{Medium, alignment_of, layout};
use flashfit::run::mkfs::loop_disk::LoopDisk;
use flashfit::run::mkfs::{Outcome, make_all, prepare};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock, Sectors};
use std::path::Path;

fn plan(capacity: u64, erase_block: Bytes, block: LogicalBlock, partitions: &[&str]) -> Layout {
    let facts = Facts::bare("test", Transport::Usb, Some(Bytes(capacity)), block);
    let choice = alignment_of(erase_block, Bytes::ZERO, &facts).unwrap();
    let intent = Intent {
        partitions: partitions.iter().map(|p| p.parse().unwrap()).collect(),
        ..Intent::default()
    };
    let medium = Medium::from_facts(&facts).unwrap();
    layout(&medium, &choice, &intent, *b"sixteen bytes...").unwrap()
}

/// An image with this table, written by sfdisk.
fn image(folder: &Path, layout: &Layout) -> std::path::PathBuf {
    let path = folder.join("stick.img");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(layout.capacity_bytes().get()).unwrap();
    // With 4096-byte sectors only a loop device has them.
    let run = assert_cmd::Command::new(common::tool("sfdisk").unwrap())
        .args(["--no-reread", "--no-tell-kernel", "-q"])
        .arg(&path)
        .write_stdin(sfdisk::render(layout))
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    path
}

const ALL: [&str; 7] = [
    "512MiB:fat32:BOOT",
    "512MiB:exfat:it's mine",
    "64MiB:swap",
    "400MiB:ext4:root",
    "1GiB:f2fs",
    "6GiB:btrfs",
    "rest:xfs",
];

const TOOLS: [&str; 8] = [
    "sfdisk",
    "mkfs.fat",
    "mkfs.exfat",
    "mkfs.ext4",
    "mkfs.f2fs",
    "mkfs.btrfs",
    "mkfs.xfs",
    "mkswap",
];

#[test]
fn all_file_systems_of_a_layout_are_made_and_read_back() {
    if !(need_loop() && TOOLS.into_iter().all(need)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let layout = plan(12_000_000_000, Bytes::mib(4), LogicalBlock::B512, &ALL[..]);
    let image = image(folder.path(), &layout);
    let prepared = prepare(&layout).unwrap();
    let disk = LoopDisk::attach(&image, &layout).unwrap();
    let outcomes = make_all(&layout, &prepared, disk.path(), &|_| {}, &|| false).unwrap();
    assert_eq!(outcomes.len(), 7);
    for (number, outcome) in outcomes {
        match outcome {
            Outcome::Aligned(place) => {
                assert!(place.is_multiple_of(Bytes::mib(4)), "{number}: {place}");
            }
            Outcome::Made => assert_eq!(number, 3),
            Outcome::StartAligned(why) => panic!("{number}: {why}"),
        }
    }
}

#[test]
fn a_file_system_that_lies_elsewhere_is_not_called_aligned() {
    if !(need_loop() && need("sfdisk") && need("mkfs.fat")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut layout = plan(
        1_000_000_000,
        Bytes::mib(4),
        LogicalBlock::B512,
        &["rest:fat32"],
    );
    let image = image(folder.path(), &layout);
    // As if mkfs.fat counted otherwise: the parameters say one thing, the volume is another.
    let format = layout.partitions[0].format.as_mut().unwrap();
    let Parameters::Fat(fat) = &mut format.parameters else {
        panic!()
    };
    fat.reserved = Sectors(fat.reserved.get() - u64::from(fat.cluster.get() > 0) * 64);
    let prepared = prepare(&layout).unwrap();
    let disk = LoopDisk::attach(&image, &layout).unwrap();
    let error = make_all(&layout, &prepared, disk.path(), &|_| {}, &|| false).unwrap_err();
    assert_eq!(error.exit_code().number(), 8);
    assert!(error.to_string().contains("not on the grid"), "{error}");
}

#[test]
fn a_kernel_that_shows_another_table_is_not_written_to() {
    if !(need_loop() && need("sfdisk") && need("mkfs.fat")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = plan(
        1_000_000_000,
        Bytes::mib(8),
        LogicalBlock::B512,
        &["rest:fat32"],
    );
    let wanted = plan(
        1_000_000_000,
        Bytes::mib(4),
        LogicalBlock::B512,
        &["rest:fat32"],
    );
    let image = image(folder.path(), &wanted);
    let prepared = prepare(&wanted).unwrap();
    let disk = LoopDisk::attach(&image, &shown).unwrap();
    let error = make_all(&wanted, &prepared, disk.path(), &|_| {}, &|| false).unwrap_err();
    assert_eq!(error.exit_code().number(), 7);
    assert!(error.to_string().contains("the kernel shows"), "{error}");
    drop(disk);
    let bytes = std::fs::read(&image).unwrap();
    assert!(bytes[512..].iter().all(|byte| *byte == 0));
}

#[test]
fn parameters_that_are_not_told_are_not_guessed() {
    let mut layout = plan(
        1_000_000_000,
        Bytes::mib(4),
        LogicalBlock::B512,
        &["rest:swap"],
    );
    assert!(matches!(
        layout.partitions[0].format.as_ref().unwrap().inside,
        Inside::OnGrid(_)
    ));
    layout.partitions[0].format = None;
    let error = prepare(&layout).unwrap_err().to_string();
    assert!(
        error.contains("does not tell how to make its swap"),
        "{error}"
    );
}

#[test]
fn no_file_system_is_begun_after_an_interrupt() {
    if !(need_loop() && need("sfdisk") && need("mkfs.ext4")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let partitions = ["64MiB:ext4", "rest:ext4"];
    let layout = plan(256 << 20, Bytes::mib(4), LogicalBlock::B512, &partitions);
    let image = image(folder.path(), &layout);
    let disk = LoopDisk::attach(&image, &layout).unwrap();
    let prepared = prepare(&layout).unwrap();
    let begun = std::cell::Cell::new(0);
    let say = |_: &str| begun.set(begun.get() + 1);
    // The signal comes while the first one is made.
    let error = make_all(&layout, &prepared, disk.path(), &say, &|| begun.get() == 1).unwrap_err();
    assert_eq!((error.exit_code().number(), begun.get()), (130, 1));
    assert!(error.to_string().contains("partition 2"), "{error}");
}

#[test]
fn partitions_that_another_file_left_behind_are_in_nobodys_way() {
    if !(need_loop() && need("sfdisk") && need("addpart")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let layout = plan(256 << 20, Bytes::mib(4), LogicalBlock::B512, &["rest:ext4"]);
    let image = image(folder.path(), &layout);
    let run = |tool: &str, words: &[&str]| {
        let mut command = assert_cmd::Command::new(common::tool(tool).unwrap());
        let output = command.args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let left = run("losetup", &["--find", "--show", image.to_str().unwrap()]);
    for (number, start) in [("1", "2048"), ("3", "8192")] {
        run("addpart", &[&left, number, start, "4096"]);
    }
    run("losetup", &["--detach", &left]);
    // The first free device, which is the same one unless another test was quicker.
    let disk = LoopDisk::attach(&image, &layout).unwrap();
    let name = disk.path().trim_start_matches("/dev/");
    let at = format!("/sys/block/{name}/{name}p1/start");
    let start: u64 = std::fs::read_to_string(at).unwrap().trim().parse().unwrap();
    let planned = layout.byte_range(&layout.partitions[0]).from.get();
    assert_eq!(start * 512, planned);
    let all = std::fs::read_dir(format!("/sys/block/{name}")).unwrap();
    let partitions = all.filter(|entry| entry.as_ref().unwrap().path().join("partition").exists());
    assert_eq!(partitions.count(), 1);
}

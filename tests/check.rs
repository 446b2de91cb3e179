//! `flashfit check` on images that the real tools made, and on images with one fault each.

// Helpers of a test may fail and speak as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;

use common::need;
use common::program::{Ended, flashfit};
use flashfit::units::MIB;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An image in a folder of its own; both vanish with the value.
struct Image {
    path: PathBuf,
    folder: tempfile::TempDir,
}

impl Image {
    fn new(size: u64) -> Image {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(size).unwrap();
        Image { path, folder }
    }

    /// One with this table.
    fn with(size: u64, script: &str) -> Image {
        let image = Image::new(size);
        image.sfdisk(&[], script);
        image
    }

    fn sfdisk(&self, words: &[&str], script: &str) {
        sfdisk(&self.path, words, script);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    fn read(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        File::open(&self.path)
            .unwrap()
            .read_exact_at(&mut bytes, at)
            .unwrap();
        bytes
    }

    fn resize(&self, size: u64) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.set_len(size).unwrap();
    }

    /// A file system of `size` bytes at `at`: made in a file beside, of which the first megabytes,
    /// where all superblocks lie, are copied.
    fn make_fs(&self, at: u64, size: u64, tool: &str, words: &[&str]) {
        let beside = self.folder.path().join("fs");
        File::create(&beside).unwrap().set_len(size).unwrap();
        run(tool, words, &beside);
        let mut head = vec![0; 4 << 20];
        File::open(&beside)
            .unwrap()
            .read_exact_at(&mut head, 0)
            .unwrap();
        self.write(at, &head);
    }

    fn check(&self, words: &[&str]) -> Ended {
        let mut all = vec!["check", self.path.to_str().unwrap()];
        all.extend(words);
        flashfit(&all)
    }

    /// As JSON on a grid, with the exit code that belongs to it.
    fn json(&self, erase_block: &str) -> Value {
        let ended = self.check(&["--json", "--erase-block", erase_block]);
        assert_eq!(ended.stderr, "");
        let json = ended.json();
        let good = json["on_grid"] == true && json["consistent"] == true;
        assert_eq!(ended.code, Some(if good { 0 } else { 8 }), "{json:#}");
        json
    }
}

fn sfdisk(path: &Path, words: &[&str], script: &str) {
    let mut child = Command::new(common::tool("sfdisk").unwrap())
        .args(["--quiet", "--no-tell-kernel", "--no-reread"])
        .args(words)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success(), "{script}");
}

fn run(tool: &str, words: &[&str], image: &Path) {
    let done = Command::new(common::tool(tool).unwrap())
        .args(words)
        .arg(image)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{tool}: {said}");
}

/// The codes of the findings of this weight.
fn codes(json: &Value, weight: &str) -> Vec<String> {
    json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["weight"] == weight)
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn assert_codes(json: &Value, inconsistent: &[&str], notes: &[&str]) {
    assert_eq!(codes(json, "inconsistent"), inconsistent, "{json:#}");
    assert_eq!(codes(json, "note"), notes, "{json:#}");
}

#[test]
fn a_start_at_30_mib_is_off_a_grid_of_4_mib_and_its_good_neighbours_are_named() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(60_399_616 * 512, "label: dos\nstart=61440,type=83\n");
    let json = image.json("4MiB");
    let partition = &json["partitions"][0];
    assert_eq!(partition["on_grid"], false);
    assert_eq!(partition["start"]["past_boundary_bytes"], 2 * MIB);
    assert_eq!(partition["good_start_before_bytes"], 57344 * 512);
    assert_eq!(partition["good_start_behind_bytes"], 65536 * 512);
    assert_eq!(partition["cost"]["code"], "shared_erase_blocks");
    assert_codes(&json, &[], &[]);
    let text = image.check(&["--erase-block", "4MiB"]);
    assert_eq!((text.stderr.as_str(), text.code), ("", Some(8)));
    assert!(
        text.stdout
            .contains("sector 57344 (28 MiB) before, sector 65536 (32 MiB) behind")
    );
    assert!(text.stdout.contains("3 to 5 % slower"));
    // On a grid with a phase of 2 MiB it is right.
    let right = image.check(&["--erase-block", "4MiB", "--phase", "2MiB"]);
    assert!(right.success().contains("everything on the grid"));
}

#[test]
fn sector_63_is_off_the_grid_although_the_kernel_reports_an_offset_of_0() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(4_000_000_000, "label: dos\nstart=63,size=1000000,type=c\n");
    let json = image.json("4MiB");
    let partition = &json["partitions"][0];
    assert_eq!(partition["start"]["past_boundary_bytes"], 63 * 512);
    assert_eq!(partition["good_start_before_bytes"], Value::Null);
    assert_eq!(partition["good_start_behind_bytes"], 8192 * 512);
    assert_eq!(partition["cost"]["code"], "shared_pages");
}

/// A file system made for a partition at `start` MiB of an image of `size` MiB.
fn with_fs(size: u64, start: u64, kind: &str, tool: &str, words: &[&str]) -> Image {
    let script = format!("label: dos\nstart={},type={kind}\n", start * 2048);
    let image = Image::with(size * MIB, &script);
    image.make_fs(start * MIB, (size - start) * MIB, tool, words);
    image
}

#[test]
fn the_clusters_of_fat_decide_and_not_the_start() {
    if !(need("sfdisk") && need("mkfs.fat")) {
        return;
    }
    // Aligned partition, clusters anywhere.
    let words = ["-F", "32", "-s", "8", "-g", "255/32", "-h", "8192"];
    let image = with_fs(512, 4, "c", "mkfs.fat", &words);
    let json = image.json("4MiB");
    let partition = &json["partitions"][0];
    assert_eq!(partition["decides"], "data_area");
    assert_eq!(partition["start"]["on_grid"], true);
    assert_eq!(partition["on_grid"], false);
    // Clusters on the grid by the number of reserved sectors.
    let fats = image.read(4 * MIB + 0x24, 4);
    let fats = 2 * u32::from_le_bytes(fats.try_into().unwrap());
    let reserved = (8192 - fats % 8192).to_string();
    let words = [
        "-F", "32", "-s", "8", "-g", "255/32", "-h", "8192", "-R", &reserved,
    ];
    let image = with_fs(512, 4, "c", "mkfs.fat", &words);
    let json = image.json("4MiB");
    assert_eq!(json["partitions"][0]["on_grid"], true);
    assert_eq!(json["partitions"][0]["cost"]["code"], "none");
    assert_codes(&json, &[], &[]);
    // A start off the grid with the clusters on it is right.
    let shifted = Image::with(512 * MIB, "label: dos\nstart=6144,type=c\n");
    let words = [
        "-F", "16", "-s", "32", "-g", "255/32", "-h", "6144", "-R", "64",
    ];
    shifted.make_fs(3 * MIB, 500 * MIB, "mkfs.fat", &words);
    let json = shifted.json("4MiB");
    let data = json["partitions"][0]["data_area"]["bytes"]
        .as_u64()
        .unwrap();
    let boot = shifted.read(3 * MIB, 64);
    let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
    assert_eq!(
        data,
        3 * MIB + (word(0x0e) + 2 * word(0x16) + word(0x11) * 32 / 512) * 512
    );
}

#[test]
fn every_file_system_tells_where_its_data_begin() {
    if !need("sfdisk") {
        return;
    }
    // Size and start in MiB, tool, words, what decides, where the data begin in MiB.
    let cases: [(u64, u64, &str, &[&str], &str, Option<u64>); 6] = [
        (128, 16, "mkfs.exfat", &["-b", "4M"], "data_area", Some(24)),
        (256, 4, "mkfs.ext4", &["-q", "-F"], "start", None),
        (400, 4, "mkfs.xfs", &["-q", "-f"], "start", None),
        (128, 4, "mkfs.ntfs", &["-Q", "-F", "-q"], "start", None),
        (
            512,
            4,
            "mkfs.f2fs",
            &["-q", "-f", "-s", "2"],
            "data_area",
            None,
        ),
        (512, 3, "mkfs.btrfs", &["-q", "-f"], "data_area", None),
    ];
    for (size, start, tool, words, decides, data) in cases {
        if !need(tool) {
            continue;
        }
        let image = with_fs(size, start, "83", tool, words);
        let json = image.json("1MiB");
        let partition = &json["partitions"][0];
        assert_eq!(partition["decides"], decides, "{tool}: {json:#}");
        assert_eq!(codes(&json, "inconsistent"), [] as [&str; 0], "{tool}");
        assert!(partition["block_bytes"].as_u64().unwrap() >= 512, "{tool}");
        if let Some(data) = data {
            assert_eq!(partition["data_area"]["bytes"], data * MIB, "{tool}");
        }
        if decides == "data_area" {
            let at = partition["data_area"]["bytes"].as_u64().unwrap();
            assert!(at > start * MIB && at < size * MIB, "{tool}: {at}");
            assert_eq!(at % MIB, 0, "{tool}: {at}");
        }
    }
}

#[test]
fn a_stale_backup_gpt_under_an_mbr_is_named() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(64 * MIB, "label: gpt\n,,L\n");
    let sector = image.read(64 * MIB - 512, 512);
    let image = Image::with(64 * MIB, "label: dos\nstart=8192,size=8192,type=c\n");
    image.write(64 * MIB - 512, &sector);
    assert_codes(&image.json("4MiB"), &["stale_gpt"], &[]);
    // Also one with other sectors.
    let image = Image::with(64 * MIB, "label: dos\nstart=8192,size=8192,type=c\n");
    let mut header = sector.clone();
    header.resize(4096, 0);
    image.write(64 * MIB - 4096, &header);
    assert_codes(&image.json("4MiB"), &["stale_gpt"], &[]);
    // And the backup of another GPT than the one in use.
    let image = Image::with(64 * MIB, "label: gpt\nstart=8192,size=8192,type=L\n");
    image.write(64 * MIB - 512, &[0; 512]);
    assert_codes(&image.json("4MiB"), &["gpt_backup_missing"], &[]);
    let other = Image::with(64 * MIB, "label: gpt\nstart=16384,size=8192,type=L\n");
    let tail = other.read(64 * MIB - 33 * 512, 33 * 512);
    image.write(64 * MIB - 33 * 512, &tail);
    assert_codes(&image.json("4MiB"), &["stale_gpt"], &[]);
}

#[test]
fn an_image_smaller_than_its_medium_is_not_called_corrupt() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(64 * MIB, "label: gpt\nstart=8192,size=8192,type=L\n");
    image.resize(96 * MIB);
    let json = image.json("4MiB");
    assert_codes(&json, &[], &["image_smaller_than_medium"]);
    let text = image.check(&["--erase-block", "4MiB"]).success();
    assert!(text.contains("smaller than the medium") && text.contains("can be moved"));
    assert!(!text.to_lowercase().contains("corrupt") && !text.contains("damaged"));
    // The other way round the backup is lost.
    image.resize(48 * MIB);
    assert_codes(&image.json("4MiB"), &["gpt_beyond_end"], &[]);
}

#[test]
fn damage_to_either_copy_of_a_gpt_is_told_and_the_other_is_used() {
    if !need("sfdisk") {
        return;
    }
    let last = 64 * MIB - 512;
    let faults: [(u64, &[u8], &str); 6] = [
        (512 + 40, &[99], "gpt_primary_damaged"),
        (1024 + 32, &[1], "gpt_primary_damaged"),
        (512, &[0; 8], "gpt_primary_missing"),
        (last + 40, &[99], "gpt_backup_damaged"),
        (64 * MIB - 33 * 512 + 32, &[1], "gpt_backup_damaged"),
        (446, &[0; 16], "protective_mbr_missing"),
    ];
    for (at, bytes, code) in faults {
        let image = Image::with(64 * MIB, "label: gpt\nstart=8192,size=8192,type=L\n");
        assert_codes(&image.json("4MiB"), &[], &[]);
        image.write(at, bytes);
        if code == "protective_mbr_missing" {
            // Without its signature, as a wiped sector would be.
            image.write(510, &[0; 2]);
        }
        let json = image.json("4MiB");
        assert_eq!(codes(&json, "inconsistent"), [code], "{at}");
        assert_eq!(json["partitions"][0]["first_lba"], 8192, "{code}");
    }
    let image = Image::with(64 * MIB, "label: gpt\nstart=8192,size=8192,type=L\n");
    image.write(512, &[0; 512]);
    image.write(last, &[0; 512]);
    assert_codes(&image.json("4MiB"), &["gpt_lost"], &[]);
}

#[test]
fn a_gpt_written_with_other_sectors_is_named_with_them() {
    if !(need("sfdisk") && common::need_loop()) {
        return;
    }
    let image = Image::new(64 * MIB);
    let device = Looped::new(&image.path, "4096");
    sfdisk(
        &device.path,
        &[],
        "label: gpt\nstart=1024,size=2048,type=L\n",
    );
    let ended = flashfit(&[
        "check",
        device.path.to_str().unwrap(),
        "--erase-block",
        "4MiB",
        "--json",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert_eq!(ended.json()["partitions"][0]["start_bytes"], 4 * MIB);
    drop(device);
    // A plain file has no sectors of its own.
    let json = image.json("4MiB");
    assert_codes(&json, &[], &["other_sector_size"]);
    assert_eq!(json["table"]["sector_bytes"], 4096);
    assert_eq!(json["partitions"][0]["start_bytes"], 4 * MIB);
    // Behind another bridge nobody sees it.
    let device = Looped::new(&image.path, "512");
    let ended = flashfit(&[
        "check",
        device.path.to_str().unwrap(),
        "--erase-block",
        "4MiB",
    ]);
    assert_eq!(ended.code, Some(8));
    assert!(
        ended.stdout.contains("written with 4096-byte sectors"),
        "{}",
        ended.stdout
    );
}

/// A loop device, released with the value.
struct Looped {
    path: PathBuf,
}

impl Looped {
    fn new(image: &Path, sector: &str) -> Looped {
        let made = Command::new(common::tool("losetup").unwrap())
            .args(["--find", "--show", "--sector-size", sector])
            .arg(image)
            .output()
            .unwrap();
        assert!(made.status.success());
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        Looped { path }
    }
}

impl Drop for Looped {
    fn drop(&mut self) {
        let _ = Command::new(common::tool("losetup").unwrap())
            .arg("--detach")
            .arg(&self.path)
            .status();
    }
}

#[test]
fn a_file_system_on_the_whole_device_is_no_table() {
    if !(need("mkfs.fat") && need("sfdisk")) {
        return;
    }
    let image = Image::new(64 * MIB);
    run("mkfs.fat", &["--mbr=yes"], &image.path);
    let json = image.json("4MiB");
    assert_codes(&json, &[], &["whole_device"]);
    assert_eq!(json["table"], Value::Null);
    assert_eq!(json["partitions"][0]["number"], Value::Null);
    assert_eq!(json["partitions"][0]["content"], "FAT16");
    let text = image.check(&["--erase-block", "4MiB"]).stdout;
    assert!(text.contains("FAT16 on the whole device, no real partition table; the entry"));
    // A new table over it leaves the boot sector in place.
    let image = Image::new(64 * MIB);
    run("mkfs.fat", &["--mbr=no"], &image.path);
    image.sfdisk(&["--wipe", "never"], "start=8192,type=c\n");
    assert_codes(&image.json("4MiB"), &["old_boot_sector"], &[]);
}

#[test]
fn boot_code_is_not_read_as_entries() {
    let image = Image::new(64 * MIB);
    image.write(
        446,
        b"Remove disks or other media. Press any key to restart",
    );
    image.write(510, &[0x55, 0xaa]);
    let json = image.json("4MiB");
    assert_codes(&json, &[], &["boot_code"]);
    assert_eq!(json["partitions"].as_array().unwrap().len(), 0);
}

#[test]
fn a_hybrid_mbr_is_named_and_held_against_the_gpt() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(64 * MIB, "label: gpt\nstart=8192,size=8192,type=L\n");
    let entry = |first: u32, sectors: u32| {
        let mut bytes = vec![0, 0xfe, 0xff, 0xff, 0x0c, 0xfe, 0xff, 0xff];
        bytes.extend(first.to_le_bytes());
        bytes.extend(sectors.to_le_bytes());
        bytes
    };
    image.write(446 + 16, &entry(8192, 8192));
    assert_codes(&image.json("4MiB"), &[], &["hybrid_mbr"]);
    image.write(446 + 16, &entry(8192, 4096));
    assert_codes(&image.json("4MiB"), &["hybrid_differs"], &["hybrid_mbr"]);
}

#[test]
fn partitions_that_overlap_or_pass_the_end_are_found() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(
        64 * MIB,
        "label: dos\nstart=8192,size=8192,type=c\nstart=16384,type=83\n",
    );
    assert_codes(&image.json("4MiB"), &[], &[]);
    image.resize(32 * MIB);
    assert_codes(&image.json("4MiB"), &["past_the_end"], &[]);
    image.resize(64 * MIB);
    // The first grows into the second.
    image.write(446 + 12, &16384u32.to_le_bytes());
    assert_codes(&image.json("4MiB"), &["overlap"], &[]);
    // It begins in the table.
    image.write(446 + 8, &0u32.to_le_bytes());
    let json = image.json("4MiB");
    assert_codes(&json, &["over_the_table"], &["chs_differs"]);
}

#[test]
fn a_file_system_larger_than_its_partition_is_found() {
    if !(need("sfdisk") && need("mkfs.ext4")) {
        return;
    }
    let image = Image::with(128 * MIB, "label: dos\nstart=8192,size=65536,type=83\n");
    image.make_fs(4 * MIB, 64 * MIB, "mkfs.ext4", &["-q", "-F"]);
    assert_codes(&image.json("4MiB"), &["file_system_too_large"], &[]);
}

#[test]
fn logical_partitions_are_followed_and_a_chain_that_bites_its_tail_ends() {
    if !need("sfdisk") {
        return;
    }
    let script = "label: dos\nstart=8192,size=8192,type=c\nstart=16384,type=f\n\
                  start=24576,size=8192,type=83\nstart=40960,size=8192,type=83\n";
    let image = Image::with(64 * MIB, script);
    let json = image.json("4MiB");
    let numbers: Vec<u64> = json["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|partition| partition["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 5, 6]);
    assert_eq!(json["partitions"][1]["decides"], "nothing");
    assert_eq!(json["partitions"][3]["first_lba"], 40960);
    assert_codes(&json, &[], &[]);
    // The second link points at the first.
    let link = image.read(16384 * 512 + 446 + 16, 16);
    let second = u64::from(u32::from_le_bytes(link[8..12].try_into().unwrap()));
    let mut back = link;
    back[8..12].fill(0);
    image.write((16384 + second) * 512 + 446 + 16, &back);
    assert_codes(&image.json("4MiB"), &["broken_chain"], &[]);
}

#[test]
fn an_installer_image_is_recognised_by_its_descriptors_and_its_apple_map() {
    if !need("sfdisk") {
        return;
    }
    // Two entries over the same sectors, as installer images have them.
    let image = Image::with(64 * MIB, "label: dos\nstart=64,size=65536,type=17\n");
    let inner = [0, 0, 0, 0, 0xef, 0, 0, 0, 128, 0, 0, 0, 0, 16, 0, 0];
    image.write(446 + 16, &inner);
    assert_codes(&image.json("4MiB"), &["overlap"], &[]);
    image.write(0x8001, b"CD001");
    let json = image.json("4MiB");
    assert_eq!(codes(&json, "inconsistent"), [] as [&str; 0]);
    assert!(codes(&json, "note").contains(&"installer_image".to_owned()));
    let image = Image::new(64 * MIB);
    image.write(0, b"ER\x08\x00");
    image.write(2048, b"PM\0\0\0\0\0\x01");
    assert!(codes(&image.json("4MiB"), "note").contains(&"installer_image".to_owned()));
}

#[test]
fn the_layout_that_cards_come_with_is_recognised() {
    if !(need("sfdisk") && need("mkfs.exfat")) {
        return;
    }
    // A card of 64 GB: partition and clusters on multiples of 16 MiB.
    let image = Image::with(63_864_569_856, "label: dos\nstart=32768,type=7\n");
    let size = 63_864_569_856 - 16 * MIB;
    image.make_fs(16 * MIB, size, "mkfs.exfat", &["-c", "128K", "-b", "16M"]);
    let json = image.json("4MiB");
    assert_codes(&json, &[], &["sd_factory_layout"]);
    let text = image.check(&["--erase-block", "4MiB"]).success();
    assert!(
        text.contains("the 16 MiB in front of it are part of it"),
        "{text}"
    );
}

#[test]
fn a_medium_beyond_2_tib_with_an_mbr_loses_its_end() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(
        7_812_937_728 * 512,
        "label: dos\nstart=8192,size=8192,type=c\n",
    );
    assert_codes(&image.json("4MiB"), &[], &["beyond_mbr"]);
}

#[test]
fn marks_of_something_else_between_partitions_are_leftovers() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(64 * MIB, "label: dos\nstart=8192,size=8192,type=c\n");
    image.write(65600, b"_BHRfS_M");
    assert_codes(&image.json("4MiB"), &["leftover"], &[]);
    // Inside a partition it is that partition's affair.
    let image = Image::with(64 * MIB, "label: dos\nstart=64,size=65536,type=c\n");
    image.write(65600, b"_BHRfS_M");
    assert_eq!(codes(&image.json("4MiB"), "inconsistent"), [] as [&str; 0]);
}

#[test]
fn the_grid_comes_from_a_report_or_else_from_what_is_reported_or_a_precaution() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(8_000_000_000, "label: dos\nstart=8192,size=8192,type=c\n");
    let precaution = image.check(&[]);
    assert_eq!(precaution.code, Some(8));
    assert!(
        precaution.stdout.contains("from 2 GB on 12 MiB"),
        "{}",
        precaution.stdout
    );
    assert!(
        precaution
            .stdout
            .contains("a precaution, not a measurement")
    );
    let report = image.folder.path().join("report.json");
    let stick = common::program::stick(image.folder.path(), "stick", common::program::PLAIN);
    let report = report.to_str().unwrap();
    assert_eq!(
        flashfit(&["scan", &stick, "--report", report]).code,
        Some(0)
    );
    let measured = image.check(&["--json", "--report", report]);
    assert_eq!(measured.code, Some(8));
    assert_eq!(measured.json()["alignment"]["bytes"], 8 * MIB);
    for (words, says) in [
        (
            vec!["--report", report, "--erase-block", "4MiB"],
            "cannot be used with",
        ),
        (vec!["--phase", "1MiB"], "--erase-block"),
        (vec!["--erase-block", "1000B"], "multiple"),
        (vec!["--erase-block", "4"], "unit"),
    ] {
        let ended = image.check(&words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    let gone = flashfit(&["check", "/nonexistent/image"]);
    gone.failure(1);
}

#[test]
fn a_simulated_stick_can_be_checked() {
    let ended = flashfit(&["check", "sim:corsair-voyager", "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    assert_eq!(codes(&ended.json(), "note"), ["empty"]);
}

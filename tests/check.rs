//! `flashfit check` on images that the real tools made: what lies on the grid, and what decides.

// Helpers of a test may fail and speak as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod check_support;
mod common;

use check_support::*;
use common::need;
use common::program::flashfit;
use flashfit::units::MIB;
use serde_json::Value;

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
    /// Size and start in MiB, tool, words, what decides, where the data begin in MiB.
    type Case = (
        u64,
        u64,
        &'static str,
        &'static [&'static str],
        &'static str,
        Option<u64>,
    );
    let cases: [Case; 6] = [
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
fn a_card_with_fat32_by_the_same_rule_is_recognised_and_any_other_is_not() {
    if !(need("sfdisk") && need("mkfs.fat")) {
        return;
    }
    let size = 7_902_068_736 / MIB * MIB;
    for (reserved, recognised) in [(None, false), (Some(()), true)] {
        let image = Image::with(size, "label: dos\nstart=8192,type=b\n");
        let words = ["-F", "32", "-s", "64", "-g", "255/63", "-h", "8192"];
        image.make_fs(4 * MIB, size - 4 * MIB, "mkfs.fat", &words);
        if reserved.is_some() {
            // The number of reserved sectors makes the clusters begin on a multiple of 4 MiB.
            let fat = image.read(4 * MIB + 0x24, 4);
            let fats = 2 * u32::from_le_bytes(fat.try_into().unwrap());
            let reserved = u16::try_from(8192 - fats % 8192).unwrap();
            image.write(4 * MIB + 0x0e, &reserved.to_le_bytes());
        }
        let json = image.json("4MiB");
        let notes = codes(&json, "note");
        assert_eq!(notes.contains(&"sd_factory_layout".to_owned()), recognised);
    }
}

#[test]
fn the_grid_comes_from_a_report_or_else_from_what_is_reported_or_a_precaution() {
    if !need("sfdisk") {
        return;
    }
    let image = Image::with(8_000_000_000, "label: dos\nstart=8192,size=8192,type=83\n");
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
    let foreign = ", of another device";
    assert!(!measured.stdout.contains(foreign), "{}", measured.stdout);
    let smaller = Image::with(4_000_000_000, "label: dos\nstart=16384,type=83\n");
    let doubted = smaller.check(&["--report", report]);
    assert!(doubted.stdout.contains(foreign), "{}", doubted.stdout);
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
fn a_start_that_a_file_system_will_be_made_for_is_not_called_wrong_before_mkfs() {
    if !need("sfdisk") {
        return;
    }
    // exFAT on a grid of 12 MiB starts at 4 MiB, so that its heap comes to 12 MiB.
    let image = Image::new(31_914_983_424);
    let device = image.path.to_str().unwrap();
    let backup = image.folder.path().join("backup");
    let backup = backup.to_str().unwrap();
    let words = [
        "write",
        device,
        "--erase-block",
        "12MiB",
        "--fs",
        "exfat",
        "--yes",
        "--expect-size",
        "31914983424B",
        "--backup",
        backup,
    ];
    let written = flashfit(&words);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let json = image.json("12MiB");
    let partition = &json["partitions"][0];
    assert_eq!(partition["start"]["on_grid"], false, "{json:#}");
    assert_eq!(partition["decides"], "later");
    assert_eq!(partition["good_start_before_bytes"], Value::Null);
    assert_eq!(partition["good_start_behind_bytes"], Value::Null);
    let text = image.check(&["--erase-block", "12MiB"]).success();
    assert!(
        text.contains("not decided yet") && !text.contains("OFF THE GRID"),
        "{text}"
    );
    // A type that no such file system bears is off the grid, and so is a start off every cluster.
    for (script, later) in [
        ("start=8192,size=8192,type=83", false),
        ("start=8192,size=8192,type=82", false),
        ("start=8192,size=8192,type=7", true),
        ("start=8199,size=8192,type=7", false),
    ] {
        let image = Image::with(64 * MIB, &format!("label: dos\n{script}\n"));
        let json = image.json("12MiB");
        assert_eq!(
            json["partitions"][0]["decides"] == "later",
            later,
            "{script}"
        );
        assert_eq!(json["partitions"][0]["on_grid"], later, "{script}");
    }
    // Btrfs starts at 3 MiB where the grid divides 8 MiB.
    let image = Image::with(64 * MIB, "label: dos\nstart=6144,size=8192,type=83\n");
    assert_eq!(image.json("4MiB")["partitions"][0]["decides"], "later");
    assert_eq!(image.json("6MiB")["partitions"][0]["on_grid"], false);
}

#[test]
fn btrfs_is_not_judged_by_one_chunk_where_the_next_lies_elsewhere() {
    if !(need("sfdisk") && need("mkfs.btrfs")) {
        return;
    }
    for start in [12, 15, 4] {
        let image = with_fs(512, start, "83", "mkfs.btrfs", &["-q", "-f"]);
        let json = image.json("12MiB");
        let partition = &json["partitions"][0];
        assert_eq!(partition["decides"], "start_only", "{json:#}");
        assert_eq!(partition["on_grid"], start == 12);
        assert_eq!(partition["data_area"], Value::Null);
        let text = image.check(&["--erase-block", "12MiB"]).stdout;
        assert!(
            text.contains("start only: its chunks lie 8 MiB apart"),
            "{text}"
        );
        assert!(
            !text.contains(": on the grid") && !text.contains("everything on"),
            "{text}"
        );
        if start != 12 {
            // Only starts that are on the grid themselves.
            assert_eq!(
                partition["good_start_behind_bytes"].as_u64().unwrap() % (12 * MIB),
                0
            );
        }
    }
    let image = with_fs(512, 3, "83", "mkfs.btrfs", &["-q", "-f"]);
    assert_eq!(image.json("4MiB")["partitions"][0]["decides"], "data_area");
}

#[test]
fn a_simulated_stick_can_be_checked() {
    let ended = flashfit(&["check", "sim:corsair-voyager", "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    assert_eq!(codes(&ended.json(), "note"), ["empty"]);
}

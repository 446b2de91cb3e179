//! `flashfit check` on images with one fault each: every kind of contradiction has its word.

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
fn a_gpt_partition_outside_the_usable_sectors_is_found() {
    if !need("sfdisk") {
        return;
    }
    let script = "label: gpt\nfirst-lba: 34\nstart=8192,size=8192,type=L\n";
    for (field, value, codes) in [
        (40, 8192u64, &[] as &[&str]),
        (40, 8193, &["outside_usable"]),
        (48, 16382, &["outside_usable"]),
        (48, 16383, &[]),
    ] {
        let image = Image::with(64 * MIB, script);
        let mut header = image.read(512, 92);
        header[field..field + 8].copy_from_slice(&value.to_le_bytes());
        header[16..20].fill(0);
        let crc = common::crc32(&header);
        header[16..20].copy_from_slice(&crc.to_le_bytes());
        image.write(512, &header);
        assert_codes(&image.json("4MiB"), codes, &[]);
    }
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

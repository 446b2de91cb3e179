//! Layout files: what is saved is read again, and what is wrong in them is found.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

#[path = "plan_support/mod.rs"]
mod plan_support;

use flashfit::output::layout_json;
use flashfit::plan::TableKind;
use flashfit::units::{Bytes, MIB};
use plan_support::*;

#[test]
fn a_layout_survives_json() {
    let wishes = ["64MiB:fat32:boot", "rest:ext4:a \"b\" \\ ü"];
    let mut wish = with_table(TableKind::Gpt, &wishes);
    wish.partitions[0].bootable = true;
    wish.keep_out = vec!["100MiB-101MiB".parse().unwrap()];
    let plan = plan(16_012_804_096, Bytes::mib(12), &wish).unwrap();
    let read = layout_json::parse(&layout_json::render(&plan)).unwrap();
    assert_eq!(read, plan);
}

#[test]
fn a_layout_file_is_checked_number_by_number() {
    let wish = with_table(TableKind::Mbr, &["64MiB:fat32", "64MiB:ext4"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        layout_json::parse(&file.to_string()).map_err(|error| error.to_string())
    };
    let linux = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
    let kept = serde_json::json!([{"from_bytes": 8 * MIB, "to_bytes": 9 * MIB}]);
    let none = serde_json::json!([]);
    for (pointer, value, says) in [
        (
            "/schema",
            "flashfit.layout/2".into(),
            "'flashfit.layout/2' is not known",
        ),
        ("/schema", 1.into(), "no \"schema\""),
        ("/table", "dos".into(), "'dos'"),
        ("/disk_id", "0x1".into(), "disk_id"),
        ("/disk_id", "0x00000000".into(), "disk_id"),
        ("/logical_block_size", 2048.into(), "2048"),
        ("/logical_block_size", 4096.into(), "capacity_sectors"),
        ("/capacity_sectors", 5.into(), "capacity_sectors"),
        ("/alignment/bytes", 0.into(), "zero"),
        ("/alignment/bytes", (6 * MIB).into(), "units"),
        ("/alignment/phase_bytes", (4 * MIB).into(), "phase_bytes"),
        ("/alignment/size_unit_bytes", 0.into(), "units"),
        (
            "/alignment/erase_block_bytes",
            0.into(),
            "erase_block_bytes",
        ),
        (
            "/alignment/erase_block_bytes",
            1000.into(),
            "whole number of sectors",
        ),
        (
            "/alignment/fallback",
            true.into(),
            "rests on no erase block",
        ),
        ("/first_usable_lba", 0.into(), "usable"),
        ("/last_usable_lba", u64::MAX.into(), "usable"),
        ("/partitions", none, "no partitions"),
        ("/partitions/0/first_lba", 2048.into(), "not on the grid"),
        ("/partitions/0/first_lba", 0.into(), "not inside"),
        ("/partitions/0/first_lba", (-1).into(), "not a layout file"),
        (
            "/partitions/0/first_lba",
            8192.5.into(),
            "not a layout file",
        ),
        ("/partitions/0/sectors", 0.into(), "no sectors"),
        ("/partitions/0/sectors", 131_073.into(), "not on the grid"),
        ("/partitions/0/sectors", u64::MAX.into(), "not inside"),
        ("/partitions/1/first_lba", 8192.into(), "behind partition 1"),
        ("/partitions/0/type", "0x00".into(), "unused"),
        ("/partitions/0/type", linux.into(), "does not belong"),
        ("/partitions/0/name", "x".into(), "cannot hold its name"),
        ("/partitions/0/aligned_by", "luck".into(), "luck"),
        ("/partitions/0/filesystem", "zfs".into(), "zfs"),
        ("/partitions/0/number", 2.into(), "numbered"),
        ("/gaps/0/sectors", 1.into(), "exactly once"),
        ("/keep_out", kept, "touches the keep-out"),
    ] {
        let error = with(pointer, value).unwrap_err();
        assert!(error.contains(says), "{pointer}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let mut more = good.clone();
    more["from_the_future"] = 1.into();
    more["partitions"][0]["colour"] = "red".into();
    assert_eq!(layout_json::parse(&more.to_string()).unwrap(), plan);
    let bare = "{\"schema\":\"flashfit.layout/1\"}";
    for text in ["", "[]", "{}", "null", bare, "\u{0}"] {
        assert!(layout_json::parse(text).is_err(), "{text}");
    }
}

#[test]
fn commands_in_a_layout_file_are_those_of_its_parameters_or_refused() {
    let wishes = ["256MiB:fat32:BOOT", "1GiB:ext4", "rest:f2fs"];
    let plan = plan(16_012_804_096, Bytes::mib(4), &intent(&wishes)).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        layout_json::parse(&file.to_string()).map_err(|error| error.to_string())
    };
    let first = plan.mkfs[0].clone();
    for bad in [
        "rm -rf /home #/dev/sdX1".to_owned(),
        first.replace("-F 32", "-F 16"),
        format!("{first}; reboot"),
        first.replace("/dev/sdX1", "/dev/sdX2"),
        first.replace("/dev/sdX1", "/dev/$(reboot)1"),
        first.replace("/dev/sdX1", "/dev/sdY1"),
        first.replace("/dev/sdX1", "/etc/passwd1"),
        first.replace("/dev/sdX1", "'/dev/sdX1'"),
        String::new(),
    ] {
        let error = with("/mkfs/0", bad.as_str().into()).unwrap_err();
        assert!(error.contains("contradicts itself"), "{bad}: {error}");
    }
    let short = serde_json::json!([first]);
    assert!(with("/mkfs", short).is_err());
    let more = serde_json::json!([plan.mkfs.clone(), vec!["reboot".to_owned()]].concat());
    assert!(with("/mkfs", more).is_err());
    // Another disk is another name for the same.
    for (disk, node) in [
        ("/dev/sdb", "/dev/sdb3"),
        ("/dev/mmcblk0", "/dev/mmcblk0p3"),
        (
            "/dev/disk/by-id/usb-a_b-0:0",
            "/dev/disk/by-id/usb-a_b-0:0-part3",
        ),
    ] {
        let mut named = plan.clone();
        named.name_disk(disk);
        assert!(
            named.mkfs[2].ends_with(&format!(" {node}")),
            "{:?}",
            named.mkfs
        );
        assert_eq!(
            layout_json::parse(&layout_json::render(&named)).unwrap(),
            named
        );
    }
    // Without any they are made.
    assert_eq!(with("/mkfs", serde_json::json!([])).unwrap(), plan);
    for (pointer, value) in [
        ("/partitions/1/format/parameters/stripe_blocks", 7.into()),
        ("/partitions/1/format/parameters/stride_blocks", 7.into()),
        ("/partitions/1/format/parameters/stride_blocks", 0.into()),
        ("/partitions/1/format/mount", "x; reboot".into()),
        ("/partitions/1/format/data_offset_bytes", MIB.into()),
        (
            "/partitions/2/format/parameters/segments_per_section",
            0.into(),
        ),
        (
            "/partitions/2/format/parameters/segments_per_section",
            3.into(),
        ),
        ("/partitions/2/format/parameters/active_logs", 5.into()),
        ("/partitions/2/format/data_offset_bytes", 0.into()),
        ("/partitions/0/format/parameters/fat_sectors", 1.into()),
        ("/partitions/0/format/parameters/cluster_bytes", 0.into()),
    ] {
        let value: serde_json::Value = value;
        let error = with(pointer, value).unwrap_err();
        assert!(
            error.contains("the parameters are not"),
            "{pointer}: {error}"
        );
    }
    // What only people read is not read back as something to run.
    let mut other = good.clone();
    other["partitions"][0]["alternative"] = "or run: reboot".into();
    assert_eq!(layout_json::parse(&other.to_string()).unwrap(), plan);
}

#[test]
fn a_layout_file_cannot_steer_the_terminal() {
    let wish = with_table(TableKind::Gpt, &["rest:ext4:root"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    for hostile in ["\u{1b}[2Jhidden", "a\nb", "\u{202e}txet", "\u{9b}2J"] {
        for pointer in ["/table_reason", "/partitions/0/name", "/alignment/reason"] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = hostile.into();
            let error = layout_json::parse(&bad.to_string())
                .unwrap_err()
                .to_string();
            assert!(!error.chars().any(char::is_control), "{error:?}");
        }
    }
}

#[test]
fn no_place_is_told_for_data_that_mkfs_puts_where_it_likes() {
    for (wish, mib) in [("rest:f2fs", 12), ("rest:btrfs", 8)] {
        let plan = plan(31_914_983_424, Bytes::mib(mib), &intent(&[wish])).unwrap();
        let json: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
        let format = &json["partitions"][0]["format"];
        assert!(format["data_offset_bytes"].is_null(), "{format}");
        assert!(format["start_only_reason"].is_null(), "{format}");
        assert_eq!(layout_json::parse(&json.to_string()).unwrap(), plan);
        let script = flashfit::output::mkfs::render(&plan, None);
        assert!(!script.contains("behind the start"), "{script}");
        assert!(script.contains("lies on the grid"), "{script}");
        let text = flashfit::output::layout_text::render(&plan);
        assert!(text.contains("allocates lies on the grid"), "{text}");
        assert!(!text.contains("data area at"), "{text}");
    }
}

#[test]
fn gaps_missing_from_a_layout_file_are_filled_in() {
    let wish = with_table(TableKind::Mbr, &["64MiB:fat32"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let text = layout_json::render(&plan);
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in [
        "gaps",
        "capacity_sectors",
        "first_usable_lba",
        "version",
        "notes",
    ] {
        file.as_object_mut().unwrap().remove(key);
    }
    let read = layout_json::parse(&file.to_string()).unwrap();
    assert_eq!(read.partitions, plan.partitions);
    assert_eq!(read.gaps.len(), 2);
}

#[test]
fn the_shape_of_a_gpt_travels_and_is_checked() {
    let wish = with_table(TableKind::Gpt, &["64MiB:fat32", "64MiB:ext4"]);
    let plan = plan(16_012_804_096, Bytes::mib(4), &wish).unwrap();
    let good: serde_json::Value = serde_json::from_str(&layout_json::render(&plan)).unwrap();
    assert_eq!(good["gpt"]["entries"], 128);
    assert_eq!(good["gpt"]["array_lba"], 2);
    assert_eq!(
        good["gpt"]["backup_array_lba"],
        plan.capacity.get() - 33,
        "32 sectors of entries and the header"
    );
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        layout_json::parse(&file.to_string()).map_err(|error| error.to_string())
    };
    let table = serde_json::json!([{"from_bytes": 8192, "to_bytes": 9000}]);
    for (pointer, value, says) in [
        ("/gpt/entries", 0.into(), "no shape"),
        ("/gpt/entries", 56.into(), "no shape"),
        ("/gpt/entries", u32::MAX.into(), "no shape"),
        ("/gpt/array_lba", 2048.into(), "no shape"),
        ("/gpt/backup_array_lba", u64::MAX.into(), "no shape"),
        ("/keep_out", table, "over the table"),
    ] {
        let error = with(pointer, value).unwrap_err();
        assert!(error.contains(says), "{pointer}: {error}");
    }
    let mut old = good.clone();
    old.as_object_mut().unwrap().remove("gpt");
    assert_eq!(layout_json::parse(&old.to_string()).unwrap(), plan);
    old["table"] = "mbr".into();
    old["disk_id"] = "0x12345678".into();
    assert!(layout_json::parse(&old.to_string()).is_err());
    let mut short = good.clone();
    short["gpt"] = serde_json::json!({
        "entries": 56, "array_lba": 2, "backup_array_lba": plan.capacity.get() - 15
    });
    assert_eq!(
        layout_json::parse(&short.to_string())
            .unwrap()
            .gpt
            .unwrap()
            .entries,
        56
    );
}

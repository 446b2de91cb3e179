//! `--boot` and the scripts of `plan` from outside.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{Ended, flashfit};

fn plan(words: &[&str]) -> Ended {
    let mut all = vec![
        "plan",
        "--capacity",
        "31914983424B",
        "--erase-block",
        "4MiB",
    ];
    all.extend(words);
    flashfit(&all)
}

#[test]
fn what_a_board_or_a_tool_cannot_do_is_one_line_with_the_way_out() {
    for (words, says) in [
        (vec!["--boot", "imx6", "--table", "gpt"], "use --table mbr"),
        (
            vec!["--boot", "raspberry-pi", "--fs", "ext4"],
            "--partition 256MiB:fat32:BOOT",
        ),
        (
            vec!["--table", "mbr", "--format", "sgdisk"],
            "use --format sfdisk",
        ),
        (
            vec![
                "--boot",
                "allwinner",
                "--table",
                "gpt",
                "--format",
                "parted",
            ],
            "use --format sfdisk or sgdisk",
        ),
        (
            vec!["--table", "gpt", "--keep-out", "8KiB-1MiB"],
            "use --table mbr",
        ),
    ] {
        let said = plan(&words).failure(2);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_keep_out_over_the_loader_of_a_board_may_overlap_it() {
    let json = plan(&[
        "--boot",
        "rockchip",
        "--keep-out",
        "64s-40960s",
        "--fs",
        "ext4",
        "--format",
        "json",
    ]);
    assert_eq!((json.stderr.as_str(), json.code), ("", Some(0)));
    let layout = json.json();
    assert_eq!(layout["table"], "gpt");
    assert_eq!(layout["gpt"]["entries"], 128);
    assert_eq!(layout["partitions"][0]["first_lba"], 40960);
    assert_eq!(layout["keep_out"].as_array().unwrap().len(), 2);
}

#[test]
fn scripts_are_all_of_stdout() {
    for format in ["sgdisk", "parted"] {
        let script = plan(&["--table", "gpt", "--format", format]).success();
        assert!(script.starts_with("#!/bin/sh\n"), "{script}");
        assert!(script.contains(&format!("\n{format} ")), "{script}");
    }
}

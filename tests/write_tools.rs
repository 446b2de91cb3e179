//! `write` and `restore` on loop devices, judged by the tools and the kernel that people use.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::Ended;
use common::{full, need, need_loop};
use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};
use write_support::*;

const MIB: u64 = 1 << 20;

/// Four partitions, as they are written in most tests.
const FOUR: [&str; 8] = [
    "--partition",
    "33MiB:fat16:BOOT",
    "--partition",
    "70MiB:ext4:root",
    "--partition",
    "1MiB:swap",
    "--partition",
    "rest:exfat:data",
];

/// Put back what the last write replaced.
fn restore_newest(disk: &Loop) -> Ended {
    let (backup, size) = (backups(disk.path()).pop().unwrap(), disk.size());
    let yes = ["--yes", "--expect-size", &size];
    let words = ["restore", &disk.device, "--backup", &backup];
    run(disk.path(), &[&words[..], &yes].concat())
}

/// The partitions of a layout that was asked for as JSON, as sfdisk's JSON tells them.
fn planned(disk: &Loop, table: &str, words: &[&str], block: &str) -> Vec<(u64, u64, String)> {
    let size = disk.size();
    let plan = [
        "plan",
        "--capacity",
        &size,
        "--sector-size",
        block,
        "--format",
        "json",
    ];
    let text = run(disk.path(), &[&plan, words].concat()).success();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["table"], table);
    let partitions = json["partitions"].as_array().unwrap();
    partitions
        .iter()
        .map(|p| {
            let kind = p["type"].as_str().unwrap();
            (
                p["first_lba"].as_u64().unwrap(),
                p["sectors"].as_u64().unwrap(),
                // sfdisk writes MBR types without 0x and without a leading zero.
                kind.strip_prefix("0x")
                    .map_or(kind, |hex| hex.trim_start_matches('0'))
                    .to_owned(),
            )
        })
        .collect()
}

fn sfdisk(disk: &Loop) -> (String, Vec<(u64, u64, String)>) {
    let text = says("sfdisk", &["--json", &disk.device]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let table = &json["partitiontable"];
    let partitions = table["partitions"].as_array().unwrap();
    let found = partitions.iter().map(|p| {
        (
            p["start"].as_u64().unwrap(),
            p["size"].as_u64().unwrap(),
            p["type"].as_str().unwrap().to_owned(),
        )
    });
    (table["label"].as_str().unwrap().to_owned(), found.collect())
}

/// A device that was a stick with a FAT over all of it, and before that a GPT disk with an ext4.
fn used(disk: &Loop) {
    let script = disk.path().join("old");
    fs::write(
        &script,
        "label: gpt\nstart=4MiB, size=32MiB\nstart=48MiB, size=32MiB\n",
    )
    .unwrap();
    let made = Command::new(common::tool("sfdisk").unwrap())
        .args(["-q", "--no-reread", "--no-tell-kernel", &disk.device])
        .stdin(File::open(&script).unwrap())
        .output();
    assert!(made.unwrap().status.success());
    let at = |name: &str, offset: u64| {
        let part = disk.path().join(name);
        File::create(&part).unwrap().set_len(16 * MIB).unwrap();
        says("mkfs.ext4", &["-q", "-F", part.to_str().unwrap()]);
        let offset = format!("seek={offset}");
        let (from, to) = (
            format!("if={}", part.display()),
            format!("of={}", disk.device),
        );
        says(
            "dd",
            &[&from, &to, "bs=1M", &offset, "conv=notrunc", "status=none"],
        );
    };
    // Where the first partition of some of the new tables begins, and at a common place.
    at("one", 4);
    at("two", 12);
    let boot = disk.path().join("fat");
    File::create(&boot).unwrap().set_len(DISK).unwrap();
    says("mkfs.fat", &[boot.to_str().unwrap()]);
    let (from, to) = (
        format!("if={}", boot.display()),
        format!("of={}", disk.device),
    );
    says(
        "dd",
        &[
            &from,
            &to,
            "bs=4096",
            "count=1",
            "conv=notrunc",
            "status=none",
        ],
    );
}

fn need_all() -> bool {
    need_loop()
        && [
            "sfdisk",
            "sgdisk",
            "parted",
            "wipefs",
            "blkid",
            "mkfs.ext4",
            "mkfs.fat",
            "dd",
            "partx",
        ]
        .into_iter()
        .all(need)
}

fn agree(table: &str, block: &str, erase_block: &str, phase: &str) {
    let case = format!("{table} {block} {erase_block} + {phase}");
    // Room for the last partition, whose data begin one erase block behind its start.
    let size = if ["16MiB", "64MiB"].contains(&erase_block) {
        512 << 20
    } else {
        DISK
    };
    let disk = Loop::new(size, &["-b", block]);
    used(&disk);
    let before = checksum(&disk.device);
    let grid = [
        "--table",
        table,
        "--erase-block",
        erase_block,
        "--phase",
        phase,
    ];
    let words = [&grid[..], &FOUR].concat();
    let done = write_disk(&disk, &words);
    assert_eq!(done.code, Some(0), "{case}: {}", done.stderr);
    let planned = planned(&disk, table, &words, block);

    let (label, found) = sfdisk(&disk);
    assert_eq!(label, if table == "mbr" { "dos" } else { "gpt" });
    assert_eq!(found, planned, "{case}");
    if table == "gpt" {
        let verdict = says("sgdisk", &["-v", &disk.device]);
        assert!(verdict.contains("No problems found"), "{case}: {verdict}");
    }
    let unit: u64 = block.parse().unwrap();
    let parted = says("parted", &["-s", "-m", &disk.device, "unit", "s", "print"]);
    for (number, (first, sectors, _)) in (1..).zip(&planned) {
        let line = format!("\n{number}:{first}s:{}s:{sectors}s:", first + sectors - 1);
        assert!(parted.contains(&line), "{case}: {line} {parted}");
    }
    let label = if table == "mbr" { "dos" } else { "gpt" };
    assert_eq!(
        says(
            "blkid",
            &["-p", "-o", "value", "-s", "PTTYPE", &disk.device]
        )
        .trim(),
        label,
        "{case}"
    );
    // One table on the disk, nothing in the partitions.
    let marks = says(
        "wipefs",
        &["--noheadings", "--output", "TYPE", &disk.device],
    );
    let copies: &[&str] = if table == "mbr" {
        &["dos"]
    } else {
        &["gpt", "gpt", "PMBR"]
    };
    assert_eq!(
        marks.split_whitespace().collect::<Vec<_>>(),
        copies,
        "{case}"
    );
    for number in 1..=4 {
        let node = format!("{}p{number}", disk.device);
        let marks = says("wipefs", &["--noheadings", "--output", "TYPE", &node]);
        assert_eq!(marks, "", "{case}: partition {number}");
    }
    let shown: Vec<(u64, u64, u64)> = (1..)
        .zip(&planned)
        .map(|(number, (first, sectors, _))| (number, first * unit / 512, sectors * unit / 512))
        .collect();
    assert_eq!(disk.shown(), shown, "{case}");

    let restored = restore_newest(&disk);
    assert_eq!(restored.code, Some(0), "{case}: {}", restored.stderr);
    assert_eq!(checksum(&disk.device), before, "{case}");
    assert_eq!(disk.shown(), [], "{case}");
}

#[test]
fn every_tool_agrees_with_the_plan_and_restore_undoes_it() {
    if !need_all() {
        return;
    }
    let short = [
        ("mbr", "512", "4MiB", "0B"),
        ("gpt", "512", "1536KiB", "512KiB"),
        ("gpt", "4096", "6MiB", "0B"),
        ("mbr", "4096", "12MiB", "4MiB"),
    ];
    if !full() {
        for (table, block, erase_block, phase) in short {
            agree(table, block, erase_block, phase);
        }
        return;
    }
    for table in ["mbr", "gpt"] {
        for block in ["512", "4096"] {
            for erase_block in [
                "1536KiB", "3MiB", "4MiB", "6MiB", "8MiB", "12MiB", "16MiB", "64MiB",
            ] {
                for phase in ["0B", "512KiB", "1MiB"] {
                    agree(table, block, erase_block, phase);
                }
            }
        }
    }
}

#[test]
fn a_table_of_four_partitions_takes_less_than_half_a_second() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(DISK, &[]);
    let words = [&["--table", "gpt", "--erase-block", "4MiB"], &FOUR[..]].concat();
    // The best of three: the machine may be busy with other tests.
    let mut times = Vec::new();
    for _ in 0..3 {
        let began = Instant::now();
        let done = write_disk(&disk, &words);
        times.push(began.elapsed());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    assert!(
        times.iter().min().unwrap() < &Duration::from_millis(500),
        "{times:?}"
    );
}

#[test]
fn a_kernel_that_keeps_the_old_table_is_its_own_exit_code() {
    if !(need_loop() && need("partx")) {
        return;
    }
    let disk = Loop::new(DISK, &[]);
    let first = write_disk(
        &disk,
        &["--erase-block", "4MiB", "--partition", "8MiB:ext4"],
    );
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    // As a probe or a desktop does it: open, not mounted, so that nothing claims the disk.
    let held = File::open(format!("{}p1", disk.device)).unwrap();
    let words = [
        "--erase-block",
        "4MiB",
        "--align",
        "16MiB",
        "--partition",
        "32MiB:ext4",
    ];
    let second = write_disk(&disk, &words);
    assert_eq!(second.code, Some(7), "{}", second.stderr);
    assert!(
        second.stdout.contains("written and verified"),
        "{}",
        second.stdout
    );
    assert!(
        second.stderr.contains("the kernel does not show it"),
        "{}",
        second.stderr
    );
    let (_, found) = sfdisk(&disk);
    assert_eq!((found[0].0, found[0].1), (32768, 65536));
    drop(held);
}

#[test]
fn a_discard_is_only_made_when_asked_for_and_fails_nothing() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(DISK, &[]);
    let mark = disk.path().join("mark");
    fs::write(&mark, [0x5a; 4096]).unwrap();
    let (from, to) = (
        format!("if={}", mark.display()),
        format!("of={}", disk.device),
    );
    let put = || {
        says(
            "dd",
            &[
                &from,
                &to,
                "bs=4096",
                "seek=8192",
                "oflag=direct",
                "status=none",
            ],
        )
    };
    let marked = || {
        let bytes = fs::read(disk.backing()).unwrap();
        bytes[32 * 1024 * 1024] == 0x5a
    };
    put();
    let plain = write_disk(&disk, &["--erase-block", "4MiB", "--fs", "ext4"]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(marked());
    let asked = write_disk(
        &disk,
        &["--erase-block", "4MiB", "--fs", "ext4", "--discard"],
    );
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(!marked() || asked.stderr.contains("--discard: the device refuses it"));
}

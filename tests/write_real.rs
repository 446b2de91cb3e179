//! `write` and `restore` on loop devices, judged by the tools and the kernel that people use.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::Ended;
use common::{full, kernel_lacks, need, need_loop};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use write_support::*;

const MIB: u64 = 1 << 20;
/// Room for four partitions on a grid of 12 MiB; on one of 64 MiB they take more.
const SIZE: u64 = 192 * MIB;
const LARGE: u64 = 512 * MIB;

const YES: [&str; 3] = ["--yes", "--expect-size", "192MiB"];

/// Four partitions, as they are written in most tests.
const FOUR: [&str; 8] = [
    "--partition",
    "33MiB:fat32:BOOT",
    "--partition",
    "70MiB:ext4:root",
    "--partition",
    "1MiB:swap",
    "--partition",
    "rest:exfat:data",
];

fn write(disk: &Loop, words: &[&str]) -> Ended {
    let all = [&["write", disk.device.as_str()], words, &YES].concat();
    run(disk.path(), &all)
}

fn restore_newest(disk: &Loop) -> Ended {
    let backup = backups(disk.path()).pop().unwrap();
    let all = [
        &["restore", disk.device.as_str(), "--backup", &backup],
        &YES[..],
    ]
    .concat();
    run(disk.path(), &all)
}

/// The partitions of a layout that was asked for as JSON, as sfdisk's JSON tells them.
fn planned(disk: &Loop, table: &str, words: &[&str], block: &str) -> Vec<(u64, u64, String)> {
    let size = size_of(disk);
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
    File::create(&boot).unwrap().set_len(SIZE).unwrap();
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
    let size = if erase_block == "64MiB" { LARGE } else { SIZE };
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
    let done = write(&disk, &words);
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
    let disk = Loop::new(SIZE, &[]);
    let words = [&["--table", "gpt", "--erase-block", "4MiB"], &FOUR[..]].concat();
    // The best of three: the machine may be busy with other tests.
    let mut times = Vec::new();
    for _ in 0..3 {
        let began = Instant::now();
        let done = write(&disk, &words);
        times.push(began.elapsed());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    assert!(
        times.iter().min().unwrap() < &Duration::from_millis(500),
        "{times:?}"
    );
}

/// It is refused with these words, and not a byte has changed.
#[track_caller]
fn refused(disk: &Loop, words: &[&str], says: &str) {
    let before = checksum(&disk.backing());
    let ended = write(disk, &[&["--erase-block", "4MiB"], words].concat());
    assert_eq!(ended.code, Some(4), "{says}: {}", ended.stderr);
    let line = ended.stderr.lines().last().unwrap();
    assert!(line.contains(says), "{says}: {line}");
    assert_eq!(ended.stdout, "");
    // A dry run shows everything all the same, and tells that it would be refused.
    let dry = write(
        disk,
        &[&["--erase-block", "4MiB", "--dry-run"], words].concat(),
    );
    assert_eq!(dry.code, Some(4), "{says}: {}", dry.stderr);
    assert!(dry.stdout.contains("nothing was written") && dry.stderr.contains(says));
    assert_eq!(backups(disk.path()), [""; 0]);
    assert_eq!(checksum(&disk.backing()), before);
}

#[test]
fn a_mounted_device_is_refused_whether_it_is_the_disk_or_a_partition() {
    if !(need_loop() && need("mkfs.ext4") && need("partx")) {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    says("mkfs.ext4", &["-q", "-F", &disk.device]);
    let at = disk.path().join("at").to_str().unwrap().to_owned();
    fs::create_dir(&at).unwrap();
    says("mount", &[&disk.device, &at]);
    refused(
        &disk,
        &[],
        &format!("mounted at {at}; release it first: sudo umount"),
    );
    says("umount", &[&at]);
    let done = write(&disk, &["--erase-block", "4MiB", "--fs", "ext4"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    fs::remove_dir_all(disk.path().join("state")).unwrap();
    let node = format!("{}p1", disk.device);
    says("mkfs.ext4", &["-q", "-F", &node]);
    says("mount", &[&node, &at]);
    refused(&disk, &[], &format!("p1 mounted at {at}"));
    says("umount", &[&at]);
    // The partition itself is never the target.
    let words = [
        "write",
        &node,
        "--erase-block",
        "4MiB",
        "--yes",
        "--expect-size",
        "~192MiB",
    ];
    let line = run(disk.path(), &words).failure(4);
    assert!(
        line.contains("is a partition; name the whole disk instead"),
        "{line}"
    );
}

#[test]
fn swap_space_is_refused() {
    if !(need_loop() && need("mkswap") && need("swapon")) {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    says("mkswap", &[&disk.device]);
    if !tool("swapon", &[&disk.device]).status.success() {
        kernel_lacks("swap space on a loop device");
        return;
    }
    let before = checksum(&disk.backing());
    let ended = write(&disk, &["--erase-block", "4MiB"]);
    says("swapoff", &[&disk.device]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("used as swap") && ended.stderr.contains("never a target"),
        "{}",
        ended.stderr
    );
    assert_eq!(checksum(&disk.backing()), before);
}

#[test]
fn a_held_claimed_or_locked_device_is_refused() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    let holder = says("losetup", &["--find", "--show", &disk.device]);
    let holder = holder.trim();
    refused(&disk, &[], &format!("losetup -d {holder}"));
    says("losetup", &["-d", holder]);

    let exclusively = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_EXCL)
        .open(&disk.device)
        .unwrap();
    let ended = write(&disk, &["--erase-block", "4MiB"]);
    drop(exclusively);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("claimed by another program"),
        "{}",
        ended.stderr
    );

    let lock = File::open(&disk.device).unwrap();
    lock.lock().unwrap();
    let ended = write(&disk, &["--erase-block", "4MiB"]);
    drop(lock);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("is locked by another program"),
        "{}",
        ended.stderr
    );
    assert_eq!(backups(disk.path()), [""; 0]);
}

#[test]
fn a_write_protected_or_unattached_device_is_refused() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(SIZE, &["--read-only"]);
    refused(&disk, &[], "is write-protected");
    let device = disk.device.clone();
    says("losetup", &["-d", &device]);
    let ended = write(&disk, &["--erase-block", "4MiB"]);
    assert!(matches!(ended.code, Some(1 | 4)), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no file is attached") || ended.stderr.contains("no such device"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_image_behind_a_loop_device_is_written_through_the_device_only() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    let words = ["write", &disk.backing(), "--erase-block", "4MiB"];
    let line = run(disk.path(), &[&words[..], &YES].concat()).failure(4);
    assert!(
        line.contains(&format!("write to {} instead", disk.device)),
        "{line}"
    );
}

#[test]
fn the_disk_of_the_running_system_is_refused() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let root = mounts
        .lines()
        .find_map(|line| line.strip_prefix("/dev/")?.split_once(" / "))
        .map(|(name, _)| name.to_owned());
    let Some(root) = root.filter(|name| fs::metadata(format!("/sys/block/{name}")).is_ok()) else {
        kernel_lacks("root file system on a whole disk");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let device = format!("/dev/{root}");
    let words = [
        "write",
        &device,
        "--erase-block",
        "4MiB",
        "--yes",
        "--expect-size",
        "~1GB",
    ];
    let line = run(folder.path(), &words).failure(4);
    assert!(line.contains("disk of the running system"), "{line}");
}

#[test]
fn memory_drives_are_no_targets() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for name in ["ram0", "zram0", "sr0", "fd0"] {
        let device = format!("/dev/{name}");
        if fs::metadata(&device).is_err() || fs::metadata(format!("/sys/block/{name}")).is_err() {
            continue;
        }
        tried += 1;
        let words = [
            "write",
            &device,
            "--erase-block",
            "4MiB",
            "--yes",
            "--expect-size",
            "~1GB",
        ];
        let line = run(folder.path(), &words).failure(4);
        assert!(line.contains("run: flashfit list"), "{line}");
    }
    if tried == 0 {
        kernel_lacks("RAM disk");
    }
}

#[test]
fn a_kernel_that_keeps_the_old_table_is_its_own_exit_code() {
    if !(need_loop() && need("partx")) {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    let first = write(
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
    let second = write(&disk, &words);
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
fn only_the_described_device_is_written() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
    for (consent, says) in [
        (["--expect", "4C53"], "tells no serial number"),
        (["--expect", &disk.device], "none of the expected devices"),
        (["--expect-size", "192MB"], "were expected"),
    ] {
        let words = ["write", &disk.device, "--erase-block", "4MiB", "--yes"];
        let ended = run(disk.path(), &[&words[..], &consent].concat());
        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    assert_eq!(backups(disk.path()), [""; 0]);
}

#[test]
fn a_discard_is_only_made_when_asked_for_and_fails_nothing() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(SIZE, &[]);
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
    let plain = write(&disk, &["--erase-block", "4MiB", "--fs", "ext4"]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(marked());
    let asked = write(
        &disk,
        &["--erase-block", "4MiB", "--fs", "ext4", "--discard"],
    );
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(!marked() || asked.stderr.contains("--discard: the device refuses it"));
}

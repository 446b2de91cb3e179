//! The wizard with nobody to ask, on block devices: a virtual stick, and loop devices. Needs root, FUSE
//! and loop devices; without them the tests say so and pass.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::Ended;
use common::virtual_stick::Stick;
use common::{need, need_loop};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use write_support::{DISK, Loop, backups, run, writing};

/// A read takes 1 ms, one across a boundary 1.8 ms. Both scatter by more than what a busy machine adds.
const PROFILE: &str = r#"
capacity = "8000000000B"
[flash]
erase_block = "8MiB"
[read]
base = "1ms"
crossing.erase_block = "800us"
[noise]
sigma = "80us"
[write]
base = "0.5ms"
"#;

/// Held while a virtual stick is scanned: its times are those of the machine.
static CALM: Mutex<()> = Mutex::new(());

const SIZE: &str = "8000000000B";

/// What `check` finds on this grid, without what differs from one making to the next.
fn checked(folder: &Path, device: &str) -> Value {
    let words = ["check", device, "--erase-block", "8MiB", "--json"];
    let ended = run(folder, &words);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    let mut found = ended.json();
    let partitions = found["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 1, "{partitions:?}");
    assert_eq!(partitions[0]["on_grid"], true, "{partitions:?}");
    found["partitions"].take()
}

/// On a machine that does much else the erase block may not be told, but never is another one.
fn told_if_any(report: &Value) {
    let erase_block = &report["geometry"]["erase_block"];
    let bytes = erase_block["bytes"].as_u64();
    assert!(bytes.is_none_or(|bytes| bytes == 8 << 20), "{erase_block}");
}

fn wizard(folder: &Path, device: &str, more: &[&str]) -> Ended {
    let words = [&["wizard", device, "--yes"], more].concat();
    run(folder, &words)
}

#[test]
fn a_virtual_stick_is_provisioned_twice_with_equal_results() {
    if !(need("mkfs.exfat") && need("partx")) {
        return;
    }
    let _calm = CALM.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(stick) = Stick::writable(PROFILE) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let report = report.to_str().unwrap();
    let more = [
        "--expect-size",
        SIZE,
        "--fs",
        "exfat",
        "--mkfs",
        // Whatever the machine lets be told.
        "--align",
        "8MiB",
        "--report",
        report,
        "--log",
        "json",
    ];
    let mut results = Vec::new();
    for _ in 0..2 {
        let ended = wizard(folder.path(), &stick.device, &more);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(
            ended.stdout.contains("partition 1: aligned inside too"),
            "{}",
            ended.stdout
        );
        let last: Value = serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["step"], &last["status"]),
            (&"done".into(), &0.into())
        );
        let told: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
        told_if_any(&told);
        results.push(checked(folder.path(), &stick.device));
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(backups(folder.path()).len(), 2);
}

#[test]
fn two_sticks_that_share_a_bus_are_timed_in_turn() {
    let _calm = CALM.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(one), Some(other)) = (Stick::writable(PROFILE), Stick::writable(PROFILE)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let names = [one.device.as_str(), other.device.as_str()];
    let mut words = vec!["wizard", names[0], names[1], "--yes", "--expect-size", SIZE];
    words.extend(["--log", "json", "--json"]);
    let ended = run(folder.path(), &words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let log: Vec<Value> = ended
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let at = |step: &str, name: &str| {
        log.iter()
            .position(|line| line["step"] == step && line["device"] == name)
    };
    // Whichever came second said that it waits. (The first may wait too, to write.)
    let second = names
        .into_iter()
        .find(|name| at("wait", name).is_some_and(|wait| Some(wait) < at("scan", name)))
        .unwrap_or_else(|| panic!("{log:?}"));
    let first = if second == names[0] {
        names[1]
    } else {
        names[0]
    };
    let wait = &log[at("wait", second).unwrap()];
    assert_eq!(wait["bus"], "virtual");
    let mut first_took = None;
    for line in ended.stdout.lines() {
        let report: Value = serde_json::from_str(line).unwrap();
        told_if_any(&report);
        if report["device"]["path"] == first {
            first_took = report["cost"]["wall_seconds"].as_f64();
        }
    }
    // Between the beginnings of the two scans lies all of the first one; the log counts milliseconds.
    let begun = |name| log[at("scan", name).unwrap()]["seconds"].as_f64().unwrap();
    assert!(
        begun(second) - begun(first) > first_took.unwrap() - 0.002,
        "{log:?}"
    );
    assert_eq!(ended.stdout.lines().count(), 2);
}

#[test]
fn a_signal_ends_it_and_the_device_is_as_it_was() {
    for signal in ["TERM", "HUP"] {
        let Some(stick) = Stick::writable(PROFILE) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let words = [
            "wizard",
            &stick.device,
            "--yes",
            "--expect-size",
            SIZE,
            "--json",
        ];
        let mut child = writing(folder.path(), &words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Until it says that it scans; the end of the output would end this as well.
        while !line.contains(": scan: ") {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0);
        }
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let (mut rest, mut report) = (String::new(), String::new());
        stderr.read_to_string(&mut rest).unwrap();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut report)
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}: {rest}");
        let last = rest.lines().last().unwrap();
        assert!(
            last.contains(&stick.device) && last.contains("interrupted"),
            "{last}"
        );
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["cost"]["stopped_by"], "interrupted");
        assert!(backups(folder.path()).is_empty(), "nothing was written");
    }
}

/// The report of an image of this size, which was not measured.
fn profile(folder: &Path, size: u64) -> String {
    let image = common::program::image(folder, "profile.img", size);
    let report = folder.join("profile.json").to_str().unwrap().to_owned();
    let scanned = run(folder, &["scan", &image, "--report", &report]);
    assert_eq!(scanned.code, Some(3), "{}", scanned.stderr);
    report
}

#[test]
fn a_kernel_that_keeps_the_old_table_is_its_own_exit_code_and_no_file_system_is_made() {
    if !(need_loop() && need("partx") && need("mkfs.ext4")) {
        return;
    }
    let disk = Loop::new(DISK, &[]);
    let (profile, size) = (profile(disk.path(), DISK), disk.size());
    let provision = |partition: &str, align: &str, more: &[&str]| {
        let common = [
            "--profile",
            &profile,
            "--expect-size",
            &size,
            "--partition",
            partition,
        ];
        let words = [&common[..], &["--align", align], more].concat();
        wizard(disk.path(), &disk.device, &words)
    };
    let first = provision("8MiB:ext4", "12MiB", &[]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    // As a probe or a desktop does it: open, not mounted, so that nothing claims the disk.
    let held = File::open(format!("{}p1", disk.device)).unwrap();
    let second = provision("24MiB:ext4", "48MiB", &["--mkfs"]);
    assert_eq!(second.code, Some(7), "{}", second.stderr);
    assert!(
        second.stdout.contains("written and verified"),
        "{}",
        second.stdout
    );
    let last = second.stderr.lines().last().unwrap();
    assert!(last.contains("the kernel does not show it"), "{last}");
    assert!(!second.stderr.contains("mkfs.ext4"), "{}", second.stderr);
    drop(held);
}

#[test]
fn a_device_in_use_is_refused_and_the_one_beside_it_is_done() {
    if !(need_loop() && need("partx") && need("mkfs.ext4") && need("mount")) {
        return;
    }
    let (used, free) = (Loop::new(DISK, &[]), Loop::new(DISK, &[]));
    let profile = profile(free.path(), DISK);
    write_support::says("mkfs.ext4", &["-q", &used.device]);
    let at = used.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap();
    write_support::says("mount", &[&used.device, at]);
    let size = used.size();
    let words = [
        "wizard",
        &used.device,
        &free.device,
        "--yes",
        "--expect-size",
        &size,
        "--profile",
        &profile,
    ];
    let ended = run(free.path(), &words);
    let unmounted = write_support::tool("umount", &[at]);
    assert!(unmounted.status.success(), "{unmounted:?}");
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("mounted at"), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    let expected = format!(
        "1 of 2 devices done; not done: {} (exit code 4)",
        used.device
    );
    assert_eq!(last, expected);
    assert_eq!(free.shown().len(), 1);
    assert!(used.shown().is_empty());
}

#[test]
fn images_get_their_file_systems_from_the_profile_of_a_stick_of_their_size() {
    if !(need_loop() && need("mkfs.fat")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let stick = common::program::stick(folder.path(), "stick", PROFILE);
    let profile = folder.path().join("profile.json");
    let profile = profile.to_str().unwrap();
    let scanned = run(folder.path(), &["scan", &stick, "--report", profile]);
    assert_eq!(scanned.code, Some(0), "{}", scanned.stderr);
    let images =
        ["a.img", "b.img"].map(|name| common::program::image(folder.path(), name, 8_000_000_000));
    let mut words = vec![
        "wizard",
        &images[0],
        &images[1],
        "--yes",
        "--expect-size",
        SIZE,
    ];
    words.extend(["--profile", profile, "--fs", "fat32", "--mkfs"]);
    let ended = run(folder.path(), &words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(last, "2 of 2 devices done");
    let [a, b] = images.map(|image| checked(folder.path(), &image));
    assert_eq!(a, b);
}

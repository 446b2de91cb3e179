//! `write --mkfs`: table and file systems in one command, and what `check` says of them.

#![allow(clippy::unwrap_used)] // tests

mod check_support;
mod common;

use check_support::Looped;
use common::program::{flashfit, image};
use common::{need, need_loop};

/// 2 GiB with a byte-exact size that is no multiple of the grid.
const SIZE: u64 = 2_147_483_648 + 512 * 4097;

fn write(image: &str, backup: &str, partitions: &[&str], more: &[&str]) -> common::program::Ended {
    let size = format!("{SIZE}B");
    let mut words = vec!["write", image, "--erase-block", "12MiB", "--backup", backup];
    words.extend(["--yes", "--expect-size", &size]);
    for partition in partitions {
        words.extend(["--partition", partition]);
    }
    words.extend(more);
    flashfit(&words)
}

#[test]
fn the_file_systems_are_made_and_lie_on_the_grid() {
    let tools = ["mkfs.fat", "mkfs.exfat", "mkfs.ext4", "mkfs.f2fs"];
    if !(need_loop() && tools.into_iter().all(need)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let image = image(folder.path(), "card.img", SIZE);
    let partitions = [
        "256MiB:fat32:BOOT",
        "512MiB:exfat",
        "384MiB:ext4:root",
        "rest:f2fs",
    ];
    let written = write(&image, &path("old.json"), &partitions, &["--mkfs"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let said = written.stdout;
    for number in 1..=4 {
        assert!(said.contains(&format!("partition {number}: ")), "{said}");
    }
    let checked = flashfit(&["check", &image, "--erase-block", "12MiB", "--json"]);
    assert_eq!(
        checked.code,
        Some(0),
        "{} {}",
        checked.stdout,
        checked.stderr
    );
    let found = checked.json();
    let partitions_found = found["partitions"].as_array().unwrap();
    assert_eq!(partitions_found.len(), 4, "{found}");
    for partition in partitions_found {
        assert!(partition["content"].is_string(), "{partition}");
        assert_eq!(partition["on_grid"], true, "{partition}");
    }
    // Once more over what is there: nothing asks, nothing is in the way.
    let again = write(&image, &path("second.json"), &partitions, &["--mkfs"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn the_commands_of_a_saved_layout_name_the_partitions_of_the_disk_at_hand() {
    if !(need_loop() && need("partx")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let size = format!("{SIZE}B");
    let plan = flashfit(&[
        "plan",
        "--capacity",
        &size,
        "--erase-block",
        "4MiB",
        "--fs",
        "ext4",
        "--format",
        "json",
    ]);
    let json = plan.success();
    assert!(json.contains("/dev/sdX1"), "{json}");
    std::fs::write(path("layout.json"), &json).unwrap();
    let image = image(folder.path(), "card.img", SIZE);
    let looped = Looped::new(std::path::Path::new(&image), "512");
    let disk = looped.path.to_str().unwrap();
    let write = |layout: &str, backup: &str| {
        flashfit(&[
            "write",
            disk,
            "--layout",
            &path(layout),
            "--yes",
            "--expect-size",
            &size,
            "--backup",
            &path(backup),
        ])
    };
    let bad = json.replace("mkfs.ext4 ", "rm -rf / #");
    std::fs::write(path("bad.json"), bad).unwrap();
    let refused = write("bad.json", "bad-backup.json");
    assert!(refused.failure(1).contains("contradicts itself"));
    let written = write("layout.json", "backup.json");
    // The partitions would outlive the loop device.
    let _ = std::process::Command::new(common::tool("partx").unwrap())
        .args(["--delete", disk])
        .status();
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for text in [&written.stdout, &written.stderr] {
        assert!(!text.contains("/dev/sdX"), "{text}");
    }
    let named = format!("{disk}p1");
    assert!(written.stdout.contains("file system: mkfs.ext4 "));
    assert!(written.stdout.contains(&named), "{}", written.stdout);
}

#[test]
fn a_simulated_stick_has_no_partitions_for_tools() {
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("b.json").to_string_lossy().into_owned();
    let refused = flashfit(&[
        "write",
        "sim:kingston-dt101g2",
        "--erase-block",
        "4MiB",
        "--backup",
        &backup,
        "--yes",
        "--expect-size",
        "8019509248B",
        "--mkfs",
    ]);
    let message = refused.failure(2);
    assert!(message.contains("--mkfs"), "{message}");
}

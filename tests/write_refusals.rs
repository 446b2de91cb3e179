//! What `write` refuses, tried on really mounted, swapped, held, locked and protected devices.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::{kernel_lacks, need, need_loop};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use write_support::*;

/// It is refused with these words, and not a byte has changed.
#[track_caller]
fn refused(disk: &Loop, words: &[&str], says: &str) {
    let before = checksum(&disk.backing());
    let ended = write_disk(disk, &[&["--erase-block", "4MiB"], words].concat());
    assert_eq!(ended.code, Some(4), "{says}: {}", ended.stderr);
    let line = ended.stderr.lines().last().unwrap();
    assert!(line.contains(says), "{says}: {line}");
    assert_eq!(ended.stdout, "");
    // A dry run shows everything all the same, and tells that it would be refused.
    let dry = write_disk(
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
    let disk = Loop::new(DISK, &[]);
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
    let done = write_disk(&disk, &["--erase-block", "4MiB", "--fs", "ext4"]);
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
    let disk = Loop::new(DISK, &[]);
    says("mkswap", &[&disk.device]);
    if !tool("swapon", &[&disk.device]).status.success() {
        kernel_lacks("swap space on a loop device");
        return;
    }
    let before = checksum(&disk.backing());
    let ended = write_disk(&disk, &["--erase-block", "4MiB"]);
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
    let disk = Loop::new(DISK, &[]);
    let holder = says("losetup", &["--find", "--show", &disk.device]);
    let holder = holder.trim();
    refused(&disk, &[], &format!("losetup -d {holder}"));
    says("losetup", &["-d", holder]);

    let exclusively = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_EXCL)
        .open(&disk.device)
        .unwrap();
    let ended = write_disk(&disk, &["--erase-block", "4MiB"]);
    drop(exclusively);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("claimed by another program"),
        "{}",
        ended.stderr
    );

    let lock = File::open(&disk.device).unwrap();
    lock.lock().unwrap();
    let ended = write_disk(&disk, &["--erase-block", "4MiB"]);
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
    let disk = Loop::new(DISK, &["--read-only"]);
    refused(&disk, &[], "is attached read-only; detach it");
    let device = disk.device.clone();
    says("losetup", &["-d", &device]);
    let ended = write_disk(&disk, &["--erase-block", "4MiB"]);
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
    let disk = Loop::new(DISK, &[]);
    // Another name of the same file, and a link to it.
    let hard = disk.path().join("hard");
    let soft = disk.path().join("soft");
    fs::hard_link(disk.backing(), &hard).unwrap();
    std::os::unix::fs::symlink(disk.backing(), &soft).unwrap();
    for name in [disk.backing().as_ref(), hard.as_path(), soft.as_path()] {
        let words = ["write", name.to_str().unwrap(), "--erase-block", "4MiB"];
        let line = run(
            disk.path(),
            &[&words[..], &["--yes", "--expect-size", "192MiB"]].concat(),
        )
        .failure(4);
        assert!(
            line.contains(&format!("write to {} instead", disk.device)),
            "{name:?}: {line}"
        );
    }
}

#[test]
fn a_second_loop_device_on_the_same_file_is_refused_for_both() {
    if !(need_loop() && need("mkfs.ext4") && need("partx")) {
        return;
    }
    let disk = Loop::new(DISK, &[]);
    let twin = says("losetup", &["--find", "--show", &disk.backing()]);
    let twin = twin.trim();
    says("mkfs.ext4", &["-q", "-F", twin]);
    let at = disk.path().join("at").to_str().unwrap().to_owned();
    fs::create_dir(&at).unwrap();
    says("mount", &[twin, &at]);
    refused(&disk, &[], &format!("mounted at {at}"));
    says("umount", &[&at]);
    refused(&disk, &[], twin.trim_start_matches("/dev/"));
    says("losetup", &["-d", twin]);
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
fn only_the_described_device_is_written() {
    if !need_loop() {
        return;
    }
    let disk = Loop::new(DISK, &[]);
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
fn a_locked_image_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let file = File::open(&image).unwrap();
    file.lock().unwrap();
    let refused = write_image(folder.path(), &image, &[]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("is locked by another program"),
        "{}",
        refused.stderr
    );
}

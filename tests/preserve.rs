//! Write tests that put everything back, on real block devices: a loop device full of data is the
//! same, byte for byte, however the run ends. Needs root and loop devices.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{Ended, command, ended};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZE: usize = 96 << 20;

/// A loop device full of random data; gone when the test ends.
struct Disk {
    device: String,
    file: PathBuf,
    before: Vec<u8>,
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None`, said aloud, where none can be made.
    fn new(size: usize) -> Option<Disk> {
        if !common::need_loop() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk");
        let mut before = vec![0; size];
        Xoshiro256PlusPlus::seed_from_u64(7).fill_bytes(&mut before);
        std::fs::write(&file, &before).unwrap();
        let made = Command::new(common::tool("losetup").unwrap())
            .args(["--find", "--show"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        Some(Disk {
            device,
            file,
            before,
            folder,
        })
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn scan(&self) -> Command {
        self.scan_with_journal(&self.journal())
    }

    fn scan_with_journal(&self, journal: &Path) -> Command {
        let mut command = command(&["scan", &self.device, "--write-tests", "preserve", "--json"]);
        command.args(["--time-limit", "20s", "--write-limit", "24MiB", "--backup"]);
        command.arg(journal);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn restore(&self, journal: &Path) -> Ended {
        let size = format!("{SIZE}B");
        let mut command = command(&["restore", &self.device, "--yes", "--expect-size", &size]);
        ended(&command.arg("--backup").arg(journal).output().unwrap())
    }

    #[track_caller]
    fn is_unchanged(&self) {
        let now = std::fs::read(&self.file).unwrap();
        let differs = now.iter().zip(&self.before).position(|(a, b)| a != b);
        assert_eq!((now.len(), differs), (self.before.len(), None));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let losetup = common::tool("losetup").unwrap();
        let _ = Command::new(losetup).args(["-d", &self.device]).status();
    }
}

fn kill(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    // It may be over already.
    let _ = Command::new("kill").args(["-s", signal, &pid]).output();
}

fn moments() -> u32 {
    if common::full() { 20 } else { 4 }
}

#[test]
fn a_whole_run_writes_and_leaves_every_byte_as_it_was() {
    let Some(disk) = Disk::new(SIZE) else { return };
    let ended = ended(&disk.scan().output().unwrap());
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let report = ended.json();
    let written = report["cost"]["bytes_written"].as_u64().unwrap();
    assert!((1 << 20..=24 << 20).contains(&written), "{written}");
    let warnings = report["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning["code"] == "put_back"),
        "{warnings:?}"
    );
    assert!(ended.stderr.contains("put them back"), "{}", ended.stderr);
    disk.is_unchanged();
    assert!(!disk.journal().exists());
}

#[test]
fn sigterm_at_any_moment_leaves_every_byte_as_it_was() {
    let Some(disk) = Disk::new(SIZE) else { return };
    let begun = Instant::now();
    disk.scan().output().unwrap();
    let whole = begun.elapsed();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut interrupted = 0;
    for _ in 0..moments() {
        let child = disk.scan().spawn().unwrap();
        std::thread::sleep(whole.mul_f64(rng.random::<f64>()));
        kill(&child, "TERM");
        let ended = ended(&child.wait_with_output().unwrap());
        // Killed before it listened, interrupted, or over before.
        assert!(matches!(ended.code, None | Some(130 | 0 | 3)), "{ended:?}");
        if ended.code == Some(130) {
            interrupted += 1;
            assert_eq!(ended.json()["cost"]["stopped_by"], "interrupted");
        }
        disk.is_unchanged();
        assert!(!disk.journal().exists(), "{ended:?}");
    }
    assert!(interrupted > 0);
}

#[test]
fn restore_repairs_a_run_that_was_killed_at_any_moment() {
    let Some(disk) = Disk::new(SIZE) else { return };
    let begun = Instant::now();
    disk.scan().output().unwrap();
    let whole = begun.elapsed();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
    let mut restored = 0;
    for moment in 0..moments() {
        let journal = disk.folder.path().join(format!("journal-{moment}"));
        let mut child = disk.scan_with_journal(&journal).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(rng.random::<f64>()));
        kill(&child, "KILL");
        child.wait().unwrap();
        if journal.exists() {
            restored += 1;
            let first = disk.restore(&journal);
            assert_eq!(first.code, Some(0), "{first:?}");
            disk.is_unchanged();
            // Again is no harm.
            let second = disk.restore(&journal);
            assert_eq!(second.code, Some(0), "{second:?}");
            assert!(second.stdout.contains("was put back before"), "{second:?}");
        }
        disk.is_unchanged();
    }
    assert!(restored > 0);
}

#[test]
fn a_second_run_on_the_same_device_is_refused() {
    let Some(disk) = Disk::new(SIZE) else { return };
    let mut first = disk.scan().spawn().unwrap();
    // The journal is made when the device is claimed.
    let begun = Instant::now();
    while !disk.journal().exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(disk.journal().exists());
    kill(&first, "STOP");
    let other = disk.folder.path().join("other");
    let second = ended(&disk.scan_with_journal(&other).output().unwrap());
    kill(&first, "CONT");
    kill(&first, "TERM");
    first.wait().unwrap();
    assert_eq!(
        (second.code, second.stdout.as_str()),
        (Some(4), ""),
        "{second:?}"
    );
    assert!(!other.exists());
    disk.is_unchanged();
}

#[test]
fn a_journal_is_refused_on_another_device_and_changes_nothing() {
    let (Some(disk), Some(other)) = (Disk::new(SIZE), Disk::new(SIZE / 2)) else {
        return;
    };
    let journal = disk.folder.path().join("kept");
    let mut child = disk.scan_with_journal(&journal).spawn().unwrap();
    let begun = Instant::now();
    let is_used = || std::fs::metadata(&journal).is_ok_and(|file| file.len() > 4096);
    while !is_used() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(&child, "KILL");
    child.wait().unwrap();
    let size = format!("{}B", SIZE / 2);
    let mut restore = command(&["restore", &other.device, "--yes", "--expect-size", &size]);
    let refused = ended(&restore.arg("--backup").arg(&journal).output().unwrap());
    let line = refused.failure(4);
    assert!(line.contains("another device"), "{line}");
    other.is_unchanged();
    assert_eq!(disk.restore(&journal).code, Some(0));
    disk.is_unchanged();
    // What is written from now on is not overwritten by the same command.
    let mark = "newer than the journal".repeat(1000);
    let places = File::options().write(true).open(&disk.device).unwrap();
    for place in (0..SIZE as u64).step_by(1 << 20) {
        places.write_all_at(mark.as_bytes(), place).unwrap();
    }
    drop(places);
    let before = std::fs::read(&disk.device).unwrap();
    let again = disk.restore(&journal);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("nothing is written now"));
    assert!(std::fs::read(&disk.device).unwrap() == before);
}

#[test]
fn a_disk_too_full_for_the_journal_ends_the_run_and_nothing_is_lost() {
    let Some(disk) = Disk::new(SIZE) else { return };
    let small = disk.folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "none"])
        .arg(&small)
        .output()
        .unwrap();
    if !mounted.status.success() {
        common::kernel_lacks("mount of a tmpfs");
        return;
    }
    let journal = small.join("journal");
    let ended = ended(&disk.scan_with_journal(&journal).output().unwrap());
    let left = std::fs::read_dir(&small).unwrap().count();
    let _ = Command::new("umount").arg(&small).status();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("cannot save what stands at byte"),
        "{ended:?}"
    );
    // What was known by then is reported.
    assert!(ended.json()["cost"]["reads"].as_u64().unwrap() > 0);
    assert_eq!(left, 0);
    disk.is_unchanged();
}

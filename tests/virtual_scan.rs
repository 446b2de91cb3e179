//! Scans of real block devices in real time: simulated sticks behind FUSE and a loop device. Needs
//! root, /dev/fuse and loop devices.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{Ended, command, ended};
use common::virtual_stick::Stick;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A fast stick whose boundaries cost several times what FUSE and the loop device scatter by (50 to
/// 100 us), so that a scan takes seconds.
const STEP: &str = r#"
[read]
base = "300us"
crossing.erase_block = "400us"
[noise]
sigma = "10us"
"#;

/// No boundary costs anything.
const FLAT: &str = r#"
[read]
base = "300us"
[noise]
sigma = "10us"
"#;

/// Scan it; the report, and how the program ended.
fn scan(stick: &Stick) -> (Value, Ended) {
    let begun = Instant::now();
    let output = command(&["scan", &stick.device, "--json", "--time-limit", "45s"])
        .output()
        .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let ended = ended(&output);
    assert_eq!(
        ended.stderr,
        format!(
            "scanning {}, at most 45 s; Ctrl-C reports what is known by then\n",
            stick.device
        )
    );
    (ended.json(), ended)
}

#[test]
fn erase_blocks_of_8_mib_are_told() {
    let profile = format!("capacity = \"8000000000B\"\n[flash]\nerase_block = \"8MiB\"\n{STEP}");
    let Some(stick) = Stick::new(&profile) else {
        return;
    };
    let (report, ended) = scan(&stick);
    assert_eq!(ended.code, Some(0), "{report:#}");
    assert_eq!(report["device"]["transport"], "loop");
    assert_eq!(
        report["geometry"]["erase_block"]["bytes"],
        8 << 20,
        "{report:#}"
    );
    assert_eq!(
        report["geometry"]["erase_block"]["phase_bytes"], 0,
        "{report:#}"
    );
    assert_eq!(report["alignment"]["bytes"], 8 << 20);
}

#[test]
fn erase_blocks_of_12_mib_at_phase_4_mib_are_told() {
    let profile = format!(
        "capacity = \"8000000000B\"\n[flash]\nerase_block = \"12MiB\"\nphase = \"4MiB\"\n{STEP}"
    );
    let Some(stick) = Stick::new(&profile) else {
        return;
    };
    let (report, ended) = scan(&stick);
    assert_eq!(ended.code, Some(0), "{report:#}");
    assert_eq!(
        report["geometry"]["erase_block"]["bytes"],
        12 << 20,
        "{report:#}"
    );
    assert_eq!(
        report["geometry"]["erase_block"]["phase_bytes"],
        4 << 20,
        "{report:#}"
    );
    assert_eq!(report["alignment"]["phase_bytes"], 4 << 20);
}

#[test]
fn what_is_not_visible_is_not_told() {
    let profile = format!("capacity = \"8000000000B\"\n[flash]\nerase_block = \"8MiB\"\n{FLAT}");
    let Some(stick) = Stick::new(&profile) else {
        return;
    };
    let (report, ended) = scan(&stick);
    assert_eq!(ended.code, Some(3), "{report:#}");
    assert_eq!(
        report["geometry"]["erase_block"]["verdict"], "not_visible",
        "{report:#}"
    );
    assert_eq!(report["geometry"]["erase_block"]["bytes"], Value::Null);
    assert_eq!(report["alignment"]["bytes"], 12 << 20);
}

#[test]
fn ctrl_c_ends_a_scan_in_real_time_with_what_is_known() {
    // Slow enough that it is never over by itself.
    let profile = "capacity = \"8GB\"\n[flash]\nerase_block = \"8MiB\"\n[read]\nbase = \"20ms\"\n";
    let Some(stick) = Stick::new(profile) else {
        return;
    };
    let mut child = command(&["scan", &stick.device, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first output comes at once, when the signals are listened for.
    let begun = Instant::now();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("scanning "), "{line}");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    std::thread::sleep(Duration::from_millis(500));
    let kill = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let signalled = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(
        signalled.elapsed() < Duration::from_secs(2),
        "{:?}",
        signalled.elapsed()
    );
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["cost"]["stopped_by"], "interrupted");
    assert!(report["cost"]["reads"].as_u64().unwrap() >= 5, "{report:#}");
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains(": interrupted while "), "{line}");
}

#[test]
fn a_mounted_stick_is_scanned_with_a_warning_and_is_at_most_likely() {
    if !common::need("mkfs.ext4") {
        return;
    }
    let profile = format!("capacity = \"1000000000B\"\n[flash]\nerase_block = \"4MiB\"\n{STEP}");
    let Some(stick) = Stick::writable(&profile) else {
        return;
    };
    let made = Command::new(common::tool("mkfs.ext4").unwrap())
        .args([
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=1,nodiscard",
            "-N",
            "64",
            &stick.device,
        ])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&stick.device, folder.path()) else {
        return;
    };
    let (report, ended) = scan(&stick);
    assert!(matches!(ended.code, Some(0 | 3)), "{report:#}");
    assert_ne!(
        report["geometry"]["erase_block"]["verdict"], "confirmed",
        "{report:#}"
    );
    let warnings = report["warnings"].as_array().unwrap();
    let in_use: Vec<&Value> = warnings
        .iter()
        .filter(|warning| warning["code"] == "in_use")
        .collect();
    assert_eq!(in_use.len(), 1, "{warnings:?}");
    let text = in_use[0]["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("mounted at {}", folder.path().display())),
        "{text}"
    );
}

/// A mount; undone when it is dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(device: &str, at: &Path) -> Option<Mount> {
        let mounted = Command::new("mount")
            .args(["-o", "ro,noload", device])
            .arg(at)
            .output()
            .unwrap();
        if !mounted.status.success() {
            common::kernel_lacks("ext4 file system");
            return None;
        }
        Some(Mount(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

//! Write tests on real block devices in real time: simulated sticks behind FUSE and a loop device.
//! Needs root, /dev/fuse and loop devices.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{command, ended};
use common::virtual_stick::Stick;
use serde_json::Value;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Real time is measured, and two sticks disturb each other: where steps of reads are to be seen, there
/// is one only.
static QUIET: RwLock<()> = RwLock::new(());

/// FUSE and the loop device scatter by 50 to 100 us a read, and add 1 to 2 ms to a synchronous write,
/// which is followed by a flush: what differs here differs by more than that.
const STEP: &str = r#"
[read]
base = "300us"
per_kib = "5us"
crossing.erase_block = "500us"
[write]
base = "2ms"
per_kib = "100us"
partial_page = "1.5ms"
[noise]
sigma = "10us"
"#;

fn report(profile: &str) -> Option<Value> {
    let stick = Stick::writable(profile)?;
    let begun = Instant::now();
    let size = std::fs::read_to_string(format!(
        "/sys/block/{}/size",
        stick.device.strip_prefix("/dev/").unwrap()
    ));
    let bytes = size.unwrap().trim().parse::<u64>().unwrap() * 512;
    let output = command(&["scan", &stick.device, "--write-tests", "destroy", "--json"])
        .args(["--yes", "--expect-size", &format!("{bytes}B")])
        .args(["--time-limit", "90s"])
        .output()
        .unwrap();
    let ended = ended(&output);
    assert!(
        ended.stderr.contains("nothing is put back"),
        "{}",
        ended.stderr
    );
    assert!(begun.elapsed() < Duration::from_secs(100));
    Some(ended.json())
}

#[test]
fn a_hard_limit_and_a_special_zone_are_told() {
    let profile = format!(
        "capacity = \"4000000000B\"\n[flash]\nerase_block = \"4MiB\"\npage = \"16KiB\"\n{STEP}\
         [open_units]\nlinear = 5\nrandom = 5\ncollect = \"200ms\"\n\
         [[zones]]\nfrom = \"0B\"\nto = \"4MiB\"\nrandom = 0.2\npage_mapped = true\n"
    );
    let _quiet = QUIET.write().unwrap_or_else(PoisonError::into_inner);
    let Some(report) = report(&profile) else {
        return;
    };
    let found = &report["geometry"];
    assert_eq!(found["erase_block"]["bytes"], 4 << 20, "{report:#}");
    assert_eq!(found["open_au"]["linear"]["limit"], 5, "{report:#}");
    assert_eq!(found["open_au"]["linear"]["cutoff"], "hard");
    let zones = found["fat_area"]["zones"].as_array().unwrap();
    assert_eq!(zones.len(), 1, "{report:#}");
    assert_eq!(zones[0]["to_bytes"], 4 << 20, "{report:#}");
}

#[test]
fn a_soft_limit_is_told() {
    let profile = format!(
        "capacity = \"4000000000B\"\n[flash]\nerase_block = \"4MiB\"\n{STEP}\
         [open_units]\nlinear = 6\nrandom = 6\ncutoff = \"soft\"\nsoft_rate = 0.3\n"
    );
    let _beside = QUIET.read().unwrap_or_else(PoisonError::into_inner);
    let Some(report) = report(&profile) else {
        return;
    };
    let linear = &report["geometry"]["open_au"]["linear"];
    assert_eq!(linear["limit"], 6, "{report:#}");
    assert_eq!(linear["cutoff"], "soft", "{report:#}");
}

#[test]
fn a_flat_stick_gets_no_limit_no_zone_and_no_erase_block() {
    let profile = "capacity = \"4000000000B\"\n[flash]\nerase_block = \"4MiB\"\n\
        [read]\nbase = \"300us\"\n[write]\nbase = \"2ms\"\nper_kib = \"100us\"\n\
        [noise]\nsigma = \"10us\"\n";
    let _beside = QUIET.read().unwrap_or_else(PoisonError::into_inner);
    let Some(report) = report(profile) else {
        return;
    };
    let found = &report["geometry"];
    assert_ne!(found["erase_block"]["verdict"], "confirmed", "{report:#}");
    assert_eq!(
        found["open_au"]["linear"]["limit"],
        Value::Null,
        "{report:#}"
    );
    assert!(
        found["open_au"]["linear"]["at_least"].as_u64() >= Some(16),
        "{report:#}"
    );
    let zones = found["fat_area"]["zones"].as_array().unwrap();
    assert!(zones.is_empty(), "{report:#}");
}

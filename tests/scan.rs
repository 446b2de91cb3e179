//! `flashfit scan` from outside, on simulated sticks and an image file.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{
    Ended, PLAIN, assert_tells, command, ended, flashfit, flowing, image, stick,
};
use flashfit::device::simulated::{Profile, SimulatedStick};
use flashfit::device::wrappers::{AccessKind, Recorder};
use flashfit::run::scan::{self, Options};
use serde_json::Value;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The report without the time by the clock on the wall.
fn timeless(json: &str) -> String {
    json.lines()
        .filter(|line| !line.contains("\"wall_seconds\""))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_scan_tells_the_erase_block_and_why() {
    let report = flashfit(&["scan", "sim:corsair-voyager"]).success();
    let words = [
        "Corsair Voyager 3.0 (sim:corsair-voyager)\n",
        "The erase block is 8 MiB: ",
        "\nWhy\n  - ",
        "<- erase block\n",
        "alignment to use          8 MiB = 16384 sectors of 512 bytes\n",
        "Measuring wrote nothing.",
        "flashfit plan sim:corsair-voyager",
    ];
    assert_tells(&report, &words);
}

#[test]
fn the_json_holds_the_same_findings() {
    let ended = flashfit(&["scan", "sim:corsair-voyager", "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    let report = ended.json();
    assert_eq!(report["schema"], "flashfit.report/1");
    assert_eq!(report["device"]["transport"], "simulated");
    assert_eq!(report["device"]["capacity_bytes"], 16_012_804_096_u64);
    assert_eq!(report["geometry"]["erase_block"]["bytes"], 8 << 20);
    assert_eq!(report["geometry"]["erase_block"]["phase_bytes"], 0);
    // Reads hint at the page; only writes could confirm it.
    assert_eq!(report["geometry"]["page"]["verdict"], "likely");
    assert_eq!(report["geometry"]["page"]["bytes"], 16 << 10);
    assert_eq!(report["alignment"]["bytes"], 8 << 20);
    assert!(report["cost"]["reads"].as_u64().unwrap() > 100);
    assert_eq!(report["cost"]["writes"], 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_other_places() {
    let scan = |seed| flashfit(&["scan", "sim:sandisk-32g", "--json", "--seed", seed]).stdout;
    let first = scan("7");
    assert_eq!(timeless(&first), timeless(&scan("7")));
    assert_ne!(timeless(&first), timeless(&scan("8")));
}

#[test]
fn what_reads_do_not_show_ends_with_3_and_a_careful_alignment() {
    let ended = flashfit(&["scan", "sim:intel-x25"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(3)));
    assert!(
        ended.stdout.contains("The erase block could not be told."),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("alignment to use          48 MiB"),
        "{}",
        ended.stdout
    );
    let report = flashfit(&["scan", "sim:intel-x25", "--json"]).json();
    assert_eq!(report["geometry"]["erase_block"]["verdict"], "not_visible");
    assert_eq!(report["geometry"]["erase_block"]["bytes"], Value::Null);
    assert_eq!(report["alignment"]["bytes"], 48 << 20);
}

#[test]
fn a_time_limit_ends_a_scan_with_what_is_known_by_then() {
    let ended = flashfit(&[
        "scan",
        "sim:corsair-voyager",
        "--json",
        "--time-limit",
        "0.05s",
    ]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(3)));
    let report = ended.json();
    assert_eq!(report["cost"]["stopped_by"], "time_limit");
    let seconds = report["cost"]["device_seconds"].as_f64().unwrap();
    assert!((0.05..0.2).contains(&seconds), "{seconds}");
}

#[test]
fn an_image_file_is_not_timed_and_gets_a_careful_alignment() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "card.img", 4_000_000_000);
    let ended = flashfit(&["scan", &path, "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(3)));
    let report = ended.json();
    assert_eq!(report["device"]["transport"], "image");
    assert_eq!(report["geometry"]["erase_block"]["verdict"], "not_tested");
    assert_eq!(report["warnings"][0]["code"], "image_file");
    assert_eq!(report["alignment"]["bytes"], 12 << 20);
    assert_eq!(
        (&report["cost"]["reads"], &report["cost"]["stopped_by"]),
        (&0.into(), &Value::Null)
    );
}

#[test]
fn a_saved_report_is_the_one_that_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stick.json");
    std::fs::write(&path, "old").unwrap();
    let saved = path.to_str().unwrap();
    let shown = flashfit(&["scan", "sim:corsair-voyager", "--json", "--report", saved]).success();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), shown);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let told = flashfit(&["scan", "sim:corsair-voyager", "--report", saved]).success();
    assert!(
        told.contains(&format!("flashfit plan --report {saved}")),
        "{told}"
    );
}

#[test]
fn a_report_that_cannot_be_saved_is_refused_before_the_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/stick.json");
    let path = path.to_str().unwrap();
    let ended = flashfit(&["scan", "sim:corsair-voyager", "--report", path]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "", "no scan was made");
    let line = ended.one_line();
    assert!(
        line.starts_with(&format!("cannot write {path}: ")),
        "{line}"
    );
}

#[test]
fn an_unreadable_place_ends_a_scan_with_6_and_what_is_known_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let profile = format!("{PLAIN}[faults]\nunreadable = [\"5GB-6GB\"]\n");
    let name = stick(folder.path(), "bad", &profile);
    let ended = flashfit(&["scan", &name, "--json"]);
    assert_eq!(ended.code, Some(6), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["cost"]["stopped_by"], "io_error");
    let warnings = report["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning["code"] == "io_error"),
        "{warnings:?}"
    );
    let line = ended.one_line();
    assert!(
        line.starts_with(&format!("{name}: I/O error at byte 5")),
        "{line}"
    );
    assert!(
        line.contains("while measuring how much read times scatter; "),
        "{line}"
    );
}

#[test]
fn a_stick_that_is_pulled_out_ends_a_scan_with_6_and_what_is_known_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let whole = stick(folder.path(), "whole", PLAIN);
    let all = flashfit(&["scan", &whole, "--json"]).json()["cost"]["reads"].as_u64();
    for (reads, stage) in [
        (5, "while measuring how much read times scatter"),
        (400, "while looking for boundaries"),
        (all.unwrap() - 5, "while timing reads of several sizes"),
    ] {
        let profile = format!("{PLAIN}[faults]\nvanish_after = {reads}\n");
        let name = stick(folder.path(), "pulled", &profile);
        let ended = flashfit(&["scan", &name]);
        assert_eq!(ended.code, Some(6), "{ended:?}");
        assert!(
            flowing(&ended.stdout).contains("A failed access ended it."),
            "{}",
            ended.stdout
        );
        let line = ended.one_line();
        assert!(line.contains(": the device went away at byte "), "{line}");
        assert!(
            line.contains(stage) && line.contains("plug it in again"),
            "{line}"
        );
        let counted = flashfit(&["scan", &name, "--json"]).json();
        assert_eq!(counted["cost"]["reads"], reads);
    }
}

/// A stick that keeps a scan busy for long: nothing can be told for all the noise.
const HOPELESS: &str = r#"
capacity = "2TB"
[flash]
erase_block = "8MiB"
[read]
base = "1ms"
crossing.erase_block = "100us"
[noise]
sigma = "100us"
outlier_rate = 0.2
outlier = "10ms"
"#;

/// Whether a process has a handler for SIGHUP (1), SIGINT (2) and SIGTERM (15).
fn listens(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 3 == 3 && mask >> 14 & 1 == 1)
}

#[test]
fn an_interrupted_scan_reports_what_is_known_and_ends_with_130() {
    let folder = tempfile::tempdir().unwrap();
    let name = stick(folder.path(), "hopeless", HOPELESS);
    for signal in ["INT", "TERM", "HUP"] {
        // On a busy machine the scan may be over before the signal arrives.
        let interrupted = (0..50)
            .map(|_| signalled(&name, signal))
            .find(|ended| ended.code != Some(3))
            .expect("a scan that is still running");
        assert_eq!(interrupted.code, Some(130), "{signal}: {interrupted:?}");
        let report = interrupted.json();
        assert_eq!(report["cost"]["stopped_by"], "interrupted");
        assert_eq!(report["geometry"]["erase_block"]["bytes"], Value::Null);
        let line = interrupted.one_line();
        assert!(
            line.contains(": interrupted while ")
                && line.ends_with("the report holds what was known by then"),
            "{line}"
        );
    }
}

/// A scan that gets this signal as soon as it listens for it.
fn signalled(name: &str, signal: &str) -> Ended {
    let child = command(&["scan", name, "--json", "--time-limit", "100h"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !listens(child.id()) {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it does not listen"
        );
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill")
        .args(["-s", signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    ended(&child.wait_with_output().unwrap())
}

#[test]
fn a_scan_writes_nothing() {
    let stick = SimulatedStick::new(&Profile::builtin("corsair-voyager").unwrap(), 1);
    let mut recorder = Recorder::new(stick);
    let record = recorder.record();
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed: 1,
        in_use: false,
    };
    let scanned = scan::scan(&mut recorder, options, &AtomicBool::new(false), &mut |_| {});
    assert!(scanned.geometry.erase_block.verdict.is_told());
    assert_eq!(record.count(AccessKind::Write), 0);
    assert_eq!(record.count(AccessKind::Flush), 0);
    let reads = record.count(AccessKind::Read) as u64;
    assert_eq!(
        (reads, record.bytes(AccessKind::Read)),
        (scanned.cost.reads, scanned.cost.bytes_read)
    );
}

#[test]
fn a_device_in_use_is_at_most_likely() {
    let mut stick = SimulatedStick::new(&Profile::builtin("corsair-voyager").unwrap(), 1);
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed: 1,
        in_use: true,
    };
    let scanned = scan::scan(&mut stick, options, &AtomicBool::new(false), &mut |_| {});
    assert_ne!(
        scanned.geometry.erase_block.verdict,
        flashfit::geometry::Verdict::Confirmed
    );
    assert!(
        scanned
            .found
            .warnings
            .iter()
            .any(|warning| warning.code == "in_use")
    );
}

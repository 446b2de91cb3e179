//! `flashfit analyze` from outside.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{Ended, assert_tells, command, ended, flashfit};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

/// A log of the flashbench mailing list; see fixtures/flashbench/README.md.
fn log(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/flashbench")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// The geometry in the report on these files.
#[track_caller]
fn geometry(words: &[&str], code: i32) -> Value {
    let ended = flashfit(&[&["analyze", "--json"], words].concat());
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        ("", Some(code)),
        "{words:?}"
    );
    ended.json()["geometry"].take()
}

/// stdin in, report out.
fn through_stdin(bytes: &[u8]) -> Ended {
    let mut child = command(&["analyze", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    ended(&child.wait_with_output().unwrap())
}

const MIB: u64 = 1 << 20;

#[test]
fn the_corsair_has_8_mib_and_18_open_units() {
    for file in ["corsair-voyager3-usb.log", "corsair-voyager3-usb.raw"] {
        let found = geometry(&[&log(file)], 0);
        assert_eq!(found["erase_block"]["bytes"], 8 * MIB, "{file}");
        assert_eq!(found["open_au"]["linear"]["limit"], 18, "{file}");
        assert_eq!(found["open_au"]["linear"]["cutoff"], "hard", "{file}");
    }
}

#[test]
fn the_kingston_has_pages_of_16_kib() {
    for file in ["kingston-dt101g2-8g-usb.log", "kingston-dt101g2-8g-usb.raw"] {
        let found = geometry(&[&log(file)], 3);
        assert_eq!(found["page"]["bytes"], 16 << 10, "{file}");
        assert_eq!(found["erase_block"]["verdict"], "not_tested", "{file}");
    }
}

#[test]
fn the_sandisk_has_8_mib_with_sub_units_of_4_mib_and_11_open_units() {
    for file in ["sandisk-32g-sd.log", "sandisk-32g-sd.raw"] {
        let found = geometry(&[&log(file), "--capacity", "31914983424B"], 0);
        assert_eq!(found["erase_block"]["bytes"], 8 * MIB, "{file}");
        assert_eq!(found["erase_block"]["sub_unit_bytes"], 4 * MIB, "{file}");
        assert_eq!(found["open_au"]["linear"]["limit"], 11, "{file}");
        assert_eq!(found["open_au"]["linear"]["unit_bytes"], 4 * MIB, "{file}");
    }
}

#[test]
fn the_intel_has_no_limit_up_to_130_and_shows_no_erase_block() {
    let found = geometry(&[&log("intel-x25-ssd-part.log")], 3);
    assert_eq!(found["open_au"]["linear"]["at_least"], 130);
    assert_eq!(found["open_au"]["linear"]["limit"], Value::Null);
    assert_ne!(found["erase_block"]["verdict"], "confirmed");
}

#[test]
fn the_report_for_people_is_from_a_log_and_says_what_is_missing() {
    let report = flashfit(&["analyze", &log("sandisk-32g-sd.log")]).success();
    let words = [
        "from a log",
        "The erase block is 8 MiB: ",
        "with sub-units of 4 MiB",
        "each in order             11 of 4 MiB",
        "add --capacity 31914983424B",
        "no device was touched",
    ];
    assert_tells(&report, &words);
}

#[test]
fn one_file_several_files_and_stdin_give_the_same() {
    let text = std::fs::read(log("corsair-voyager3-usb.log")).unwrap();
    let whole = geometry(&[&log("corsair-voyager3-usb.log")], 0);
    let piped = through_stdin(&text);
    assert_eq!((piped.stderr.as_str(), piped.code), ("", Some(0)));
    assert_eq!(piped.json()["device"]["path"], "stdin");
    assert_eq!(piped.json()["geometry"], whole);
    // Cut between two commands.
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let starts: Vec<usize> = (1..lines.len())
        .filter(|n| lines[*n].starts_with(b"$ "))
        .collect();
    let cut = starts[starts.len() / 2];
    let mut names = Vec::new();
    for (name, part) in [("a.log", &lines[..cut]), ("b.log", &lines[cut..])] {
        let path = folder.path().join(name);
        std::fs::write(&path, part.concat()).unwrap();
        names.push(path.to_str().unwrap().to_owned());
    }
    assert_eq!(geometry(&[&names[0], &names[1]], 0), whole);
}

#[test]
fn bytes_that_are_no_utf_8_are_read_like_the_mails_they_come_from() {
    let text = std::fs::read_to_string(log("corsair-voyager3-usb.log")).unwrap();
    assert!(text.contains('µ'));
    let latin_1: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    assert!(std::str::from_utf8(&latin_1).is_err());
    let ended = through_stdin(&latin_1);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.json()["geometry"],
        geometry(&[&log("corsair-voyager3-usb.log")], 0)
    );
}

#[test]
fn a_capacity_in_sectors_counts_in_the_sectors_that_were_given() {
    let name = log("sandisk-32g-sd.log");
    let capacity = |words: &[&str]| {
        let all = [&["analyze", &name, "--json"], words].concat();
        flashfit(&all).json()["device"]["capacity_bytes"].as_u64()
    };
    assert_eq!(capacity(&["--capacity", "62333952s"]), Some(31_914_983_424));
    assert_eq!(
        capacity(&["--capacity", "1000000s", "--sector-size", "4096"]),
        Some(4_096_000_000)
    );
    assert_eq!(capacity(&[]), None);
    let line = flashfit(&["analyze", &name, "--capacity", "18446744073709551615s"]).failure(2);
    assert!(line.contains("--capacity is beyond 2^64 bytes"), "{line}");
}

#[test]
fn a_text_without_measurement_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let prose = path(
        "mail.txt",
        b"Hello,\n\nmy stick is slow, aligned to 4 MiB. What do I do?\n",
    );
    let empty = path("empty.log", b"");
    let noise = path("noise.bin", &[0xff, 0x00, 0xb5, 0x0a].repeat(5000));
    for name in [&prose, &empty, &noise] {
        let line = flashfit(&["analyze", name]).failure(1);
        assert!(
            line.starts_with(&format!("{name}: no flashbench results in it; give ")),
            "{line}"
        );
        // Also beside a log that has some.
        let line = flashfit(&["analyze", &log("sandisk-32g-sd.log"), name]).failure(1);
        assert!(line.starts_with(&format!("{name}: ")), "{line}");
    }
    let line = through_stdin(b"nothing\n").failure(1);
    assert!(line.starts_with("stdin: no flashbench results"), "{line}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_that_names_it() {
    let line = flashfit(&["analyze", "/no/such.log"]).failure(1);
    assert_eq!(
        line,
        "cannot read /no/such.log: no such file; check the name"
    );
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    let line = flashfit(&["analyze", name]).failure(1);
    assert_eq!(
        line,
        format!("cannot read {name}: it is a directory; name a file")
    );
    let line = flashfit(&["analyze", "/dev/zero"]).failure(1);
    assert!(
        line.starts_with("/dev/zero is longer than 64 MiB"),
        "{line}"
    );
}

#[test]
fn a_saved_report_of_a_log_leads_to_a_plan_once_the_capacity_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    let saved = path.to_str().unwrap();
    let name = log("sandisk-32g-sd.log");
    flashfit(&["analyze", &name, "--report", saved]).success();
    let line = flashfit(&["plan", "--report", saved]).failure(1);
    assert!(
        line.contains("does not tell the capacity") && line.contains("--capacity SIZE"),
        "{line}"
    );
    flashfit(&[
        "analyze",
        &name,
        "--report",
        saved,
        "--capacity",
        "31914983424B",
    ])
    .success();
    let plan = flashfit(&["plan", "--report", saved]).success();
    assert!(plan.contains("starts on a grid of 8 MiB"), "{plan}");
}

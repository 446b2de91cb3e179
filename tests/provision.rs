//! The wizard with nobody to ask, on simulated sticks and images: nothing here needs rights or hardware.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::{Ended, PLAIN, image, stick};
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use write_support::{backups, checksum, run, writing};

/// Unattended, for devices with these serial numbers.
fn provision(folder: &Path, devices: &[&str], more: &[&str]) -> Ended {
    let mut words = vec!["wizard"];
    words.extend(devices);
    words.push("--yes");
    for device in devices {
        if let Some((_, serial)) = device.rsplit_once('#') {
            words.extend(["--expect", serial]);
        }
    }
    words.extend(more);
    run(folder, &words)
}

/// The lines of the log.
fn log(ended: &Ended) -> Vec<Value> {
    let lines = ended.stderr.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

/// The steps that one device went through.
fn steps(log: &[Value], device: &str) -> Vec<String> {
    log.iter()
        .filter(|line| line["device"] == device && line["step"] != "warning")
        .map(|line| line["step"].as_str().unwrap().to_owned())
        .collect()
}

/// A stick like [`PLAIN`], of a vendor and a model.
fn branded(folder: &Path, file: &str, erase_block: &str, more: &str) -> String {
    let profile = PLAIN.replace("8MiB", erase_block);
    let profile = format!("{more}\n{profile}\n[identity]\nvendor = \"Maker\"\nmodel = \"Fit\"\n");
    stick(folder, file, &profile)
}

/// The report of one specimen.
fn profile_of(folder: &Path, device: &str) -> String {
    let path = folder.join("profile.json").to_str().unwrap().to_owned();
    let scanned = run(folder, &["scan", device, "--report", &path]);
    assert_eq!(scanned.code, Some(0), "{}", scanned.stderr);
    path
}

#[test]
fn a_stick_is_done_with_one_line_for_each_step_and_without_stdin() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:corsair-voyager#A7";
    // stdin stays open and silent: whoever read it would wait for ever.
    let mut child = writing(
        folder.path(),
        &[device, "--yes", "--expect", "A7", "--fs", "exfat"],
    )
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let stdin = child.stdin.take();
    let (mut said, mut logged) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut logged)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{logged}");
    drop(stdin);
    assert!(
        said.contains("MBR table with 1 partition written and verified"),
        "{said}"
    );
    let kept = backups(folder.path());
    assert_eq!(kept.len(), 1);
    assert!(
        said.contains(&kept[0]) && said.contains("to undo: flashfit restore"),
        "{said}"
    );
    let begins: Vec<&str> = logged
        .lines()
        .map(|line| {
            let rest = line
                .strip_prefix(&format!("{device}: "))
                .unwrap_or_else(|| panic!("{line}"));
            rest.split_once(": ").unwrap().0
        })
        .filter(|step| *step != "warning")
        .collect();
    assert_eq!(
        begins,
        [
            "device", "scan", "geometry", "before", "layout", "write", "done"
        ]
    );
    assert!(
        logged.contains("erase block: 8 MiB (confirmed)")
            && logged.contains("before: nothing that is recognised"),
        "{logged}"
    );
}

#[test]
fn programs_read_json_on_both_streams() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:corsair-voyager#A8";
    let report = folder.path().join("report.json");
    let report = report.to_str().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let ended = provision(
        folder.path(),
        &[device],
        &[
            "--json", "--log", "json", "--report", report, "--html", page,
        ],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let printed = ended.json();
    assert_eq!(printed["schema"], "flashfit.report/1");
    assert_eq!(printed["device"]["serial"], "A8");
    assert_eq!(std::fs::read_to_string(report).unwrap(), ended.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("8&nbsp;MiB"));
    assert!(!page.contains("#A8"), "the serial number is left out");
    let log = log(&ended);
    assert!(log.iter().all(|line| line["schema"] == "flashfit.log/1"));
    assert_eq!(
        steps(&log, device),
        [
            "device", "scan", "geometry", "before", "layout", "write", "done"
        ]
    );
    let of = |step: &str| log.iter().find(|line| line["step"] == step).unwrap();
    assert_eq!(of("geometry")["erase_block_bytes"], 8 << 20);
    assert_eq!(of("geometry")["verdict"], "confirmed");
    assert_eq!(of("write")["backup"], backups(folder.path())[0].as_str());
    assert_eq!(of("done")["status"], 0);
}

#[test]
fn of_sixteen_sticks_one_vanishes_and_fifteen_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let plain = stick(folder.path(), "plain", PLAIN);
    // A scan of such a stick takes some thousand accesses.
    let vanishing = stick(
        folder.path(),
        "vanishing",
        &format!("faults.vanish_after = 400\n{PLAIN}"),
    );
    let devices: Vec<String> = (1..=16)
        .map(|n| match n {
            8 => format!("{vanishing}#S{n:02}"),
            _ => format!("{plain}#S{n:02}"),
        })
        .collect();
    let names: Vec<&str> = devices.iter().map(String::as_str).collect();
    let ended = provision(folder.path(), &names, &["--json", "--log", "json"]);
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    let log = log(&ended);
    for (n, name) in names.iter().enumerate() {
        let steps = steps(&log, name);
        let last = steps.last().unwrap();
        assert_eq!(last, if n == 7 { "failed" } else { "done" }, "{name}");
        assert_eq!(steps.contains(&"write".to_owned()), n != 7, "{name}");
    }
    let failed = log.iter().find(|line| line["step"] == "failed").unwrap();
    assert_eq!(
        (failed["device"].as_str(), failed["status"].as_u64()),
        (Some(names[7]), Some(6))
    );
    assert!(
        failed["text"].as_str().unwrap().contains("went away"),
        "{failed}"
    );
    let end = log.last().unwrap();
    assert_eq!(
        (end["done"].as_u64(), end["status"].as_u64()),
        (Some(15), Some(6))
    );
    assert_eq!(end["failed"][0]["device"], names[7]);
    assert_eq!(backups(folder.path()).len(), 15);
    // What is known of the one that vanished is reported too.
    let mut reported: Vec<String> = ended
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["device"]["path"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    reported.sort();
    let mut expected = devices.clone();
    expected.sort();
    assert_eq!(reported, expected);
}

#[test]
fn one_that_vanishes_while_it_is_written_can_be_restored_and_the_others_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let cut = "faults.power_cut_after = 3\nfaults.power_cut = \"gone\"";
    let cut = branded(folder.path(), "cut", "8MiB", cut);
    let profile = profile_of(folder.path(), &format!("{plain}#0"));
    let devices = [1, 2, 3].map(|n| format!("{}#{n}", if n == 2 { &cut } else { &plain }));
    let names = devices.each_ref().map(String::as_str);
    let ended = provision(
        folder.path(),
        &names,
        &["--profile", &profile, "--table", "gpt"],
    );
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(
        last,
        format!("2 of 3 devices done; not done: {} (exit code 6)", names[1])
    );
    let failed = ended
        .stderr
        .lines()
        .find(|line| line.starts_with("flashfit: "))
        .unwrap();
    assert!(
        failed.starts_with(&format!("flashfit: {}: ", names[1])),
        "{failed}"
    );
    assert!(
        failed.contains("flashfit restore") && failed.contains("--backup"),
        "{failed}"
    );
    assert_eq!(
        ended.stdout.matches("written and verified").count(),
        2,
        "{}",
        ended.stdout
    );
    assert_eq!(backups(folder.path()).len(), 3);
}

#[test]
fn without_an_expectation_nothing_is_touched_and_another_device_is_refused_before_its_scan() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = run(folder.path(), &["wizard", "sim:3m", "--yes"]);
    assert!(nobody.failure(2).contains("--expect"));
    let for_programs = run(
        folder.path(),
        &["wizard", "sim:3m", "--yes", "--log", "json"],
    );
    let line = &log(&for_programs)[0];
    assert_eq!(
        (for_programs.code, line["status"].as_u64()),
        (Some(2), Some(2))
    );
    assert!(
        line["text"].as_str().unwrap().contains("--expect"),
        "{line}"
    );
    let nothing = run(folder.path(), &["wizard", "--yes", "--expect", "1"]);
    assert!(nothing.failure(2).contains("which device"));
    let other = run(
        folder.path(),
        &["wizard", "sim:3m#1", "--yes", "--expect", "2"],
    );
    let line = other.failure(4);
    assert!(line.contains("its serial number is '1'"), "{line}");
    let size = run(
        folder.path(),
        &["wizard", "sim:3m#1", "--yes", "--expect-size", "~1GB"],
    );
    assert!(size.failure(4).contains("were expected"));
    assert!(backups(folder.path()).is_empty());
}

#[test]
fn one_refused_device_does_not_stop_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "wizard",
        "sim:3m#1",
        "sim:3m#2",
        "sim:no-such#2",
        "--yes",
        "--expect",
        "2",
    ];
    let ended = run(folder.path(), &words);
    // Failed is worse than refused.
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(
        ended.stdout.matches("sim:3m#2: ").count(),
        1,
        "{}",
        ended.stdout
    );
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(
        last,
        "1 of 3 devices done; not done: sim:3m#1 (exit code 4), sim:no-such#2 (exit code 1)"
    );
}

#[test]
fn where_the_erase_block_is_not_told_the_fallback_is_taken_unless_it_must_be_measured() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:intel-x25#9";
    let strict = provision(folder.path(), &[device], &["--require-measured", "--json"]);
    assert_eq!(strict.code, Some(3), "{}", strict.stderr);
    assert_eq!(
        strict.json()["geometry"]["erase_block"]["verdict"],
        "not_visible"
    );
    assert!(backups(folder.path()).is_empty(), "nothing was written");
    let lax = provision(folder.path(), &[device], &[]);
    assert_eq!(lax.code, Some(0), "{}", lax.stderr);
    assert_eq!(backups(folder.path()).len(), 1);
}

#[test]
fn the_serial_number_of_the_stick_behind_a_profile_is_told_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let profile = profile_of(folder.path(), &format!("{plain}#FIRST77"));
    let device = format!("{plain}#2");
    let page = folder.path().join("page.html").display().to_string();
    let ended = provision(
        folder.path(),
        &[&device],
        &["--profile", &profile, "--json", "--html", &page],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("was not measured") && !page.contains("FIRST77"));
    assert!(!ended.stdout.contains("FIRST77"), "{}", ended.stdout);
}

#[test]
fn a_profile_serves_other_sticks_of_its_model_without_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let profile = profile_of(folder.path(), &format!("{plain}#1"));
    let device = format!("{plain}#2");
    let ended = provision(
        folder.path(),
        &[&device],
        &["--profile", &profile, "--json", "--log", "json"],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!(report["device"]["serial"], "2");
    assert_eq!(report["geometry"]["erase_block"]["bytes"], 8 << 20);
    assert_eq!(report["cost"]["reads"], 0);
    assert_eq!(
        steps(&log(&ended), &device),
        ["device", "geometry", "before", "layout", "write", "done"]
    );
}

#[test]
fn a_profile_of_another_model_or_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let profile = profile_of(folder.path(), &format!("{plain}#1"));
    let text = std::fs::read_to_string(plain.strip_prefix("sim:").unwrap()).unwrap();
    for (name, from, to, says) in [
        (
            "vendor",
            "\"Maker\"",
            "\"Other\"",
            "vendor 'Maker' there, 'Other' here",
        ),
        (
            "model",
            "\"Fit\"",
            "\"Slim\"",
            "model 'Fit' there, 'Slim' here",
        ),
        (
            "size",
            "8000000000B",
            "8000000512B",
            "8000000000 bytes there, 8000000512 here",
        ),
    ] {
        assert!(text.contains(from));
        let other = stick(folder.path(), name, &text.replace(from, to));
        let ended = provision(
            folder.path(),
            &[&format!("{other}#1")],
            &["--profile", &profile],
        );
        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    assert!(backups(folder.path()).is_empty());
}

#[test]
fn a_profile_is_verified_by_two_seconds_of_reads() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let profile = profile_of(folder.path(), &format!("{plain}#1"));
    let verify = ["--profile", &profile, "--verify-profile", "--json"];
    let good = provision(folder.path(), &[&format!("{plain}#2")], &verify);
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert!(
        good.stderr
            .contains("profile: the erase block of the profile fits"),
        "{}",
        good.stderr
    );
    let cost = &good.json()["cost"];
    let seconds = cost["device_seconds"].as_f64().unwrap();
    assert!(seconds > 0.0 && seconds <= 2.0, "{cost}");
    // The same label on something else: smaller, larger, three-bit, shifted.
    for (n, erase_block) in ["4MiB", "16MiB", "12MiB"].into_iter().enumerate() {
        let other = branded(folder.path(), &format!("other{n}"), erase_block, "");
        let ended = provision(folder.path(), &[&format!("{other}#2")], &verify);
        assert_eq!(ended.code, Some(4), "{erase_block}: {}", ended.stderr);
        assert!(ended.stderr.contains("does not fit"), "{}", ended.stderr);
        assert_eq!(ended.json()["device"]["serial"], "2");
    }
    let shifted = branded(folder.path(), "shifted", "8MiB\"\nphase = \"4MiB", "");
    let ended = provision(folder.path(), &[&format!("{shifted}#2")], &verify);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert_eq!(backups(folder.path()).len(), 1);
}

#[test]
fn a_stick_that_was_never_written_neither_proves_nor_contradicts_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let plain = branded(folder.path(), "plain", "8MiB", "");
    let profile = profile_of(folder.path(), &format!("{plain}#1"));
    let fresh =
        "unmapped = { ranges = [\"16MiB-8000000000B\"], base = \"300us\", content = \"zeros\" }";
    let fresh = branded(folder.path(), "fresh", "8MiB", fresh);
    let device = format!("{fresh}#2");
    let verify = ["--profile", &profile, "--verify-profile"];
    let lax = provision(folder.path(), &[&device], &verify);
    assert_eq!(lax.code, Some(0), "{}", lax.stderr);
    assert!(
        lax.stderr
            .contains("could not be told: it was hardly written yet"),
        "{}",
        lax.stderr
    );
    let strict = [&verify[..], &["--require-measured"]].concat();
    let strict = provision(folder.path(), &[&device], &strict);
    assert_eq!(strict.code, Some(3), "{}", strict.stderr);
    assert_eq!(backups(folder.path()).len(), 1);
}

#[test]
fn the_same_seed_gives_an_image_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let size = 256 << 20;
    let images = ["a.img", "b.img"].map(|name| image(folder.path(), name, size));
    let more = [
        "--expect-size",
        "256MiB",
        "--id-seed",
        "build 7",
        "--table",
        "gpt",
        "--fs",
        "ext4",
    ];
    let sums = images.each_ref().map(|image| {
        let ended = provision(folder.path(), &[image], &more);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        checksum(image)
    });
    assert_eq!(sums[0], sums[1]);
    let other = image(folder.path(), "c.img", size);
    let more = [&more[..3], &["build 8"], &more[4..]].concat();
    assert_eq!(provision(folder.path(), &[&other], &more).code, Some(0));
    assert_ne!(checksum(&other), sums[0]);
}

#[test]
fn write_tests_are_made_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let more = [
        "--write-tests",
        "preserve",
        "--write-limit",
        "64MiB",
        "--json",
    ];
    let ended = provision(folder.path(), &["sim:kingston-dt101g2#5"], &more);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let cost = &ended.json()["cost"];
    let written = cost["bytes_written"].as_u64().unwrap();
    assert!(written > 0 && written <= 64 << 20, "{cost}");
    // The journal is gone when all is put back.
    assert_eq!(backups(folder.path()).len(), 1);
}

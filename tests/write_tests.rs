//! Scans with write tests on simulated sticks: limits, faults, samples, counterfeits, consent.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{PLAIN, flashfit, flowing, stick};
use flashfit::device::journal::Journal;
use flashfit::device::simulated::{Profile, SimulatedStick, builtin_names};
use flashfit::device::wrappers::{AccessKind, Fault, FaultInjector, Preserving, Recorder};
use flashfit::device::{AccessError, AlignedBuffer, Device, ReadDevice};
use flashfit::measure::meter::Stop;
use flashfit::measure::territory::Territory;
use flashfit::run::scan::{Options, Scanned, Writes, scan_and_write};
use flashfit::units::{ByteRange, Bytes};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn profile(name: &str) -> Profile {
    Profile::builtin(name).unwrap()
}

fn options(seconds: u64, seed: u64) -> Options {
    Options {
        time_limit: Duration::from_secs(seconds),
        seed,
        in_use: false,
    }
}

fn scan(device: &mut dyn Device, limit: Bytes, options: Options) -> Scanned {
    let writes = Writes {
        limit,
        territory: Territory::whole(device.capacity()),
    };
    scan_and_write(
        device,
        writes,
        options,
        &AtomicBool::new(false),
        &mut |_| {},
    )
}

#[test]
fn no_byte_is_written_beyond_the_limit() {
    for limit in [Bytes::kib(16), Bytes::kib(64), Bytes::mib(1), Bytes::mib(7)] {
        for name in ["3m", "readme-card", "fresh"] {
            let mut device = Recorder::new(SimulatedStick::new(&profile(name), 1));
            let record = device.record();
            let scanned = scan(&mut device, limit, options(600, 1));
            let written = record.bytes(AccessKind::Write);
            assert!(written <= limit, "{name}: {written} of {limit}");
            assert_eq!(written, scanned.cost.bytes_written);
            assert!(
                scanned.warnings.iter().any(|it| it.code == "cut_short"),
                "{name}, {limit}: {:?}",
                scanned.warnings
            );
        }
    }
}

#[test]
fn what_is_put_back_counts_too() {
    let limit = Bytes::mib(2);
    let mut device = Recorder::new(SimulatedStick::new(&profile("3m"), 1));
    let record = device.record();
    let journal = Journal::in_memory(device.facts()).unwrap();
    let mut preserving = Preserving::new(&mut device, journal);
    scan(&mut preserving, limit, options(600, 1));
    let (result, _) = preserving.put_back();
    assert!(result.unwrap().writes > 0);
    let written = record.bytes(AccessKind::Write);
    assert!(written > Bytes::kib(100) && written <= limit, "{written}");
}

#[test]
fn the_time_limit_is_kept_within_one_access() {
    for name in ["readme-card", "corsair-voyager"] {
        for seconds in [1, 5, 20] {
            let mut device = Recorder::new(SimulatedStick::new(&profile(name), 1));
            let record = device.record();
            let scanned = scan(&mut device, Bytes::gib(1), options(seconds, 1));
            let longest = record
                .accesses()
                .iter()
                .filter(|access| access.kind != AccessKind::Wait)
                .filter_map(|access| access.result.clone().ok())
                .max()
                .unwrap();
            let most = Duration::from_secs(seconds) + longest + Duration::from_micros(125);
            assert!(
                scanned.cost.device_time <= most,
                "{name}: {:?}",
                scanned.cost
            );
        }
    }
}

/// The places that a record shows as written, with their contents on the device.
fn contents(device: &mut dyn ReadDevice, ranges: &[ByteRange]) -> BTreeMap<u64, Vec<u8>> {
    ranges
        .iter()
        .map(|range| {
            let mut buffer = AlignedBuffer::new(usize::try_from(range.length().get()).unwrap());
            device.read(range.from, &mut buffer).unwrap();
            (range.from.get(), buffer.to_vec())
        })
        .collect()
}

/// Whatever goes wrong, the run ends with a report, and the journal brings every byte back.
#[test]
fn nothing_that_was_saved_is_lost_whatever_goes_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let hang = Duration::from_secs(31);
    let faults = [
        ("vanish", Fault::VanishAfter(3000)),
        ("vanish early", Fault::VanishAfter(60)),
        ("error", Fault::ErrorAt(3100)),
        (
            "hang",
            Fault::Hang {
                at: 3000,
                time: hang,
            },
        ),
    ];
    for (n, (what, fault)) in faults.into_iter().enumerate() {
        let path = folder.path().join(format!("journal-{n}"));
        let stick = SimulatedStick::new(&profile("3m"), 1);
        let mut pristine = SimulatedStick::new(&profile("3m"), 1);
        let mut device = FaultInjector::new(stick, vec![fault]);
        let journal = Journal::create(&path, device.facts()).unwrap();
        let mut preserving = Preserving::new(&mut device, journal);
        let scanned = scan(&mut preserving, Bytes::gib(1), options(600, 1));
        let stop = scanned.stop.clone().unwrap();
        assert!(stop.is_final(), "{what}: {stop:?}");
        assert!(scanned.cost.reads > 0);
        let ranges: Vec<ByteRange> = preserving.journal().ranges().collect();
        let (result, journal) = preserving.put_back();
        drop(journal);
        let mut stick = device.into_inner();
        if result.is_err() {
            assert!(what.starts_with("vanish"), "{what}: {result:?}");
            let journal = Journal::open(&path).unwrap();
            assert!(!journal.is_torn());
            journal.put_back(&mut stick).unwrap();
        }
        assert_eq!(
            contents(&mut stick, &ranges),
            contents(&mut pristine, &ranges),
            "{what}"
        );
    }
}

#[test]
fn a_place_that_cannot_be_saved_is_not_written() {
    let bad = ByteRange {
        from: Bytes::mib(40),
        to: Bytes::mib(400),
    };
    let mut inner = Recorder::new(FaultInjector::new(
        SimulatedStick::new(&profile("3m"), 1),
        vec![Fault::ErrorIn(bad)],
    ));
    let record = inner.record();
    let journal = Journal::in_memory(inner.facts()).unwrap();
    let mut preserving = Preserving::new(&mut inner, journal);
    let at = Bytes::mib(100);
    let data = AlignedBuffer::new(4096);
    let result = preserving.write(at, &data);
    assert!(matches!(result, Err(AccessError::Io { .. })), "{result:?}");
    assert_eq!(record.count(AccessKind::Write), 0);
}

#[test]
fn an_interrupt_ends_a_run_before_the_next_access() {
    let mut device = Recorder::new(SimulatedStick::new(&profile("3m"), 1));
    let record = device.record();
    let interrupt = AtomicBool::new(false);
    let writes = Writes {
        limit: Bytes::gib(1),
        territory: Territory::whole(device.capacity()),
    };
    let mut accesses = 0;
    let scanned = scan_and_write(
        &mut device,
        writes,
        options(600, 1),
        &interrupt,
        &mut |now| {
            if now.stage == "page writes" && !interrupt.swap(true, Ordering::Relaxed) {
                accesses = record.accesses().len();
            }
        },
    );
    assert_eq!(scanned.stop, Some(Stop::Interrupted));
    assert_eq!(record.accesses().len(), accesses);
    let evidence = &scanned.geometry.open_au.linear.evidence;
    assert_eq!(evidence, &["not tested: the scan was interrupted before"]);
}

/// Only the first stage: it is over when the next one begins.
fn scan_size(device: &mut dyn Device, options: Options) -> Scanned {
    let interrupt = AtomicBool::new(false);
    let writes = Writes {
        limit: Bytes::mib(64),
        territory: Territory::whole(device.capacity()),
    };
    scan_and_write(device, writes, options, &interrupt, &mut |now| {
        if now.stage != "size" {
            interrupt.store(true, Ordering::Relaxed);
        }
    })
}

#[test]
fn a_counterfeit_is_named_with_its_real_end_and_an_honest_stick_is_not() {
    for (real, beyond) in [
        ("8GiB", "wrap"),
        ("7680MiB", "wrap"),
        ("7800000512B", "wrap"),
        ("3GiB", "wrap"),
        ("12GiB", "wrap"),
        ("8GiB", "vanish"),
        ("7801MiB", "vanish"),
        ("30GiB", "vanish"),
    ] {
        let text = format!(
            "capacity = \"64GB\"\n[flash]\nerase_block = \"4MiB\"\n[read]\nbase = \"700us\"\n\
             [counterfeit]\nreal = \"{real}\"\nbeyond = \"{beyond}\"\n"
        );
        let profile = Profile::parse(&text, "fake").unwrap();
        let truth = profile.counterfeit.as_ref().unwrap().real;
        for seed in 0..3 {
            let mut device = SimulatedStick::new(&profile, seed);
            let found = scan_size(&mut device, options(300, seed)).real_capacity;
            assert_eq!(found, Some(truth), "{real} {beyond}");
        }
        // Without time for the exact end, a safe one.
        let mut device = SimulatedStick::new(&profile, 0);
        let found = scan_size(&mut device, options(5, 0)).real_capacity;
        assert!(
            found.is_none_or(|end| end <= truth),
            "{real} {beyond}: {found:?}"
        );
    }
    for name in builtin_names() {
        let mut device = SimulatedStick::new(&profile(name), 1);
        let scanned = scan_size(&mut device, options(300, 1));
        let is_fake = profile(name).counterfeit.is_some();
        assert_eq!(scanned.real_capacity.is_some(), is_fake, "{name}");
        let warned = scanned.warnings.iter().any(|it| it.code == "counterfeit");
        assert_eq!(warned, is_fake, "{name}");
    }
}

#[test]
fn the_test_of_the_size_puts_back_what_it_tagged() {
    let names = ["3m", "counterfeit"];
    for name in names {
        let mut device = Recorder::new(SimulatedStick::new(&profile(name), 1));
        let record = device.record();
        scan_size(&mut device, options(600, 1));
        let written: Vec<ByteRange> = record
            .accesses()
            .iter()
            .filter(|access| access.kind == AccessKind::Write)
            .map(|access| access.range)
            .collect();
        assert!(written.len() > 10, "{name}");
        let mut device = device.into_inner();
        let mut pristine = SimulatedStick::new(&profile(name), 1);
        assert_eq!(
            contents(&mut device, &written),
            contents(&mut pristine, &written),
            "{name}"
        );
    }
}

#[test]
fn a_plan_for_a_counterfeit_ends_where_the_stick_ends() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("fake.json");
    let report = report.to_str().unwrap();
    let scan = [
        "scan",
        "sim:counterfeit",
        "--write-tests",
        "destroy",
        "--report",
        report,
    ];
    let shown = flowing(&flashfit(&scan).stdout);
    assert!(shown.contains("this device is a counterfeit"), "{shown}");
    let layout = flashfit(&[
        "plan", "--report", report, "--fs", "exfat", "--format", "json",
    ])
    .json();
    let partition = &layout["partitions"][0];
    let first = partition["first_lba"].as_u64().unwrap();
    let sectors = partition["sectors"].as_u64().unwrap();
    let end = (first + sectors) * 512;
    assert!(end <= 7680 << 20 && end > 7600 << 20, "{layout:#}");
}

fn without_wall_time(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("\"wall_seconds\""))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn samples_give_the_same_report_again() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples");
    let samples = samples.to_str().unwrap();
    let noisy_end = stick(
        folder.path(),
        "vanish",
        &format!("{PLAIN}\n[faults]\nvanish_after = 900\n"),
    );
    for (device, more) in [
        ("sim:corsair-voyager", vec![]),
        ("sim:corsair-voyager", vec!["--write-tests", "destroy"]),
        (
            "sim:readme-card",
            vec!["--write-tests", "preserve", "--seed", "5"],
        ),
        (
            "sim:fresh",
            vec!["--write-tests", "destroy", "--write-limit", "3MiB"],
        ),
        ("sim:counterfeit", vec!["--write-tests", "preserve"]),
        (
            "sim:3m",
            vec!["--time-limit", "2s", "--write-tests", "destroy"],
        ),
        (noisy_end.as_str(), vec![]),
        (noisy_end.as_str(), vec!["--write-tests", "destroy"]),
    ] {
        for form in [&["--json"][..], &[]] {
            let mut words = vec!["scan", device, "--samples", samples];
            words.extend(&more);
            words.extend(form);
            let scanned = flashfit(&words);
            let mut words = vec!["analyze", samples];
            words.extend(form);
            let analyzed = flashfit(&words);
            assert_eq!(analyzed.stderr, "", "{device} {more:?}");
            assert_eq!(
                without_wall_time(&analyzed.stdout),
                without_wall_time(&scanned.stdout),
                "{device} {more:?}"
            );
        }
    }
}

#[test]
fn samples_that_this_version_would_not_have_made_are_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples");
    let name = path.to_str().unwrap();
    flashfit(&["scan", "sim:3m", "--samples", name]);
    let good = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let failure = |text: &str| {
        std::fs::write(&path, text).unwrap();
        flashfit(&["analyze", name]).failure(1)
    };
    // Another place is read from line 40 on, as by an algorithm of another version.
    let mut other: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut line: Value = serde_json::from_str(lines[39]).unwrap();
    line["read"]["at"] = Value::from(512);
    other[39] = line.to_string();
    let told = failure(&other.join("\n"));
    assert!(told.contains("from line 40 on"), "{told}");
    let told = failure(&lines[..lines.len() - 1].join("\n"));
    assert!(told.contains("cut off"), "{told}");
    let told = failure(&good.replacen("flashfit.samples/1", "flashfit.samples/9", 1));
    assert!(
        told.contains("schema 'flashfit.samples/9' is not known"),
        "{told}"
    );
    let told = failure(&good.replacen("\"read\"", "\"raed\"", 1));
    assert!(
        told.contains("line 3: ") || told.contains("line 4: "),
        "{told}"
    );
}

#[test]
fn consent_is_needed_before_a_real_device_is_given_away() {
    // Decided before the device is looked at.
    let line = flashfit(&["scan", "/dev/null", "--write-tests", "destroy"]).failure(2);
    assert!(
        line.contains("--yes") && line.contains("--expect"),
        "{line}"
    );
    let line = flashfit(&["scan", "/dev/null", "--write-tests", "destroy", "--yes"]).failure(2);
    assert!(line.contains("--expect"), "{line}");
    let words = [
        "scan",
        "sim:3m#AB",
        "--write-tests",
        "destroy",
        "--yes",
        "--expect",
        "CD",
    ];
    let line = flashfit(&words).failure(4);
    assert!(line.contains("nothing was written"), "{line}");
    let words = [
        "scan",
        "sim:3m",
        "--write-tests",
        "destroy",
        "--backup",
        "x",
    ];
    let line = flashfit(&words).failure(2);
    assert!(line.contains("destroy saves nothing"), "{line}");
}

#[test]
fn a_power_cut_that_nobody_notices_is_an_error_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let cut = stick(
        folder.path(),
        "cut",
        &format!("faults.power_cut_after = 2000\n{PLAIN}"),
    );
    let ended = flashfit(&["scan", &cut, "--write-tests", "destroy", "--json"]);
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    assert!(
        ended
            .one_line()
            .contains("its power was cut during the tests"),
        "{}",
        ended.stderr
    );
    // The report is given all the same.
    assert_eq!(ended.json()["schema"], "flashfit.report/1");
    let whole = stick(folder.path(), "whole", PLAIN);
    let ended = flashfit(&["scan", &whole, "--write-tests", "destroy", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

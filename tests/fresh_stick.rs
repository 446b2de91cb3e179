//! Sticks that were never written: reads alone show nothing and say so; with write tests every place is
//! written before it is read, and the erase block is told.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod stage_support;

use flashfit::device::simulated::{Profile, SimulatedStick};
use flashfit::device::{Device, ReadDevice};
use flashfit::geometry::erase_block::Found;
use flashfit::geometry::{EraseBlock, Verdict};
use flashfit::measure::meter::{Cost, Stop};
use flashfit::measure::territory::Territory;
use flashfit::run::scan::{Options, scan};
use flashfit::run::stages::fresh;
use flashfit::topology::Transport;
use flashfit::units::{ByteRange, Bytes};
use stage_support::{Run, meter, stick};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn seeds() -> u64 {
    if common::full() { 50 } else { 6 }
}

/// The stage on a stick of which reads told nothing.
fn run(
    device: &mut dyn Device,
    territory: Option<Territory>,
    limit: Bytes,
    seed: u64,
) -> (Option<Found>, Option<Stop>, Cost) {
    let facts = device.facts().clone();
    let mut meter = meter(device, limit);
    let usb = facts.transport == Transport::Usb;
    let mut run = Run::begin(&mut meter, usb, facts.logical_block, seed);
    if let Some(territory) = territory {
        run.territory = territory;
    }
    run.geometry.erase_block = EraseBlock {
        verdict: Verdict::NotVisible,
        ..EraseBlock::default()
    };
    let (found, stop) = run.stage(&mut meter, &facts, fresh::run);
    (found, stop, meter.cost())
}

const MANY: Bytes = Bytes::gib(1);

#[test]
fn a_fresh_stick_shows_its_erase_block_once_its_places_are_written() {
    let mut confirmed = 0;
    for seed in 1..=seeds() {
        let (_, mut device) = stick("fresh", seed);
        let (found, stop, cost) = run(&mut device, None, MANY, seed);
        let found = found.unwrap().erase_block;
        assert_eq!(stop, None);
        assert!(
            cost.bytes_written < Bytes::mib(12),
            "{}",
            cost.bytes_written
        );
        assert!(cost.device_time < Duration::from_secs(240), "{cost:?}");
        if found.verdict.is_told() {
            assert_eq!(
                (found.bytes, found.phase_bytes),
                (Some(Bytes::mib(8)), Some(Bytes::ZERO)),
                "{found:#?}"
            );
            assert!(found.evidence[0].contains("written before it was read"));
        }
        eprintln!(
            "seed {seed}: {}, {} written, {:.0} s",
            found.verdict,
            cost.bytes_written,
            cost.device_time.as_secs_f64()
        );
        confirmed += u64::from(found.verdict == Verdict::Confirmed);
    }
    assert!(confirmed * 20 >= seeds() * 19, "{confirmed} of {}", seeds());
}

#[test]
fn by_reads_alone_a_fresh_stick_shows_nothing_and_names_the_command_that_would() {
    let (_, mut device) = stick("fresh", 1);
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed: 1,
        in_use: false,
    };
    let scanned = scan(&mut device, options, &AtomicBool::new(false), &mut |_| {});
    let found = &scanned.geometry.erase_block;
    assert_eq!((found.verdict, found.bytes), (Verdict::NotVisible, None));
    assert_eq!(scanned.geometry.page.verdict, Verdict::NotVisible);
    let warnings = &scanned.found.warnings;
    let warning = warnings.iter().find(|w| w.code == "mostly_blank").unwrap();
    let command = format!(
        "flashfit scan {} --write-tests destroy",
        device.facts().path
    );
    assert!(warning.text.contains(&command), "{}", warning.text);
}

fn profile(text: &str) -> Profile {
    Profile::parse(text, "test").unwrap()
}

const ALL_BLANK: &str = r#"
capacity = "16GB"
[flash]
erase_block = "6MiB"
phase = "2MiB"
[read]
base = "500us"
per_kib = "20us"
[noise]
sigma = "35us"
outlier_rate = 0.02
outlier = "2ms"
"#;

#[test]
fn a_stick_without_a_single_written_place_is_searched_too() {
    for (crossing, told) in [("200us", true), ("0us", false)] {
        let text = format!(
            "{ALL_BLANK}[unmapped]\nranges = [\"0B-16GB\"]\nbase = \"280us\"\n\
             [read.crossing]\nerase_block = \"{crossing}\"\nmissed = 0.06\n"
        );
        for seed in 1..=3 {
            let mut device = SimulatedStick::new(&profile(&text).with_individual(seed), seed);
            let (found, stop, _) = run(&mut device, None, MANY, seed);
            let found = found.unwrap().erase_block;
            assert_eq!(stop, None);
            assert_eq!(found.verdict.is_told(), told, "{found:#?}");
            if told {
                assert_eq!(found.bytes, Some(Bytes::mib(6)));
                assert_eq!(found.phase_bytes, Some(Bytes::mib(2)));
            }
        }
    }
}

#[test]
fn a_stick_full_of_zeros_is_no_worse_off() {
    let text = format!(
        "{ALL_BLANK}[contents]\nfill = \"zeros\"\n[read.crossing]\nerase_block = \"200us\"\n"
    );
    let mut device = SimulatedStick::new(&profile(&text), 1);
    let (found, _, _) = run(&mut device, None, MANY, 1);
    assert_eq!(found.unwrap().erase_block.bytes, Some(Bytes::mib(6)));
}

#[test]
fn a_written_stick_is_left_alone() {
    let (_, mut device) = stick("corsair-voyager", 1);
    let (found, stop, cost) = run(&mut device, None, MANY, 1);
    assert_eq!((found.is_none(), stop), (true, None));
    assert_eq!(cost.writes, 0);
}

#[test]
fn nothing_is_written_outside_the_territory_nor_beyond_the_limit() {
    let range = |from, to| ByteRange {
        from: Bytes::mib(from),
        to: Bytes::mib(to),
    };
    let ranges = [range(3000, 5000), range(20_000, 20_100)];
    let (_, device) = stick("fresh", 1);
    let mut recorder = flashfit::device::wrappers::Recorder::new(device);
    let record = recorder.record();
    let limit = Bytes::mib(3);
    let (_, stop, cost) = run(&mut recorder, Some(Territory::new(ranges)), limit, 1);
    assert!(record.count(flashfit::device::wrappers::AccessKind::Write) > 0);
    assert!(cost.bytes_written <= limit);
    assert!(matches!(stop, None | Some(Stop::WriteLimit)), "{stop:?}");
    for access in record.accesses() {
        if access.kind == flashfit::device::wrappers::AccessKind::Write {
            let end = Bytes(access.range.to.get());
            let inside = ranges
                .iter()
                .any(|r| r.from <= access.range.from && end <= r.to);
            assert!(inside, "{} to {end}", access.range.from);
        }
    }
}

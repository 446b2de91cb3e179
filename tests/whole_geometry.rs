//! One run with write tests tells everything that a profile's `[expected]` tables say.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use flashfit::device::ReadDevice;
use flashfit::device::simulated::profile::{
    Expected, ExpectedOpenAu, ExpectedVerdict, ExpectedZoneKind,
};
use flashfit::device::simulated::{Profile, SimulatedStick, builtin_names};
use flashfit::geometry::{Cutoff, Geometry, OpenAu, Verdict, ZoneKind};
use flashfit::measure::territory::Territory;
use flashfit::run::scan::{Options, Scanned, Writes, scan_and_write};
use flashfit::units::{Bytes, MIB};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn run(name: &str, seed: u64) -> (Scanned, SimulatedStick) {
    let mut stick = SimulatedStick::new(&Profile::builtin(name).unwrap(), seed);
    let writes = Writes {
        limit: Bytes::gib(1),
        territory: Territory::whole(stick.capacity()),
    };
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed,
        in_use: false,
    };
    let go_on = AtomicBool::new(false);
    let scanned = scan_and_write(&mut stick, writes, options, &go_on, &mut |_| {});
    (scanned, stick)
}

/// What is not as expected, in words.
fn differences(found: &Geometry, expected: &Expected) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: &str, fine: bool, found: String| {
        if !fine {
            wrong.push(format!("{what}: {found}"));
        }
    };
    if let Some(block) = &expected.erase_block {
        let it = &found.erase_block;
        let fine = match block.verdict {
            ExpectedVerdict::NotVisible => !it.verdict.is_told(),
            ExpectedVerdict::Likely => it.verdict.is_told(),
            ExpectedVerdict::Confirmed => it.verdict == Verdict::Confirmed,
        } && (!it.verdict.is_told()
            || (it.bytes == block.bytes && it.phase_bytes == Some(block.phase)));
        check("erase block", fine, format!("{it:?}"));
    }
    if let Some(page) = &expected.page {
        let it = &found.page;
        let fine = !it.verdict.is_told() || it.bytes == page.bytes;
        check("page", fine, format!("{it:?}"));
    }
    if let Some(linear) = &expected.open_au.linear {
        let it = &found.open_au.linear;
        check("linear", is_open(it, linear), format!("{it:?}"));
    }
    if let Some(random) = &expected.open_au.random {
        let it = &found.open_au.random;
        let fine = match random.smallest_efficient_write {
            Some(size) => it.smallest_efficient_write_bytes == Some(size),
            None => is_open(&it.count, random),
        };
        check("random", fine, format!("{it:?}"));
    }
    if let Some(zones) = &expected.fat_area {
        let it = &found.fat_area;
        let fine = it.verdict.is_told()
            && it.zones.len() == zones.len()
            && it.zones.iter().zip(zones).all(|(found, zone)| {
                let kind = match zone.kind {
                    ExpectedZoneKind::Faster => ZoneKind::Faster,
                    ExpectedZoneKind::Slower => ZoneKind::Slower,
                    ExpectedZoneKind::Different => ZoneKind::Different,
                };
                (found.from_bytes, found.to_bytes, found.kind) == (zone.from, zone.to, kind)
            });
        check("zones", fine, format!("{it:?}"));
    }
    wrong
}

fn is_open(found: &OpenAu, expected: &ExpectedOpenAu) -> bool {
    if let Some(limit) = expected.limit {
        let cutoff = if expected.soft {
            Cutoff::Soft
        } else {
            Cutoff::Hard
        };
        found.verdict.is_told()
            && found.limit == Some(limit)
            && found.cutoff == Some(cutoff)
            && expected
                .unit
                .is_none_or(|unit| found.unit_bytes == Some(unit))
    } else if let Some(least) = expected.at_least {
        found.limit.is_none() && found.at_least.is_some_and(|it| it >= least)
    } else {
        true
    }
}

#[test]
fn the_whole_geometry_of_every_built_in_stick_is_told() {
    let seeds = if common::full() { 10 } else { 1 };
    let mut wrong = Vec::new();
    for name in builtin_names() {
        let expected = Profile::builtin(name).unwrap().expected;
        for seed in 1..=seeds {
            let (scanned, _) = run(name, seed);
            println!(
                "{name} {seed}: {:.1} s, {:.1} MiB written",
                scanned.cost.device_time.as_secs_f64(),
                scanned.cost.bytes_written.get() as f64 / MIB as f64
            );
            for difference in differences(&scanned.geometry, &expected) {
                wrong.push(format!("{name}, seed {seed}: {difference}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The numbers that are promised for the stick of which the classical procedure is on record.
#[test]
fn everything_about_the_corsair_takes_two_minutes_and_34_mib() {
    for seed in 1..=if common::full() { 50 } else { 3 } {
        let (scanned, stick) = run("corsair-voyager", seed);
        let (time, written) = (scanned.cost.device_time, scanned.cost.bytes_written);
        println!("seed {seed}: {time:?}, {written}, {:?}", stick.wear());
        assert!(time <= Duration::from_secs(120), "seed {seed}: {time:?}");
        assert!(written <= Bytes::mib(34), "seed {seed}: {written}");
    }
}

//! How many units stay open: on the built-in sticks and on invented ones with every limit,
//! replacement and oddity, against what the sticks were made with.

#![allow(clippy::unwrap_used)]

mod common;

use common::full;
use flashfit::device::Device;
use flashfit::device::simulated::profile::{Policy, Profile};
use flashfit::device::simulated::{SimulatedStick, Wear, builtin_names};
use flashfit::geometry::open_au::scan::Found;
use flashfit::geometry::{Cutoff, EraseBlock, Geometry, OpenAu, Page, Verdict};
use flashfit::measure::meter::{Cost, Limits, Stop, WriteMeter};
use flashfit::measure::territory::Territory;
use flashfit::run::stages::{Ground, open_au};
use flashfit::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What came of a run of the stage alone.
struct Ran {
    found: Found,
    stop: Option<Stop>,
    cost: Cost,
    wear: Wear,
}

/// The geometry that earlier stages should have found.
fn known(profile: &Profile) -> Geometry {
    let expected = &profile.expected;
    let mut geometry = Geometry::default();
    if let Some(found) = expected.erase_block.filter(|found| found.bytes.is_some()) {
        geometry.erase_block = EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: found.bytes,
            phase_bytes: Some(found.phase),
            sub_unit_bytes: found.sub_unit,
            ..EraseBlock::default()
        };
    }
    if let Some(page) = profile.flash.page {
        geometry.page = Page {
            verdict: Verdict::Likely,
            bytes: Some(page),
            ..Page::default()
        };
    }
    geometry
}

fn ran(profile: &Profile, seed: u64) -> Ran {
    ran_within(profile, seed, Duration::from_secs(3600), Bytes::gib(1))
}

fn ran_within(profile: &Profile, seed: u64, time: Duration, written: Bytes) -> Ran {
    let mut stick = SimulatedStick::new(profile, seed);
    let interrupt = AtomicBool::new(false);
    let limits = Limits {
        time,
        written,
        programmed: Bytes::gib(100),
        interrupt: &interrupt,
    };
    let facts = profile.facts();
    let geometry = known(profile);
    let mut territory = Territory::whole(profile.capacity);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let device: &mut dyn Device = &mut stick;
    let mut meter = WriteMeter::new(device, limits, Bytes::mib(1));
    let (found, stop) = open_au::run(
        &mut meter,
        &mut Ground {
            facts: &facts,
            geometry: &geometry,
            territory: &mut territory,
            rng: &mut rng,
            progress: &mut |_, _| {},
        },
    );
    let cost = meter.cost();
    Ran {
        found,
        stop,
        cost,
        wear: stick.wear(),
    }
}

/// A stick with 4 MiB erase blocks and these lines in its profile.
fn invented(lines: &str) -> Profile {
    let text = format!(
        r#"
capacity = "8GiB"
flash.erase_block = "4MiB"
flash.page = "16KiB"
read.base = "700us"
write = {{ base = "1.2ms", per_kib = "50us", partial_page = "0.4ms" }}
noise = {{ sigma = "40us", outlier_rate = 0.02, outlier = "1.5ms", background = {{ every = "15s", length = "60ms" }} }}
expected.erase_block = {{ verdict = "confirmed", bytes = "4MiB" }}
{lines}
"#
    );
    Profile::parse(&text, "invented").unwrap()
}

fn with_limit(limit: u32, policy: Policy) -> Profile {
    let mut profile = invented(r#"open_units = { linear = 1, collect = "0.25s" }"#);
    profile.open_units.linear = Some(limit);
    profile.open_units.policy = policy;
    profile
}

fn contains(au: &OpenAu, limit: u32) -> bool {
    au.at_least.is_none_or(|least| least <= limit) && au.at_most.is_none_or(|most| limit <= most)
}

fn line(name: &str, au: &OpenAu) -> String {
    format!(
        "{name}: {} limit {:?} from {:?} to {:?} {:?} of {:?} ({:.3})",
        au.verdict, au.limit, au.at_least, au.at_most, au.cutoff, au.unit_bytes, au.confidence
    )
}

#[test]
fn the_built_in_sticks_show_what_they_were_made_with() {
    let seeds = if full() { 50 } else { 2 };
    let mut wrong = Vec::new();
    for name in builtin_names() {
        let profile = Profile::builtin(name).unwrap();
        for seed in 1..=seeds {
            let ran = ran(&profile, seed);
            let expected = &profile.expected.open_au;
            let random = &ran.found.open_aus.random;
            let linear = &ran.found.open_aus.linear;
            if seed == 1 {
                println!(
                    "{name} {:.1} s, {} KiB, {} erases, {} collections, {:?}\n   {}\n   {}, {:?}\n {:?}",
                    ran.cost.device_time.as_secs_f64(),
                    ran.cost.bytes_written.get() >> 10,
                    ran.wear.erases,
                    ran.wear.collections,
                    ran.stop,
                    line("linear", linear),
                    line("random", &random.count),
                    random.smallest_efficient_write_bytes,
                    ran.found.warnings,
                );
            }
            for (way, au, expected) in [
                ("linear", linear, expected.linear),
                ("random", &random.count, expected.random),
            ] {
                let Some(expected) = expected else { continue };
                let mut right = au.verdict.is_told();
                if let Some(limit) = expected.limit {
                    right &= contains(au, limit) && au.at_most.is_some();
                    right &= (au.cutoff == Some(Cutoff::Soft)) == expected.soft;
                }
                if let Some(least) = expected.at_least {
                    right &= au.at_least.is_some_and(|n| n >= least) && au.at_most.is_none();
                }
                if expected.unit.is_some() {
                    right &= au.unit_bytes == expected.unit;
                }
                if way == "random" {
                    right &=
                        random.smallest_efficient_write_bytes == expected.smallest_efficient_write;
                }
                if !right {
                    wrong.push(format!("{name} seed {seed}: {}", line(way, au)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_limit_is_found_whatever_is_replaced() {
    let seeds = if full() { 50 } else { 1 };
    let mut wrong = Vec::new();
    for policy in [Policy::Lru, Policy::Fifo, Policy::Random] {
        let (mut exact, mut all, mut collections, mut seconds) = (0, 0, 0, 0.0);
        for limit in 1..=25 {
            for seed in 1..=seeds {
                let ran = ran(&with_limit(limit, policy), seed);
                for (way, au) in [
                    ("linear", &ran.found.open_aus.linear),
                    ("random", &ran.found.open_aus.random.count),
                ] {
                    all += 1;
                    exact += usize::from(au.limit == Some(limit));
                    let right = match policy {
                        Policy::Random => {
                            au.verdict.is_told() && contains(au, limit) && au.at_most.is_some()
                        }
                        _ => au.limit == Some(limit) && au.verdict == Verdict::Confirmed,
                    };
                    if !right {
                        wrong.push(format!("{policy:?} {limit} seed {seed}: {}", line(way, au)));
                    }
                }
                collections += ran.wear.collections;
                seconds += ran.cost.device_time.as_secs_f64();
            }
        }
        println!(
            "{policy:?}: {exact} of {all} exact; {} collections, {:.1} s a run",
            collections / (25 * seeds),
            seconds / (25 * seeds) as f64
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

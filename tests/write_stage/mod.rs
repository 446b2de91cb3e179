//! One stage of the write tests, by itself, on a simulated stick.

// Every test file uses only some of these.
#![allow(dead_code)]

use flashfit::device::Device;
use flashfit::device::simulated::profile::Profile;
use flashfit::device::simulated::{SimulatedStick, Wear};
use flashfit::geometry::{EraseBlock, Geometry, Page, Verdict};
use flashfit::measure::meter::{Cost, Limits, Stop, WriteMeter};
use flashfit::measure::territory::Territory;
use flashfit::run::stages::Ground;
use flashfit::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What came of it.
pub struct Ran<F> {
    pub found: F,
    pub stop: Option<Stop>,
    pub cost: Cost,
    pub wear: Wear,
}

/// The geometry that earlier stages should have found.
pub fn known(profile: &Profile) -> Geometry {
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

/// Run a stage that finds `F`.
pub fn stage<F>(
    profile: &Profile,
    seed: u64,
    run: impl FnOnce(&mut WriteMeter<'_>, &mut Ground<'_>) -> (F, Option<Stop>),
) -> Ran<F> {
    within(profile, seed, Duration::from_secs(3600), Bytes::gib(1), run)
}

/// The same with limits.
pub fn within<F>(
    profile: &Profile,
    seed: u64,
    time: Duration,
    written: Bytes,
    run: impl FnOnce(&mut WriteMeter<'_>, &mut Ground<'_>) -> (F, Option<Stop>),
) -> Ran<F> {
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
    let (found, stop) = run(
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
pub fn invented(lines: &str) -> Profile {
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

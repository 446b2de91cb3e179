//! Runs single stages of a scan with write tests on a stick.

// Every test file uses only some of these.
#![allow(dead_code, clippy::unwrap_used)]

use flashfit::device::Device;
use flashfit::device::simulated::{Profile, SimulatedStick};
use flashfit::geometry::{EraseBlock, Geometry, Page, Source, Verdict};
use flashfit::measure::base_read_size;
use flashfit::measure::meter::{Limits, Meter, Stop, WriteMeter};
use flashfit::measure::noise::{self, Single};
use flashfit::measure::territory::Territory;
use flashfit::run::stages::{Ground, page, reading};
use flashfit::topology::Transport;
use flashfit::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Nothing interrupts.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// A run on one stick: what is shared between its stages.
pub struct Run {
    pub geometry: Geometry,
    pub territory: Territory,
    pub singles: Vec<Single>,
    pub rng: Xoshiro256PlusPlus,
}

/// Limits that no stage of these tests comes near.
pub fn meter(device: &mut dyn Device, written: Bytes) -> WriteMeter<'_> {
    let limits = Limits {
        time: Duration::from_secs(3000),
        written,
        programmed: Bytes(written.get() * 64),
        interrupt: &GO_ON,
    };
    Meter::new(device, limits, Bytes::kib(512))
}

impl Run {
    /// The noise stage.
    pub fn begin(
        meter: &mut WriteMeter<'_>,
        usb: bool,
        block: flashfit::units::LogicalBlock,
        seed: u64,
    ) -> Run {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut singles = Vec::new();
        noise::single_reads(meter, base_read_size(block), &mut rng, &mut singles).unwrap();
        meter.set_dither(noise::dither(&singles, usb));
        Run {
            geometry: Geometry::default(),
            territory: Territory::whole(meter.capacity()),
            singles,
            rng,
        }
    }

    /// One stage.
    pub fn stage<T>(
        &mut self,
        meter: &mut WriteMeter<'_>,
        facts: &flashfit::topology::Facts,
        stage: impl FnOnce(&mut WriteMeter<'_>, &mut Ground<'_>, &[Single]) -> (T, Option<Stop>),
    ) -> (T, Option<Stop>) {
        let geometry = self.geometry.clone();
        let mut ground = Ground {
            facts,
            geometry: &geometry,
            territory: &mut self.territory,
            rng: &mut self.rng,
            progress: &mut |_, _| {},
        };
        stage(meter, &mut ground, &self.singles)
    }
}

/// What the two parts of the page stage say of a stick.
pub struct PageRun {
    pub by_reads: Page,
    pub pages: page::Pages,
    pub read_rates: Vec<flashfit::geometry::Rate>,
    pub seconds: f64,
    pub written: Bytes,
    pub stop: Option<Stop>,
}

/// Both parts of the page stage, with this erase block known before.
pub fn pages(device: &mut dyn Device, erase_block: EraseBlock, seed: u64) -> PageRun {
    let facts = device.facts().clone();
    let mut meter = meter(device, Bytes::gib(1));
    let usb = facts.transport == Transport::Usb;
    let mut run = Run::begin(&mut meter, usb, facts.logical_block, seed);
    run.geometry.erase_block = erase_block;
    let before = meter.cost();
    let (by_reads, _) = reading::page(
        &mut meter,
        &facts,
        &run.singles,
        &run.geometry.erase_block,
        &mut run.rng,
        &mut |_, _| {},
    );
    let (read_rates, _) = reading::read_rates(&mut meter, &facts, &mut run.rng);
    run.geometry.page = by_reads.clone();
    let (pages, stop) = run.stage(&mut meter, &facts, |meter, ground, _| {
        page::run(meter, ground)
    });
    let cost = meter.cost();
    PageRun {
        by_reads,
        pages,
        read_rates,
        seconds: (cost.device_time - before.device_time).as_secs_f64(),
        written: cost.bytes_written,
        stop,
    }
}

/// The erase block as a scan that found it would give it.
pub fn told(profile: &Profile) -> EraseBlock {
    match &profile.expected.erase_block {
        Some(expected) if expected.bytes.is_some() => EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: expected.bytes,
            phase_bytes: Some(expected.phase),
            sub_unit_bytes: expected.sub_unit,
            source: Source::Measured,
            confidence: 0.999,
            ..EraseBlock::default()
        },
        _ => EraseBlock {
            verdict: Verdict::NotVisible,
            ..EraseBlock::default()
        },
    }
}

/// A built-in stick, this specimen of it.
pub fn stick(name: &str, seed: u64) -> (Profile, SimulatedStick) {
    let profile = Profile::builtin(name).unwrap().with_individual(seed);
    let stick = SimulatedStick::new(&profile, seed);
    (profile, stick)
}

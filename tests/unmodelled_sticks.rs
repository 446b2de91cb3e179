//! Scans of sticks that follow a few lines of arithmetic, not the simulated flash model: what the
//! inference says must not depend on how the simulator was written.

#![allow(clippy::unwrap_used)]

mod common;

use flashfit::device::{AccessError, ReadDevice};
use flashfit::geometry::{EraseBlock, Verdict};
use flashfit::run::scan::{Options, Scanned, scan};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Standard deviation of a read, in µs.
const SIGMA: f64 = 30.0;

/// Boundaries at `phase + k * period` that cost so many µs.
#[derive(Clone, Copy)]
struct Lattice {
    period: u64,
    phase: u64,
    cost: f64,
}

fn lattice(period: u64, phase: u64, sigmas: f64) -> Lattice {
    Lattice {
        period,
        phase,
        cost: sigmas * SIGMA,
    }
}

/// The time of a read is a base, the cost of the costliest boundary inside, and noise.
#[derive(Clone)]
struct Toy {
    facts: Facts,
    lattices: Vec<Lattice>,
    /// Ordinary reads at the end of the device take so much longer than at the start (share).
    trend: f64,
    /// Times grow by so much a second (share).
    drift: f64,
    /// This share of reads takes so many deviations longer, wherever it lies.
    late: (f64, f64),
    /// Completions are rounded up to this on the clock, in µs; 0 for not.
    quantum: f64,
    clock: Duration,
    rng: Xoshiro256PlusPlus,
}

impl Toy {
    fn new(capacity: u64, lattices: &[Lattice], seed: u64) -> Toy {
        Toy {
            facts: Facts::bare(
                "toy",
                Transport::Unknown,
                Some(Bytes(capacity)),
                LogicalBlock::B512,
            ),
            lattices: lattices.to_vec(),
            trend: 0.0,
            drift: 0.0,
            late: (0.03, 10.0),
            quantum: 0.0,
            clock: Duration::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xabc),
        }
    }

    fn gauss(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.rng.random(), self.rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

impl ReadDevice for Toy {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn capacity(&self) -> Bytes {
        self.facts.capacity.unwrap()
    }
    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        into.fill(0x5a);
        let (from, to) = (at.get(), at.get() + into.len() as u64);
        let mut cost = 0.0f64;
        for lattice in &self.lattices {
            let member = (to - 1).saturating_sub(lattice.phase) / lattice.period * lattice.period
                + lattice.phase;
            // One boundary in ten shows nothing.
            let draw = member.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            if member > from && member < to && draw * 10 >= 1 << 24 {
                cost = cost.max(lattice.cost);
            }
        }
        let mut micros = 900.0 + cost + SIGMA * self.gauss();
        micros *= 1.0 + self.trend * from as f64 / self.capacity().get() as f64;
        micros *= 1.0 + self.drift * self.clock.as_secs_f64();
        if self.rng.random::<f64>() < self.late.0 {
            micros += self.late.1 * SIGMA;
        }
        if self.quantum > 0.0 {
            let start = self.clock.as_secs_f64() * 1e6;
            micros = ((start + micros) / self.quantum).ceil() * self.quantum - start;
        }
        let time = Duration::from_secs_f64(micros.max(1.0) * 1e-6);
        self.clock += time;
        Ok(time)
    }
    fn wait(&mut self, time: Duration) {
        self.clock += time;
    }
    fn clock(&self) -> Duration {
        self.clock
    }
}

fn run(toy: &mut Toy, seed: u64) -> Scanned {
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed,
        in_use: false,
    };
    scan(toy, options, &AtomicBool::new(false), &mut |_| {})
}

/// So many sticks of each kind.
fn sticks() -> u64 {
    if common::full() { 12 } else { 6 }
}

/// Some sticks of a kind: nothing else than this size and phase may be told, and at most a sixth of
/// them are not told.
fn check(capacity: u64, lattices: &[Lattice], size: u64, phase: u64, change: impl Fn(&mut Toy)) {
    let mut told = 0;
    for seed in 1..=sticks() {
        let mut toy = Toy::new(capacity, lattices, seed);
        change(&mut toy);
        let EraseBlock {
            verdict,
            bytes,
            phase_bytes,
            evidence,
            ..
        } = run(&mut toy, seed).geometry.erase_block;
        if verdict.is_told() {
            let found = (bytes.unwrap().get(), phase_bytes.unwrap().get());
            assert_eq!(found, (size, phase), "seed {seed}: {evidence:#?}");
            told += 1;
        }
    }
    let all = sticks();
    assert!(
        told >= all - all / 6,
        "told in {told} of {all} (capacity {capacity}, size {size})"
    );
}

/// Sticks of which nothing else than this size and phase may be told, if anything.
fn check_never_wrong(capacity: u64, lattices: &[Lattice], size: u64, phase: u64) {
    for seed in 1..=sticks() {
        let found = run(&mut Toy::new(capacity, lattices, seed), seed)
            .geometry
            .erase_block;
        if found.verdict.is_told() {
            let told = (found.bytes.unwrap().get(), found.phase_bytes.unwrap().get());
            assert_eq!(told, (size, phase), "seed {seed}: {found:#?}");
        }
    }
}

/// Sticks of which nothing may be told.
fn check_nothing(capacity: u64, lattices: &[Lattice]) {
    for seed in 1..=sticks() {
        let found = run(&mut Toy::new(capacity, lattices, seed), seed)
            .geometry
            .erase_block;
        assert_eq!(
            found.verdict,
            Verdict::NotVisible,
            "seed {seed}: {found:#?}"
        );
        assert_eq!(found.bytes, None);
    }
}

const GB16: u64 = 16_012_804_096;
const GB32: u64 = 32_010_928_128;
const GB64: u64 = 64_023_257_088;
const TB2: u64 = 2_000_398_934_016;

#[test]
fn plain_sizes_are_told_at_three_sigma() {
    for (capacity, size) in [
        (1_016_070_144, 512 * KIB),
        (4_009_754_624, 1536 * KIB),
        (GB16, 3 * MIB),
        (GB16, 4 * MIB),
        (GB16, 6 * MIB),
        (GB32, 12 * MIB),
        (GB64, 24 * MIB),
        (512_110_190_592, 64 * MIB),
        (TB2, 2 * MIB),
    ] {
        check(capacity, &[lattice(size, 0, 3.0)], size, 0, |_| {});
    }
}

#[test]
fn odd_sizes_and_odd_phases_are_told() {
    check(GB16, &[lattice(10 * MIB, 0, 4.0)], 10 * MIB, 0, |_| {});
    check(GB32, &[lattice(14 * MIB, 0, 4.0)], 14 * MIB, 0, |_| {});
    check(GB32, &[lattice(18 * MIB, 0, 4.0)], 18 * MIB, 0, |_| {});
    check(
        GB16,
        &[lattice(8 * MIB, 3 * MIB, 4.0)],
        8 * MIB,
        3 * MIB,
        |_| {},
    );
    check(
        GB32,
        &[lattice(12 * MIB, 4 * MIB, 4.0)],
        12 * MIB,
        4 * MIB,
        |_| {},
    );
    check(
        GB16,
        &[lattice(4 * MIB, 2560 * KIB, 4.0)],
        4 * MIB,
        2560 * KIB,
        |_| {},
    );
}

#[test]
fn sizes_below_the_search_grid_are_told_from_their_visible_multiples() {
    check(
        4_009_754_624,
        &[lattice(768 * KIB, 0, 5.0)],
        768 * KIB,
        0,
        |_| {},
    );
    check(
        1_009_754_624,
        &[lattice(384 * KIB, 0, 6.0)],
        384 * KIB,
        0,
        |_| {},
    );
    check(
        512_000_000,
        &[lattice(128 * KIB, 0, 5.0)],
        128 * KIB,
        0,
        |_| {},
    );
}

#[test]
fn the_larger_of_two_levels_is_the_erase_block() {
    check(
        GB32,
        &[lattice(8 * MIB, 0, 6.0), lattice(4 * MIB, 0, 3.6)],
        8 * MIB,
        0,
        |_| {},
    );
    check(
        GB32,
        &[lattice(12 * MIB, 4 * MIB, 6.0), lattice(4 * MIB, 0, 3.0)],
        12 * MIB,
        4 * MIB,
        |_| {},
    );
    check(
        GB64,
        &[lattice(24 * MIB, 0, 6.0), lattice(12 * MIB, 0, 2.6)],
        24 * MIB,
        0,
        |_| {},
    );
}

#[test]
fn a_sub_unit_is_named() {
    let mut toy = Toy::new(
        GB32,
        &[lattice(8 * MIB, 0, 8.0), lattice(4 * MIB, 0, 4.8)],
        3,
    );
    let found = run(&mut toy, 3).geometry.erase_block;
    assert_eq!(
        (found.bytes, found.sub_unit_bytes),
        (Some(Bytes::mib(8)), Some(Bytes::mib(4)))
    );
}

#[test]
fn pages_are_not_taken_for_erase_blocks() {
    for page in [16 * KIB, 64 * KIB, 128 * KIB, 256 * KIB] {
        check_nothing(GB16, &[lattice(page, 0, 6.0)]);
        let both = [lattice(8 * MIB, 0, 9.0), lattice(page, 0, 4.0)];
        check(GB16, &both, 8 * MIB, 0, |_| {});
    }
}

#[test]
fn sizes_that_are_not_thought_of_are_not_forced_into_others() {
    check_nothing(GB16, &[lattice(11 * MIB, 0, 6.0)]);
    check_nothing(GB16, &[lattice(13 * MIB, 5 * MIB, 6.0)]);
}

#[test]
fn nothing_and_next_to_nothing_are_not_visible() {
    check_nothing(GB16, &[]);
    check_nothing(GB16, &[lattice(4 * MIB, 0, 0.1)]);
}

#[test]
fn trends_drift_and_ticks_do_not_mislead() {
    let eight = [lattice(8 * MIB, 0, 4.0)];
    check(GB16, &eight, 8 * MIB, 0, |toy| toy.trend = 0.3);
    check(GB16, &eight, 8 * MIB, 0, |toy| toy.drift = 0.05);
    check(GB16, &eight, 8 * MIB, 0, |toy| toy.quantum = 125.0);
}

#[test]
fn reads_that_are_late_by_chance_do_not_hide_the_boundaries() {
    for (share, sigmas) in [
        (0.1, 5.0),
        (0.1, 20.0),
        (0.15, 40.0),
        (0.2, 10.0),
        (0.2, 40.0),
    ] {
        let late = |toy: &mut Toy| toy.late = (share, sigmas);
        check(GB16, &[lattice(8 * MIB, 0, 8.0)], 8 * MIB, 0, late);
        let two = [
            lattice(12 * MIB, 4 * MIB, 12.0),
            lattice(6 * MIB, 4 * MIB, 6.0),
        ];
        check(GB32, &two, 12 * MIB, 4 * MIB, late);
    }
}

#[test]
fn device_time_does_not_depend_on_capacity() {
    let total = |capacity: u64| -> f64 {
        (1..=20)
            .map(|seed| {
                let mut toy = Toy::new(capacity, &[lattice(4 * MIB, 0, 3.0)], seed);
                run(&mut toy, seed).cost.device_time.as_secs_f64()
            })
            .sum()
    };
    let (small, large) = (total(1_016_070_144), total(TB2));
    let ratio = small.max(large) / small.min(large);
    assert!(
        ratio < 1.5,
        "1 GB takes {small} s, 2 TB {large} s for 20 scans"
    );
}

#[test]
fn pages_of_three_times_a_power_of_two_do_not_pass_for_erase_blocks() {
    for page in [48 * KIB, 96 * KIB, 192 * KIB] {
        check_never_wrong(GB32, &[lattice(page, 0, 6.0)], 0, 0);
        let both = [lattice(12 * MIB, 0, 6.0), lattice(page, 0, 4.5)];
        check_never_wrong(GB32, &both, 12 * MIB, 0);
    }
}

#[test]
fn erase_blocks_of_many_sub_units_are_told() {
    for (large, small) in [(24, 4), (28, 4), (16, 2), (16, 1)] {
        for sigmas in [8.0, 20.0] {
            let two = [
                lattice(large * MIB, 0, sigmas),
                lattice(small * MIB, 0, sigmas / 2.0),
            ];
            check(GB32, &two, large * MIB, 0, |_| ());
        }
    }
}

#[test]
fn far_above_the_noise_the_sub_unit_is_still_told_from_the_erase_block() {
    for steps in [40.0, 100.0, 400.0] {
        let two = [lattice(8 * MIB, 0, steps), lattice(4 * MIB, 0, steps / 2.0)];
        check_never_wrong(GB16, &two, 8 * MIB, 0);
    }
}

#[test]
fn levels_of_sizes_that_are_not_thought_of_are_not_confirmed() {
    for (large, small) in [(15, 5), (30, 10), (25, 5), (21, 7)] {
        let two = [lattice(large * MIB, 0, 20.0), lattice(small * MIB, 0, 10.0)];
        check_never_wrong(GB32, &two, large * MIB, 0);
    }
    // Near the noise no two heaps can be seen: there the classes of boundaries tell.
    for (large, small) in [(15, 5), (30, 10), (25, 5)] {
        for sigmas in [3.0, 6.0] {
            let two = [
                lattice(large * MIB, 0, sigmas),
                lattice(small * MIB, 0, sigmas / 2.0),
            ];
            check_never_wrong(GB32, &two, large * MIB, 0);
        }
    }
}

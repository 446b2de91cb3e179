//! Page and stall tests on sticks that follow a few lines of arithmetic, not the simulated flash model:
//! what is said of writes must not depend on how the simulator was written.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod stage_support;

use flashfit::device::{AccessError, Device, ReadDevice};
use flashfit::geometry::{EraseBlock, Verdict};
use flashfit::run::stages::stall_comb::{self, Stalls};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use stage_support::{Run, meter, pages};
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GB16: u64 = 16_012_804_096;

/// A stick that takes so many microseconds.
#[derive(Clone)]
struct Toy {
    facts: Facts,
    /// A write: so much, and so much for each KiB of it.
    base: f64,
    per_kib: f64,
    /// Pages, and what a page costs that a write covers only in part.
    page: u64,
    partial: f64,
    /// Pages are transferred whole.
    whole_pages: bool,
    /// A partly written page is kept in a buffer: going on with it costs nothing.
    merges: bool,
    /// Writes up to this size take `base` and no more.
    small_path: u64,
    /// The device's clock ticks in this, in µs; 0 for not.
    quantum: f64,
    /// Writes are acknowledged early while so much work waits; 0 for not.
    depth: f64,
    waiting: f64,
    /// Share of accesses that take 300 ms longer.
    stalls: f64,
    /// Times grow by so much a second.
    drift: f64,
    /// The first so many bytes are written at a third of the time.
    cache: u64,
    /// Opening a unit: size, phase, cost.
    unit: u64,
    phase: u64,
    open: f64,
    /// Every so many bytes written, wherever they go, costs the same as opening.
    by_count: u64,
    written: u64,
    last_end: u64,
    clock: Duration,
    rng: Xoshiro256PlusPlus,
}

impl Toy {
    fn new(seed: u64) -> Toy {
        Toy {
            facts: Facts::bare(
                "toy",
                Transport::Unknown,
                Some(Bytes(GB16)),
                LogicalBlock::B512,
            ),
            base: 700.0,
            per_kib: 45.0,
            page: 512,
            partial: 0.0,
            whole_pages: false,
            merges: false,
            small_path: 0,
            quantum: 0.0,
            depth: 0.0,
            waiting: 0.0,
            stalls: 0.01,
            drift: 0.0,
            cache: 0,
            unit: 8 * MIB,
            phase: 0,
            open: 0.0,
            by_count: 0,
            written: 0,
            last_end: u64::MAX,
            clock: Duration::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7093),
        }
    }

    fn paged(seed: u64, page: u64, partial: f64) -> Toy {
        Toy {
            page,
            partial,
            ..Toy::new(seed)
        }
    }

    /// Noise, stalls, drift and ticks.
    fn pass(&mut self, micros: f64) -> Duration {
        let noise: f64 = (0..6).map(|_| self.rng.random::<f64>() - 0.5).sum();
        let mut micros =
            micros * (1.0 + 0.04 * noise) * (1.0 + self.drift * self.clock.as_secs_f64());
        if self.rng.random::<f64>() < self.stalls {
            micros += 300_000.0 * self.rng.random::<f64>();
        }
        if self.quantum > 0.0 {
            let start = self.clock.as_secs_f64() * 1e6;
            micros = ((start + micros) / self.quantum).ceil() * self.quantum - start;
        }
        let time = Duration::from_secs_f64(micros.max(1.0) * 1e-6);
        self.clock += time;
        time
    }

    fn work(&mut self, from: u64, to: u64) -> f64 {
        let length = to - from;
        let mut work = if length <= self.small_path {
            self.base
        } else {
            let (first, last) = (from / self.page, (to - 1) / self.page);
            let continues = self.merges && from == self.last_end;
            let head = !from.is_multiple_of(self.page) && !continues;
            let tail = !to.is_multiple_of(self.page) && !self.merges && (last != first || !head);
            let bytes = if self.whole_pages {
                (last - first + 1) * self.page
            } else {
                length
            };
            let partial = f64::from(u8::from(head)) + f64::from(u8::from(tail));
            self.base + self.per_kib * bytes as f64 / 1024.0 + self.partial * partial
        };
        if self.written < self.cache {
            work /= 3.0;
        }
        let units = |x: u64| x.wrapping_sub(self.phase) / self.unit;
        if units(from.wrapping_sub(1)) != units(to - 1) {
            work += self.open;
        }
        if self.by_count > 0
            && self.written / self.by_count != (self.written + length) / self.by_count
        {
            work += 20_000.0;
        }
        self.written += length;
        self.last_end = to;
        work
    }
}

impl ReadDevice for Toy {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn capacity(&self) -> Bytes {
        self.facts.capacity.unwrap()
    }
    fn read(&mut self, _: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        into.fill(0x5a);
        Ok(self.pass(600.0 + 20.0 * into.len() as f64 / 1024.0))
    }
    fn wait(&mut self, time: Duration) {
        self.clock += time;
        self.waiting = (self.waiting - time.as_secs_f64() * 1e6).max(0.0);
    }
    fn clock(&self) -> Duration {
        self.clock
    }
}

impl Device for Toy {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let work = self.work(at.get(), at.get() + data.len() as u64);
        if self.depth == 0.0 {
            return Ok(self.pass(work));
        }
        let quick = 250.0;
        let shown = quick + (self.waiting + work - quick - self.depth).max(0.0);
        self.waiting = (self.waiting + work - shown).max(0.0);
        Ok(self.pass(shown))
    }
    fn flush(&mut self) -> Result<Duration, AccessError> {
        let waiting = std::mem::take(&mut self.waiting);
        Ok(self.pass(400.0 + waiting))
    }
}

fn seeds() -> u64 {
    if common::full() { 50 } else { 6 }
}

fn unknown() -> EraseBlock {
    EraseBlock {
        verdict: Verdict::NotVisible,
        ..EraseBlock::default()
    }
}

/// Nothing but this page is told, and it is told of most.
fn check(name: &str, page: u64, make: impl Fn(u64) -> Toy) {
    let mut told = 0;
    for seed in 1..=seeds() {
        let run = pages(&mut make(seed), unknown(), seed);
        let found = run.pages.page;
        if found.verdict.is_told() {
            assert_eq!(found.bytes, Some(Bytes(page)), "{name}, {seed}: {found:#?}");
            told += 1;
        }
    }
    assert!(
        told * 3 >= seeds() * 2,
        "{name}: told of {told} of {}",
        seeds()
    );
}

/// No page is told.
fn check_none(name: &str, make: impl Fn(u64) -> Toy) {
    for seed in 1..=seeds() {
        let found = pages(&mut make(seed), unknown(), seed).pages.page;
        assert_eq!(
            found.verdict,
            Verdict::NotVisible,
            "{name}, {seed}: {found:#?}"
        );
    }
}

#[test]
fn pages_of_all_usual_sizes_are_told() {
    for page in [4, 8, 16, 32, 64] {
        // Reading the rest of a page takes a while; so does writing all of it.
        check(&format!("{page} KiB, partial"), page * KIB, |seed| {
            Toy::paged(seed, page * KIB, 900.0)
        });
        check(
            &format!("{page} KiB, whole and partial"),
            page * KIB,
            |seed| Toy {
                whole_pages: true,
                ..Toy::paged(seed, page * KIB, 400.0)
            },
        );
    }
}

#[test]
fn ticks_caches_stalls_and_drift_do_not_mislead() {
    let sixteen = |seed| Toy {
        whole_pages: true,
        ..Toy::paged(seed, 16 * KIB, 900.0)
    };
    check("ticks", 16 * KIB, |seed| Toy {
        quantum: 125.0,
        ..sixteen(seed)
    });
    check("write cache", 16 * KIB, |seed| Toy {
        depth: 200_000.0,
        ..sixteen(seed)
    });
    check("stalls", 16 * KIB, |seed| Toy {
        stalls: 0.08,
        ..sixteen(seed)
    });
    check("drift", 16 * KIB, |seed| Toy {
        drift: 0.05,
        ..sixteen(seed)
    });
    check("small path", 16 * KIB, |seed| Toy {
        small_path: 4 * KIB,
        ..sixteen(seed)
    });
    check("fast cache", 16 * KIB, |seed| Toy {
        cache: 3 * MIB,
        ..sixteen(seed)
    });
}

#[test]
fn where_writes_show_no_page_none_is_told() {
    check_none("straight line", Toy::new);
    check_none("ticks", |seed| Toy {
        quantum: 125.0,
        ..Toy::new(seed)
    });
    check_none("small path", |seed| Toy {
        small_path: 4 * KIB,
        base: 400.0,
        ..Toy::new(seed)
    });
    check_none("large path", |seed| Toy {
        small_path: 32 * KIB,
        ..Toy::new(seed)
    });
    check_none("write cache", |seed| Toy {
        depth: 200_000.0,
        ..Toy::new(seed)
    });
    check_none("fast cache", |seed| Toy {
        cache: 3 * MIB,
        ..Toy::new(seed)
    });
    check_none("flat up to 16 KiB by command cost", |seed| Toy {
        base: 3000.0,
        per_kib: 11.0,
        ..Toy::new(seed)
    });
    check_none("pages of three", |seed| Toy {
        whole_pages: true,
        ..Toy::paged(seed, 48 * KIB, 900.0)
    });
    check_none("pages that are gathered", |seed| Toy {
        merges: true,
        ..Toy::paged(seed, 16 * KIB, 900.0)
    });
}

fn stalls(toy: &mut Toy, limit: Bytes, seed: u64) -> Option<Stalls> {
    let facts = toy.facts.clone();
    let mut meter = meter(toy, limit);
    let mut run = Run::begin(&mut meter, false, facts.logical_block, seed);
    run.geometry.erase_block = unknown();
    let (found, stop) = run.stage(&mut meter, &facts, |meter, ground, _| {
        stall_comb::run(meter, ground)
    });
    assert_eq!(stop, None);
    let written = meter.cost().bytes_written;
    assert!(written <= limit, "{written}");
    found
}

/// Stalls at units of this size and phase are told so, whatever else.
fn check_stalls(size: u64, phase: u64, change: impl Fn(Toy) -> Toy) {
    let mut told = 0;
    for seed in 1..=seeds() {
        let mut toy = change(Toy {
            unit: size,
            phase,
            open: 15_000.0,
            ..Toy::new(seed)
        });
        let found = stalls(&mut toy, Bytes::gib(1), seed).unwrap().erase_block;
        if found.verdict.is_told() {
            assert_eq!(
                (found.bytes, found.phase_bytes),
                (Some(Bytes(size)), Some(Bytes(phase))),
                "{size} {phase} {seed}: {found:#?}"
            );
            told += 1;
        }
    }
    assert!(told * 3 >= seeds() * 2, "{size} {phase}: told of {told}");
}

#[test]
fn stalls_of_opened_units_tell_the_unit() {
    for (size, phase) in [(1, 0), (4, 0), (6, 0), (8, 0), (12, 4), (16, 0), (24, 0)] {
        check_stalls(size * MIB, phase * MIB, |toy| toy);
    }
    check_stalls(8 * MIB, 0, |toy| Toy {
        quantum: 125.0,
        ..toy
    });
    check_stalls(8 * MIB, 0, |toy| Toy {
        depth: 100_000.0,
        ..toy
    });
    check_stalls(8 * MIB, 0, |toy| Toy {
        drift: 0.05,
        stalls: 0.02,
        ..toy
    });
}

#[test]
fn stalls_that_belong_to_no_place_tell_nothing() {
    for (name, change) in [
        ("none", (0, 0.0)),
        ("at random", (0, 0.03)),
        ("every 4 MiB", (4 * MIB, 0.005)),
        ("every 8 MiB", (8 * MIB, 0.0)),
        ("every 5.3 MiB", (5_557_452, 0.0)),
    ] {
        for seed in 1..=seeds() {
            let mut toy = Toy {
                by_count: change.0,
                stalls: change.1,
                ..Toy::new(seed)
            };
            let found = stalls(&mut toy, Bytes::gib(1), seed).unwrap().erase_block;
            assert_eq!(
                found.verdict,
                Verdict::NotVisible,
                "{name}, {seed}: {found:#?}"
            );
            assert_eq!(found.bytes, None);
        }
    }
}

#[test]
fn a_fast_cache_that_fills_up_is_named_and_no_limit_is_passed() {
    let mut toy = Toy {
        cache: 40 * MIB,
        stalls: 0.03,
        ..Toy::new(1)
    };
    let found = stalls(&mut toy, Bytes::gib(1), 1).unwrap();
    let warning = found.warning.unwrap();
    assert_eq!(warning.code, "slc_cache");
    assert!(
        warning.text.contains("3.0 times slower"),
        "{}",
        warning.text
    );
    let rate = found.bytes_per_second.unwrap();
    assert!((1e6..40e6).contains(&rate), "{rate}");
    assert_eq!(stalls(&mut Toy::new(1), Bytes::mib(20), 1), None);
    assert!(stalls(&mut Toy::new(1), Bytes::mib(100), 1).is_some());
}

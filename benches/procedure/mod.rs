//! flashbench's classical procedure on a simulated stick, as an expert of 2012 went through it, and
//! flashfit on a new stick of the same kind: shared by the benchmark that prints the comparison and
//! the test that holds it.
//!
//! What is read and written, in which order, follows flashbench; the words and the code are new.

// Each program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use flashfit::device::simulated::{Profile, SimulatedStick, Wear};
use flashfit::device::{AlignedBuffer, Device, ReadDevice};
use flashfit::geometry::open_au::{
    LARGEST_JUDGED, RatePoint, SMALLEST_JUDGED, halving, slow_probability,
};
use flashfit::measure::territory::Territory;
use flashfit::run::scan::{Options, Scanned, Writes, scan_and_write};
use flashfit::units::{Bytes, LogicalBlock};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The smallest write of the open-AU runs and of the search for the FAT area.
const SMALLEST: u64 = 32 << 10;
/// Positions of the alignment scan, and its rounds.
const POSITIONS: u64 = 7;
const ROUNDS: usize = 8;
/// Open-AU runs begin behind this, and their units lie so many of their size apart.
const OFFSET: u64 = 16 << 20;
const APART: u64 = 12;
/// Erase blocks that the search for the FAT area writes.
const FAT_BLOCKS: u64 = 6;
/// A stick without a limit is given up here.
const MOST: u64 = 32;
/// Half of the rate per halving of the size, with some slack: what the expert calls a slow line.
const SLOW_LINE: f64 = 0.66;
/// An impatient expert breaks a run off after so many of them.
const SLOW_LINES: usize = 2;

/// What a procedure cost.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    pub time: Duration,
    pub wear: Wear,
}

impl Spent {
    fn of(stick: &SimulatedStick) -> Spent {
        Spent {
            time: stick.clock(),
            wear: stick.wear(),
        }
    }

    /// How many times less `self` is: time, written bytes, erased blocks.
    pub fn ratios(&self, classical: &Spent) -> [f64; 3] {
        let erases = |spent: &Spent| spent.wear.erases.max(1) as f64;
        [
            classical.time.as_secs_f64() / self.time.as_secs_f64(),
            classical.wear.host_bytes.get() as f64 / self.wear.host_bytes.get().max(1) as f64,
            erases(classical) / erases(self),
        ]
    }
}

/// The erase block that the expert read off the alignment scan; where nothing shows, the 4 MiB that
/// flashbench assumes.
fn erase_block(profile: &Profile) -> u64 {
    let expected = profile.expected.erase_block.as_ref();
    let told = expected.and_then(|found| found.sub_unit.or(found.bytes));
    told.unwrap_or(Bytes::mib(4)).get()
}

/// The whole classical procedure. `patient`: every run goes to its end.
pub fn classical(profile: &Profile, seed: u64, patient: bool) -> Spent {
    let mut expert = Expert {
        stick: SimulatedStick::new(profile, seed),
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        unit: erase_block(profile),
        patient,
        buffer: AlignedBuffer::new(64 << 20),
    };
    expert.buffer.fill(0x5a);
    expert.align();
    for random in [false, true] {
        expert.open_units(random);
    }
    expert.find_fat();
    Spent::of(&expert.stick)
}

/// flashfit with write tests on a new stick.
pub fn flashfit(profile: &Profile, seed: u64) -> (Scanned, Spent) {
    let mut stick = SimulatedStick::new(profile, seed);
    let writes = Writes {
        limit: Bytes::gib(1),
        territory: Territory::whole(profile.capacity),
    };
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed,
        in_use: false,
    };
    let interrupt = AtomicBool::new(false);
    let scanned = scan_and_write(&mut stick, writes, options, &interrupt, &mut |_| {});
    (scanned, Spent::of(&stick))
}

struct Expert {
    stick: SimulatedStick,
    rng: Xoshiro256PlusPlus,
    unit: u64,
    patient: bool,
    buffer: AlignedBuffer,
}

impl Expert {
    fn block(&self) -> u64 {
        match self.stick.logical_block() {
            LogicalBlock::B512 => 512,
            LogicalBlock::B4096 => 4096,
        }
    }

    /// Reads before, across and behind every power of two, over and over.
    fn align(&mut self) {
        let size = 2 * self.block();
        let capacity = self.stick.capacity().get();
        let mut largest = 2 * size;
        while largest < capacity / POSITIONS {
            largest *= 2;
        }
        let mut align = largest;
        while align >= 2 * size {
            for _ in 0..ROUNDS {
                for before in [size, size / 2, 0] {
                    for i in 0..POSITIONS {
                        self.read(align - before + i * largest, size);
                    }
                }
            }
            align /= 2;
        }
    }

    /// Runs with 1, 2, 4 … open units to the first slow one, then with every number from the last fast
    /// one up.
    fn open_units(&mut self, random: bool) {
        let mut fast = 0;
        let mut open = 1;
        let slow = loop {
            if self.run(open, random) {
                break open;
            }
            fast = open;
            if open >= MOST {
                return;
            }
            open *= 2;
        };
        for open in fast + 1..slow {
            if self.run(open, random) {
                return;
            }
        }
    }

    /// One run: whether it is slow.
    fn run(&mut self, open: u64, random: bool) -> bool {
        let first = OFFSET.div_ceil(self.unit) * self.unit;
        let mut lines: Vec<RatePoint> = Vec::new();
        let mut slow_lines = 0;
        let mut size = self.unit;
        while size >= SMALLEST {
            let mut time = Duration::ZERO;
            let mut writes: u32 = 0;
            for chunk in self.chunks(size, random) {
                let mut units: Vec<u64> = (0..open).collect();
                units.shuffle(&mut self.rng);
                for unit in units {
                    time += self.write(first + chunk + unit * APART * self.unit, size);
                    writes += 1;
                }
            }
            let rate = size as f64 * f64::from(writes) / time.as_secs_f64();
            let halves = lines
                .last()
                .is_some_and(|line| rate < SLOW_LINE * line.bytes_per_second);
            slow_lines = if halves { slow_lines + 1 } else { 0 };
            lines.push(RatePoint {
                size: Bytes(size),
                bytes_per_second: rate,
            });
            if !self.patient && slow_lines >= SLOW_LINES {
                return true;
            }
            size /= 2;
        }
        halving(&lines, LARGEST_JUDGED, SMALLEST_JUDGED)
            .is_some_and(|halving| slow_probability(halving) > 0.5)
    }

    /// The first erase blocks, at every size.
    fn find_fat(&mut self) {
        let mut size = self.unit;
        while size >= SMALLEST {
            for unit in 0..FAT_BLOCKS {
                for chunk in self.chunks(size, false) {
                    self.write(unit * self.unit + chunk, size);
                }
            }
            size /= 2;
        }
    }

    fn chunks(&mut self, size: u64, random: bool) -> Vec<u64> {
        let mut chunks: Vec<u64> = (0..self.unit / size).map(|n| n * size).collect();
        if random {
            chunks.shuffle(&mut self.rng);
        }
        chunks
    }

    /// Addresses behind the end begin again at the start.
    fn read(&mut self, at: u64, size: u64) {
        let capacity = self.stick.capacity().get();
        let at = (at % capacity).min(capacity - size);
        let size = usize::try_from(size).unwrap();
        self.stick
            .read(Bytes(at), &mut self.buffer[..size])
            .unwrap();
    }

    fn write(&mut self, at: u64, size: u64) -> Duration {
        let capacity = self.stick.capacity().get();
        let at = (at % capacity).min(capacity - size);
        let size = usize::try_from(size).unwrap();
        self.stick.write(Bytes(at), &self.buffer[..size]).unwrap()
    }
}

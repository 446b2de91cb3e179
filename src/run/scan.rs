//! A scan: which stages run, in which order, within which limits.
//!
//! One that only reads cannot write: it has no [`Device`]. One with write tests first looks whether
//! the device is as large as it claims, then reads, then writes, from what is needed most to what
//! costs most. A limit that is used up ends a stage; an error or Ctrl-C ends the run.

mod budget;
pub mod fit;
mod reads;
mod writes;

use crate::device::{Device, ReadDevice};
use crate::geometry::erase_block::{Found, StoppedBy};
use crate::geometry::{Geometry, Warning};
use crate::measure::meter::{Cost, Limits, Meter, Stop};
use crate::measure::territory::Territory;
use crate::output::report::Speeds;
use crate::units::Bytes;
use budget::Budget;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to scan.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The longest device time.
    pub time_limit: Duration,
    /// Order of places and answer follow from it.
    pub seed: u64,
    /// The device is mounted or otherwise in use.
    pub in_use: bool,
}

/// What a scan may write.
#[derive(Clone, Debug)]
pub struct Writes {
    /// The most bytes, those that a preserving device puts back included.
    pub limit: Bytes,
    /// Where.
    pub territory: Territory,
}

/// What a scan brought.
pub struct Scanned {
    /// All findings.
    pub geometry: Geometry,
    /// Rates for the charts of the report.
    pub speeds: Speeds,
    /// Chart and warnings of the search.
    pub found: Found,
    /// What the other stages have to say.
    pub warnings: Vec<Warning>,
    /// What it cost.
    pub cost: Cost,
    /// What ended the measuring.
    pub stopped_by: StoppedBy,
    /// Reads of the noise stage, which is the part of the cost before the search proper.
    pub noise_reads: u64,
    /// Reads up to the end of the search; those behind it look for more than the erase block.
    pub search_reads: u64,
    /// Where the device really ends, when it is smaller than it claims.
    pub real_capacity: Option<Bytes>,
    /// Why it ended early, if it did.
    pub stop: Option<Stop>,
    /// What it was doing then.
    pub stage: &'static str,
}

/// How far a scan is.
pub struct Progress {
    /// The number of the stage, from 1.
    pub number: usize,
    /// How many stages there are.
    pub of: usize,
    /// What it is doing.
    pub stage: &'static str,
    /// What it will do behind that.
    pub following: &'static [&'static str],
    /// How it stands.
    pub standing: String,
    /// Spent so far.
    pub cost: Cost,
}

/// How much the flash may program when the host may write this much.
pub fn programmed(written: Bytes) -> Bytes {
    Budget::new(Duration::ZERO, written).programmed
}

/// The stages of a scan that only reads.
const READING: &[&str] = &["noise", "boundaries", "page", "rates"];

/// The stages of a scan with write tests.
const WRITING: &[&str] = writes::STAGES;

/// Tells how far it is.
struct Narrator<'a> {
    stages: &'static [&'static str],
    now: usize,
    listener: &'a mut dyn FnMut(Progress),
}

impl Narrator<'_> {
    /// A stage begins.
    fn stage(&mut self, name: &str) {
        self.now = self
            .stages
            .iter()
            .position(|stage| *stage == name)
            .unwrap_or(self.now);
    }

    fn tell(&mut self, standing: &str, cost: Cost) {
        (self.listener)(Progress {
            number: self.now + 1,
            of: self.stages.len(),
            stage: self.stages.get(self.now).copied().unwrap_or_default(),
            following: self.stages.get(self.now + 1..).unwrap_or_default(),
            standing: standing.to_owned(),
            cost,
        });
    }
}

/// Scan a device by reads alone.
pub fn scan(
    device: &mut dyn ReadDevice,
    options: Options,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Scanned {
    let facts = device.facts().clone();
    let limits = Limits::of_reading(options.time_limit, interrupt);
    let mut meter = Meter::new(device, limits, reads::largest(&facts));
    let mut narrator = Narrator {
        stages: READING,
        now: 0,
        listener: progress,
    };
    let reads = reads::run(
        &mut meter,
        &facts,
        options.seed,
        !options.in_use,
        &mut narrator,
    );
    let (stage, stop) = reads.stop.unzip();
    Scanned {
        geometry: reads.geometry,
        speeds: Speeds::default(),
        stopped_by: match &stop {
            Some(stop) => StoppedBy::from(stop),
            None => reads.found.stopped_by,
        },
        found: reads.found,
        warnings: Vec::new(),
        cost: meter.cost(),
        noise_reads: reads.noise_reads,
        search_reads: reads.search_reads,
        real_capacity: None,
        stop,
        stage: stage.unwrap_or_default(),
    }
}

/// Scan a device, and test what only writes show. What is overwritten is lost, unless the device
/// is one that preserves.
pub fn scan_and_write<'a>(
    device: &'a mut (dyn Device + 'a),
    writes: Writes,
    options: Options,
    interrupt: &'a AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Scanned {
    let facts = device.facts().clone();
    let budget = Budget::new(options.time_limit, writes.limit);
    let limits = Limits {
        time: budget.time,
        written: budget.written,
        programmed: budget.programmed,
        interrupt,
    };
    let mut meter = Meter::new(device, limits, reads::largest(&facts));
    let narrator = Narrator {
        stages: WRITING,
        now: 0,
        listener: progress,
    };
    writes::Run::new(&facts, budget, writes.territory, options, narrator).run(&mut meter)
}

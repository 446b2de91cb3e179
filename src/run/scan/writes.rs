//! A run with write tests.

use super::budget::{Budget, Share};
use super::reads::{self, Reads};
use super::{Narrator, Options, Scanned};
use crate::geometry::erase_block::StoppedBy;
use crate::geometry::{Geometry, Warning};
use crate::measure::meter::{Stop, WriteMeter};
use crate::measure::real_size::{Behind, RealSize, real_size};
use crate::measure::territory::Territory;
use crate::output::report::Speeds;
use crate::run::stages::{self, Ground};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::time::Duration;

/// In this order.
pub(super) const STAGES: &[&str] = &[
    "size",
    "noise",
    "boundaries",
    "page",
    "rates",
    "fresh",
    "page writes",
    "open units",
    "zones",
    "stalls",
];

/// What each stage that writes may use of what is left. Those before the last leave something to
/// all that follow, whatever the stick does.
const SIZE: Share = Share {
    time: 15,
    written: 10,
    programmed: 10,
};
const READS: Share = Share {
    time: 50,
    written: 0,
    programmed: 0,
};
/// The erase block comes first of all, and a stick that was never written may collect garbage at every
/// place.
const FRESH: Share = Share {
    time: 60,
    written: 30,
    programmed: 45,
};
const PAGE: Share = Share {
    time: 40,
    written: 40,
    programmed: 30,
};
const OPEN_UNITS: Share = Share {
    time: 70,
    written: 60,
    programmed: 70,
};
const ZONES: Share = Share {
    time: 80,
    written: 80,
    programmed: 80,
};
const STALLS: Share = Share {
    time: 100,
    written: 100,
    programmed: 100,
};

/// A run on its way.
pub(super) struct Run<'a> {
    facts: &'a Facts,
    budget: Budget,
    territory: Territory,
    options: Options,
    narrator: Narrator<'a>,
    /// Of the write tests; the reads have their own, so that the same places are read with and
    /// without write tests.
    rng: Xoshiro256PlusPlus,
    geometry: Geometry,
    speeds: Speeds,
    warnings: Vec<Warning>,
    real_capacity: Option<Bytes>,
    /// The first limit that ended a stage, or what ended the run.
    stop: Option<(&'static str, Stop)>,
    /// Stages that a limit ended.
    cut_short: Vec<&'static str>,
}

/// Between two stages a stick gets this long to work off what it put aside. The stages themselves
/// wait until their own writes are as fast as before.
const BETWEEN_STAGES: Duration = Duration::from_secs(1);

/// The seed of the write tests: any other stream than that of the reads.
const OTHER_STREAM: u64 = 0x5752_4954_4553_0001;

impl<'a> Run<'a> {
    pub fn new(
        facts: &'a Facts,
        budget: Budget,
        territory: Territory,
        options: Options,
        narrator: Narrator<'a>,
    ) -> Run<'a> {
        Run {
            facts,
            budget,
            territory,
            options,
            narrator,
            rng: Xoshiro256PlusPlus::seed_from_u64(options.seed ^ OTHER_STREAM),
            geometry: Geometry::default(),
            speeds: Speeds::default(),
            warnings: Vec::new(),
            real_capacity: None,
            stop: None,
            cut_short: Vec::new(),
        }
    }

    /// All stages.
    pub fn run(mut self, meter: &mut WriteMeter<'_>) -> Scanned {
        self.size(meter);
        let mut reads = self.reads(meter);
        self.geometry = reads.geometry.clone();
        self.fresh(meter, &mut reads);
        self.page(meter);
        self.open_units(meter);
        self.zones(meter);
        self.stalls(meter);
        self.finish(meter, reads)
    }

    /// The erase block of a stick that was never written.
    fn fresh(&mut self, meter: &mut WriteMeter<'_>, reads: &mut Reads) {
        let singles = std::mem::take(&mut reads.singles);
        let found = self.stage(meter, "fresh", FRESH, |meter, ground| {
            stages::fresh::run(meter, ground, &singles)
        });
        if let Some(Some(found)) = found {
            self.geometry.erase_block = found.erase_block.clone();
            reads.found = found;
        }
    }

    fn page(&mut self, meter: &mut WriteMeter<'_>) {
        match self.stage(meter, "page writes", PAGE, stages::page::run) {
            Some(pages) => {
                self.geometry.page = pages.page;
                self.geometry.throughput.write = pages.write;
                self.geometry.throughput.efficient_bytes = pages.efficient_bytes;
            }
            None => {
                let reason = self.reason();
                self.geometry.page.evidence.push(reason);
            }
        }
    }

    fn open_units(&mut self, meter: &mut WriteMeter<'_>) {
        match self.stage(meter, "open units", OPEN_UNITS, stages::open_au::run) {
            Some(found) => {
                self.geometry.open_au = found.open_aus;
                self.speeds.linear = found.linear_bars;
                self.speeds.random = found.random_bars;
                self.warnings.extend(found.warnings);
            }
            None => {
                let reason = self.reason();
                let open = &mut self.geometry.open_au;
                open.linear.evidence.push(reason.clone());
                open.random.count.evidence.push(reason);
            }
        }
    }

    fn zones(&mut self, meter: &mut WriteMeter<'_>) {
        match self.stage(meter, "zones", ZONES, stages::fat_area::run) {
            Some(found) => {
                self.geometry.fat_area = found.fat_area;
                self.speeds.start = found.bars;
            }
            None => {
                let reason = self.reason();
                self.geometry.fat_area.evidence.push(reason);
            }
        }
    }

    /// The stalls of a long write, where nothing else told the erase block.
    fn stalls(&mut self, meter: &mut WriteMeter<'_>) {
        let found = self.stage(meter, "stalls", STALLS, stages::stall_comb::run);
        let Some(Some(stalls)) = found else { return };
        if stalls.erase_block.verdict.is_told() {
            self.geometry.erase_block = stalls.erase_block;
        } else {
            let evidence = &mut self.geometry.erase_block.evidence;
            evidence.extend(stalls.erase_block.evidence);
        }
        self.warnings.extend(stalls.warning);
    }

    /// Why a stage did not run.
    fn reason(&self) -> String {
        match &self.stop {
            Some((_, Stop::Interrupted)) => "not tested: the scan was interrupted before",
            Some((_, stop)) if stop.is_final() => "not tested: the device failed before",
            _ => "not tested",
        }
        .to_owned()
    }

    /// Whether the device is as large as it claims.
    fn size(&mut self, meter: &mut WriteMeter<'_>) {
        let block = self.facts.logical_block;
        let found = self.stage(meter, "size", SIZE, |meter, ground| {
            real_size(meter, block, ground.rng)
        });
        let Some(RealSize::Less { end, behind }) = found else {
            return;
        };
        meter.believe(end);
        self.real_capacity = Some(end);
        self.territory.take(ByteRange {
            from: end,
            to: meter_end(self.facts),
        });
        self.warnings.push(Warning::new(
            "counterfeit",
            format!(
                "this device is a counterfeit: it claims {} bytes and has {}; {}. Layouts end there; it is best returned",
                meter_end(self.facts).get(),
                end.get(),
                match behind {
                    Behind::Lost => "what is written behind that is lost",
                    Behind::Wraps => "what is written behind that overwrites the beginning",
                }
            ),
        ));
    }

    fn reads(&mut self, meter: &mut WriteMeter<'_>) -> Reads {
        self.budget.limit(meter, READS);
        let mut reads = reads::run(
            meter,
            self.facts,
            self.options.seed,
            !self.options.in_use,
            &mut self.narrator,
        );
        if let Some((stage, stop)) = reads.stop.take() {
            self.ended(stage, stop);
        }
        reads
    }

    /// Run a stage that writes, unless the run is over. `None` when it did not run.
    fn stage<T>(
        &mut self,
        meter: &mut WriteMeter<'_>,
        name: &'static str,
        share: Share,
        run: impl FnOnce(&mut WriteMeter<'_>, &mut Ground<'_>) -> (T, Option<Stop>),
    ) -> Option<T> {
        if self.is_over() {
            return None;
        }
        self.budget.limit(meter, share);
        self.narrator.stage(name);
        self.narrator.tell("", meter.cost());
        let narrator = &mut self.narrator;
        let mut ground = Ground {
            facts: self.facts,
            geometry: &self.geometry,
            territory: &mut self.territory,
            rng: &mut self.rng,
            progress: &mut |standing, cost| narrator.tell(standing, cost),
        };
        let writes_before = meter.cost().writes;
        let (found, stop) = run(meter, &mut ground);
        match stop {
            Some(stop) => self.ended(name, stop),
            None if meter.cost().writes > writes_before => self.drain(meter, name),
            None => {}
        }
        Some(found)
    }

    /// Let the stick tidy up.
    fn drain(&mut self, meter: &mut WriteMeter<'_>, name: &'static str) {
        let drained = meter.flush().and_then(|_| meter.wait(BETWEEN_STAGES));
        if let Err(stop) = drained
            && stop.is_final()
        {
            self.ended(name, stop);
        }
    }

    fn ended(&mut self, stage: &'static str, stop: Stop) {
        if stop.is_final() {
            self.stop = Some((stage, stop));
            return;
        }
        self.cut_short.push(stage);
        self.stop.get_or_insert((stage, stop));
    }

    fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|(_, stop)| stop.is_final())
    }

    fn finish(mut self, meter: &WriteMeter<'_>, reads: Reads) -> Scanned {
        if !self.cut_short.is_empty() {
            self.warnings.push(Warning::new(
                "cut_short",
                format!(
                    "the limits on time and written bytes cut short: {}; allow more with --time-limit or --write-limit",
                    self.cut_short.join(", ")
                ),
            ));
        }
        let stopped_by = match &self.stop {
            Some((_, stop)) => StoppedBy::from(stop),
            None => reads.found.stopped_by,
        };
        let (stage, stop) = self.stop.unzip();
        Scanned {
            geometry: self.geometry,
            speeds: self.speeds,
            found: reads.found,
            warnings: self.warnings,
            cost: meter.cost(),
            stopped_by,
            noise_reads: reads.noise_reads,
            search_reads: reads.search_reads,
            real_capacity: self.real_capacity,
            stop,
            stage: stage.unwrap_or_default(),
        }
    }
}

fn meter_end(facts: &Facts) -> Bytes {
    facts.capacity.unwrap_or(Bytes(u64::MAX))
}

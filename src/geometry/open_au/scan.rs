//! The whole test of open units on a device: in order, in any order, and what is counted.

use super::answer::{answer, bars, warn};
use super::climb::{Climb, Ending, SLOW};
use super::small::{self, SLOW_ALONE};
use super::unit::Pair;
use crate::geometry::stats::median;
use crate::geometry::{OpenAu, OpenAus, RandomOpenAu, Verdict, Warning};
use crate::measure::meter::Stop;
use crate::measure::open_au::{Order, Sweep, Sweeper};
use crate::units::Bytes;
use std::time::Duration;

/// The most units that are tried. The best sticks of the public survey keep 24 and more open; what
/// file systems write at a time is fewer.
pub const MOST: usize = 32;
/// Fewer units than this tell nothing.
pub const FEWEST: usize = 3;
/// Units in reserve: two for each way of writing, in case the first confirmation is contradicted.
pub const SPARES: usize = 6;
/// What is written at a time when small writes show no limit, relative to the first size: some
/// controllers put small writes into a log of their own.
const LARGER: u64 = 8;
/// A flush after a write that takes this much longer than one without, relative to the write, shows
/// that the write was acknowledged before it was done.
const DEFERRED: f64 = 0.5;

/// Small enough to lie within one unit: of the public logs and survey entries only cards of 1 GB and
/// less, from before 2010, have units below 512 KiB (down to 128 KiB), and a count there is then at
/// most likely.
const SURELY_ONE_UNIT: Bytes = Bytes::kib(512);

/// The debt of a test is paid when a write takes no longer than this, relative to before the test.
const DRAINED: f64 = 1.2;
/// So often by writing only, and then for so many seconds by waiting too.
const DRAIN_ROUNDS: u32 = 8;
/// See [`DRAIN_ROUNDS`].
const DRAIN_SECONDS: u32 = 10;

/// What the lanes are.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Lanes 0 to this are units of one set.
    pub most: usize,
    /// Further lanes.
    pub spares: Vec<usize>,
    /// Lanes that may be one unit.
    pub pairs: Vec<Pair>,
    /// The size of a write.
    pub size: Bytes,
    /// The largest write to be tried.
    pub largest: Bytes,
    /// What a lane is, where that is known.
    pub unit: Option<Bytes>,
}

/// One bar of the picture of speed against open units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// How many units were written in turn.
    pub open: usize,
    /// Bytes per second.
    pub rate: f64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Both counts.
    pub open_aus: OpenAus,
    /// Speed against open units, in order.
    pub linear_bars: Vec<Bar>,
    /// The same in any order.
    pub random_bars: Vec<Bar>,
    /// What else the reader should know.
    pub warnings: Vec<Warning>,
}

/// Test. What was known when a limit of time or bytes came is in the answer.
pub fn scan(sweeper: &mut dyn Sweeper, setup: &Setup) -> (Found, Option<Stop>) {
    let mut found = Found::default();
    let stop = test(sweeper, setup, &mut found).err();
    (found, stop)
}

fn test(sweeper: &mut dyn Sweeper, setup: &Setup, found: &mut Found) -> Result<(), Stop> {
    look_for_cache(sweeper, setup)?;
    let mut size = setup.size;
    let mut linear = linear(sweeper, setup, size, found)?;
    let larger = Bytes(size.get() * LARGER);
    if linear.is_open()
        && larger <= setup.largest
        && waits_when_larger(sweeper, setup, larger, linear.decline)?
    {
        size = larger;
        // What was seen with small writes says nothing.
        *found = Found::default();
        linear = self::linear(sweeper, setup, size, found)?;
        found.open_aus.linear.evidence.push(format!(
            "writes of {} open no unit, so it was tested with {larger}",
            setup.size
        ));
    }
    random(sweeper, setup, size, &linear, found)
}

/// Whether writes are acknowledged early, and the work shows in flushes only.
fn look_for_cache(sweeper: &mut dyn Sweeper, setup: &Setup) -> Result<(), Stop> {
    sweeper.report("one unit");
    let one = |sweeper: &mut dyn Sweeper| {
        sweeper.sweep(&Sweep {
            lanes: vec![0],
            order: Order::Linear,
            size: setup.size,
            slow_above: f64::INFINITY,
            give_up: None,
        })
    };
    sweeper.flush()?;
    let (mut idle, mut busy, mut write) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..6 {
        write.extend(one(sweeper)?);
        busy.push(sweeper.flush()?);
        idle.push(sweeper.flush()?);
    }
    let idle = median(&idle);
    if median(&busy) - idle > DEFERRED * median(&write) {
        sweeper.flush_visits(idle);
    }
    Ok(())
}

/// The linear test and what it left for the other.
struct Linear {
    ending: Ending,
    /// Seconds of a write into one unit.
    alone: f64,
    /// The rate with most units as a share of the best one.
    decline: f64,
}

impl Linear {
    fn is_open(&self) -> bool {
        matches!(self.ending, Ending::Open(_))
    }
}

fn linear(
    sweeper: &mut dyn Sweeper,
    setup: &Setup,
    size: Bytes,
    found: &mut Found,
) -> Result<Linear, Stop> {
    let spares = setup.spares.iter().copied().step_by(2).collect();
    let mut climb = Climb::new(sweeper, Order::Linear, size, setup.most, spares);
    let ended = climb.run();
    found.linear_bars = bars(&climb, &ended, size);
    found.open_aus.linear = answer(&climb, &ended, setup.unit);
    warn(&climb, &ended, found);
    let ending = ended?;
    let alone = climb.levels.first().map_or(0.0, |level| level.seconds);
    let decline = climb.decline();
    if setup.unit.is_some() && matches!(ending, Ending::Hard(_) | Ending::Soft { .. }) {
        let counted = climb.counted(&ending, &setup.pairs)?;
        found.open_aus.linear.unit_bytes = counted;
        found.open_aus.linear.evidence.push(match counted {
            Some(unit) => format!("two parts of one {unit} count as one unit"),
            None => "whether two parts of one erase block count as one or two could not be told"
                .to_owned(),
        });
    }
    Ok(Linear {
        ending,
        alone,
        decline,
    })
}

fn random(
    sweeper: &mut dyn Sweeper,
    setup: &Setup,
    size: Bytes,
    linear: &Linear,
    found: &mut Found,
) -> Result<(), Stop> {
    let unit_bytes = found.open_aus.linear.unit_bytes;
    // Visits out of order to two units at once would count as one. Where it is not known what a unit
    // is, they stay in a place that is small enough for any.
    let ends = matches!(linear.ending, Ending::Hard(_) | Ending::Soft { .. });
    sweeper.narrow(unit_bytes.filter(|_| ends).unwrap_or(SURELY_ONE_UNIT));
    let limit = match linear.ending {
        Ending::Hard(bracket) => bracket.at_least,
        Ending::Soft { limit, .. } => limit,
        _ => setup.most,
    };
    drain(sweeper, size, linear.alone, limit)?;
    let factor = small::alone(sweeper, size)?;
    if factor > SLOW_ALONE {
        let smallest = small::smallest_efficient(sweeper, size, setup.largest)?;
        let mut evidence = vec![format!(
            "a random write of {size} into a single unit takes {factor:.1} times as long as one in order"
        )];
        if smallest.is_none() {
            evidence.push(format!(
                "writes of up to {} do not reach half of the linear rate",
                setup.largest
            ));
        }
        found.open_aus.random = RandomOpenAu {
            count: OpenAu {
                verdict: Verdict::Likely,
                unit_bytes,
                confidence: 0.95,
                evidence,
                ..OpenAu::default()
            },
            smallest_efficient_write_bytes: smallest,
        };
        return Ok(());
    }
    let most = match linear.ending {
        Ending::Hard(bracket) => (bracket.at_most + 1).min(setup.most),
        _ => setup.most,
    };
    let spares = setup.spares.iter().copied().skip(1).step_by(2).collect();
    let mut climb = Climb::new(sweeper, Order::Random, size, most, spares);
    // Where units in order have no limit, units out of order mostly have none either.
    let ended = if linear.is_open() && climb.jump(most)? {
        Ok(Ending::Open(most))
    } else {
        climb.run()
    };
    found.random_bars = bars(&climb, &ended, size);
    found.open_aus.random.count = answer(&climb, &ended, unit_bytes);
    let count = &mut found.open_aus.random.count;
    if unit_bytes.is_none() && count.verdict == Verdict::Confirmed {
        count.verdict = Verdict::Likely;
        count
            .evidence
            .push("what a unit is was not told, so this is at most likely".to_owned());
    }
    warn(&climb, &ended, found);
    ended.map(|_| ())
}

/// Let the stick forget the units of the last test, until a write into a single one takes what it
/// took at first: by writing into few units, and by waiting.
fn drain(sweeper: &mut dyn Sweeper, size: Bytes, baseline: f64, limit: usize) -> Result<(), Stop> {
    for round in 0..DRAIN_ROUNDS + DRAIN_SECONDS {
        sweeper.report("until the last test is forgotten");
        let few = limit.clamp(1, 2);
        let mut sweep = |lanes: Vec<usize>| {
            sweeper.sweep(&Sweep {
                lanes,
                order: Order::Linear,
                size,
                slow_above: f64::INFINITY,
                give_up: None,
            })
        };
        let probe = median(&sweep(vec![0; 3])?);
        if probe <= DRAINED * baseline {
            return Ok(());
        }
        sweep((0..12).map(|i| i % few).collect())?;
        if round >= DRAIN_ROUNDS {
            sweeper.wait(Duration::from_secs(1))?;
        }
    }
    Ok(())
}

/// Whether larger writes into all units are slower than into one, by more than small ones are.
fn waits_when_larger(
    sweeper: &mut dyn Sweeper,
    setup: &Setup,
    size: Bytes,
    decline: f64,
) -> Result<bool, Stop> {
    let mut sweep = |lanes: Vec<usize>| {
        sweeper.sweep(&Sweep {
            lanes,
            order: Order::Linear,
            size,
            slow_above: f64::INFINITY,
            give_up: None,
        })
    };
    let one = median(sweep(vec![0; 8])?.get(2..).unwrap_or(&[]));
    sweep((0..setup.most).collect())?;
    let all = median(&sweep((0..setup.most).collect())?);
    Ok(all * decline > SLOW * one)
}

//! Sweeps: one small write into each of several allocation units in turn.
//!
//! Which lanes the next sweep visits depends on what the last one showed, and that is for the
//! inference to judge: it asks a [`Sweeper`], here [`Lanes`] over a device.

use super::meter::{Cost, Stop, WriteMeter};
use crate::units::{ByteRange, Bytes};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::time::Duration;

/// Where in its unit a visit writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One request, where the last visit ended.
    Linear,
    /// Two requests, each anywhere in the unit. The first may open a unit, and whatever is written
    /// first into an open unit is in order; with the second the unit is out of order for sure.
    Random,
}

impl Order {
    /// Requests of one visit.
    pub fn requests(self) -> u32 {
        match self {
            Order::Linear => 1,
            Order::Random => 2,
        }
    }
}

/// Visits to be made one after another without a pause.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The lanes to visit, by number.
    pub lanes: Vec<usize>,
    /// Where in them.
    pub order: Order,
    /// The size of each request.
    pub size: Bytes,
    /// A visit that takes more seconds than this waited for a garbage collection: it is charged.
    pub slow_above: f64,
    /// Leave the sweep after so many of those in a row: each costs wear and time, and more of them
    /// tell nothing new.
    pub give_up: Option<usize>,
}

/// Whoever can make sweeps.
pub trait Sweeper {
    /// Make the visits; the seconds that each took, fewer than asked for when given up.
    fn sweep(&mut self, sweep: &Sweep) -> Result<Vec<f64>, Stop>;

    /// From now on visits out of order stay within so much of the start of their lane: what is
    /// known to be one unit.
    fn narrow(&mut self, window: Bytes);

    /// Flush, and tell how many seconds it took.
    fn flush(&mut self) -> Result<f64, Stop>;

    /// Flush as a part of every visit from now on, and take off what a flush without work costs: a
    /// volatile cache acknowledges writes before it does them.
    fn flush_visits(&mut self, idle_flush: f64);

    /// Let time pass.
    fn wait(&mut self, time: Duration) -> Result<(), Stop>;

    /// Say how it stands.
    fn report(&mut self, standing: &str);
}

/// A range that is written as one thing: an allocation unit, or a part of one.
#[derive(Clone, Copy, Debug)]
struct Lane {
    range: ByteRange,
    /// Where the next visit in order begins, from the start of the range.
    next: u64,
}

/// Lanes on a device.
pub struct Lanes<'a, 'd> {
    meter: &'a mut WriteMeter<'d>,
    rng: &'a mut Xoshiro256PlusPlus,
    progress: &'a mut dyn FnMut(&str, Cost),
    lanes: Vec<Lane>,
    /// What a collection copies.
    unit: Bytes,
    /// Seconds of a flush without work, when every visit is flushed.
    idle_flush: Option<f64>,
    /// Visits out of order stay within this much of the start of their lane.
    window: Bytes,
}

/// A window holds so many of the largest writes at least: fewer would come back to the same place.
const FEWEST_IN_WINDOW: u64 = 4;

impl<'a, 'd> Lanes<'a, 'd> {
    /// Lanes on these ranges. `unit` is what a garbage collection is charged with.
    pub fn new(
        meter: &'a mut WriteMeter<'d>,
        rng: &'a mut Xoshiro256PlusPlus,
        progress: &'a mut dyn FnMut(&str, Cost),
        ranges: &[ByteRange],
        unit: Bytes,
    ) -> Lanes<'a, 'd> {
        let lanes = ranges
            .iter()
            .map(|range| Lane {
                range: *range,
                next: 0,
            })
            .collect();
        Lanes {
            meter,
            rng,
            progress,
            lanes,
            unit,
            idle_flush: None,
            window: unit,
        }
    }

    /// The places of a visit.
    fn places(&mut self, lane: usize, order: Order, size: Bytes) -> Vec<Bytes> {
        let Some(lane) = self.lanes.get_mut(lane) else {
            return Vec::new();
        };
        let start = lane.range.from.get();
        let window = self.window.max(Bytes(FEWEST_IN_WINDOW * size.get()));
        let room = lane.range.length().min(window).get() / size.get().max(1);
        match order {
            Order::Linear => {
                // A unit that is full begins again.
                let at = if lane.next + size.get() > lane.range.length().get() {
                    0
                } else {
                    lane.next
                };
                lane.next = at + size.get();
                vec![Bytes(start + at)]
            }
            Order::Random => (0..order.requests())
                .map(|_| {
                    let page = self.rng.random_range(0..room.max(1));
                    Bytes(start + page * size.get())
                })
                .collect(),
        }
    }

    /// The visits from this one on were not made: their lanes go on where they would have begun.
    fn put_back(&mut self, sweep: &Sweep, visits: &[Vec<Bytes>], made: usize) {
        if sweep.order == Order::Random {
            return;
        }
        for (lane, places) in sweep.lanes.iter().zip(visits).skip(made).rev() {
            if let (Some(lane), Some(at)) = (self.lanes.get_mut(*lane), places.first()) {
                lane.next = at.saturating_sub(lane.range.from).get();
            }
        }
    }

    fn visit(&mut self, places: &[Bytes], size: Bytes) -> Result<f64, Stop> {
        let mut took = Duration::ZERO;
        for at in places {
            took += self.meter.write(*at, size, self.rng)?;
        }
        let mut seconds = took.as_secs_f64();
        if let Some(idle) = self.idle_flush {
            seconds += (self.meter.flush()?.as_secs_f64() - idle).max(0.0);
        }
        Ok(seconds)
    }
}

impl Sweeper for Lanes<'_, '_> {
    fn narrow(&mut self, window: Bytes) {
        self.window = window;
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<Vec<f64>, Stop> {
        let visits: Vec<Vec<Bytes>> = sweep
            .lanes
            .iter()
            .map(|lane| self.places(*lane, sweep.order, sweep.size))
            .collect();
        let ranges: Vec<ByteRange> = visits
            .iter()
            .flatten()
            .map(|at| ByteRange {
                from: *at,
                to: Bytes(at.get() + sweep.size.get()),
            })
            .collect();
        self.meter.announce(&ranges)?;
        let mut times = Vec::with_capacity(visits.len());
        let mut slow_in_a_row = 0;
        for places in &visits {
            let seconds = self.visit(places, sweep.size)?;
            times.push(seconds);
            if seconds > sweep.slow_above {
                self.meter.charge(self.unit);
                slow_in_a_row += 1;
            } else {
                slow_in_a_row = 0;
            }
            if sweep.give_up.is_some_and(|most| slow_in_a_row >= most) {
                break;
            }
        }
        self.put_back(sweep, &visits, times.len());
        Ok(times)
    }

    fn flush(&mut self) -> Result<f64, Stop> {
        self.meter.flush().map(|time| time.as_secs_f64())
    }

    fn flush_visits(&mut self, idle_flush: f64) {
        self.idle_flush = Some(idle_flush);
    }

    fn wait(&mut self, time: Duration) -> Result<(), Stop> {
        self.meter.wait(time)
    }

    fn report(&mut self, standing: &str) {
        (self.progress)(standing, self.meter.cost());
    }
}

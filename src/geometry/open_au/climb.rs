//! The search for the limit: one more unit at a time, until writes become slow.
//!
//! With `n` units visited in turn, `n` no more than the limit, there comes a pass in which no visit
//! waits for a garbage collection; with more, every pass has at least one that does, whatever the
//! stick replaces (pigeonhole). So a single clean pass lets the climb go on. Climbing costs bytes,
//! which are cheap, where halving an interval costs a collection for every unit opened beyond the
//! limit; and the sets are nested, so no step leaves a debt to the next.

use super::judge::{Judge, ROW, Ring, Step};
use crate::geometry::stats::{trimmed_mean, trimmed_mean_error};
use crate::measure::meter::Stop;
use crate::measure::open_au::{Order, Sweep, Sweeper};
use crate::units::Bytes;

/// A visit is slow when it takes so many times what visits took with one unit fewer. Closing a unit
/// costs 8 to 200 times a small write (public logs: 14 times on a Corsair Voyager with a rate already
/// sagging to a fifth), while the rate of a stick that only sags falls to 0.69 at most per unit.
pub(super) const SLOW: f64 = 3.0;
/// Visits that are all slow, but less than this, may be slower for another reason than a collection
/// each: that is a step of the rate, to be looked at as such.
const COLLECTION: f64 = 8.0;
/// All visits are slower, not only some of them, when their trimmed mean is so many times that with
/// one unit fewer.
const STEP: f64 = 1.5;
/// Visits that make up a level.
pub(super) const VISITS: usize = 12;
/// Passes in which a jump must succeed.
const JUMPS: u32 = 6;
/// The rate changes by itself more often than this: the stick is too unsteady to be judged.
const MOST_SHIFTS: u32 = 2;

/// How long a visit takes with `open` units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// How many units.
    pub open: usize,
    /// Trimmed mean of the seconds of a visit.
    pub seconds: f64,
    /// Standard error of its logarithm.
    pub error: f64,
}

impl Level {
    /// The level of these visits.
    pub(super) fn of(open: usize, seconds: &[f64]) -> Level {
        let mean = trimmed_mean(seconds);
        Level {
            open,
            seconds: mean,
            error: trimmed_mean_error(seconds) / mean,
        }
    }
}

/// How a climb ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// Beyond the limit visits wait for collections.
    Hard(Bracket),
    /// Beyond the limit all visits are slower by this factor.
    Soft {
        /// The limit.
        limit: usize,
        /// The seconds of a visit beyond it relative to those within.
        factor: f64,
    },
    /// No end was seen up to so many.
    Open(usize),
    /// The stick did not do the same twice with so many.
    Unclear(usize),
}

/// Where a hard limit lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// The largest number that is fast.
    pub at_least: usize,
    /// The largest limit that is still possible.
    pub at_most: usize,
    /// The probability that the limit lies there.
    pub confidence: f64,
    /// What a slow visit takes, in seconds.
    pub slow: f64,
}

/// The climb.
pub struct Climb<'a> {
    pub(super) sweeper: &'a mut dyn Sweeper,
    pub(super) order: Order,
    pub(super) size: Bytes,
    most: usize,
    /// Lanes that no level has visited.
    pub(super) spares: Vec<usize>,
    /// The levels of 1, 2, 3 … units.
    pub levels: Vec<Level>,
    /// For each level, how many visits were slow, and of how many.
    stalls: Vec<(usize, usize)>,
    /// The first level that can be compared with the last.
    pub(super) steady_from: usize,
    /// How often the rate changed by itself.
    pub shifts: u32,
}

impl<'a> Climb<'a> {
    /// A climb over lanes 0 to `most`, with further lanes in reserve.
    pub fn new(
        sweeper: &'a mut dyn Sweeper,
        order: Order,
        size: Bytes,
        most: usize,
        spares: Vec<usize>,
    ) -> Climb<'a> {
        Climb {
            sweeper,
            order,
            size,
            most,
            spares,
            levels: Vec::new(),
            stalls: Vec::new(),
            steady_from: 0,
            shifts: 0,
        }
    }

    /// Climb until the limit is found.
    ///
    /// # Errors
    /// The stop reason when a limit of time or bytes came first; `levels` tell how far it came.
    pub fn run(&mut self) -> Result<Ending, Stop> {
        if self.levels.is_empty() {
            let first = self.single()?;
            self.levels.push(first);
        }
        while self.levels.len() < self.most {
            let n = self.levels.len() + 1;
            self.sweeper.report(&format!("{n} units"));
            match self.step(n)? {
                Step::Fast(level) => self.levels.push(level),
                Step::Slow(slow) => {
                    if let Some(ending) = self.confirm(n, slow)? {
                        return Ok(ending);
                    }
                    if self.shifts > MOST_SHIFTS {
                        return Ok(Ending::Unclear(n));
                    }
                }
            }
            if let Some(ending) = self.soft()? {
                return Ok(ending);
            }
        }
        Ok(Ending::Open(self.last_even()))
    }

    /// One unit alone.
    fn single(&mut self) -> Result<Level, Stop> {
        let times = self.pass(vec![0; VISITS + 2], f64::INFINITY, None)?;
        Ok(Level::of(1, times.get(2..).unwrap_or(&times)))
    }

    /// `n` units, of which the last is new.
    fn step(&mut self, n: usize) -> Result<Step, Stop> {
        let above = SLOW * self.level();
        let mut judge = Judge::new(n, above);
        let mut ring = Ring::new((0..n).collect());
        // Opening a unit may close one that an earlier test left behind: not scored.
        self.pass(vec![n - 1], above, None)?;
        loop {
            judge.add(&self.round(&mut ring, above, Some(judge.row))?);
            match judge.step(12.max(3 * n)) {
                None => {}
                Some(Step::Slow(slow)) if slow.seconds < COLLECTION * self.level() => {
                    let level = self.all_visits(&ring, n)?;
                    let slower = level.seconds > STEP * self.level();
                    return Ok(if slow.every || slower {
                        Step::Fast(level)
                    } else {
                        Step::Slow(slow)
                    });
                }
                Some(step) => {
                    self.stalls.push((judge.slow_visits(), judge.visits()));
                    return Ok(step);
                }
            }
        }
    }

    /// The share of visits that are slow for another reason than the number of units: what was seen
    /// with up to half of `n`, guessed a little higher where that is little.
    pub(super) fn stall_rate(&self, n: usize) -> f64 {
        let few = self.stalls.iter().take((n / 2).saturating_sub(1));
        let (slow, visits) = few.fold((0, 0), |(slow, visits), (s, v)| (slow + s, visits + v));
        (slow as f64 + 1.0) / (visits as f64 + 20.0)
    }

    /// The level of all visits, slow or not.
    fn all_visits(&mut self, ring: &Ring, n: usize) -> Result<Level, Stop> {
        self.pass(ring.lanes(), f64::INFINITY, None)?;
        let lanes = ring.lanes().repeat(VISITS.div_ceil(n));
        let times = self.pass(lanes, f64::INFINITY, None)?;
        Ok(Level::of(n, &times))
    }

    /// Jump to `n` units at once.
    ///
    /// # Errors
    /// The stop reason when a limit of time or bytes came first.
    pub fn jump(&mut self, n: usize) -> Result<bool, Stop> {
        if self.levels.is_empty() {
            let first = self.single()?;
            self.levels.push(first);
        }
        self.sweeper.report(&format!("{n} units"));
        let above = SLOW * self.level();
        self.pass((0..n).collect(), f64::INFINITY, None)?;
        // A stall of the stick's own may fall into one pass, and into the next.
        for _ in 0..JUMPS {
            let times = self.pass((0..n).collect(), above, Some(ROW))?;
            if times.iter().all(|t| *t <= above) {
                self.levels.push(Level::of(n, &times));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One pass around the ring, from where the last one stopped.
    pub(super) fn round(
        &mut self,
        ring: &mut Ring,
        slow_above: f64,
        give_up: Option<usize>,
    ) -> Result<Vec<f64>, Stop> {
        let times = self.pass(ring.lanes(), slow_above, give_up)?;
        ring.turn(times.len());
        Ok(times)
    }

    /// One pass over these lanes.
    pub(super) fn pass(
        &mut self,
        lanes: Vec<usize>,
        slow_above: f64,
        give_up: Option<usize>,
    ) -> Result<Vec<f64>, Stop> {
        self.sweeper.sweep(&Sweep {
            lanes,
            order: self.order,
            size: self.size,
            slow_above,
            give_up,
        })
    }

    /// The seconds of a visit at the last level.
    pub(super) fn level(&self) -> f64 {
        self.levels.last().map_or(0.0, |level| level.seconds)
    }

    /// The rate changed by itself: what was seen before cannot be compared with what comes.
    pub(super) fn shift(&mut self, seconds: f64) {
        self.shifts += 1;
        if let Some(last) = self.levels.last_mut() {
            last.seconds = seconds;
        }
        self.steady_from = self.levels.len().saturating_sub(1);
    }

    /// The level with so many units, if it was seen.
    pub(super) fn at(&self, open: usize) -> Option<f64> {
        let level = self.levels.iter().find(|level| level.open == open)?;
        Some(level.seconds)
    }

    /// The last rate as a share of the best one. The first is not always the best: what an earlier
    /// test left may slow it.
    pub fn decline(&self) -> f64 {
        let fastest = self.seconds().fold(f64::INFINITY, f64::min);
        self.levels
            .last()
            .map_or(1.0, |last| fastest / last.seconds)
    }

    /// The slowest rate as a share of the best one.
    pub fn evenness(&self) -> f64 {
        let fastest = self.seconds().fold(f64::INFINITY, f64::min);
        fastest / self.seconds().fold(0.0, f64::max)
    }

    fn seconds(&self) -> impl Iterator<Item = f64> + '_ {
        self.levels.iter().map(|level| level.seconds)
    }
}

//! The search for the limit: one more unit at a time, until writes become slow.
//!
//! With `n` units visited in turn, `n` no more than the limit, there comes a pass in which no visit
//! waits for a garbage collection; with more, every pass has at least one that does, whatever the
//! stick replaces (pigeonhole). So a single clean pass lets the climb go on. Climbing costs bytes,
//! which are cheap, where halving an interval costs a collection for every unit opened beyond the
//! limit; and the sets are nested, so no step leaves a debt to the next.

use super::{SOFT_STEP, STAYS_DOWN};
use crate::geometry::stats::{median, trimmed_mean, trimmed_mean_error};
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
/// A write four times as large waits just as long for a collection, but about four times as long when
/// the rate is lower. In between lies 2.
const SAME_WAIT: f64 = 2.0;
/// Visits that make up a level.
pub(super) const VISITS: usize = 12;
/// So many slow visits in a row leave no doubt that every visit is slow, as with one unit too many
/// under replacement of the oldest; under random replacement a row of five is rarer than 1 in 1000.
pub(super) const ROW: usize = 5;
/// Such passes, one after another, until a number of units counts as too many.
pub(super) const SLOW_PASSES: u32 = 2;
/// Passes in which a jump must succeed.
const JUMPS: u32 = 6;
/// The rate changes by itself more often than this: the stick is too unsteady to be judged.
const MOST_SHIFTS: u32 = 2;
/// Steps beside a soft limit are at most this share of it, else the rate just declines.
const NEIGHBOUR: f64 = 1.0 / 3.0;

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

/// What a number of units showed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Fast(Level),
    Slow(Slow),
}

/// Visits that wait for collections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slow {
    /// All of them do, rather than some in every pass.
    pub(super) every: bool,
    /// How many did.
    pub(super) visits: usize,
    /// The median of their seconds.
    pub(super) seconds: f64,
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
    /// The first level that can be compared with the last.
    steady_from: usize,
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
                Some(Step::Slow(slow))
                    if slow.every && slow.seconds < COLLECTION * self.level() =>
                {
                    let times = self.pass(ring.lanes(), f64::INFINITY, None)?;
                    let more =
                        self.pass(ring.lanes().repeat(VISITS.div_ceil(n)), f64::INFINITY, None)?;
                    let seconds: Vec<f64> = times.into_iter().chain(more).collect();
                    return Ok(Step::Fast(Level::of(n, &seconds)));
                }
                Some(step) => return Ok(step),
            }
        }
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

    /// A step that three further levels keep, that stands out from those beside it, and that is there
    /// again when the units are taken away and added once more.
    fn soft(&mut self) -> Result<Option<Ending>, Stop> {
        let seen = self.levels.len();
        let Some(limit) = seen
            .checked_sub(3)
            .filter(|limit| *limit > self.steady_from)
        else {
            return Ok(None);
        };
        if !stands_out(&self.levels[self.steady_from..], limit - self.steady_from) {
            return Ok(None);
        }
        let mut factors = Vec::new();
        for _ in 0..2 {
            let within = self.settled((0..limit).collect())?;
            let beyond = self.settled((0..=limit).collect())?;
            factors.push(beyond / within);
        }
        if factors.iter().any(|factor| factor.recip() > STAYS_DOWN) {
            // It did not come back: a cache that is full, heat, or work of the stick's own.
            self.shift(self.level());
            return Ok(None);
        }
        let factor = median(&factors);
        let waits = self.waits_alike(limit)?;
        Ok(Some(match waits {
            Some(slow) => Ending::Hard(Bracket {
                at_least: limit,
                at_most: limit,
                confidence: 0.99,
                slow,
            }),
            None => Ending::Soft { limit, factor },
        }))
    }

    /// What a visit beyond the limit takes, when larger writes wait just as long there as small ones.
    fn waits_alike(&mut self, limit: usize) -> Result<Option<f64>, Stop> {
        let small = self.size;
        let more = |climb: &mut Self, size: Bytes| {
            climb.size = size;
            let within = climb.settled((0..limit).collect());
            let beyond = climb.settled((0..=limit).collect());
            climb.size = small;
            Ok((within?, beyond?))
        };
        let (within, beyond) = more(self, small)?;
        let (within_large, beyond_large) = more(self, Bytes(4 * small.get()))?;
        let alike = beyond_large - within_large < SAME_WAIT * (beyond - within);
        Ok(alike.then_some(beyond))
    }

    /// The seconds of a visit to these lanes once the stick has forgotten others.
    pub(super) fn settled(&mut self, lanes: Vec<usize>) -> Result<f64, Stop> {
        let n = lanes.len().max(1);
        // Four visits to each and some more: whatever counts as in use after so many is in use.
        let passes = (4 * n + 8).div_ceil(n);
        for _ in 0..passes {
            self.pass(lanes.clone(), f64::INFINITY, None)?;
        }
        let mut times = Vec::new();
        while times.len() < VISITS + 4 {
            times.extend(self.pass(lanes.clone(), f64::INFINITY, None)?);
        }
        Ok(trimmed_mean(&times))
    }

    /// The largest number of units before which no step lies that could be a soft limit, seen too
    /// late to be tested.
    fn last_even(&self) -> usize {
        let levels = &self.levels[self.steady_from..];
        let late = levels.len().saturating_sub(3);
        (late.max(1)..levels.len())
            .find(|i| levels[i - 1].seconds <= SOFT_STEP * levels[*i].seconds)
            .map_or(self.levels.len(), |i| levels[i - 1].open)
    }

    /// The level with so many units, if it was seen.
    pub(super) fn at(&self, open: usize) -> Option<f64> {
        let level = self.levels.iter().find(|level| level.open == open)?;
        Some(level.seconds)
    }

    /// How the rate of all levels falls, first to last.
    pub fn decline(&self) -> f64 {
        match (self.levels.first(), self.levels.last()) {
            (Some(first), Some(last)) => first.seconds / last.seconds,
            _ => 1.0,
        }
    }
}

/// Whether the step behind the first `limit` levels is one.
fn stands_out(levels: &[Level], limit: usize) -> bool {
    let fall = |i: usize| (levels[i].seconds / levels[i - 1].seconds).ln();
    let (Some(before), Some(after)) = (levels.get(limit.wrapping_sub(1)), levels.get(limit)) else {
        return false;
    };
    let step = fall(limit);
    let error = before.error.hypot(after.error);
    let deep = step - 2.0 * error >= -SOFT_STEP.ln();
    let stays = levels[limit..]
        .iter()
        .all(|level| before.seconds <= STAYS_DOWN * level.seconds);
    let quiet_before = limit < 2 || fall(limit - 1) <= NEIGHBOUR * step;
    let quiet_after = (limit + 1..levels.len()).all(|i| fall(i) <= NEIGHBOUR * step);
    deep && stays && quiet_before && quiet_after
}

/// Lanes that are visited in turn, for ever.
pub(super) struct Ring(Vec<usize>);

impl Ring {
    pub(super) fn new(lanes: Vec<usize>) -> Ring {
        Ring(lanes)
    }

    fn lanes(&self) -> Vec<usize> {
        self.0.clone()
    }

    /// So many were visited. A pass that was given up must not begin again at its first lanes: those
    /// are the ones that were opened last.
    fn turn(&mut self, visited: usize) {
        let lanes = self.0.len().max(1);
        self.0.rotate_left(visited % lanes);
    }
}

/// Gathers passes over `n` units until they tell.
pub(super) struct Judge {
    n: usize,
    above: f64,
    /// Slow visits in a row that make a pass slow throughout.
    pub(super) row: usize,
    fast: Vec<f64>,
    slow: Vec<f64>,
    /// Passes without a slow visit.
    pub(super) clean: u32,
    slow_passes: u32,
}

impl Judge {
    pub(super) fn new(n: usize, above: f64) -> Judge {
        Judge {
            n,
            above,
            row: n.min(ROW),
            fast: Vec::new(),
            slow: Vec::new(),
            clean: 0,
            slow_passes: 0,
        }
    }

    /// One pass, which may have been given up.
    pub(super) fn add(&mut self, times: &[f64]) {
        let slow: Vec<f64> = times.iter().copied().filter(|t| *t > self.above).collect();
        if slow.is_empty() {
            self.clean += 1;
            self.slow_passes = 0;
            self.fast.extend(times);
            return;
        }
        let throughout = times
            .split(|t| *t <= self.above)
            .any(|row| row.len() >= self.row);
        self.slow_passes = if throughout { self.slow_passes + 1 } else { 0 };
        self.slow.extend(slow);
    }

    /// How many visits were slow.
    pub(super) fn slow_visits(&self) -> usize {
        self.slow.len()
    }

    /// What is told: enough visits in clean passes, passes slow throughout, or `patience` slow visits
    /// without a clean pass.
    pub(super) fn step(&self, patience: usize) -> Option<Step> {
        if self.fast.len() >= VISITS {
            return Some(Step::Fast(Level::of(self.n, &self.fast)));
        }
        let every = self.slow_passes >= SLOW_PASSES;
        let patient = self.clean == 0 && self.slow.len() >= patience;
        (every || patient).then(|| {
            Step::Slow(Slow {
                every,
                visits: self.slow.len(),
                seconds: median(&self.slow),
            })
        })
    }
}

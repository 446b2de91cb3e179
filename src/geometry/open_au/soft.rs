//! A limit beyond which all visits are slower: the step of a soft limit, told from a rate that merely
//! sags, from one that changed by itself, and from short collections.

use super::climb::{Bracket, Climb, Ending, Level, VISITS};
use super::{SOFT_STEP, STAYS_DOWN};
use crate::geometry::stats::{median, trimmed_mean};
use crate::measure::meter::Stop;
use crate::units::Bytes;

/// Steps beside a soft limit are at most this share of it, else the rate just declines.
const NEIGHBOUR: f64 = 1.0 / 3.0;
/// A write four times as large waits just as long for a collection, but about four times as long when
/// the rate is lower. In between lies 2.
const SAME_WAIT: f64 = 2.0;

impl Climb<'_> {
    /// A step that three further levels keep, that stands out from those beside it, and that is there
    /// again when the units are taken away and added once more.
    pub(super) fn soft(&mut self) -> Result<Option<Ending>, Stop> {
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
        let (mut factors, mut waits, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2 {
            let within = self.settled((0..limit).collect())?;
            let beyond = self.settled((0..=limit).collect())?;
            factors.push(beyond / within);
            waits.push(beyond - within);
            slow.push(beyond);
        }
        if factors.iter().any(|factor| factor.recip() > STAYS_DOWN) {
            // It did not come back: a cache that is full, heat, or work of the stick's own.
            self.shift(self.level());
            return Ok(None);
        }
        let larger = Bytes(4 * self.size.get());
        let within = self.settled_at((0..limit).collect(), larger)?;
        let beyond = self.settled_at((0..=limit).collect(), larger)?;
        Ok(Some(if beyond - within < SAME_WAIT * median(&waits) {
            Ending::Hard(Bracket {
                at_least: limit,
                at_most: limit,
                confidence: 0.99,
                slow: median(&slow),
            })
        } else {
            Ending::Soft {
                limit,
                factor: median(&factors),
            }
        }))
    }

    /// The seconds of a visit to these lanes once the stick has forgotten others.
    pub(super) fn settled(&mut self, lanes: Vec<usize>) -> Result<f64, Stop> {
        self.settled_at(lanes, self.size)
    }

    /// The same for visits of another size.
    fn settled_at(&mut self, lanes: Vec<usize>, size: Bytes) -> Result<f64, Stop> {
        self.settled_visits(lanes, size)
            .map(|times| trimmed_mean(&times))
    }

    /// The visits themselves.
    pub(super) fn settled_visits(
        &mut self,
        lanes: Vec<usize>,
        size: Bytes,
    ) -> Result<Vec<f64>, Stop> {
        let n = lanes.len().max(1);
        // Four visits to each and some more: whatever counts as in use after so many is in use.
        let passes = (4 * n + 8).div_ceil(n);
        for _ in 0..passes {
            self.pass(lanes.clone(), f64::INFINITY, None)?;
        }
        let usual = self.size;
        self.size = size;
        let mut times = Vec::new();
        let mut ended = Ok(());
        while ended.is_ok() && times.len() < VISITS + 4 {
            ended = self
                .pass(lanes.clone(), f64::INFINITY, None)
                .map(|more| times.extend(more));
        }
        self.size = usual;
        ended?;
        Ok(times)
    }

    /// The largest number of units before which no step lies that could be a soft limit, seen too
    /// late to be tested.
    pub(super) fn last_even(&self) -> usize {
        let levels = &self.levels[self.steady_from..];
        let late = levels.len().saturating_sub(3);
        (late.max(1)..levels.len())
            .find(|i| levels[i - 1].seconds <= SOFT_STEP * levels[*i].seconds)
            .map_or(self.levels.len(), |i| levels[i - 1].open)
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

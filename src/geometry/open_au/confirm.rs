//! A number of units was slow: is one fewer fast again, and is it slow once more with another unit?

use super::climb::{Bracket, Climb, Ending, SLOW};
use super::judge::{Judge, Ring, Slow, Step};
use crate::geometry::stats::median;
use crate::measure::meter::Stop;

/// Slow visits without a clean pass, for each unit, until a limit of so many units is ruled out.
///
/// Under random replacement one unit of an earlier test may sit among `n` open ones, and each
/// collection throws it out with probability 1/n only: after 8 n of them it is still there with
/// probability e^-8 = 0.0003.
const RULED_OUT: usize = 8;
/// With fewer, the limit may be one more; two more need two such units: e^-10.
const RANGE: usize = 5;
/// So many collections are spent in any case.
const AFFORDABLE: usize = 80;
/// Slow visits must be so many times as frequent as with few units. One unit too many under random
/// replacement makes about two in each pass slow.
const STALLS: f64 = 2.0;
/// How many passes in a row must be clean.
const CLEAN: u32 = 2;
/// The rate changed by itself when a smaller number of units is as slow as a larger one, within this
/// factor.
const ALIKE: f64 = 1.5;

impl Climb<'_> {
    /// Confirm that `n` units are too many and `n - 1` are not, in passes of their own.
    /// `None`: they are not too many, or the rate changed by itself; the climb goes on.
    pub(super) fn confirm(&mut self, n: usize, slow: Slow) -> Result<Option<Ending>, Stop> {
        self.sweeper.report(&format!("{n} units are too many?"));
        match self.descend(n - 1, slow)? {
            Down::Fast => {}
            Down::AsSlow(seconds) => {
                self.shift(seconds);
                return Ok(None);
            }
            Down::Unclear => return Ok(Some(Ending::Unclear(n))),
        }
        let Some(spare) = self.spares.pop() else {
            return Ok(Some(Ending::Unclear(n)));
        };
        let above = SLOW * self.level();
        let mut judge = Judge::new(n, above);
        let mut ring = Ring::new((0..n - 1).chain([spare]).collect());
        self.pass(vec![spare], above, None)?;
        loop {
            judge.add(&self.round(&mut ring, above, Some(judge.row))?);
            let seen = slow.visits + judge.slow_visits();
            let enough = (RULED_OUT * n).min(AFFORDABLE.max(RANGE * n));
            match judge.step(enough.saturating_sub(slow.visits).max(n)) {
                None => {}
                Some(Step::Fast(level)) => {
                    self.levels.push(level);
                    return Ok(None);
                }
                Some(Step::Slow(again)) => {
                    // Stalls of the stick's own come so often that no pass is clean.
                    let rate = again.visits as f64 / again.of as f64;
                    let explained = rate < STALLS * self.stall_rate(n);
                    if !(slow.every && again.every) && explained {
                        return Ok(Some(Ending::Unclear(n)));
                    }
                    return Ok(Some(Ending::Hard(bracket(n, slow, again, seen))));
                }
            }
        }
    }

    /// Back to `n` units that were fast before.
    fn descend(&mut self, n: usize, slow: Slow) -> Result<Down, Stop> {
        let above = SLOW * self.level();
        // Backwards first: where the least recently written unit is closed, that is the one too many.
        self.pass((0..n).rev().collect(), above, None)?;
        let passes = usize::try_from(CLEAN).unwrap_or(2).max(6usize.div_ceil(n));
        let patience = if slow.every {
            3 * n + 10
        } else {
            RULED_OUT * n + 20
        };
        let (mut clean, mut misses) = (0, 0);
        while clean < passes {
            let times = self.pass((0..n).collect(), above, None)?;
            let slow_now = times.iter().filter(|t| **t > above).count();
            clean = if slow_now == 0 { clean + 1 } else { 0 };
            misses += slow_now;
            if misses > patience {
                let now = median(&times);
                let alike = now > above && now < ALIKE * slow.seconds && slow.seconds < ALIKE * now;
                return Ok(if alike {
                    Down::AsSlow(now)
                } else {
                    Down::Unclear
                });
            }
        }
        Ok(Down::Fast)
    }
}

enum Down {
    Fast,
    /// As slow as with one more.
    AsSlow(f64),
    Unclear,
}

/// The limit after two tests of `n` units with so many slow visits in all.
fn bracket(n: usize, first: Slow, again: Slow, seen: usize) -> Bracket {
    let share = seen as f64 / n as f64;
    let every = first.every && again.every;
    let exact = every || seen >= RULED_OUT * n;
    Bracket {
        at_least: n - 1,
        at_most: if exact { n - 1 } else { n },
        confidence: match (every, exact) {
            (true, _) => 0.999,
            (false, true) => 1.0 - (-share).exp(),
            (false, false) => 1.0 - (-2.0 * share).exp(),
        },
        slow: median(&[first.seconds, again.seconds]),
    }
}

//! What counts as one open unit: do two parts of one erase block count as one or as two?

use super::climb::{Bracket, Climb, Ending, SLOW};
use super::judge::{Judge, Ring, Step};
use crate::geometry::stats::median;
use crate::measure::meter::Stop;
use crate::units::Bytes;

/// Two lanes that may be parts of one unit: neighbours of size `part` inside one `whole`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first part.
    pub first: usize,
    /// The part behind it.
    pub second: usize,
    /// Both lie in one of these.
    pub whole: Bytes,
    /// The distance from one to the other.
    pub part: Bytes,
}

/// After so many slow visits for each unit without a clean pass there are too many units.
const PATIENCE: usize = 5;

impl Climb<'_> {
    /// The size that the limit of this ending counts: the first `whole` of which two parts count as
    /// one. `None`: there is no limit, or the answer is not clear.
    ///
    /// As many units as stay open are visited, one of them in both of its parts: fast, when they are
    /// one unit; slow, when they are two, which is one too many.
    pub fn counted(&mut self, ending: &Ending, pairs: &[Pair]) -> Result<Option<Bytes>, Stop> {
        let limit = match ending {
            Ending::Hard(bracket) if bracket.at_least == bracket.at_most => bracket.at_least,
            Ending::Soft { limit, .. } => *limit,
            _ => return Ok(None),
        };
        for pair in pairs {
            self.sweeper.report(&format!("{} or two?", pair.whole));
            let with_both = |others: usize| (0..others).chain([pair.first, pair.second]).collect();
            let Some(too_many) = self.too_many(with_both(limit.saturating_sub(1)), ending)? else {
                return Ok(None);
            };
            if !too_many {
                return Ok(Some(pair.whole));
            }
            // Slow: because they are two, or because a unit is written in two places? With one unit
            // fewer only the first goes away.
            if limit < 2 || self.too_many(with_both(limit - 2), ending)? != Some(false) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Whether these lanes are more than stay open.
    fn too_many(&mut self, lanes: Vec<usize>, ending: &Ending) -> Result<Option<bool>, Stop> {
        match ending {
            Ending::Soft { limit, factor } => {
                let Some(within) = self.at(*limit) else {
                    return Ok(None);
                };
                // The median: the two visits to one unit, out of order, may take longer in their own way.
                let visits = self.settled_visits(lanes, self.size)?;
                Ok(Some(median(&visits) > within * factor.sqrt()))
            }
            Ending::Hard(bracket) => self.waits(lanes, bracket),
            _ => Ok(None),
        }
    }

    fn waits(&mut self, lanes: Vec<usize>, bracket: &Bracket) -> Result<Option<bool>, Stop> {
        let above = SLOW * self.level();
        // What is closed for this set is closed now.
        self.pass(lanes.clone(), above, None)?;
        let n = lanes.len();
        let mut judge = Judge::new(n, above);
        let mut ring = Ring::new(lanes);
        loop {
            judge.add(&self.round(&mut ring, above, Some(judge.row))?);
            match judge.step((PATIENCE * n).max(12)) {
                None => {}
                Some(Step::Fast(_)) => return Ok(Some(false)),
                // As slow as beyond the limit, not in some other way.
                Some(Step::Slow(slow)) => {
                    let alike = slow.seconds > bracket.slow / SLOW;
                    return Ok(alike.then_some(true));
                }
            }
        }
    }
}

//! A test of a size has ended: what does the search turn to, and which sizes does that make thinkable?

use super::super::confirm::{Confirmation, Outcome};
use super::super::grid::CELL;
use super::super::hypothesis::Hypothesis;
use super::super::kinds::are_two_heaps;
use super::super::larger;
use super::super::posterior::Posterior;
use super::super::suspect::{Class, Suspects};
use super::super::trials::Place;
use super::super::verdict::{self, Winner};
use super::{STANDS_OUT, Search, Stage, observations};
use crate::units::Bytes;

/// A larger size than one that lost its bets is thought of again with every so many-th part more
/// differences.
const THINK_AGAIN: usize = 4;

/// What looked to be of several kinds is put to the test again when so many times the boundaries that a
/// test asks for are known and look alike: what a class stands out by luck is a third less among twice as many.
const ENOUGH_TO_FORGIVE: usize = 2;

impl Search {
    /// Whether the size under test is settled in the posterior, too.
    fn stands_out(&self, confirmation: &Confirmation) -> bool {
        self.sizes.last().is_some_and(|now| {
            let (unit, phase) = confirmation.place();
            verdict::leader_of(&now.posterior, unit, phase)
                .is_some_and(|l| l.probability >= STANDS_OUT)
        })
    }

    /// The boundaries of a size that lost its bets may be sub-units of something larger, if one class of them
    /// costs more. Whether there was anything new to think of.
    fn think_larger(
        &mut self,
        (unit, phase): Place,
        sub_unit: Option<Bytes>,
        class: Option<Class>,
    ) -> bool {
        let whole = |size: Bytes| match size.is_multiple_of(CELL) {
            true => u32::try_from(size.get() / CELL.get()).ok(),
            false => None,
        };
        let (Some(class), Some(unit), Some(phase)) = (class, whole(unit), whole(phase)) else {
            return false;
        };
        let small = Hypothesis {
            unit,
            phase,
            sub_unit: sub_unit.and_then(whole).unwrap_or(0),
            ..Hypothesis::NOTHING
        };
        let is_new = larger::think_of(&mut self.prior, small, class);
        if is_new && let Some(now) = self.sizes.last_mut() {
            let (noise, late) = (now.ordinary.noise(), now.ordinary.late());
            now.posterior = Posterior::new(&self.prior, noise);
            now.posterior
                .restart(noise, late, &observations(&now.triples, now.ordinary));
        }
        is_new
    }

    /// The same of a size whose test has ended.
    fn think_larger_than(&mut self, ended: &Confirmation) -> bool {
        self.think_larger(ended.place(), ended.sub_unit(), ended.costlier_class())
    }

    /// Think of something larger than what leads, as more boundaries are known than when it was put to the
    /// test: among few of them another class than the right one may stand out, or none. Where no class does
    /// any more, what was lost for that is put to the test again. Whether anything changed.
    pub(super) fn think_again(&mut self, place: Place, sub_unit: Option<Bytes>) -> bool {
        let Some(now) = self.sizes.last_mut() else {
            return false;
        };
        let count = now.posterior.count();
        now.think_again_at = count + count / THINK_AGAIN;
        let late = now.ordinary.late();
        let known: Vec<(u64, f64)> = now.boundaries(place).collect();
        let suspects = Suspects::new(place.0);
        let class = suspects.costliest(&known, late);
        let are_alike = class.is_none()
            && known.len() >= ENOUGH_TO_FORGIVE * suspects.fewest()
            && !are_two_heaps(known.iter().map(|seen| seen.1), now.ordinary.noise(), late);
        self.think_larger(place, sub_unit, class) || (are_alike && self.trials.forgive(place))
    }

    /// Go on as the test turned out.
    pub(super) fn conclude_confirmation(&mut self, confirmation: Box<Confirmation>) {
        let place = confirmation.place();
        match confirmation.outcome() {
            Outcome::Open => self.stage = Stage::Confirm(confirmation),
            Outcome::Confirmed if !self.stands_out(&confirmation) => {
                self.trials.keep(confirmation);
                self.stage = Stage::Search;
            }
            Outcome::Confirmed => {
                self.winner = Some(Winner {
                    size_index: self.sizes.len() - 1,
                    unit: place.0,
                    phase: place.1,
                    triples: confirmation.triples(),
                    capital: confirmation.smallest_capital(),
                });
                self.stage = Stage::Done;
            }
            Outcome::Divided(part) => self.turn_to_part(&confirmation, part),
            Outcome::Refuted => {
                self.trials.refute(place);
                self.think_larger_than(&confirmation);
                self.stage = Stage::Search;
            }
            Outcome::Unlike => {
                self.trials.find_unlike(place);
                self.think_larger_than(&confirmation);
                self.stage = Stage::Search;
            }
            // The same places once more would not show it either, but a larger size may.
            Outcome::Unproven => {
                self.trials.leave_unproven(place);
                self.stage = match self.think_larger_than(&confirmation) {
                    true => Stage::Search,
                    false => Stage::Done,
                };
            }
            Outcome::Undecided => self.stage = Stage::Search,
        }
    }

    /// The size under test divided by this is what has boundaries.
    fn turn_to_part(&mut self, confirmation: &Confirmation, part: u64) {
        let place = confirmation.place();
        let unit = Bytes(place.0.get() / part);
        self.stage = if unit.is_multiple_of(CELL) {
            // A hypothesis of its own: the search finds it. Its boundaries may be of several kinds.
            self.trials.refute(place);
            self.think_larger_than(confirmation);
            self.think_of_part(place, confirmation.sub_unit(), unit);
            Stage::Search
        } else if verdict::may_be_erase_block(unit, self.setup.capacity) {
            // It lives in the posterior as the visible multiple that was tested, which therefore stays.
            self.trials.refute(place);
            let phase = Bytes(place.1.get() % unit.get());
            // Several multiples lead to the same size: it gets no second chance by another.
            if self.trials.is_lost((unit, phase)) {
                Stage::Search
            } else {
                let ordinary = confirmation.ordinary();
                Stage::Confirm(Box::new(Confirmation::new(unit, phase, None, ordinary)))
            }
        } else {
            self.page = Some(unit);
            Stage::Done
        };
    }

    /// A part of a size with sub-units has the same ones.
    fn think_of_part(&mut self, (_, phase): Place, sub_unit: Option<Bytes>, part: Bytes) {
        let Some(small) = sub_unit.filter(|small| part > *small && part.is_multiple_of(*small))
        else {
            return;
        };
        let period = part.get() / small.get();
        let class = Class {
            period,
            class: phase.get() / small.get() % period,
        };
        let first = Bytes(phase.get() % small.get());
        self.think_larger((small, first), None, Some(class));
    }
}

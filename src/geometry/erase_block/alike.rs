//! Are the boundaries of a winner shown to be of one kind?
//!
//! That no second kind was seen ([`super::kinds`]) is no proof near the noise: every fifth boundary may
//! cost twice as much as the others, and five times the size be the erase block. So before anything is
//! confirmed, every class of boundaries has to be shown not to cost that much more: a test of
//! non-inferiority (Blackwelder, Controlled Clinical Trials 3, 1982).

use super::signal::{Late, centre};

/// Multiples that are ruled out: every second to fifth boundary. Larger ones would leave too few of a
/// class to say anything of.
const PERIODS: [u64; 4] = [2, 3, 4, 5];

/// A class must not cost this share more than the others: on sticks with two levels, the flashbench
/// list's included, a boundary of the erase block costs 1.5 to 3 times one of the sub-unit.
const MARGIN: f64 = 0.5;

/// One-sided 95 % of a normal distribution. Fourteen classes are asked, and the one that does cost more
/// by half passes once in twenty.
const ERRORS: f64 = 1.645;

/// The boundaries seen so far: their numbers on the grid, and what each cost.
#[derive(Default)]
pub(super) struct Alike {
    seen: Vec<(u64, f64)>,
}

impl Alike {
    /// Of these boundaries.
    pub(super) fn of(seen: Vec<(u64, f64)>) -> Alike {
        Alike { seen }
    }

    /// The `number`-th boundary of the winner's grid, in seconds.
    pub(super) fn push(&mut self, number: u64, difference: f64) {
        self.seen.push((number, difference));
    }

    /// All boundaries seen.
    pub(super) fn seen(&self) -> &[(u64, f64)] {
        &self.seen
    }

    /// Whether it is shown that no class costs by half more than the others.
    pub(super) fn is_shown(&self, late: Late) -> bool {
        self.is_below(ERRORS, late)
    }

    /// Whether a class seems to cost by half more than the others.
    pub(super) fn seems_wrong(&self, late: Late) -> bool {
        !self.is_below(0.0, late)
    }

    /// Whether the extra cost of every class, with so many errors of its estimate, is within the margin.
    fn is_below(&self, errors: f64, late: Late) -> bool {
        let all: Vec<f64> = self.seen.iter().map(|seen| seen.1).collect();
        // The error of one.
        let deviation = centre(&all, late).1 * (all.len() as f64).sqrt();
        let costs = |is_own: &dyn Fn(u64) -> bool| -> Vec<f64> {
            let own = self.seen.iter().filter(|seen| is_own(seen.0));
            own.map(|seen| seen.1).collect()
        };
        PERIODS.iter().all(|&period| {
            (0..period).all(|class| {
                let own = costs(&|number| number % period == class);
                let others = costs(&|number| number % period != class);
                if own.is_empty() || others.is_empty() {
                    return false;
                }
                let error = deviation * (1.0 / own.len() as f64 + 1.0 / others.len() as f64).sqrt();
                let cost = centre(&others, late).0;
                centre(&own, late).0 - cost + errors * error < MARGIN * cost
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    fn shown_alike(alike: &Alike) -> bool {
        alike.is_shown(Late::default())
    }

    fn thought_unlike(alike: &Alike) -> bool {
        alike.seems_wrong(Late::default())
    }

    /// Of 200 times how often `asked` holds of boundaries of which every `period`-th costs `large` and
    /// the others `small` times the noise, and one in ten nothing.
    fn times(
        asked: impl Fn(&Alike) -> bool,
        period: u64,
        [large, small]: [f64; 2],
        count: u64,
    ) -> usize {
        (0..200)
            .filter(|&seed| {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut alike = Alike::default();
                for number in 0..count {
                    let cost = if number % period == 0 { large } else { small };
                    let noise = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
                    let misses = rng.random::<f64>() < 0.1;
                    alike.push(number, if misses { noise } else { cost + noise });
                }
                asked(&alike)
            })
            .count()
    }

    #[test]
    fn boundaries_of_one_kind_are_shown_to_be_alike_with_patience() {
        for (cost, count) in [(6.0, 60), (3.0, 150)] {
            let shown = times(shown_alike, 1, [cost, cost], count);
            assert!(shown >= 180, "{cost}: {shown} of 200");
        }
        // Without patience they are at least not thought to be unlike.
        let unlike = times(thought_unlike, 1, [1.0, 1.0], 400);
        assert!(unlike <= 10, "{unlike} of 200");
    }

    #[test]
    fn a_class_that_costs_twice_as_much_never_passes_for_the_others() {
        for period in [2, 3, 4, 5] {
            for costs in [[6.0, 3.0], [3.0, 1.5]] {
                let shown = times(shown_alike, period, costs, 60);
                assert!(shown <= 4, "{period}, {costs:?}: {shown} of 200");
                let unlike = times(thought_unlike, period, costs, 400);
                assert!(unlike >= 190, "{period}, {costs:?}: {unlike} of 200");
            }
        }
    }
}

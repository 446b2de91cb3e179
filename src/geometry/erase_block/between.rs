//! The places between the boundaries of a winner, where those of a half, a third, a fifth or a seventh of it
//! would be: are they boundaries of the same kind?

use super::confirm::{ENOUGH, PATIENCE};
use crate::geometry::stats::{SuccessBet, median};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// ln 1000: what lies between the boundaries decides whether the size is told at all, and is asked by few
/// reads.
const ENOUGH_BETWEEN: f64 = 6.907_755_278_982_137;

/// Median difference in the middle of an erase block, relative to that at its boundaries, from
/// which on the middle counts as a boundary of the same kind.
const SAME_KIND: f64 = 0.8;

/// A fraction of the erase block that must not be an erase block itself.
pub(super) struct Divisor {
    /// The divisor of the size.
    pub(super) part: u64,
    /// "Lowest of itself and two boundaries".
    pub(super) lower: SuccessBet,
    /// "The middle read is the largest".
    boundary: SuccessBet,
    differences: Vec<f64>,
    teeth_used: usize,
    waiting: Vec<f64>,
}

impl Divisor {
    /// Before the first look.
    pub(super) fn new(part: u64) -> Divisor {
        Divisor {
            part,
            lower: SuccessBet::new(1.0 / 3.0),
            boundary: SuccessBet::new(1.0 / 3.0),
            differences: Vec::new(),
            teeth_used: 0,
            waiting: Vec::new(),
        }
    }

    /// A place between: whether its middle read was the largest, and the difference in seconds.
    pub(super) fn push(&mut self, largest: bool, difference: f64) {
        self.boundary.observe(largest);
        self.differences.push(difference);
        self.waiting.push(difference);
    }

    /// Compare what is new with two boundaries each, of all that were seen.
    pub(super) fn compare(&mut self, teeth: &[f64], rng: &mut Xoshiro256PlusPlus) {
        while let (Some(&[a, b]), Some(&value)) = (
            teeth
                .get(self.teeth_used..self.teeth_used + 2)
                .and_then(|t| t.first_chunk()),
            self.waiting.first(),
        ) {
            self.lower.observe(is_first([value, a, b], rng));
            self.teeth_used += 2;
            self.waiting.remove(0);
        }
    }

    /// Whether the place between costs as much as boundaries, which cost `tooth`.
    fn is_alike(&self, tooth: f64) -> bool {
        median(&self.differences) >= SAME_KIND * tooth
    }

    /// Whether it is shown to be none. What was shown to be a boundary may still cost less, but has to do
    /// so by more than the luck of a few looks.
    pub(super) fn is_won(&self, tooth: f64) -> bool {
        let is_boundary = self.boundary.log_capital() >= ENOUGH;
        self.lower.log_capital() >= ENOUGH_BETWEEN && !(is_boundary && self.is_alike(tooth))
    }

    /// Whether it is shown to be one of the same kind.
    pub(super) fn is_boundary(&self, tooth: f64) -> bool {
        self.boundary.log_capital() >= ENOUGH
            && self.lower.log_capital() < 0.0
            && self.lower.steps() as usize >= PATIENCE / 2
            && self.is_alike(tooth)
    }

    /// Whether it looks like a boundary.
    pub(super) fn may_be_boundary(&self) -> bool {
        self.boundary.log_capital() >= ENOUGH / 2.0
    }
}

/// Whether the first of three is the smallest, ties broken at random.
pub(super) fn is_first(values: [f64; 3], rng: &mut Xoshiro256PlusPlus) -> bool {
    let [first, b, c] = values;
    let least = b.min(c);
    if first != least {
        return first < least;
    }
    let equals = 1 + u32::from(b == first) + u32::from(c == first);
    rng.random_range(0..equals) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// A place between that costs `between` times as much as a boundary of ten deviations, looked at so
    /// often.
    fn looked_at(between: f64, looks: usize, seed: u64) -> (Divisor, f64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut divisor = Divisor::new(2);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let teeth: Vec<f64> = (0..2 * looks).map(|_| 10.0 + normal()).collect();
        let differences: Vec<f64> = (0..looks).map(|_| 10.0 * between + normal()).collect();
        for difference in differences {
            divisor.push(difference > 2.0, difference);
        }
        divisor.compare(&teeth, &mut rng);
        (divisor, median(&teeth))
    }

    #[test]
    fn places_without_cost_or_with_half_of_it_are_none() {
        for seed in 0..100 {
            for between in [0.0, 0.5] {
                let (divisor, tooth) = looked_at(between, 20, seed);
                assert!(divisor.is_won(tooth) && !divisor.is_boundary(tooth));
            }
        }
    }

    #[test]
    fn places_of_the_same_cost_are_boundaries_whatever_the_luck_of_a_bet() {
        let told = (0..2000).filter(|&seed| {
            let (mut divisor, tooth) = looked_at(1.0, 24, seed);
            // A capital of more than a thousand by luck alone comes in one of a thousand runs.
            let by_luck = divisor.lower.log_capital() >= 0.0;
            while divisor.lower.log_capital() < 10.0 && by_luck {
                divisor.lower.observe(true);
            }
            assert!(!divisor.is_won(tooth), "seed {seed}");
            divisor.is_boundary(tooth)
        });
        assert!(told.count() >= 1800);
    }
}

//! Are all boundaries of a winner of one kind?
//!
//! Where every third boundary costs more than the others, the erase block is three times as large
//! as what was found, and what was found is its sub-unit. Two tests look for that. The classes of
//! boundaries (even and odd ones, the residues modulo three, four and five) are compared with one another:
//! that finds multiples of two to five whatever the noise. And the differences are looked at as heaps,
//! which finds multiples that no class stands for (seven, or a grid that is no multiple at all), where
//! the noise is small.

use super::posterior::STEP_SPREAD;
use super::signal::Late;
use super::suspect::Class;
use crate::geometry::stats::{SuccessBet, mad_sigma, median};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// ln 1400: fourteen comparisons of classes share an error of 1 %.
const UNLIKE: f64 = 7.244_227_515_603_35;

/// Two kinds of boundaries lie apart by at least so many deviations of one kind: the medians of the
/// two parts of one heap, however it is cut, are that far apart once in some thousands of cases (a
/// test counts them).
const KINDS_APART: f64 = 3.0;

/// And between them lies a gap of so many. In one heap such a gap, with enough on either side, is
/// rarer still; a narrower one may be the tail of one heap.
const CLEAR_GAP: f64 = 1.5;

/// And each heap spreads no more than so many deviations of one kind: what is wider is made of reads
/// that met something else. The scatter of a heap of 18 is known to a fifth.
const TIGHT: f64 = 1.2;

/// A second kind has at least one in so many of the boundaries, and at least [`FEWEST_OF_A_KIND`]:
/// fewer are strays. A multiple of five leaves one in five, of which some show nothing.
const SECOND_KIND: usize = 7;

/// See [`SECOND_KIND`].
const FEWEST_OF_A_KIND: usize = 5;

/// More than the expected number of late reads by so many deviations are not explained by them.
const LATE_ERRORS: f64 = 3.0;

/// Boundaries with less than this share of the usual cost show nothing: on public sticks one in ten
/// does not.
const SHOWS_NOTHING: f64 = 0.25;

/// Boundaries that must be known before heaps are looked for: among 36 a second kind with one in
/// five, the fewest that a multiple up to five leaves, has at least five in 87 of 100 cases.
pub(super) const FEWEST_TEETH: usize = 36;

/// So many times [`FEWEST_TEETH`] tell every fourth boundary that costs half as much again as the
/// others, at four times the noise, in 98 of 100 cases (a test counts them).
pub(super) const OFF_GRID_TIMES: usize = 5;

/// The boundaries seen so far.
#[derive(Default)]
pub(super) struct Kinds {
    /// All differences, in the order seen.
    differences: Vec<f64>,
    halves: Classes<2>,
    thirds: Classes<3>,
    quarters: Classes<4>,
    fifths: Classes<5>,
}

/// Boundaries by the residue of their number, and bets that "a boundary of this class is the
/// costliest of one from each class".
struct Classes<const N: usize> {
    bets: [SuccessBet; N],
    /// Differences that wait for one of every other class.
    waiting: [Vec<f64>; N],
}

impl<const N: usize> Default for Classes<N> {
    fn default() -> Self {
        Classes {
            bets: [SuccessBet::new(1.0 / N as f64); N],
            waiting: std::array::from_fn(|_| Vec::new()),
        }
    }
}

impl<const N: usize> Classes<N> {
    fn push(&mut self, number: u64, difference: f64) {
        let class = usize::try_from(number % N as u64).unwrap_or(0);
        self.waiting[class].push(difference);
    }

    /// Compare one difference of every class at a time: in which class is the costliest?
    fn compare(&mut self, rng: &mut Xoshiro256PlusPlus) {
        while self.waiting.iter().all(|class| !class.is_empty()) {
            let drawn: [f64; N] = std::array::from_fn(|n| self.waiting[n].remove(0));
            let most = drawn.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let tied: Vec<usize> = (0..N).filter(|&n| drawn[n] == most).collect();
            let winner = tied[rng.random_range(0..tied.len())];
            for (n, bet) in self.bets.iter_mut().enumerate() {
                bet.observe(n == winner);
            }
        }
    }

    /// The class that is the costliest too often.
    fn costliest(&self) -> Option<Class> {
        let class = self.bets.iter().position(|b| b.log_capital() >= UNLIKE)?;
        Some(Class {
            period: N as u64,
            class: class as u64,
        })
    }
}

impl Kinds {
    /// A boundary, the `number`-th of the winner's grid, in seconds.
    pub(super) fn push(&mut self, number: u64, difference: f64) {
        self.halves.push(number, difference);
        self.thirds.push(number, difference);
        self.quarters.push(number, difference);
        self.fifths.push(number, difference);
        self.differences.push(difference);
    }

    /// Take the new ones into account.
    pub(super) fn compare(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.halves.compare(rng);
        self.thirds.compare(rng);
        self.quarters.compare(rng);
        self.fifths.compare(rng);
    }

    /// All differences, in the order seen.
    pub(super) fn differences(&self) -> &[f64] {
        &self.differences
    }

    /// The class of boundaries that costs more than the others, if one does.
    pub(super) fn costliest(&self) -> Option<Class> {
        self.halves
            .costliest()
            .or_else(|| self.thirds.costliest())
            .or_else(|| self.quarters.costliest())
            .or_else(|| self.fifths.costliest())
    }

    /// Whether the boundaries are of more than one kind: then a multiple is the erase block, and
    /// this size at best its sub-unit. Told by classes that differ, or by two heaps that neither
    /// noise nor the usual scatter of boundaries explains. `noise` is that of one difference.
    pub(super) fn are_unlike(&self, noise: f64, late: Late) -> bool {
        self.costliest().is_some()
            || (self.differences.len() >= FEWEST_TEETH
                && are_two_heaps(self.differences.iter().copied(), noise, late))
    }
}

/// Whether the differences lie in two heaps that are no chance.
pub(super) fn are_two_heaps(
    differences: impl Iterator<Item = f64>,
    noise: f64,
    late: Late,
) -> bool {
    let differences: Vec<f64> = differences.collect();
    let cost = median(&differences);
    let mut present: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|d| *d > SHOWS_NOTHING * cost)
        .collect();
    present.sort_by(f64::total_cmp);
    let fewest = (present.len() / SECOND_KIND).max(FEWEST_OF_A_KIND);
    // Where the widest gap is, with enough on either side.
    let gap = |n: &usize| present[*n] - present[*n - 1];
    let split = (fewest..(present.len() + 1).saturating_sub(fewest))
        .max_by(|a, b| gap(a).total_cmp(&gap(b)));
    // Reads that are all late by the same, such as a turn of the bus, make heaps of their own: upwards
    // where the read across the boundary was late, downwards where one beside it was.
    let most_of = |times: f64| {
        let (count, share) = (differences.len() as f64, times * late.share);
        let by_chance = (count * share * (1.0 - share)).sqrt();
        count * share + LATE_ERRORS * by_chance.hypot(count * times * late.doubt)
    };
    split.is_some_and(|n| {
        let are_late = (present.len() - n) as f64 <= most_of(1.0);
        let are_compared_with_late_ones = n as f64 <= most_of(2.0);
        if are_late || are_compared_with_late_ones {
            return false;
        }
        let (lower, upper) = present.split_at(n);
        let deviation = |heap: &[f64]| noise.hypot(STEP_SPREAD * median(heap));
        let is_tight = |heap: &[f64]| mad_sigma(heap) <= TIGHT * deviation(heap);
        let one_kind = deviation(lower);
        median(upper) - median(lower) > KINDS_APART * one_kind
            && gap(&n) > CLEAR_GAP * one_kind
            && is_tight(lower)
            && is_tight(upper)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Boundaries of which every `period`-th costs 10, the others `cost`, with a noise of one.
    fn kinds(period: u64, cost: f64, count: u64, seed: u64) -> Kinds {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut kinds = Kinds::default();
        for number in 0..count {
            let own = if number % period == 0 { 10.0 } else { cost };
            kinds.push(number, own + normal(&mut rng));
            kinds.compare(&mut rng);
        }
        kinds
    }

    #[test]
    fn boundaries_of_one_kind_are_alike() {
        let unlike =
            (0..200).filter(|&seed| kinds(1, 10.0, 60, seed).are_unlike(1.0, Late::default()));
        assert!(unlike.count() <= 2);
    }

    #[test]
    fn every_second_to_fifth_that_costs_more_is_seen() {
        for period in [2, 3, 4, 5] {
            let seen = (0..100)
                .filter(|&seed| kinds(period, 3.0, 100, seed).are_unlike(1.0, Late::default()));
            let seen = seen.count();
            assert!(seen >= 85, "{period}: {seen} of 100");
        }
    }

    /// What the constants claim of one heap of the fewest boundaries.
    #[test]
    fn one_heap_has_no_clear_gap() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let (mut gaps, mut apart) = (0, 0);
        for _ in 0..20_000 {
            let mut heap: Vec<f64> = (0..FEWEST_TEETH).map(|_| normal(&mut rng)).collect();
            heap.sort_by(f64::total_cmp);
            for n in FEWEST_OF_A_KIND..=FEWEST_TEETH - FEWEST_OF_A_KIND {
                gaps += u32::from(heap[n] - heap[n - 1] > CLEAR_GAP);
                apart += u32::from(median(&heap[n..]) - median(&heap[..n]) > KINDS_APART);
            }
        }
        assert!(gaps <= 2 && apart <= 10, "{gaps} gaps, {apart} apart");
    }

    #[test]
    fn off_the_grid_every_fourth_that_costs_half_as_much_again_is_seen() {
        let count = (OFF_GRID_TIMES * FEWEST_TEETH) as u64;
        let seen = (0..100).filter(|&seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut kinds = Kinds::default();
            for number in 0..count {
                let cost = if number % 4 == 1 { 6.0 } else { 4.0 };
                kinds.push(number, cost + normal(&mut rng));
                kinds.compare(&mut rng);
            }
            kinds.are_unlike(1.0, Late::default())
        });
        let seen = seen.count();
        assert!(seen >= 98, "{seen} of 100");
    }

    #[test]
    fn every_fourth_is_seen_though_boundaries_scatter() {
        // Costs of 8 and 4.8 times the noise, each of which scatters by a fifth.
        let seen = (0..100).filter(|&seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut kinds = Kinds::default();
            for number in 0..120 {
                let cost = if number % 4 == 1 { 8.0 } else { 4.8 };
                let scattered = cost * (1.0 + 0.2 * normal(&mut rng));
                kinds.push(number, scattered + normal(&mut rng));
                kinds.compare(&mut rng);
            }
            kinds.are_unlike(1.0, Late::default())
        });
        assert!(seen.count() >= 90);
    }

    #[test]
    fn late_reads_are_no_second_kind() {
        // All late by the same: across the boundary, or in one of the two reads beside it.
        for (by, share) in [(8.0, 6), (-8.0, 3)] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
            let mut kinds = Kinds::default();
            for number in 0..120 {
                let late = if rng.random_range(0..share) == 0 {
                    by
                } else {
                    0.0
                };
                kinds.push(number, 12.0 + late + normal(&mut rng));
            }
            assert!(kinds.are_unlike(1.0, Late::default()), "{by}");
            let late = |share: f64, doubt: f64| Late {
                share,
                excess: 8.0,
                doubt,
            };
            assert!(!kinds.are_unlike(1.0, late(1.0 / 6.0, 0.0)), "{by}");
            // Fewer of them were seen, but more may be.
            assert!(kinds.are_unlike(1.0, late(0.08, 0.0)), "{by}");
            assert!(!kinds.are_unlike(1.0, late(0.08, 0.04)), "{by}");
        }
    }

    #[test]
    fn a_few_strays_are_no_second_kind() {
        let mut all = kinds(1, 10.0, 60, 1);
        for number in [3, 17, 40] {
            all.push(number, 30.0);
        }
        assert!(!all.are_unlike(1.0, Late::default()));
    }
}

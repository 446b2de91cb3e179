//! Does every so many-th boundary of a winner cost more than the others?
//!
//! Then that many times the size is the erase block, and the winner its sub-unit. [`super::kinds`] and
//! [`super::alike`] ask that of multiples up to five. Larger ones leave too few boundaries in each class
//! for that, so here the costliest class of all is picked out, and only fresh boundaries decide on it.

use super::hypothesis;
use super::signal::Late;
use crate::geometry::stats::{MEDIAN_ERROR, mad_sigma, median, trimmed_mean, trimmed_mean_error};
use crate::units::Bytes;

/// The largest multiple that is looked at: 16 sub-units of 1 MiB make the largest common erase block of
/// sticks up to 64 GB.
const LARGEST_PERIOD: u64 = 16;

/// Boundaries that have to be known before the costliest class is picked out: six in each class of the
/// largest multiple.
const FEWEST: usize = 96;

/// Boundaries closer than this are often those of a sub-unit: erase blocks have had 2 to 4 MiB since about
/// 2010 (FlashCardSurvey), and later ones more. So twice as many are looked at.
const SELDOM_ERASE_BLOCKS: Bytes = Bytes::mib(4);

/// A class with fewer boundaries than this is not picked out.
const FEWEST_OF_A_CLASS: usize = 3;

/// A class that costs more by so many errors is suspicious: of the 135 classes, one run in six has one by
/// chance, at the price of some thirty boundaries.
const SUSPICIOUS: f64 = 2.6;

/// And it costs more by this share of the usual cost: by less, it is one of the usual boundaries, which
/// differ among themselves by as much (see [`super::posterior::STEP_SPREAD`]).
const NOTICED: f64 = 0.15;

/// A class that still costs more by so many errors, on fresh boundaries, is another kind.
const GUILTY: f64 = 3.0;

/// Two levels closer than this share of the usual cost are taken for one: on the two-level sticks of the
/// flashbench list the higher one costs half as much again or more.
const NOTABLE: f64 = 0.2;

/// Fresh boundaries of the class before it is judged.
const FEWEST_FRESH: usize = 10;

/// Fresh boundaries of the class after which a doubt remains.
const MOST_FRESH: usize = 100;

/// So many classes are followed up; with more of them something else is wrong.
const MOST_SUSPECTS: usize = 4;

/// A class of boundaries: the numbers on the grid that leave `class` when divided by `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) period: u64,
    pub(super) class: u64,
}

impl Class {
    fn has(self, number: u64) -> bool {
        number % self.period == self.class
    }
}

/// How the followed class stands.
enum Judgement {
    Open,
    Innocent,
    Guilty,
    Doubtful,
}

/// The classes that were picked out.
pub(super) struct Suspects {
    /// The largest multiple that is looked at.
    largest: u64,
    /// Boundaries that have to be known.
    fewest: usize,
    now: Option<Class>,
    /// Fresh boundaries of the class, and of all others.
    own: Vec<f64>,
    others: Vec<f64>,
    innocent: Vec<Class>,
    /// A class that does cost more.
    found: Option<Class>,
    /// A doubt remains.
    doubtful: bool,
}

impl Suspects {
    /// For boundaries at multiples of `unit`. Multiples that would be larger than any erase block are not
    /// looked at: what costs more there is the controller, which has another part of its mapping table to
    /// load.
    pub(super) fn new(unit: Bytes) -> Suspects {
        Suspects {
            largest: (hypothesis::LARGEST.get() / unit.get().max(1)).min(LARGEST_PERIOD),
            fewest: if unit < SELDOM_ERASE_BLOCKS {
                2 * FEWEST
            } else {
                FEWEST
            },
            now: None,
            own: Vec::new(),
            others: Vec::new(),
            innocent: Vec::new(),
            found: None,
            doubtful: false,
        }
    }

    /// Boundaries that have to be known before anything can be said.
    pub(super) fn fewest(&self) -> usize {
        self.fewest
    }

    /// The class whose boundaries are wanted.
    pub(super) fn wanted(&self) -> Option<Class> {
        self.now
    }

    /// The class that costs more than the others, if there is one.
    pub(super) fn found(&self) -> Option<Class> {
        self.found
    }

    /// Whether every class that was picked out turned out to be like the others.
    pub(super) fn are_cleared(&self) -> bool {
        self.now.is_none() && self.found.is_none() && !self.doubtful
    }

    /// Whether no number of boundaries will clear it.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    /// A fresh boundary.
    pub(super) fn push(&mut self, number: u64, difference: f64) {
        match self.now {
            Some(class) if class.has(number) => self.own.push(difference),
            Some(_) => self.others.push(difference),
            None => {}
        }
    }

    /// Judge the class in question, or pick one out of all boundaries `seen`.
    pub(super) fn look(&mut self, seen: &[(u64, f64)], late: Late) {
        if self.found.is_some() || self.doubtful {
            return;
        }
        if let Some(class) = self.now {
            match self.judge(seen, late) {
                Judgement::Open => return,
                Judgement::Innocent => self.innocent.push(class),
                Judgement::Guilty => self.found = Some(class),
                Judgement::Doubtful => self.doubtful = true,
            }
            self.now = None;
            self.own.clear();
            self.others.clear();
            if self.found.is_some() || self.doubtful {
                return;
            }
        }
        if seen.len() >= self.fewest {
            self.now = self.costliest(seen, late);
        }
        if self.now.is_some() && self.innocent.len() >= MOST_SUSPECTS {
            self.now = None;
            self.doubtful = true;
        }
    }

    fn judge(&self, seen: &[(u64, f64)], late: Late) -> Judgement {
        let fewest = self.own.len().min(self.others.len());
        if fewest < FEWEST_FRESH {
            return Judgement::Open;
        }
        let usual = Usual::of(seen, late);
        let (excess, error) = usual.excess(&self.own, &self.others);
        let cost = usual.cost;
        if excess > GUILTY * error && excess > NOTABLE / 2.0 * cost {
            Judgement::Guilty
        } else if excess + error < NOTABLE * cost {
            Judgement::Innocent
        } else if fewest >= MOST_FRESH {
            Judgement::Doubtful
        } else {
            Judgement::Open
        }
    }

    /// The class that stands out most, if one does.
    pub(super) fn costliest(&self, seen: &[(u64, f64)], late: Late) -> Option<Class> {
        let usual = Usual::of(seen, late);
        let classes = (2..=self.largest)
            .flat_map(|period| (0..period).map(move |class| Class { period, class }));
        classes
            .filter(|class| !self.innocent.contains(class))
            .filter_map(|class| {
                let costs = |own: bool| -> Vec<f64> {
                    let part = seen.iter().filter(|seen| class.has(seen.0) == own);
                    part.map(|seen| seen.1).collect()
                };
                let (own, others) = (costs(true), costs(false));
                if own.len() < FEWEST_OF_A_CLASS || others.is_empty() {
                    return None;
                }
                let (excess, error) = usual.excess(&own, &others);
                let errors = excess / error;
                let stands_out = excess > NOTICED * usual.cost && errors > SUSPICIOUS;
                stands_out.then_some((class, errors))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(class, _)| class)
    }
}

/// What boundaries usually cost.
struct Usual {
    cost: f64,
    /// The error of one, when medians and when means are compared.
    deviations: (f64, f64),
    /// Whether reads are late so often that a mean is no good.
    are_late: bool,
}

impl Usual {
    fn of(seen: &[(u64, f64)], late: Late) -> Usual {
        let all: Vec<f64> = seen.iter().map(|seen| seen.1).collect();
        let of_means = trimmed_mean_error(&all) * (all.len() as f64).sqrt();
        Usual {
            cost: median(&all),
            deviations: (MEDIAN_ERROR * mad_sigma(&all), of_means),
            are_late: late.share > 0.0,
        }
    }

    /// How much more the own boundaries cost than the others, with its error. Of a few a single stray
    /// spoils the mean, even without the outer fifths; of more it is known better than the median.
    fn excess(&self, own: &[f64], others: &[f64]) -> (f64, f64) {
        let by_medians = self.are_late || own.len().min(others.len()) < FEWEST_FRESH;
        let (centre, deviation): (fn(&[f64]) -> f64, f64) = match by_medians {
            true => (median, self.deviations.0),
            false => (trimmed_mean, self.deviations.1),
        };
        let places = 1.0 / own.len() as f64 + 1.0 / others.len() as f64;
        (centre(own) - centre(others), deviation * places.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    /// Boundaries of which every `period`-th, from the third on, costs `large` and the others 1, with
    /// noise and one in ten that shows nothing; asked for as long as somebody is suspected.
    fn run(period: u64, large: f64, noise: f64, seed: u64) -> (Suspects, usize) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut suspects = Suspects::new(Bytes::mib(4));
        let mut seen = Vec::new();
        while seen.len() < FEWEST || suspects.wanted().is_some() {
            let number = match suspects.wanted() {
                Some(Class { period, class }) if rng.random() => {
                    class + period * rng.random_range(0..1000)
                }
                _ => rng.random_range(0..10_000),
            };
            let cost = match number % period {
                _ if rng.random::<f64>() < 0.1 => 0.0,
                3 => large,
                _ => 1.0,
            };
            let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let difference = cost + noise * normal;
            suspects.push(number, difference);
            seen.push((number, difference));
            if seen.len() % 16 == 0 {
                suspects.look(&seen, Late::default());
            }
        }
        (suspects, seen.len())
    }

    #[test]
    fn boundaries_of_one_kind_are_cleared_and_cost_little_more() {
        for noise in [0.1, 0.4] {
            let runs: Vec<_> = (0..200).map(|seed| run(4, 1.0, noise, seed)).collect();
            let cleared = runs.iter().filter(|run| run.0.are_cleared()).count();
            assert!(cleared >= 196, "{noise}: {cleared} of 200");
            let seen: usize = runs.iter().map(|run| run.1).sum();
            assert!(seen < 200 * FEWEST * 5 / 4, "{noise}: {} each", seen / 200);
        }
    }

    #[test]
    fn a_costlier_class_of_any_multiple_is_found() {
        for (period, large, noise, least) in [
            (6, 2.0, 0.3, 190),
            (7, 1.4, 0.15, 190),
            (9, 2.0, 0.3, 185),
            // In one of sixteen runs fewer than three of these 96 are of its class.
            (16, 2.0, 0.2, 150),
            (4, 1.4, 0.15, 190),
        ] {
            let found = (0..200)
                .filter(|&seed| run(period, large, noise, seed).0.found().is_some())
                .count();
            assert!(found >= least, "{period}, {large}, {noise}: {found} of 200");
        }
    }
}

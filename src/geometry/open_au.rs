//! How many allocation units stay open: from what a device does with `n` of them to its limit.
//!
//! A device that has to close a unit before it can write into another pays one garbage collection
//! per write, whatever the size of the write: halving the size halves the rate.

mod answer;
mod climb;
mod confirm;
mod judge;
pub mod scan;
mod small;
mod soft;
mod unit;

pub use unit::Pair;

use crate::units::Bytes;

/// A request size and the rate reached with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    /// The request size.
    pub size: Bytes,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

/// Sizes between which the criterion holds: above, whole units are written; below, small-write paths
/// and the page bend the curve.
pub const LARGEST_JUDGED: Bytes = Bytes::mib(1);
/// See [`LARGEST_JUDGED`].
pub const SMALLEST_JUDGED: Bytes = Bytes::kib(64);

/// What remains of the rate when the size is halved, as a geometric mean. In 527 public series of
/// open-AU tests it is at most 0.66 beyond the limit and at least 0.77 below it, with nothing
/// between.
const SLOW_BELOW: f64 = 0.66;
const FAST_FROM: f64 = 0.77;
/// The odds at those two values.
const CERTAIN: f64 = 100.0;

/// What remains of the rate per halving, and over how many halvings that was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// 1: the rate does not depend on the size; 0.5: one fixed cost per write.
    pub remains: f64,
    /// Binary orders of magnitude between the sizes compared.
    pub halvings: f64,
}

/// What remains per halving between two sizes (both included). `None` with fewer than two points.
pub fn halving(points: &[RatePoint], largest: Bytes, smallest: Bytes) -> Option<Halving> {
    let inside = points
        .iter()
        .filter(|p| p.size <= largest && p.size >= smallest && p.bytes_per_second > 0.0);
    let top = inside.clone().max_by_key(|point| point.size)?;
    let bottom = inside.min_by_key(|point| point.size)?;
    let halvings = (top.size.get() as f64 / bottom.size.get() as f64).log2();
    (halvings > 0.5).then(|| Halving {
        remains: (bottom.bytes_per_second / top.bytes_per_second).powf(1.0 / halvings),
        halvings,
    })
}

/// The probability that the limit was exceeded, from what remains per halving. Fewer than four
/// halvings count less.
pub fn slow_probability(halving: Halving) -> f64 {
    let middle = f64::midpoint(SLOW_BELOW, FAST_FROM);
    let steepness = CERTAIN.ln() / ((FAST_FROM - SLOW_BELOW) / 2.0);
    let trust = (halving.halvings / 4.0).min(1.0);
    1.0 / (1.0 + (-(middle - halving.remains) * steepness * trust).exp())
}

/// How long a write takes, relative to writing a whole unit at the full rate: about 0.1 where the unit
/// is open, 0.5 to 2.5 where one has to be closed first.
pub fn share_of_unit(point: RatePoint, unit: Bytes, full_rate: f64) -> Option<f64> {
    let seconds = point.size.get() as f64 / point.bytes_per_second;
    let whole = unit.get() as f64 / full_rate;
    let share = seconds / whole;
    share.is_finite().then_some(share)
}

/// One test with `open` units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// How many units were open.
    pub open: u32,
    /// The probability that they were too many.
    pub slow: f64,
}

/// What trials say about the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The largest number of open units that is surely within the limit.
    pub at_least: Option<u32>,
    /// The largest limit still possible; `None`: no end was seen.
    pub at_most: Option<u32>,
    /// The probability of both together.
    pub confidence: f64,
}

impl Limit {
    /// The limit when it is bracketed.
    pub fn exact(self) -> Option<u32> {
        self.at_least.filter(|limit| self.at_most == Some(*limit))
    }
}

/// A trial tells the wrong thing this often: stalls of other origin, clean-up of an earlier test. None
/// of 527 public series does.
const TRIAL_ERROR: f64 = 0.01;
/// The same where the speed is beyond doubt, with [`CLEAR`] odds and more: three halvings that leave
/// 0.6 or less, or 0.85 or more, reach them.
const CLEAR_TRIAL_ERROR: f64 = 0.003;
/// See [`CLEAR_TRIAL_ERROR`].
const CLEAR: f64 = 0.999;
/// Before any trial no class of limits is more than twice as likely as another: whoever tries `n` and
/// `n + 1` only has reason to expect the limit there.
const CLASS_WEIGHTS: (f64, f64) = (0.5, 1.0);
/// Probability for both ends of the answer.
const SURE: f64 = 0.9;

/// The limit that trials point to: Bayes' rule over all limits from 0 to the largest number tried,
/// the last standing for itself and everything above. Contradicting trials widen the answer.
pub fn limit(trials: &[Trial]) -> Option<Limit> {
    let most = trials.iter().map(|trial| trial.open).max()?;
    let mut tried: Vec<u32> = trials.iter().map(|trial| trial.open).collect();
    tried.sort_unstable();
    tried.dedup();
    // Limits between two numbers tried are alike. Limits are spread evenly in their logarithm.
    let (lightest, heaviest) = CLASS_WEIGHTS;
    let spread = |from: u32, to: u32| {
        let ratio = f64::from(to.max(1)) / f64::from(from).max(0.5);
        ratio.ln().clamp(lightest, heaviest)
    };
    let mut classes: Vec<(u32, f64)> = vec![(0, spread(0, tried[0]))];
    for pair in tried.windows(2) {
        classes.push((pair[0], spread(pair[0], pair[1])));
    }
    classes.push((most, heaviest));
    let weights: Vec<f64> = classes
        .iter()
        .map(|(limit, size)| {
            let likelihood: f64 = trials
                .iter()
                .map(|trial| {
                    let consistent = if trial.open > *limit {
                        trial.slow
                    } else {
                        1.0 - trial.slow
                    };
                    let error = if trial.slow.max(1.0 - trial.slow) >= CLEAR {
                        CLEAR_TRIAL_ERROR
                    } else {
                        TRIAL_ERROR
                    };
                    consistent * (1.0 - 2.0 * error) + error
                })
                .map(f64::ln)
                .sum();
            size.ln() + likelihood
        })
        .collect();
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = weights.iter().map(|weight| (weight - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    // The limit is at least the first of a class when this and all above hold it.
    let mut at_least = None;
    let mut above = 0.0;
    for i in (0..classes.len()).rev() {
        above += weights[i] / total;
        if above >= SURE {
            at_least = Some(i);
            break;
        }
    }
    let mut at_most = None;
    let mut below = 0.0;
    for (i, weight) in weights.iter().enumerate() {
        below += weight / total;
        if below >= SURE {
            at_most = Some(i);
            break;
        }
    }
    let (first, last) = (at_least?, at_most?);
    let inside: f64 = weights[first..=last.max(first)].iter().sum();
    Some(Limit {
        at_least: Some(classes[first].0).filter(|limit| *limit > 0),
        at_most: classes.get(last + 1).map(|(next, _)| next - 1),
        confidence: inside / total,
    })
}

/// A limit without garbage collection per write: the level falls at one step to at most this share
/// of what it was, and stays down. Public two-level cards fall to 0.37 and 0.59 at their limit; cards
/// that merely slow down never fall below 0.69 at one step.
pub const SOFT_STEP: f64 = 0.64;
const GRACEFUL_STEP: f64 = 0.69;
/// Further levels may recover this much of the level before the step.
const STAYS_DOWN: f64 = 0.75;

/// The level with `open` units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// How many units were open.
    pub open: u32,
    /// A mean rate, in any unit.
    pub rate: f64,
    /// Standard error of the logarithm of its ratio to the level before; infinite when too few sizes
    /// can be compared.
    pub error: f64,
}

/// A step that is or may be a soft limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftStep {
    /// The last number of units before the step.
    pub last_fast: u32,
    /// The first one behind it.
    pub first_slow: u32,
    /// What remains of the level.
    pub remains: f64,
    /// A graceful decline over the numbers that were skipped cannot explain it.
    pub certain: bool,
}

/// Find the step of a soft limit in levels by growing number of units, one level per number: a
/// certain one, else one that the skipped numbers leave in doubt.
pub fn soft_step(levels: &[Level]) -> Option<SoftStep> {
    let steps: Vec<SoftStep> = levels
        .windows(2)
        .enumerate()
        .filter_map(|(i, pair)| {
            let [before, after] = pair else { return None };
            let skipped = after.open.checked_sub(before.open)?.checked_sub(1)?;
            let remains = after.rate / before.rate;
            let stays = levels[i + 1..]
                .iter()
                .all(|level| level.rate <= STAYS_DOWN * before.rate);
            let graceful = GRACEFUL_STEP.powf(f64::from(skipped));
            // The step is deep enough with its error, not by luck.
            let surely = remains * after.error.exp();
            (surely <= SOFT_STEP && stays).then_some(SoftStep {
                last_fast: before.open,
                first_slow: after.open,
                remains,
                certain: surely <= SOFT_STEP * graceful,
            })
        })
        .collect();
    steps
        .iter()
        .find(|step| step.certain)
        .or(steps.first())
        .copied()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial_tests {
    use super::*;

    fn points(rates: &[(u64, f64)]) -> Vec<RatePoint> {
        rates
            .iter()
            .map(|(kib, rate)| RatePoint {
                size: Bytes::kib(*kib),
                bytes_per_second: *rate,
            })
            .collect()
    }

    fn slow(rates: &[(u64, f64)]) -> f64 {
        slow_probability(halving(&points(rates), LARGEST_JUDGED, SMALLEST_JUDGED).unwrap())
    }

    fn trials(speeds: &[(u32, bool)]) -> Vec<Trial> {
        speeds
            .iter()
            .map(|(open, slow)| Trial {
                open: *open,
                slow: if *slow { 0.999 } else { 0.001 },
            })
            .collect()
    }

    #[test]
    fn eighteen_units_of_the_voyager_are_fast_and_nineteen_slow() {
        // Corsair Voyager 3.0 (public list thread), 8 MiB units. Five times slower than one unit is
        // still fast.
        let eighteen = [
            (1024, 2.99),
            (512, 2.2),
            (256, 3.19),
            (128, 3.15),
            (64, 1.52),
        ];
        let nineteen = [
            (1024, 1.86),
            (512, 0.898),
            (256, 0.488),
            (128, 0.273),
            (64, 0.142),
        ];
        assert!(slow(&eighteen) < 0.01 && slow(&nineteen) > 0.99);
    }

    #[test]
    fn a_write_that_closes_a_unit_takes_as_long_as_the_unit() {
        let share = |rate| {
            let point = RatePoint {
                size: Bytes::kib(32),
                bytes_per_second: rate,
            };
            share_of_unit(point, Bytes::mib(8), 22e6).unwrap()
        };
        assert!(share(0.98e6) < 0.2 && share(71.6e3) > 1.0);
    }

    #[test]
    fn a_bracketed_limit_is_exact() {
        let limit = limit(&trials(&[(1, false), (2, false), (3, true), (4, true)])).unwrap();
        assert_eq!(limit.exact(), Some(2));
        assert!(limit.confidence > 0.95);
    }

    #[test]
    fn two_clear_trials_bracket_a_large_limit() {
        for open in [1, 4, 18, 60] {
            let limit = limit(&trials(&[(open, false), (open + 1, true)])).unwrap();
            assert_eq!(limit.exact(), Some(open));
            assert!(limit.confidence > 0.95, "{limit:?}");
        }
    }

    #[test]
    fn skipped_numbers_give_a_range() {
        let limit = limit(&trials(&[(2, false), (16, false), (20, true)])).unwrap();
        assert_eq!((limit.at_least, limit.at_most), (Some(16), Some(19)));
        assert_eq!(limit.exact(), None);
    }

    #[test]
    fn without_an_end_there_is_only_at_least() {
        let limit = limit(&trials(&[(1, false), (60, false), (130, false)])).unwrap();
        assert_eq!((limit.at_least, limit.at_most), (Some(130), None));
    }

    #[test]
    fn the_first_number_may_be_too_many() {
        let limit = limit(&trials(&[(5, true)])).unwrap();
        assert_eq!((limit.at_least, limit.at_most), (None, Some(4)));
        assert_eq!(super::limit(&[]), None);
    }

    #[test]
    fn contradicting_repetitions_widen_the_answer() {
        let limit = limit(&trials(&[(3, false), (4, false), (4, true), (5, true)])).unwrap();
        assert_eq!((limit.at_least, limit.at_most), (Some(3), Some(4)));
    }

    #[test]
    fn a_soft_limit_is_one_deep_step_that_stays() {
        let level = |rates: &[(u32, f64)]| -> Vec<Level> {
            rates
                .iter()
                .map(|(open, rate)| Level {
                    open: *open,
                    rate: *rate,
                    error: 0.05,
                })
                .collect()
        };
        let sandisk = level(&[
            (1, 10.3),
            (3, 10.1),
            (4, 10.0),
            (5, 3.8),
            (6, 2.7),
            (7, 2.4),
        ]);
        let step = soft_step(&sandisk).unwrap();
        assert!(step.certain && (step.last_fast, step.first_slow) == (4, 5));
        let graceful = level(&[(1, 9.6), (2, 6.65), (3, 5.9), (4, 4.4), (5, 4.0)]);
        assert_eq!(soft_step(&graceful), None);
        let dip = level(&[(3, 10.0), (4, 5.5), (5, 9.5)]);
        assert_eq!(soft_step(&dip), None);
        let skipped = level(&[(2, 17.0), (6, 9.0)]);
        assert!(!soft_step(&skipped).unwrap().certain);
    }
}

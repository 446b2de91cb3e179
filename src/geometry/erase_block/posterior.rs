//! How probable each hypothesis is, given the differences measured so far.

use super::grid::Cell;
use super::hypothesis::{Hypothesis, Level, SUB_RATIOS};
use super::signal::Late;
use crate::geometry::stats::{log_sum_exp, t3_density};

/// Steps of the cost of a boundary that are compared, relative to the noise of a difference.
pub const STEPS: usize = 20;

/// The smallest step considered, in units of the noise: half of it cannot be told from nothing
/// within any number of reads worth spending.
const SMALLEST_STEP: f64 = 0.6;

/// Ratio of neighbouring steps: 20 of them reach from 0.6 to 180 times the noise, which covers the
/// logs published on the flashbench list (steps of 50 to 900 µs, scatter of 3 to 60 µs).
const STEP_RATIO: f64 = 1.35;

/// Boundaries differ among themselves by about this share of their cost (scatter between the lines
/// of one plateau in published scans); it also bridges the gap between two steps.
pub const STEP_SPREAD: f64 = 0.15;

/// Share of boundaries that show no cost: remapped blocks, or parts kept in another cell mode.
pub const MISS: f64 = 0.15;

/// Share of ordinary places that show some cost, for finer structure that no hypothesis knows.
const STRAY: f64 = 0.03;

/// Hypotheses this far (in natural logarithms) behind the best are not followed any more.
const HOPELESS: f64 = 30.0;

/// One difference `on − (pre + post)/2` at a cell, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Where.
    pub cell: Cell,
    /// The difference.
    pub difference: f64,
}

struct Entry {
    hypothesis: Hypothesis,
    log_prior: f64,
    /// Its place in the prior's list.
    number: usize,
    /// ln of the likelihood for every step size, relative to that of no step at all.
    log_likelihood: [f32; STEPS],
    /// ln prior + ln of the likelihood averaged over the step sizes.
    log_weight: f64,
}

/// Where an observation lies within the blocks of one size and phase.
struct Block {
    unit: Cell,
    phase: Cell,
    place: Cell,
}

impl Block {
    fn of(hypothesis: &Hypothesis, cell: Cell) -> Block {
        let Hypothesis { unit, phase, .. } = *hypothesis;
        Block {
            unit,
            phase,
            place: hypothesis.place(cell),
        }
    }
}

/// The hypotheses with their weights.
pub struct Posterior {
    /// Those that are followed, in the order of the prior's list.
    entries: Vec<Entry>,
    /// Those that are not, until the next start.
    hopeless: Vec<Entry>,
    count: usize,
    /// The noise of one difference, in seconds.
    scale: f64,
    late: Late,
    total: f64,
}

/// A hypothesis that candidate places are judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    /// What it says.
    pub hypothesis: Hypothesis,
    /// How probable it is.
    pub probability: f64,
    /// How probable each step size is, given the hypothesis.
    pub steps: [f64; STEPS],
}

/// A size and phase with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leader {
    /// The most probable hypothesis of this size and phase.
    pub hypothesis: Hypothesis,
    /// Probability of size and phase together, whatever the sub-unit.
    pub probability: f64,
    /// Probability of this very sub-unit (or of none), whatever its cost, given size and phase.
    pub sub_probability: f64,
}

impl Posterior {
    /// The prior, and the noise of a difference as far as it is known.
    pub fn new(prior: &[(Hypothesis, f64)], scale: f64) -> Posterior {
        let entries = prior
            .iter()
            .enumerate()
            .filter(|(_, (_, p))| *p > 0.0)
            .map(|(number, &(hypothesis, p))| Entry {
                hypothesis,
                log_prior: p.ln(),
                number,
                log_likelihood: [0.0; STEPS],
                log_weight: p.ln(),
            })
            .collect();
        let mut posterior = Posterior {
            entries,
            hopeless: Vec::new(),
            count: 0,
            scale,
            late: Late::default(),
            total: 0.0,
        };
        posterior.weigh();
        posterior
    }

    /// The noise in use.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// How many differences were taken in.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Take in more differences.
    pub fn observe(&mut self, observations: &[Observation]) {
        for &observation in observations {
            self.multiply(observation);
            self.count += 1;
        }
        self.weigh();
    }

    /// Start again with a better estimate of the noise, and the differences that go with it.
    pub fn restart(&mut self, scale: f64, late: Late, observations: &[Observation]) {
        self.scale = scale;
        self.late = late;
        self.count = 0;
        self.entries.append(&mut self.hopeless);
        self.entries.sort_by_key(|e| e.number);
        for entry in &mut self.entries {
            entry.log_likelihood = [0.0; STEPS];
        }
        self.observe(observations);
    }

    fn multiply(&mut self, observation: Observation) {
        let table = densities(observation.difference, self.scale, self.late);
        // Entries of one size and phase follow one another: their place in the block is the same.
        let mut block = Block::of(&Hypothesis::NOTHING, observation.cell);
        for entry in &mut self.entries {
            let hypothesis = &entry.hypothesis;
            if (hypothesis.unit, hypothesis.phase) != (block.unit, block.phase) {
                block = Block::of(hypothesis, observation.cell);
            }
            let row = &table[row_of(hypothesis, hypothesis.level_within(block.place))];
            for (sum, density) in entry.log_likelihood.iter_mut().zip(row) {
                *sum += density;
            }
        }
    }

    fn weigh(&mut self) {
        let mut top = f64::NEG_INFINITY;
        for entry in &mut self.entries {
            entry.log_weight = entry.log_prior + log_mean_exp(&entry.log_likelihood);
            top = top.max(entry.log_weight);
        }
        let (hopeful, hopeless) = std::mem::take(&mut self.entries)
            .into_iter()
            .partition::<Vec<Entry>, _>(|e| e.log_weight >= top - HOPELESS);
        self.entries = hopeful;
        self.hopeless.extend(hopeless);
        let weights: Vec<f64> = self.entries.iter().map(|e| e.log_weight).collect();
        self.total = log_sum_exp(&weights);
    }

    /// The hypotheses that matter, best first, at most `most`.
    pub fn best(&self, most: usize) -> Vec<Judge> {
        let mut list: Vec<&Entry> = self.entries.iter().collect();
        let most = most.min(list.len());
        if most < list.len() {
            list.select_nth_unstable_by(most, |a, b| b.log_weight.total_cmp(&a.log_weight));
            list.truncate(most);
        }
        list.sort_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
        list.into_iter()
            .map(|e| Judge {
                hypothesis: e.hypothesis,
                probability: (e.log_weight - self.total).exp(),
                steps: step_weights(e),
            })
            .collect()
    }

    /// Sizes and phases by probability, best first; "nothing visible" is one of them.
    pub fn leaders(&self) -> Vec<Leader> {
        let mut leaders: Vec<Leader> = Vec::new();
        // Entries of one size and phase follow one another in the prior's list, and within them
        // those of one sub-unit.
        let mut sub = (0, 0.0);
        for entry in &self.entries {
            let probability = (entry.log_weight - self.total).exp();
            let hypothesis = entry.hypothesis;
            match leaders.last_mut() {
                Some(l)
                    if (l.hypothesis.unit, l.hypothesis.phase)
                        == (hypothesis.unit, hypothesis.phase) =>
                {
                    sub = if sub.0 == hypothesis.sub_unit {
                        (sub.0, sub.1 + probability)
                    } else {
                        (hypothesis.sub_unit, probability)
                    };
                    if sub.1 > l.sub_probability || l.hypothesis.sub_unit == hypothesis.sub_unit {
                        l.hypothesis = hypothesis;
                        l.sub_probability = sub.1;
                    }
                    l.probability += probability;
                }
                _ => {
                    sub = (hypothesis.sub_unit, probability);
                    leaders.push(Leader {
                        hypothesis,
                        probability,
                        sub_probability: probability,
                    });
                }
            }
        }
        for leader in &mut leaders {
            leader.sub_probability /= leader.probability.max(f64::MIN_POSITIVE);
        }
        leaders.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        leaders
    }
}

/// How probable each step size is for an entry.
fn step_weights(entry: &Entry) -> [f64; STEPS] {
    let mean = log_mean_exp(&entry.log_likelihood);
    entry
        .log_likelihood
        .map(|l| (f64::from(l) - mean).exp() / STEPS as f64)
}

/// The logarithm of the mean of the exponentials.
fn log_mean_exp(logs: &[f32; STEPS]) -> f64 {
    let top = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logs.iter().map(|l| (l - top).exp()).sum();
    f64::from(top) + f64::from(sum / STEPS as f32).ln()
}

/// Rows of [`densities`]: nothing, a full boundary, then every sub-ratio and its square.
pub const ROWS: usize = 2 + 2 * SUB_RATIOS.len();

/// The row that a hypothesis takes at a cell.
pub fn row(hypothesis: &Hypothesis, cell: Cell) -> usize {
    row_of(hypothesis, hypothesis.level(cell))
}

fn row_of(hypothesis: &Hypothesis, level: Level) -> usize {
    let ratio = usize::from(hypothesis.ratio);
    match level {
        Level::None => 0,
        Level::Full => 1,
        Level::Sub => 2 + ratio,
        Level::Small => 2 + SUB_RATIOS.len() + ratio,
    }
}

/// ln density of a difference for each row and step size, relative to that of nothing: the numbers
/// stay small, so that single precision suffices for their sums.
fn densities(difference: f64, scale: f64, late: Late) -> [[f32; STEPS]; ROWS] {
    // Late reads are late by anything around the median.
    let density = |cost: f64, spread: f64| {
        let timely = t3_density(difference, cost, spread);
        if late.share == 0.0 {
            return timely;
        }
        let delayed = t3_density(difference, cost + late.excess, spread.hypot(late.excess));
        (1.0 - late.share) * timely + late.share * delayed
    };
    let nothing = density(0.0, scale);
    // Single precision is meant.
    #[allow(clippy::cast_possible_truncation)]
    let relative = |likelihood: f64| (likelihood / nothing).ln() as f32;
    let boundary = |cost: f64| {
        let here = density(cost, scale.hypot(STEP_SPREAD * cost));
        relative((1.0 - MISS) * here + MISS * nothing)
    };
    let ordinary = |step: f64| {
        let stray = t3_density(difference, step / 2.0, (1.5 * scale).hypot(0.3 * step));
        relative((1.0 - STRAY) * nothing + STRAY * stray)
    };
    std::array::from_fn(|row| {
        std::array::from_fn(|n| match row {
            0 => ordinary(step(n, scale)),
            _ => boundary(share_of(row) * step(n, scale)),
        })
    })
}

/// What a boundary of this row costs, as a share of the step.
pub fn share_of(row: usize) -> f64 {
    match row {
        0 => 0.0,
        1 => 1.0,
        r if r < 2 + SUB_RATIOS.len() => SUB_RATIOS[r - 2],
        r => SUB_RATIOS[r - 2 - SUB_RATIOS.len()].powi(2),
    }
}

/// The `n`th step size for this noise.
pub fn step(n: usize, scale: f64) -> f64 {
    SMALLEST_STEP * scale * STEP_RATIO.powi(i32::try_from(n).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::erase_block::hypothesis;
    use crate::units::Bytes;

    fn prior() -> Vec<(Hypothesis, f64)> {
        hypothesis::all(Bytes::gib(16), |_| 1.0)
    }

    #[test]
    fn noiseless_differences_single_out_their_lattice() {
        let mut posterior = Posterior::new(&prior(), 10e-6);
        let truth = Hypothesis {
            unit: 24,
            phase: 8,
            ..Hypothesis::NOTHING
        };
        let observations: Vec<Observation> = (100..1000)
            .map(|cell| Observation {
                cell,
                difference: if truth.level(cell) == Level::Full {
                    200e-6
                } else {
                    0.0
                },
            })
            .collect();
        posterior.observe(&observations);
        let leader = posterior.leaders()[0];
        assert_eq!(leader.hypothesis, truth);
        assert!(leader.probability > 0.9999, "{leader:?}");
        assert!(leader.sub_probability > 0.9, "{leader:?}");
    }

    #[test]
    fn no_differences_at_all_mean_nothing_visible() {
        let mut posterior = Posterior::new(&prior(), 10e-6);
        let flat: Vec<Observation> = (32..8192)
            .map(|cell| Observation {
                cell,
                difference: 0.0,
            })
            .collect();
        posterior.observe(&flat);
        assert_eq!(posterior.leaders()[0].hypothesis, Hypothesis::NOTHING);
        assert!(posterior.leaders()[0].probability > 0.99);
    }

    #[test]
    fn starting_again_is_the_same_as_starting_with_the_right_scale() {
        let data: Vec<Observation> = (0..64)
            .map(|n| Observation {
                cell: n * 7,
                difference: f64::from(n % 5) * 20e-6,
            })
            .collect();
        let mut right = Posterior::new(&prior(), 12e-6);
        right.observe(&data);
        let mut corrected = Posterior::new(&prior(), 50e-6);
        corrected.observe(&data);
        corrected.restart(12e-6, Late::default(), &data);
        assert_eq!(right.leaders()[0], corrected.leaders()[0]);
    }
}

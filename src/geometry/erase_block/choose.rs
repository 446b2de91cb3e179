//! Which place tells most about what is still undecided.

use super::grid::{CELL, Cell, Grid};
use super::posterior::{Judge, MISS, Posterior, ROWS, STEP_SPREAD, STEPS, row, share_of, step};
use crate::measure::alignment::Site;
use crate::units::{Alignment, Bytes};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::LazyLock;

/// The hypotheses that candidate places are judged by.
const JUDGES: usize = 96;

/// The hypotheses whose own boundaries are offered as candidates.
const PROPOSERS: usize = 20;

/// Random places of the whole grid among the candidates: they keep every hypothesis testable.
const RANDOM_PLACES: usize = 16;

/// Candidates that are compared for each slot of a batch, drawn at random: enough that a good one
/// is among them, few enough that thinking stays cheap beside reading.
const COMPARED: usize = 40;

/// Upper edges of the classes of a difference, in units of its noise. A difference is worth what
/// its class tells; finer classes would tell little more through the noise.
const EDGES: [f64; 7] = [0.75, 1.5, 2.5, 4.0, 6.5, 11.0, 20.0];

const CLASSES: usize = EDGES.len() + 1;

/// The probability of each class of a difference.
type Outcome = [f64; CLASSES];

/// Outcomes for every row and step size, in units of the noise.
static OUTCOMES: LazyLock<Vec<[Outcome; STEPS]>> = LazyLock::new(|| {
    (0..ROWS)
        .map(|row| {
            std::array::from_fn(|n| {
                let cost = share_of(row) * step(n, 1.0);
                let spread = 1f64.hypot(STEP_SPREAD * cost);
                let below = |edge: f64| {
                    (1.0 - MISS) * logistic((edge - cost) / spread) + MISS * logistic(edge)
                };
                let mut last = 0.0;
                std::array::from_fn(|class| {
                    let next = EDGES.get(class).map_or(1.0, |&edge| below(edge));
                    let probability = next - last;
                    last = next;
                    probability
                })
            })
        })
        .collect()
});

/// The logistic approximation of the normal distribution function, within 0.01 of it (Johnson and
/// Kotz, Continuous Univariate Distributions 2, section 22.4).
fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * z).exp())
}

/// Fresh places for the next batch.
///
/// A candidate is worth what size and phase are expected to explain of its difference: the impurity
/// of the difference's class (Gini), less the impurity that is left when size and phase are known.
/// (Entropy in its place, which makes it the mutual information of the two, chooses alike and costs
/// ten times the thinking.) Every slot of the batch uses weights shaken at random
/// (a Bayesian bootstrap: Rubin, Annals of Statistics 9, 1981), so that one batch does not ask the
/// same question sixteen times.
pub fn batch(
    posterior: &Posterior,
    grid: &mut Grid,
    size: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Site> {
    let judges = Bench::new(posterior.best(JUDGES));
    let mut candidates: Vec<(Site, Vec<usize>)> = Vec::new();
    let mut offer = |lattice: Option<Alignment>, grid: &Grid, rng: &mut Xoshiro256PlusPlus| {
        if let Some(site) = lattice.and_then(|l| grid.fresh(l, rng)) {
            let cell = u32::try_from(site.at.get() / CELL.get()).unwrap_or(u32::MAX);
            candidates.push((site, judges.rows(cell)));
        }
    };
    let proposers = judges
        .judges
        .iter()
        .map(|j| j.hypothesis)
        .filter(|h| h.unit != 0);
    for h in proposers.take(PROPOSERS) {
        offer(lattice(h.unit, h.phase), grid, rng);
        if h.sub_unit != 0 {
            offer(lattice(h.sub_unit, h.phase), grid, rng);
        }
        if h.unit > 1 {
            offer(lattice(h.unit, h.phase + h.unit / 2), grid, rng);
        }
    }
    for _ in 0..RANDOM_PLACES {
        offer(lattice(1, 0), grid, rng);
    }
    let mut sites = Vec::new();
    let mut weights = vec![0.0; judges.judges.len()];
    for _ in 0..size {
        for (weight, judge) in weights.iter_mut().zip(&judges.judges) {
            // An exponential variate; 1 − u is never zero.
            *weight = judge.probability * -(1.0 - rng.random::<f64>()).ln();
        }
        candidates.retain(|(site, _)| grid.is_fresh(*site));
        let mut best: Option<(usize, f64)> = None;
        for k in 0..COMPARED.min(candidates.len()) {
            // The first `k` are those already compared (a partial shuffle).
            let n = rng.random_range(k..candidates.len());
            candidates.swap(k, n);
            let worth = judges.explained(&weights, &candidates[k].1);
            if best.is_none_or(|(_, most)| worth > most) {
                best = Some((k, worth));
            }
        }
        let Some((k, _)) = best else { break };
        let (site, _) = candidates.swap_remove(k);
        grid.take(site);
        sites.push(site);
    }
    sites
}

/// The judges with what they expect.
struct Bench {
    judges: Vec<Judge>,
    /// For each judge the number of its size and phase, counted from 0.
    groups: Vec<usize>,
    group_count: usize,
    /// For each judge its outcome for every row.
    outcomes: Vec<[Outcome; ROWS]>,
}

impl Bench {
    fn new(judges: Vec<Judge>) -> Bench {
        let mut keys: Vec<(u32, u32)> = Vec::new();
        let groups = judges
            .iter()
            .map(|j| {
                let key = (j.hypothesis.unit, j.hypothesis.phase);
                keys.iter().position(|k| *k == key).unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                })
            })
            .collect();
        let outcomes = judges
            .iter()
            .map(|judge| {
                std::array::from_fn(|row| {
                    let mut outcome = [0.0; CLASSES];
                    for (weight, given_step) in judge.steps.iter().zip(&OUTCOMES[row]) {
                        for (sum, probability) in outcome.iter_mut().zip(given_step) {
                            *sum += weight * probability;
                        }
                    }
                    outcome
                })
            })
            .collect();
        Bench {
            judges,
            groups,
            group_count: keys.len(),
            outcomes,
        }
    }

    /// The rows that the judges take at a cell.
    fn rows(&self, cell: Cell) -> Vec<usize> {
        self.judges
            .iter()
            .map(|j| row(&j.hypothesis, cell))
            .collect()
    }

    /// What size and phase explain of the difference at a place with these rows.
    fn explained(&self, weights: &[f64], rows: &[usize]) -> f64 {
        let mut groups = vec![[0.0; CLASSES]; self.group_count];
        for (((group, weight), row), outcomes) in self
            .groups
            .iter()
            .zip(weights)
            .zip(rows)
            .zip(&self.outcomes)
        {
            for (sum, probability) in groups[*group].iter_mut().zip(&outcomes[*row]) {
                *sum += weight * probability;
            }
        }
        let mut all = [0.0; CLASSES];
        let mut within = 0.0;
        for group in &groups {
            for (sum, mass) in all.iter_mut().zip(group) {
                *sum += mass;
            }
            within += impurity(group);
        }
        impurity(&all) - within
    }
}

/// Gini's impurity of masses that need not sum to one, times their sum.
fn impurity(masses: &Outcome) -> f64 {
    let total: f64 = masses.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    total - masses.iter().map(|m| m * m).sum::<f64>() / total
}

/// The lattice of a unit in cells.
pub fn lattice(unit: u32, phase: u32) -> Option<Alignment> {
    Alignment::new(
        Bytes(u64::from(unit) * CELL.get()),
        Bytes(u64::from(phase) * CELL.get()),
    )
}

//! Which place tells most about what is still undecided.

use super::grid::{CELL, Grid};
use super::hypothesis::{Hypothesis, Level};
use super::posterior::Posterior;
use crate::measure::alignment::Site;
use crate::units::{Alignment, Bytes};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// The hypotheses that candidate places are judged by.
const JUDGES: usize = 128;

/// The hypotheses whose own boundaries are offered as candidates.
const PROPOSERS: usize = 24;

/// Random places of the whole grid among the candidates: they keep every hypothesis testable.
const RANDOM_PLACES: usize = 16;

/// What a level costs, relative to an erase-block boundary, when candidates are compared.
const EXPECTED: [f64; 3] = [0.0, 0.5, 1.0];

/// Fresh places for the next batch.
///
/// A candidate is worth the variance, between sizes and phases, of the cost that they predict
/// there: the square of the signal that separates them. Every slot of the batch uses weights
/// shaken at random (a Bayesian bootstrap, Rubin 1981), so that one batch does not ask the same
/// question sixteen times.
pub fn batch(posterior: &Posterior, grid: &mut Grid, size: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<Site> {
    let judges = posterior.best(JUDGES);
    let mut candidates: Vec<(Site, Vec<Level>)> = Vec::new();
    let mut offer = |lattice: Option<Alignment>, grid: &Grid, rng: &mut Xoshiro256PlusPlus| {
        if let Some(site) = lattice.and_then(|l| grid.fresh(l, rng)) {
            let cell = u32::try_from(site.at.get() / CELL.get()).unwrap_or(u32::MAX);
            candidates.push((site, judges.iter().map(|(h, _)| h.level(cell)).collect()));
        }
    };
    for (h, _) in judges.iter().filter(|(h, _)| h.unit != 0).take(PROPOSERS) {
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
    let groups = groups(&judges);
    let mut sums = vec![(0.0, 0.0); judges.len()];
    let mut sites = Vec::new();
    let mut shaken = vec![0.0; judges.len()];
    for _ in 0..size {
        for (weight, (_, probability)) in shaken.iter_mut().zip(&judges) {
            // An exponential variate; 1 − u is never zero.
            *weight = probability * -(1.0 - rng.random::<f64>()).ln();
        }
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(_, (site, _))| grid.is_fresh(*site))
            .map(|(n, (_, levels))| (n, spread(&groups, &shaken, levels, &mut sums)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((n, _)) = best else { break };
        let (site, _) = candidates.swap_remove(n);
        grid.take(site);
        sites.push(site);
    }
    sites
}

/// The lattice of a unit in cells.
pub fn lattice(unit: u32, phase: u32) -> Option<Alignment> {
    Alignment::new(Bytes(u64::from(unit) * CELL.get()), Bytes(u64::from(phase) * CELL.get()))
}

/// For each judge the number of its size and phase, counted from 0.
fn groups(judges: &[(Hypothesis, f64)]) -> Vec<usize> {
    let mut keys: Vec<(u32, u32)> = Vec::new();
    judges
        .iter()
        .map(|(h, _)| {
            let key = (h.unit, h.phase);
            keys.iter().position(|k| *k == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            })
        })
        .collect()
}

/// The variance of the expected cost between sizes and phases. Sub-units of one size and phase are
/// averaged first: which of them it is decides nothing about the grid to use.
fn spread(groups: &[usize], weights: &[f64], levels: &[Level], sums: &mut [(f64, f64)]) -> f64 {
    sums.fill((0.0, 0.0));
    let (mut total, mut mean) = (0.0, 0.0);
    for ((group, weight), level) in groups.iter().zip(weights).zip(levels) {
        let cost = weight * EXPECTED[*level as usize];
        sums[*group].0 += weight;
        sums[*group].1 += cost;
        total += weight;
        mean += cost;
    }
    mean /= total;
    let squares: f64 = sums
        .iter()
        .filter(|(weight, _)| *weight > 0.0)
        .map(|(weight, cost)| weight * (cost / weight - mean).powi(2))
        .sum();
    squares / total
}

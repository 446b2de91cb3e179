//! What passes over a number of units tell: fast, slow, or not yet anything.

use super::climb::{Level, VISITS};
use crate::geometry::stats::median;

/// So many slow visits in a row leave no doubt that every visit is slow, as with one unit too many
/// under replacement of the oldest; under random replacement a row of five is rarer than 1 in 1000.
pub(super) const ROW: usize = 5;
/// Such passes, one after another, until a number of units counts as too many.
pub(super) const SLOW_PASSES: u32 = 2;

/// What a number of units showed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Fast(Level),
    Slow(Slow),
}

/// Visits that wait for collections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slow {
    /// All of them do, rather than some in every pass.
    pub(super) every: bool,
    /// How many did.
    pub(super) visits: usize,
    /// Of so many.
    pub(super) of: usize,
    /// The median of their seconds.
    pub(super) seconds: f64,
}

/// Lanes that are visited in turn, for ever.
pub(super) struct Ring(Vec<usize>);

impl Ring {
    pub(super) fn new(lanes: Vec<usize>) -> Ring {
        Ring(lanes)
    }

    pub(super) fn lanes(&self) -> Vec<usize> {
        self.0.clone()
    }

    /// So many were visited. A pass that was given up must not begin again at its first lanes: those
    /// are the ones that were opened last.
    pub(super) fn turn(&mut self, visited: usize) {
        let lanes = self.0.len().max(1);
        self.0.rotate_left(visited % lanes);
    }
}

/// Gathers passes over `n` units until they tell.
pub(super) struct Judge {
    n: usize,
    above: f64,
    /// Slow visits in a row that make a pass slow throughout.
    pub(super) row: usize,
    fast: Vec<f64>,
    slow: Vec<f64>,
    /// All visits so far.
    visits: usize,
    /// Passes without a slow visit.
    pub(super) clean: u32,
    slow_passes: u32,
}

impl Judge {
    pub(super) fn new(n: usize, above: f64) -> Judge {
        Judge {
            n,
            above,
            row: n.min(ROW),
            fast: Vec::new(),
            slow: Vec::new(),
            visits: 0,
            clean: 0,
            slow_passes: 0,
        }
    }

    /// One pass, which may have been given up.
    pub(super) fn add(&mut self, times: &[f64]) {
        self.visits += times.len();
        let slow: Vec<f64> = times.iter().copied().filter(|t| *t > self.above).collect();
        if slow.is_empty() {
            self.clean += 1;
            self.slow_passes = 0;
            self.fast.extend(times);
            return;
        }
        let throughout = times
            .split(|t| *t <= self.above)
            .any(|row| row.len() >= self.row);
        self.slow_passes = if throughout { self.slow_passes + 1 } else { 0 };
        self.slow.extend(slow);
    }

    /// How many visits there were.
    pub(super) fn visits(&self) -> usize {
        self.visits
    }

    /// How many visits were slow.
    pub(super) fn slow_visits(&self) -> usize {
        self.slow.len()
    }

    /// What is told: enough visits in clean passes, passes slow throughout, or `patience` slow visits
    /// without a clean pass.
    pub(super) fn step(&self, patience: usize) -> Option<Step> {
        if self.fast.len() >= VISITS {
            return Some(Step::Fast(Level::of(self.n, &self.fast)));
        }
        let every = self.slow_passes >= SLOW_PASSES;
        let patient = self.clean == 0 && self.slow.len() >= patience;
        (every || patient).then(|| {
            Step::Slow(Slow {
                every,
                visits: self.slow.len(),
                of: self.visits,
                seconds: median(&self.slow),
            })
        })
    }
}

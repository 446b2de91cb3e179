//! The table of open allocation units: what is written in order, what out of order, and what it
//! costs when one more is opened than the stick can keep.

use super::clock::nanoseconds;
use super::profile::{CutoffKeys, Policy, Profile};
use super::rng::Rng;

/// A unit counts as in use while it was written within the last `RECENT * limit` changes from one
/// unit to another. Visiting n units in random order, pass after pass, comes back to each within
/// 2n changes: four times the limit keeps what is in use and forgets an earlier, larger test.
const RECENT: u64 = 4;

/// The limit that [`RECENT`] multiplies on a stick without one.
const UNLIMITED_WINDOW: u64 = 16;

/// What a visit costs beside the transfer itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visit {
    /// Nanoseconds for closing and opening units.
    pub(super) cost: f64,
    /// Factor on the time of the transfer: sag and soft cut-off.
    pub(super) factor: f64,
    /// Whether it continued where the last write to this unit ended, or opened the unit.
    pub(super) in_order: bool,
    /// Units that were copied together.
    pub(super) collections: u64,
    /// Units that were opened.
    pub(super) opened: u64,
}

#[derive(Clone, Debug)]
struct Unit {
    index: u64,
    next: u64,
    written: u64,
    in_order: bool,
    opened: u64,
    used: u64,
}

/// The table.
#[derive(Clone, Debug)]
pub(super) struct OpenUnits {
    size: u64,
    first_boundary: u64,
    linear: Option<usize>,
    random: Option<usize>,
    policy: Policy,
    cutoff: CutoffKeys,
    collect: f64,
    open: f64,
    soft_factor: f64,
    sag_free: f64,
    sag_per_unit: f64,
    random_below: u64,
    random_below_cost: f64,
    units: Vec<Unit>,
    changes: u64,
}

impl OpenUnits {
    /// A stick at rest: nothing is open.
    pub(super) fn new(profile: &Profile) -> OpenUnits {
        let keys = &profile.open_units;
        let size = keys.unit.unwrap_or(profile.flash.finest_unit()).get();
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        OpenUnits {
            size,
            first_boundary: profile.flash.phase.get() % size,
            linear: keys.linear.map(count),
            random: keys.random.map(count),
            policy: keys.policy,
            cutoff: keys.cutoff,
            collect: nanoseconds(keys.collect),
            open: nanoseconds(keys.open),
            soft_factor: 1.0 / keys.soft_rate,
            sag_free: f64::from(keys.sag_free),
            sag_per_unit: keys.sag_per_unit,
            random_below: keys.random_below.map_or(0, |size| size.get()),
            random_below_cost: nanoseconds(keys.random_below_cost.unwrap_or(keys.collect)),
            units: Vec::new(),
            changes: 0,
        }
    }

    /// The size of a unit in bytes.
    pub(super) fn unit_size(&self) -> u64 {
        self.size
    }

    /// The end of the unit that contains `x`.
    pub(super) fn end_of_unit(&self, x: u64) -> u64 {
        if x < self.first_boundary {
            self.first_boundary
        } else {
            self.first_boundary + ((x - self.first_boundary) / self.size + 1) * self.size
        }
    }

    /// `[from, to)`, inside one unit, is written.
    pub(super) fn visit(&mut self, from: u64, to: u64, rng: &mut Rng) -> Visit {
        let mut visit = Visit {
            cost: 0.0,
            factor: 1.0,
            in_order: true,
            collections: 0,
            opened: 0,
        };
        let index = self.end_of_unit(from);
        let position = match self.units.iter().position(|unit| unit.index == index) {
            Some(position) => {
                if self.units[position].used != self.changes {
                    self.changes += 1;
                }
                self.continue_unit(position, from, rng, &mut visit)
            }
            None => {
                self.changes += 1;
                self.open_unit(index, rng, &mut visit)
            }
        };
        let changes = self.changes;
        let unit = &mut self.units[position];
        unit.used = changes;
        unit.next = to;
        unit.written += to - from;
        if !visit.in_order && to - from < self.random_below {
            visit.cost += self.random_below_cost;
        }
        visit.factor = self.slowdown();
        self.close_if_full(position, &mut visit);
        visit
    }

    /// Open a unit that is not in the table; tells where it stands there.
    fn open_unit(&mut self, index: u64, rng: &mut Rng, visit: &mut Visit) -> usize {
        match (self.cutoff, self.linear) {
            (CutoffKeys::Hard, Some(limit)) => {
                while self.units.len() >= limit {
                    let all: Vec<usize> = (0..self.units.len()).collect();
                    self.evict(&all, rng, visit);
                }
            }
            _ => self.forget_stale(),
        }
        visit.cost += self.open;
        visit.opened += 1;
        self.units.push(Unit {
            index,
            next: 0,
            written: 0,
            in_order: true,
            opened: self.changes,
            used: self.changes,
        });
        self.units.len() - 1
    }

    /// Write into an open unit; tells where it stands afterwards.
    fn continue_unit(
        &mut self,
        position: usize,
        from: u64,
        rng: &mut Rng,
        visit: &mut Visit,
    ) -> usize {
        let unit = &mut self.units[position];
        visit.in_order = from == unit.next;
        if visit.in_order || !unit.in_order {
            return position;
        }
        let index = unit.index;
        match self.random.or(self.linear) {
            // No unit may be out of order: it is copied together at once and stays open.
            Some(0) => {
                unit.written = 0;
                self.collect(visit);
                return position;
            }
            Some(limit) if self.cutoff == CutoffKeys::Hard => loop {
                let random: Vec<usize> = (0..self.units.len())
                    .filter(|&i| !self.units[i].in_order)
                    .collect();
                if random.len() < limit {
                    break;
                }
                self.evict(&random, rng, visit);
            },
            _ => {}
        }
        // Evictions may have moved it.
        let position = self
            .units
            .iter()
            .position(|unit| unit.index == index)
            .unwrap_or(0);
        self.units[position].in_order = false;
        position
    }

    /// Close one of these units at the cost of a collection.
    fn evict(&mut self, candidates: &[usize], rng: &mut Rng, visit: &mut Visit) {
        let victim = match self.policy {
            Policy::Lru => candidates.iter().min_by_key(|&&i| self.units[i].used),
            Policy::Fifo => candidates.iter().min_by_key(|&&i| self.units[i].opened),
            Policy::Random => candidates.get(rng.below(candidates.len())),
        };
        if let Some(&victim) = victim {
            self.units.remove(victim);
            self.collect(visit);
        }
    }

    fn collect(&self, visit: &mut Visit) {
        visit.cost += self.collect;
        visit.collections += 1;
    }

    /// A unit that took as many bytes as it has is closed: for nothing when they came in order,
    /// else its pages must be copied together.
    fn close_if_full(&mut self, position: usize, visit: &mut Visit) {
        let unit = &self.units[position];
        if unit.written >= self.size {
            let in_order = unit.in_order;
            self.units.remove(position);
            if !in_order {
                self.collect(visit);
            }
        }
    }

    fn slowdown(&self) -> f64 {
        let oldest = self.changes.saturating_sub(self.window());
        let active = self.units.iter().filter(|u| u.used > oldest).count();
        let sagging = (active as f64 - self.sag_free).max(0.0);
        let sag = 1.0 + self.sag_per_unit * sagging;
        match (self.cutoff, self.linear) {
            (CutoffKeys::Soft, Some(limit)) if active > limit => sag * self.soft_factor,
            _ => sag,
        }
    }

    fn forget_stale(&mut self) {
        let oldest = self.changes.saturating_sub(self.window());
        self.units.retain(|unit| unit.used > oldest);
    }

    fn window(&self) -> u64 {
        RECENT * self.linear.map_or(UNLIMITED_WINDOW, |n| n as u64)
    }
}

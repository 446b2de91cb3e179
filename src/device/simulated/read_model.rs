//! How long a read takes, before noise.
//!
//! `base + per_kib * s/1024`, plus what crossing boundaries costs, plus what the caches do not
//! know yet. A read [a, b) crosses a boundary x when a < x < b: one that begins or ends on the
//! boundary does not.

use super::clock::nanoseconds;
use super::lru::Lru;
use super::profile::{Combine, Multiples, Profile};
use super::rng::{place, place_spread};
use super::store::{Store, specimen};

/// Purpose numbers of [`place`].
const MISSED: u64 = 2;
const SPREAD: u64 = 3;
const REGION: u64 = 4;

/// The read side of the flash model. Places in bytes, times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct ReadModel {
    seed: u64,
    base: f64,
    per_kib: f64,
    max_request: Option<u64>,
    split_cost: f64,
    trend_per_byte: f64,
    regions: Option<(u64, f64)>,
    after_idle: Option<(f64, f64)>,
    unmapped: Option<(f64, f64)>,
    structure: Structure,
    levels: Vec<Level>,
    combine: Combine,
    cache: Option<Cache>,
    map_cache: Option<MapCache>,
}

#[derive(Clone, Debug)]
struct Structure {
    erase_block: u64,
    phase: u64,
    grid: u64,
    erase_block_cost: f64,
    sub_unit_cost: f64,
    missed: f64,
    spread: f64,
}

#[derive(Clone, Debug)]
struct Level {
    size: u64,
    cost: f64,
    at: Multiples,
}

#[derive(Clone, Debug)]
struct Cache {
    unit: u64,
    hit: f64,
    read_ahead: u64,
    units: Lru,
}

#[derive(Clone, Debug)]
struct MapCache {
    region: u64,
    miss: f64,
    regions: Lru,
}

impl ReadModel {
    /// The read side of a profile.
    pub(super) fn new(profile: &Profile) -> ReadModel {
        let read = &profile.read;
        let per_kib = nanoseconds(read.per_kib);
        ReadModel {
            seed: specimen(profile),
            base: nanoseconds(read.base),
            per_kib,
            max_request: profile.reported.max_request.map(|size| size.get()),
            split_cost: nanoseconds(read.split_cost),
            trend_per_byte: nanoseconds(read.trend) / profile.capacity.get() as f64,
            regions: read
                .regions
                .as_ref()
                .map(|r| (r.size.get(), nanoseconds(r.spread))),
            after_idle: read
                .after_idle
                .as_ref()
                .map(|i| (nanoseconds(i.idle), nanoseconds(i.cost))),
            unmapped: profile.unmapped.as_ref().map(|u| {
                let per_kib = u.per_kib.map_or(per_kib, nanoseconds);
                (nanoseconds(u.base), per_kib)
            }),
            structure: Structure {
                erase_block: profile.flash.erase_block.get(),
                phase: profile.flash.phase.get(),
                grid: profile.flash.finest_unit().get(),
                erase_block_cost: nanoseconds(read.crossing.erase_block),
                sub_unit_cost: nanoseconds(read.crossing.sub_unit),
                missed: read.crossing.missed,
                spread: read.crossing.spread,
            },
            levels: read
                .crossing
                .page
                .iter()
                .map(|level| Level {
                    size: level.size.get(),
                    cost: nanoseconds(level.cost),
                    at: level.at,
                })
                .collect(),
            combine: read.crossing.combine,
            cache: read.cache.as_ref().map(|cache| Cache {
                unit: cache.unit.get(),
                hit: nanoseconds(cache.hit),
                read_ahead: cache.read_ahead.get(),
                units: Lru::new(
                    usize::try_from(cache.size.get() / cache.unit.get()).unwrap_or(usize::MAX),
                ),
            }),
            map_cache: read.map_cache.as_ref().map(|cache| MapCache {
                region: cache.region.get(),
                miss: nanoseconds(cache.miss),
                regions: Lru::new(usize::try_from(cache.entries).unwrap_or(usize::MAX)),
            }),
        }
    }

    /// The time of a read of `[from, to)` after `idle` nanoseconds of rest.
    pub(super) fn time(&mut self, from: u64, to: u64, idle: f64, store: &Store) -> f64 {
        let kib = (to - from) as f64 / 1024.0;
        let extra = self.wake_up(idle) + self.split(to - from);
        if !store.any_mapped(from, to) {
            let (base, per_kib) = self.unmapped.unwrap_or((self.base, self.per_kib));
            return extra + base + per_kib * kib;
        }
        if let Some(hit) = self.look_up(from, to) {
            return extra + hit + self.per_kib * kib;
        }
        extra
            + self.base
            + self.per_kib * kib
            + self.offset_of(from)
            + self.load_map(from, to)
            + self.crossing(from, to, store)
    }

    /// A write changes what the read cache holds.
    pub(super) fn forget(&mut self, from: u64, to: u64) {
        if let Some(cache) = &mut self.cache {
            for unit in from / cache.unit..=(to - 1) / cache.unit {
                cache.units.remove(unit);
            }
        }
    }

    /// What the first access after a pause costs.
    pub(super) fn wake_up(&self, idle: f64) -> f64 {
        match self.after_idle {
            Some((pause, cost)) if idle >= pause => cost,
            _ => 0.0,
        }
    }

    fn split(&self, length: u64) -> f64 {
        match self.max_request {
            Some(piece) if length > piece => (length.div_ceil(piece) - 1) as f64 * self.split_cost,
            _ => 0.0,
        }
    }

    fn offset_of(&self, x: u64) -> f64 {
        let region = self.regions.map_or(0.0, |(size, spread)| {
            spread * place_spread(self.seed, REGION, x / size)
        });
        self.trend_per_byte * x as f64 + region
    }

    /// The base of a cache hit, or `None`; remembers the read and what is read ahead.
    fn look_up(&mut self, from: u64, to: u64) -> Option<f64> {
        let cache = self.cache.as_mut()?;
        let units = from / cache.unit..=(to - 1) / cache.unit;
        let hit = units.clone().all(|unit| cache.units.contains(unit));
        let last = (to - 1 + cache.read_ahead) / cache.unit;
        for unit in *units.start()..=last {
            cache.units.touch(unit);
        }
        hit.then_some(cache.hit)
    }

    fn load_map(&mut self, from: u64, to: u64) -> f64 {
        let Some(cache) = &mut self.map_cache else {
            return 0.0;
        };
        let regions = from / cache.region..=(to - 1) / cache.region;
        let missing = regions.filter(|region| !cache.regions.touch(*region));
        missing.count() as f64 * cache.miss
    }

    fn crossing(&self, from: u64, to: u64, store: &Store) -> f64 {
        let structure = self.structure.crossing(from, to, self.seed, store);
        let crossed = self.levels.iter().filter(|l| l.is_crossed(from, to));
        match self.combine {
            Combine::Max => crossed.fold(structure, |most, level| most.max(level.cost)),
            Combine::Sum => crossed.fold(structure, |sum, level| sum + level.cost),
        }
    }
}

impl Structure {
    /// The cost of the costliest erase-block or sub-unit boundary inside `(from, to)`.
    fn crossing(&self, from: u64, to: u64, seed: u64, store: &Store) -> f64 {
        let mut most = 0.0_f64;
        let mut x = if from < self.phase {
            // The grid of the sub-unit reaches down to the phase modulo the sub-unit.
            let first = self.phase % self.grid;
            if from < first {
                first
            } else {
                first + ((from - first) / self.grid + 1) * self.grid
            }
        } else {
            self.phase + ((from - self.phase) / self.grid + 1) * self.grid
        };
        while x < to {
            most = most.max(self.cost_of(x, seed, store));
            x += self.grid;
        }
        most
    }

    /// What crossing the boundary at `x` costs.
    fn cost_of(&self, x: u64, seed: u64, store: &Store) -> f64 {
        let on_erase_block = x % self.erase_block == self.phase;
        let cost = if on_erase_block {
            self.erase_block_cost
        } else {
            self.sub_unit_cost
        };
        // Without flash on both sides there is no second lookup.
        if cost <= 0.0
            || (self.missed > 0.0 && place(seed, MISSED, x) < self.missed)
            || !(store.is_mapped(x - 1) && store.is_mapped(x))
        {
            return 0.0;
        }
        if self.spread > 0.0 {
            cost * (1.0 + self.spread * place_spread(seed, SPREAD, x))
        } else {
            cost
        }
    }
}

impl Level {
    /// Whether a boundary of this level lies inside `(from, to)`.
    fn is_crossed(&self, from: u64, to: u64) -> bool {
        let next = from / self.size + 1;
        let next = match self.at {
            Multiples::All => next,
            Multiples::Odd => next | 1,
        };
        next * self.size < to
    }
}

//! The places a scan may use: the search grid, and the rule that nothing is timed twice.

use crate::measure::alignment::Site;
use crate::units::{Alignment, ByteRange, Bytes};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::collections::HashSet;

/// The search grid: every erase block of interest that is larger is a whole number of these or
/// shares its visible boundaries with one that is.
pub const CELL: Bytes = Bytes::kib(512);

/// A place on the search grid, counted from the start of the device.
pub type Cell = u32;

/// The finest places: the half of the smallest erase block that is searched (64 KiB).
const FINEST: u64 = 32 << 10;

/// Places at the start are left out: the first megabytes are often built differently (another
/// cell mode, another mapping), which is looked at separately.
const SPECIAL_START: Bytes = Bytes::mib(16);

/// A place is tried this often before the grid counts as used up.
const TRIES: usize = 64;

/// The device is remembered in this many regions.
const REGIONS: usize = 64;

/// Which places were read, and where the device is written.
pub struct Grid {
    usable: ByteRange,
    used: HashSet<u64>,
    /// Written and blank reads a region.
    regions: Vec<[u32; 2]>,
    /// The ranges that places must lie in with all that is read around them; `None` for everywhere.
    within: Option<Vec<ByteRange>>,
}

/// Reads around a place reach no further than this beyond its comparison reads (half of the largest
/// read size), and neither do the writes of a scan that writes first.
const REACH: u64 = 16 << 10;

impl Grid {
    /// A fresh device.
    pub fn new(capacity: Bytes) -> Grid {
        // A sixteenth of a small device, so that something is left of 16 MiB.
        let start = SPECIAL_START.min(Bytes(capacity.get() / 16));
        // Room for the last comparison read.
        let to = capacity.saturating_sub(CELL);
        Grid {
            usable: ByteRange { from: start, to },
            used: HashSet::new(),
            regions: vec![[0; 2]; REGIONS],
            within: None,
        }
    }

    /// Only places inside these ranges from now on, with all that is read around them.
    pub fn stay_within(&mut self, ranges: &[ByteRange]) {
        self.within = Some(ranges.to_vec());
    }

    /// Remember what lies at a place.
    pub fn learn(&mut self, at: Bytes, blank: bool) {
        let region = self.region(at);
        self.regions[region][usize::from(blank)] += 1;
    }

    fn region(&self, at: Bytes) -> usize {
        let size = self.usable.to.get() / REGIONS as u64 + 1;
        usize::try_from(at.get() / size).map_or(REGIONS - 1, |region| region.min(REGIONS - 1))
    }

    /// A random fresh place of the lattice `phase + k · unit`, with the comparison distance that
    /// fits its divisibility; `None` when there is no more.
    pub fn fresh(&self, lattice: Alignment, rng: &mut Xoshiro256PlusPlus) -> Option<Site> {
        let unit = lattice.grain().get();
        let first = lattice.up(self.usable.from)?.get();
        let last = lattice.down(self.usable.to)?.get();
        if first > last || !unit.is_multiple_of(2 * FINEST) || first % (2 * FINEST) != 0 {
            return None;
        }
        let members = (last - first) / unit + 1;
        for _ in 0..TRIES {
            let member = match self.random_place(rng) {
                None => rng.random_range(0..members),
                // The nearest member below a place that is allowed, so that narrow ranges are met.
                Some(place) => (place.saturating_sub(first) / unit).min(members - 1),
            };
            let at = Bytes(first + member * unit);
            let site = Site { at, wing: wing(at) };
            if self.allows(site) && self.is_fresh(site) && self.accepts(at, rng) {
                return Some(site);
            }
        }
        None
    }

    /// A random place inside the ranges to stay within.
    fn random_place(&self, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
        let ranges = self.within.as_ref()?;
        let all: u64 = ranges.iter().map(|range| range.length().get()).sum();
        let mut offset = rng.random_range(0..all.max(1));
        for range in ranges {
            match offset.checked_sub(range.length().get()) {
                Some(rest) => offset = rest,
                None => return Some(range.from.get() + offset),
            }
        }
        Some(0)
    }

    fn allows(&self, site: Site) -> bool {
        let around = site.wing.get() + REACH;
        self.within.as_ref().is_none_or(|ranges| {
            ranges.iter().any(|range| {
                range.from.get() + around <= site.at.get()
                    && site.at.get() + around <= range.to.get()
            })
        })
    }

    /// Whether none of a site's three places was read.
    pub fn is_fresh(&self, site: Site) -> bool {
        places(site).iter().all(|place| !self.used.contains(place))
    }

    /// Never offer this site again.
    pub fn take(&mut self, site: Site) {
        self.used.extend(places(site));
    }

    /// Prefer regions that were seen written, in proportion.
    fn accepts(&self, at: Bytes, rng: &mut Xoshiro256PlusPlus) -> bool {
        let [written, blank] = self.regions[self.region(at)];
        let share = (f64::from(written) + 0.5) / (f64::from(written + blank) + 1.0);
        // An unread or written region is always taken; one that is all blank seldom.
        share >= 0.5 || rng.random::<f64>() < share * 2.0
    }
}

/// The middles of a site's three reads, counted in 32 KiB.
fn places(site: Site) -> [u64; 3] {
    let at = site.at.get() / FINEST;
    let wing = site.wing.get() / FINEST;
    [at.saturating_sub(wing), at, at + wing]
}

/// Half of the largest power of two that divides the place, at most half a cell: no erase block
/// that has a boundary at the place and is at least that power of two has one at the wings, and
/// pages up to half of it cost the same at all three.
fn wing(at: Bytes) -> Bytes {
    let power = if at == Bytes::ZERO {
        CELL.get()
    } else {
        1 << at.get().trailing_zeros().min(63)
    };
    Bytes(power.min(CELL.get()) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn no_place_is_offered_twice_not_even_as_a_neighbours_wing() {
        let mut grid = Grid::new(Bytes::gib(1));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let lattice = Alignment::new(CELL, Bytes::ZERO).unwrap();
        let mut seen = HashSet::new();
        for _ in 0..400 {
            let Some(site) = grid.fresh(lattice, &mut rng) else {
                break;
            };
            grid.take(site);
            for middle in [
                site.at.get() - site.wing.get(),
                site.at.get(),
                site.at.get() + site.wing.get(),
            ] {
                assert!(seen.insert(middle), "{middle} twice");
                assert!(middle + CELL.get() / 2 <= 1 << 30);
            }
        }
        assert!(seen.len() > 900, "{}", seen.len());
    }

    #[test]
    fn wings_shrink_with_the_divisibility_of_the_place() {
        assert_eq!(wing(Bytes::mib(64)), Bytes::kib(256));
        assert_eq!(wing(Bytes::kib(512 * 3)), Bytes::kib(256));
        assert_eq!(wing(Bytes::kib(256 * 5)), Bytes::kib(128));
        assert_eq!(wing(Bytes::kib(64 * 7)), Bytes::kib(32));
    }

    #[test]
    fn places_stay_with_their_surroundings_inside_the_given_ranges() {
        let mut grid = Grid::new(Bytes::gib(16));
        let ranges = [(1000, 1040), (9000, 9009)].map(|(from, to)| ByteRange {
            from: Bytes::mib(from),
            to: Bytes::mib(to),
        });
        grid.stay_within(&ranges);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let lattice = Alignment::new(Bytes::mib(4), Bytes::ZERO).unwrap();
        let mut seen = HashSet::new();
        while let Some(site) = grid.fresh(lattice, &mut rng) {
            grid.take(site);
            seen.insert(site.at.get() >> 20);
        }
        // Not 1000, 1040 and 9000: their comparison reads would lie outside.
        let mut seen: Vec<u64> = seen.into_iter().collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                1004, 1008, 1012, 1016, 1020, 1024, 1028, 1032, 1036, 9004, 9008
            ]
        );
    }

    #[test]
    fn blank_regions_are_avoided() {
        let mut grid = Grid::new(Bytes::gib(16));
        for n in 0..64 {
            for _ in 0..10 {
                grid.learn(Bytes::mib(256 * n), n >= 32);
            }
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let lattice = Alignment::new(Bytes::mib(4), Bytes::ZERO).unwrap();
        let low = (0..200)
            .filter_map(|_| grid.fresh(lattice, &mut rng))
            .filter(|site| site.at < Bytes::gib(8))
            .count();
        assert!(low > 160, "{low} of 200 in the written half");
    }
}

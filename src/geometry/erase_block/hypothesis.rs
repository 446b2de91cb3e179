//! The erase blocks that are thought possible, and how plausible each is before anything is timed.

use super::grid::{CELL, Cell};
use crate::units::Bytes;

/// Odd factors and their shares of the prior: powers of two are the rule, three times a power of
/// two is common on three-bit cells (linux-kernel list, October 2012, on 1.5, 3, 6 and 12 MB erase
/// blocks), the others are kept possible.
const ODD_FACTORS: [(u64, f64); 5] = [(1, 0.55), (3, 0.33), (5, 0.06), (7, 0.02), (9, 0.04)];

/// The largest erase block considered.
pub(super) const LARGEST: Bytes = Bytes::mib(128);

/// The prior of "no boundary is visible in reads".
const NOTHING_VISIBLE: f64 = 0.2;

/// A size outside the window usual for the capacity loses this factor for every doubling.
const OUTSIDE_PER_DOUBLING: f64 = 0.3;

/// A boundary lattice needs this many members on the device: fewer can neither be found nor
/// confirmed when each place may be read only once.
const FEWEST_BOUNDARIES: u64 = 12;

/// Prior weight of one of the phases that special areas at the start make likely (1, 2, 4 or 8 MiB,
/// halves and thirds of the erase block), relative to phase 0.
const SPECIAL_PHASE: f64 = 0.15;

/// Prior weight of all other phases of a size together, relative to phase 0.
const OTHER_PHASES: f64 = 0.15;

/// Prior weight of each possible sub-unit (a half, a third, a quarter, or a half that has halves
/// itself), relative to none.
pub(super) const SUB_UNIT: f64 = 0.3;

/// Cost of a sub-unit boundary relative to that of an erase block. Two-level cards on the
/// flashbench list show 0.45 to 0.65; neighbouring ratios differ by less than boundaries differ
/// among themselves. Nearer to 1 the two levels would need hundreds of reads to be told apart.
pub const SUB_RATIOS: [f64; 3] = [0.3, 0.43, 0.62];

/// One possible geometry, in cells of the search grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypothesis {
    /// The distance between boundaries; 0 means "nothing visible".
    pub unit: Cell,
    /// The first boundary.
    pub phase: Cell,
    /// The distance between sub-boundaries; 0 for none.
    pub sub_unit: Cell,
    /// The distance between the boundaries of a third level; 0 for none.
    pub small_unit: Cell,
    /// Which of [`SUB_RATIOS`] a sub-boundary costs; one of the third level costs its square.
    pub ratio: u8,
}

/// What a hypothesis says of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// No boundary.
    None,
    /// A boundary of the third level only.
    Small,
    /// A boundary of the sub-unit.
    Sub,
    /// A boundary of the erase block.
    Full,
}

impl Hypothesis {
    /// Nothing is visible.
    pub const NOTHING: Hypothesis = Hypothesis {
        unit: 0,
        phase: 0,
        sub_unit: 0,
        small_unit: 0,
        ratio: 0,
    };

    /// What lies at a cell.
    pub fn level(&self, cell: Cell) -> Level {
        self.level_within(self.place(cell))
    }

    /// How far a cell lies behind the last boundary of the erase block; 1 when nothing is visible.
    pub fn place(&self, cell: Cell) -> Cell {
        // `phase < unit`, so the sum never falls below zero.
        if self.unit == 0 {
            1
        } else {
            (cell + self.unit - self.phase) % self.unit
        }
    }

    /// What lies at this distance behind a boundary.
    pub fn level_within(&self, place: Cell) -> Level {
        if place == 0 {
            Level::Full
        } else if self.sub_unit != 0 && place.is_multiple_of(self.sub_unit) {
            Level::Sub
        } else if self.small_unit != 0 && place.is_multiple_of(self.small_unit) {
            Level::Small
        } else {
            Level::None
        }
    }
}

/// All hypotheses with their prior probabilities, which sum to 1. `weight` is the passive evidence
/// for a size (capacity, reported values), as a factor.
pub fn all(capacity: Bytes, weight: impl Fn(Bytes) -> f64) -> Vec<(Hypothesis, f64)> {
    let mut list = Vec::new();
    for unit in units(capacity) {
        let size = Bytes(unit.cells() * CELL.get());
        let share = unit.prior * window(size, capacity) * weight(size);
        let cells = unit.cells();
        let phases = phases(cells);
        let phase_total: f64 = phases.iter().map(|p| p.1).sum();
        let subs = sub_units(cells);
        let sub_total: f64 = subs.iter().map(|s| s.weight).sum();
        for &(phase, phase_weight) in &phases {
            for sub in &subs {
                let hypothesis = Hypothesis {
                    unit: narrow(cells),
                    phase: narrow(phase),
                    sub_unit: narrow(sub.unit),
                    small_unit: narrow(sub.small_unit),
                    ratio: sub.ratio,
                };
                list.push((
                    hypothesis,
                    share * phase_weight / phase_total * sub.weight / sub_total,
                ));
            }
        }
    }
    let total: f64 = list.iter().map(|h| h.1).sum();
    if total > 0.0 {
        list.iter_mut()
            .for_each(|h| h.1 *= (1.0 - NOTHING_VISIBLE) / total);
    }
    list.insert(
        0,
        (
            Hypothesis::NOTHING,
            if total > 0.0 { NOTHING_VISIBLE } else { 1.0 },
        ),
    );
    list
}

/// Cell numbers of the search fit: the largest erase block has 256 cells.
fn narrow(cells: u64) -> Cell {
    Cell::try_from(cells).unwrap_or(Cell::MAX)
}

struct Unit {
    odd: u64,
    doublings: u32,
    prior: f64,
}

impl Unit {
    fn cells(&self) -> u64 {
        self.odd << self.doublings
    }
}

/// All sizes `odd · 2^k` that are whole cells, up to 128 MiB, with enough members on the device.
/// (Sizes below a cell share their visible boundaries with a size of whole cells; which of them it
/// is, is settled when a winner is confirmed.)
fn units(capacity: Bytes) -> Vec<Unit> {
    let most = (LARGEST.get() / CELL.get()).min(capacity.get() / CELL.get() / FEWEST_BOUNDARIES);
    let mut units = Vec::new();
    for (odd, prior) in ODD_FACTORS {
        let mut doublings = 0;
        while odd << doublings <= most {
            units.push(Unit {
                odd,
                doublings,
                prior,
            });
            doublings += 1;
        }
    }
    units
}

/// How usual a size is for a capacity, 1 inside the window. Erase blocks grew with the media:
/// 128 KiB to 4 MiB up to 1 GB (FlashCardSurvey), 1 MiB to 24 MiB up to 64 GB, then up to 64 MiB.
fn window(size: Bytes, capacity: Bytes) -> f64 {
    let (low, high) = match capacity.get() {
        c if c < 2 << 30 => (Bytes::kib(512), Bytes::mib(4)),
        c if c < 64 << 30 => (Bytes::mib(1), Bytes::mib(24)),
        _ => (Bytes::mib(2), Bytes::mib(64)),
    };
    let below = (low.get() as f64 / size.get() as f64).log2().max(0.0);
    let above = (size.get() as f64 / high.get() as f64).log2().max(0.0);
    OUTSIDE_PER_DOUBLING.powf(below + above)
}

/// Phases with their weights: 0, the ones that are likely, and every other on a step that grows
/// with the size (at most 64 steps a block).
fn phases(cells: u64) -> Vec<(u64, f64)> {
    let mib = (1 << 20) / CELL.get();
    let mut special = vec![mib, 2 * mib, 4 * mib, 8 * mib];
    if cells.is_multiple_of(2) {
        special.push(cells / 2);
    }
    if cells.is_multiple_of(3) {
        special.extend([cells / 3, 2 * cells / 3]);
    }
    special.retain(|&p| p > 0 && p < cells);
    special.sort_unstable();
    special.dedup();
    let step = cells.div_ceil(64).next_power_of_two();
    let others: Vec<u64> = (1..cells.div_ceil(step))
        .map(|n| n * step)
        .filter(|p| *p < cells && !special.contains(p))
        .collect();
    let other_weight = OTHER_PHASES / others.len().max(1) as f64;
    let mut phases = vec![(0, 1.0)];
    phases.extend(special.into_iter().map(|p| (p, SPECIAL_PHASE)));
    phases.extend(others.into_iter().map(|p| (p, other_weight)));
    phases
}

struct SubUnit {
    unit: u64,
    small_unit: u64,
    ratio: u8,
    weight: f64,
}

/// Sub-units with their weights: none, a half, a third, a quarter, or a half and a quarter, as far
/// as they are whole cells; each with every ratio of costs.
fn sub_units(cells: u64) -> Vec<SubUnit> {
    let mut subs = vec![SubUnit {
        unit: 0,
        small_unit: 0,
        ratio: 0,
        weight: 1.0,
    }];
    for (part, small_part) in [(2, 0), (2, 4), (3, 0), (4, 0)] {
        if !cells.is_multiple_of(part) || (small_part != 0 && !cells.is_multiple_of(small_part)) {
            continue;
        }
        for ratio in (0u8..).take(SUB_RATIOS.len()) {
            subs.push(SubUnit {
                unit: cells / part,
                small_unit: cells.checked_div(small_part).unwrap_or(0),
                ratio,
                weight: SUB_UNIT / SUB_RATIOS.len() as f64,
            });
        }
    }
    subs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(capacity: Bytes) -> Vec<u64> {
        let mut sizes: Vec<u64> = all(capacity, |_| 1.0)
            .iter()
            .map(|(h, _)| u64::from(h.unit) * CELL.get())
            .collect();
        sizes.dedup();
        sizes
    }

    #[test]
    fn the_prior_sums_to_one_and_holds_every_odd_factor() {
        let list = all(Bytes::gib(16), |_| 1.0);
        assert!((list.iter().map(|h| h.1).sum::<f64>() - 1.0).abs() < 1e-9);
        let sizes = sizes(Bytes::gib(16));
        for mib in [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 48, 64, 96, 128,
        ] {
            assert!(sizes.contains(&(mib << 20)), "{mib} MiB");
        }
        assert!(sizes.contains(&(3 << 19)));
        assert!(!sizes.contains(&(11 << 20)) && !sizes.contains(&(256 << 20)));
    }

    #[test]
    fn every_phase_of_eight_mebibytes_is_thought_of() {
        let list = all(Bytes::gib(16), |_| 1.0);
        for phase in 0..16 {
            assert!(
                list.iter().any(|(h, _)| h.unit == 16 && h.phase == phase),
                "{phase}"
            );
        }
    }

    #[test]
    fn a_tiny_device_leaves_only_nothing() {
        let list = all(Bytes::mib(1), |_| 1.0);
        assert_eq!(list, vec![(Hypothesis::NOTHING, 1.0)]);
    }

    #[test]
    fn levels_follow_phase_and_sub_unit() {
        let h = Hypothesis {
            unit: 24,
            phase: 8,
            sub_unit: 8,
            small_unit: 4,
            ratio: 1,
        };
        assert_eq!(h.level(8), Level::Full);
        assert_eq!(h.level(32), Level::Full);
        assert_eq!(h.level(0), Level::Sub);
        assert_eq!(h.level(24), Level::Sub);
        assert_eq!(h.level(4), Level::Small);
        assert_eq!(h.level(25), Level::None);
        assert_eq!(Hypothesis::NOTHING.level(0), Level::None);
    }
}

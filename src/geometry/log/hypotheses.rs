//! Which erase blocks are considered, and how likely each is before a scan is looked at.

use super::places::Grid;
use crate::geometry::capacity;
use crate::topology::Reported;
use crate::units::{Bytes, GIB, KIB, MIB};

/// A unit, the place of its boundaries, and the smaller unit inside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hypothesis {
    pub grid: Grid,
    /// The sub-unit; its boundaries run through those of the unit.
    pub sub_unit: Option<Bytes>,
    /// Logarithm of the prior probability.
    pub prior: f64,
}

/// The prior probability that a scan shows no unit. About one in five of the scans in
/// public mail archives and wikis does not.
pub(super) const NOTHING: f64 = 0.2;

/// Odd factors and their weights. Nearly all units that experts have named from public flashbench logs
/// are powers of two; Intel's X25 (10 MiB) is an exception. Units of 3 * 2^k are
/// declared by TLC cards (SD status AU codes for 12 and 24 MiB) but have not been seen in a read
/// scan; they are given 2 %, a judgement.
const ODD_FACTORS: [(u64, f64); 5] = [(1, 1.0), (3, 0.02), (5, 0.008), (7, 0.001), (9, 0.002)];

/// Parts of a unit that can be a sub-unit, with weights relative to none. SanDisk's two-level cards have
/// halves; thirds are for units of three.
const SUB_UNITS: [(u64, f64); 3] = [(2, 0.2), (3, 0.1), (4, 0.05)];
/// Weight of each phase other than 0. Boundaries that do not start at 0 are conceivable where a
/// special area stands in front of units of three.
const PHASE: f64 = 0.1;

/// The largest unit considered. The largest AU that SD cards can declare is 64 MiB.
const LARGEST: u64 = 512 * MIB;

/// Weight of a size by its magnitude: even over what cards of the time have, falling off below and
/// above. Steps below 1 MiB on devices of a gigabyte and more are large pages as a rule.
fn magnitude(size: u64, small_device: bool) -> f64 {
    match size {
        0..65_536 => 0.0,
        65_536..131_072 if small_device => 0.5,
        131_072..1_048_576 if small_device => 1.0,
        262_144..524_288 => 0.1,
        524_288..1_048_576 => 0.4,
        1_048_576..=67_108_864 => 1.0,
        67_108_865..=134_217_728 => 0.3,
        134_217_729.. => 0.05,
        _ => 0.0,
    }
}

/// The largest allocation unit that the SD specification allows a card of a capacity to declare
/// (Physical Layer Simplified Specification 4.10, maximum AU size). Units beyond it exist, cards with
/// two levels and USB sticks among them, but are fewer.
fn largest_declared(capacity: u64) -> u64 {
    match capacity {
        0..=67_108_864 => 512 * KIB,
        67_108_865..=268_435_456 => MIB,
        268_435_457..=536_870_912 => 2 * MIB,
        536_870_913..=34_359_738_368 => 4 * MIB,
        _ => 64 * MIB,
    }
}

/// Weight of a unit beyond that.
const BEYOND_DECLARED: f64 = 0.6;

/// Cards of up to 4 GB with units above 16 MiB, four times the largest they can declare, are in no
/// public log.
const SMALL_CARD: u64 = 4_300_000_000;
const LARGE_FOR_SMALL_CARD: u64 = 16 * MIB;
const TOO_LARGE_FOR_CARD: f64 = 0.1;

/// An odd factor that somebody scanned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// All scans are of powers of two.
    None,
    /// Some lines are of this factor.
    Also(u64),
    /// All lines are. Such scans cannot tell a unit of 2 MiB from one of 10 MiB.
    Only(u64),
}

impl Suspicion {
    /// Whoever chose the block size had a reason.
    fn weight(self, odd: u64) -> Option<f64> {
        match self {
            Suspicion::Also(factor) if factor == odd => Some(0.2),
            Suspicion::Only(factor) if factor == odd => Some(0.5),
            _ => None,
        }
    }
}

/// What an open-AU test with every second line slow says about its unit, and about twice of it.
const TOO_SMALL: f64 = 0.4;
const TOO_SMALL_DOUBLED: f64 = 3.0;

/// All hypotheses for units below `below`, their priors adding up to `1 - NOTHING`.
pub(super) fn hypotheses(
    capacity: Option<Bytes>,
    below: Bytes,
    suspicion: Suspicion,
    reported: &Reported,
    too_small: &[Bytes],
) -> Vec<Hypothesis> {
    // Without a capacity the top alignment bounds it: at most seven times as much.
    let small_device = capacity.map_or(below.get() < 32 * MIB, |capacity| capacity.get() < GIB);
    let about = capacity.map_or(below.get().saturating_mul(14), Bytes::get);
    let largest_declared = largest_declared(about);
    let mut all = Vec::new();
    for (odd, weight) in ODD_FACTORS {
        let odd_weight = suspicion.weight(odd).unwrap_or(weight);
        let mut size = odd * 64 * KIB;
        while size <= LARGEST && size < below.get() {
            let unit = Bytes(size);
            let mut weight = odd_weight * magnitude(size, small_device);
            weight *= capacity.map_or(1.0, |capacity| capacity::capacity_weight(unit, capacity));
            weight *= capacity::reported_weight(unit, reported);
            if size > largest_declared {
                weight *= BEYOND_DECLARED;
            }
            if size > LARGE_FOR_SMALL_CARD && about <= SMALL_CARD {
                weight *= TOO_LARGE_FOR_CARD;
            }
            if too_small.contains(&Bytes(size / 2)) {
                weight *= TOO_SMALL_DOUBLED;
            } else if too_small.contains(&unit) {
                weight *= TOO_SMALL;
            }
            push_variants(&mut all, odd, unit, weight);
            size *= 2;
        }
    }
    let total: f64 = all.iter().map(|h: &Hypothesis| h.prior).sum();
    for hypothesis in &mut all {
        hypothesis.prior = ((1.0 - NOTHING) * hypothesis.prior / total).ln();
    }
    all.retain(|hypothesis| hypothesis.prior.is_finite());
    all
}

fn push_variants(all: &mut Vec<Hypothesis>, odd: u64, unit: Bytes, weight: f64) {
    let size = unit.get();
    let mut sub_units = vec![(None, 1.0)];
    for (parts, weight) in SUB_UNITS {
        if size.is_multiple_of(parts) && size / parts >= 256 * KIB {
            sub_units.push((Some(Bytes(size / parts)), weight));
        }
    }
    let mut phases = vec![(0, 1.0)];
    if odd.is_multiple_of(3) {
        phases.extend([(size / 3, PHASE), (size / 3 * 2, PHASE)]);
    }
    let total: f64 =
        sub_units.iter().map(|(_, w)| w).sum::<f64>() * phases.iter().map(|(_, w)| w).sum::<f64>();
    for (sub_unit, sub_weight) in sub_units {
        for (phase, phase_weight) in &phases {
            // Sub-unit boundaries have to run through those of the unit.
            if sub_unit.is_some_and(|sub: Bytes| !phase.is_multiple_of(sub.get())) {
                continue;
            }
            all.push(Hypothesis {
                grid: Grid {
                    size: unit,
                    phase: Bytes(*phase),
                },
                sub_unit,
                prior: weight * sub_weight * phase_weight / total,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Hypothesis> {
        hypotheses(
            Some(Bytes::gib(4)),
            Bytes::mib(128),
            Suspicion::None,
            &Reported::default(),
            &[],
        )
    }

    #[test]
    fn priors_add_up() {
        let sum: f64 = all().iter().map(|h| h.prior.exp()).sum();
        assert!((sum + NOTHING - 1.0).abs() < 1e-9);
    }

    #[test]
    fn powers_of_two_lead_and_odd_units_are_there() {
        let prior = |size: Bytes| {
            all()
                .iter()
                .filter(|h| h.grid.size == size)
                .map(|h| h.prior.exp())
                .sum::<f64>()
        };
        assert!(prior(Bytes::mib(4)) > 10.0 * prior(Bytes::mib(12)));
        for size in [
            Bytes::kib(1536),
            Bytes::mib(10),
            Bytes::mib(14),
            Bytes::mib(18),
        ] {
            assert!(prior(size) > 0.0, "{size}");
        }
        assert_eq!(prior(Bytes::mib(128)), 0.0);
    }

    #[test]
    fn sub_unit_boundaries_run_through_those_of_the_unit() {
        for h in all() {
            if let Some(sub) = h.sub_unit {
                assert!(h.grid.size.is_multiple_of(sub) && h.grid.phase.get() % sub.get() == 0);
            }
        }
    }
}

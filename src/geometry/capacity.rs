//! What capacity and reported values say about the erase block, without timing anything.
//!
//! Both are hints: they shift the weight of a hypothesis by a bounded factor and exclude nothing.
//! A third of all capacities are multiples of 3 by chance; a public 32 GB card has read boundaries
//! every 8 MiB though its capacity is no multiple of 1 MiB; SDHC cards declare 4 MiB whatever they
//! do.

use crate::topology::{Origin, Reported};
use crate::units::{Bytes, KIB, MIB};

/// SD capacities are whole multiples of 512 KiB by construction (CSD version 2 counts in them), so
/// divisibility tells something only beyond that.
const CAPACITY_GRAIN: u64 = 512 * KIB;
/// Power-of-two parts beyond this earn no more weight when they divide the capacity: few capacities
/// are whole in them. That they do not divide it counts all the same.
const LARGEST_POWER_PART: u64 = 4 * MIB;
/// How often devices are cut in whole units: the odd factor of the unit, and its power of two.
/// Estimates; the bounds below keep them from mattering much.
const WHOLE_UNITS_ODD: f64 = 0.6;
const WHOLE_UNITS_POWER: f64 = 0.4;
/// No capacity changes a weight by more than this: the absence of divisibility excludes nothing.
const LEAST: f64 = 0.4;
const MOST: f64 = 4.0;

/// How much a capacity speaks for (above 1) or against (below 1) an erase block: the Bayes factor of
/// "the device is cut in whole units with some probability" against "it is cut anywhere", between
/// 0.4 and 4.
pub fn capacity_weight(erase_block: Bytes, capacity: Bytes) -> f64 {
    if erase_block == Bytes::ZERO || capacity == Bytes::ZERO {
        return 1.0;
    }
    let power = 1u64 << erase_block.get().trailing_zeros();
    let odd = erase_block.get() / power;
    let odd_part = factor(
        odd as f64,
        capacity.get().is_multiple_of(odd),
        WHOLE_UNITS_ODD,
    );
    let power_part = if power > CAPACITY_GRAIN {
        let divides = capacity.get().is_multiple_of(power);
        let steps = power.min(LARGEST_POWER_PART) / CAPACITY_GRAIN;
        factor(steps as f64, divides, WHOLE_UNITS_POWER)
    } else {
        1.0
    };
    (odd_part * power_part).clamp(LEAST, MOST)
}

/// A chance divisor `d` divides one capacity in `d`, a whole-unit one all of them.
fn factor(d: f64, divides: bool, whole_units: f64) -> f64 {
    if d <= 1.0 {
        return 1.0;
    }
    let chance = 1.0 - whole_units;
    if divides {
        whole_units * d + chance
    } else {
        chance
    }
    .clamp(LEAST, MOST)
}

/// The sentence that goes with [`capacity_weight`].
pub fn capacity_evidence(erase_block: Bytes, capacity: Bytes) -> String {
    let weight = capacity_weight(erase_block, capacity);
    if capacity.is_multiple_of(erase_block) {
        format!(
            "the capacity {} B is a multiple of {erase_block} (weight {weight:.1}; a hint only)",
            capacity.get()
        )
    } else {
        format!(
            "the capacity {} B is no multiple of {erase_block} (weight {weight:.1}; this excludes nothing)",
            capacity.get()
        )
    }
}

/// What a reported value is worth for an erase block of its own size, and of twice, half or three
/// times its size: cards declare allocation units that are parts or groups of what they erase.
const REPORTED_SAME: f64 = 3.0;
const REPORTED_RELATED: f64 = 1.5;

/// A value that card or kernel reports, and how much of its weight counts.
struct Hint {
    name: &'static str,
    bytes: Bytes,
    power: f64,
}

/// The reported values that are facts of their own: on the MMC host the AU size, the preferred
/// erase size and the discard granularity are one fact, not three.
fn hints(reported: &Reported) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    if let Some(bytes) = reported.ssr_au_size {
        hints.push(Hint {
            name: "the AU size of the SD status",
            bytes,
            power: 1.0,
        });
    } else if let Some(preferred) = reported.preferred_erase_size {
        let (name, power) = match preferred.origin {
            Origin::Card => ("the preferred erase size", 1.0),
            // Possibly the kernel's rule by capacity.
            Origin::CardOrKernelDefault => (
                "the preferred erase size (perhaps the kernel's default)",
                0.5,
            ),
        };
        hints.push(Hint {
            name,
            bytes: preferred.bytes,
            power,
        });
    }
    let others = [
        ("the optimal I/O size", reported.optimal_io_size),
        ("the discard granularity", reported.discard_granularity),
    ];
    for (name, bytes) in others {
        if let Some(bytes) = bytes
            && bytes >= Bytes::kib(64)
            && hints.iter().all(|hint| hint.bytes != bytes)
            && (name != "the discard granularity" || hints.is_empty())
        {
            hints.push(Hint {
                name,
                bytes,
                power: 1.0,
            });
        }
    }
    hints
}

fn relation(erase_block: Bytes, reported: Bytes) -> f64 {
    let (e, v) = (u128::from(erase_block.get()), u128::from(reported.get()));
    if e == v {
        REPORTED_SAME
    } else if e == 2 * v || 2 * e == v || e == 3 * v {
        REPORTED_RELATED
    } else {
        1.0
    }
}

/// How much the reported values speak for an erase block; 1 when they say nothing.
pub fn reported_weight(erase_block: Bytes, reported: &Reported) -> f64 {
    hints(reported)
        .iter()
        .map(|hint| relation(erase_block, hint.bytes).powf(hint.power))
        .product()
}

/// The sentences that go with [`reported_weight`], one for each reported value.
pub fn reported_evidence(erase_block: Bytes, reported: &Reported) -> Vec<String> {
    hints(reported)
        .iter()
        .map(|hint| {
            let Hint { name, bytes, .. } = hint;
            if *bytes == erase_block {
                format!("{name} is {bytes} too")
            } else if erase_block.is_multiple_of(*bytes) || bytes.is_multiple_of(erase_block) {
                format!("{name} is {bytes}, which goes with {erase_block}")
            } else {
                format!("{name} is {bytes}, which contradicts {erase_block}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::PreferredEraseSize;

    #[test]
    fn a_factor_three_is_worth_two_for_and_two_and_a_half_against() {
        let three = Bytes(31_914_983_424); // 2^19 * 3 * 103 * 197
        let none = Bytes((1 << 19) * 103 * 197);
        assert!((capacity_weight(Bytes::kib(1536), three) - 2.2).abs() < 1e-9);
        assert!((capacity_weight(Bytes::kib(1536), none) - 0.4).abs() < 1e-9);
    }

    #[test]
    fn no_capacity_excludes_or_proves_a_size() {
        for capacity in [1, 512, 3_965_190_144, 7_902_068_736, u64::MAX] {
            for size in [1, 3, 5 << 20, 9 << 22, 1 << 30, u64::MAX] {
                let weight = capacity_weight(Bytes(size), Bytes(capacity));
                assert!(
                    (LEAST..=MOST).contains(&weight),
                    "{size} {capacity} {weight}"
                );
            }
        }
        assert_eq!(capacity_weight(Bytes::ZERO, Bytes(1)), 1.0);
    }

    #[test]
    fn one_fact_told_three_times_counts_once() {
        let mut reported = Reported {
            ssr_au_size: Some(Bytes::mib(4)),
            ..Reported::default()
        };
        assert_eq!(reported_weight(Bytes::mib(4), &reported), 3.0);
        reported.discard_granularity = Some(Bytes::mib(4));
        reported.preferred_erase_size = Some(PreferredEraseSize {
            bytes: Bytes::mib(4),
            origin: Origin::Card,
        });
        assert_eq!(reported_weight(Bytes::mib(4), &reported), 3.0);
        assert_eq!(reported_weight(Bytes::mib(12), &reported), 1.5);
        assert_eq!(reported_weight(Bytes::mib(1), &reported), 1.0);
        assert_eq!(reported_evidence(Bytes::mib(4), &reported).len(), 1);
    }

    #[test]
    fn the_kernels_default_weighs_less_than_the_cards_word() {
        let reported = Reported {
            preferred_erase_size: Some(PreferredEraseSize {
                bytes: Bytes::mib(4),
                origin: Origin::CardOrKernelDefault,
            }),
            ..Reported::default()
        };
        let weight = reported_weight(Bytes::mib(4), &reported);
        assert!(weight > 1.0 && weight < 2.0, "{weight}");
    }
}

//! Every so many-th boundary of a winner costs more than the others: which sizes does that make
//! thinkable that were not thought of before?
//!
//! The hypotheses begin with the common sub-units, halves to quarters of an erase block: all others
//! together would make every difference several times as dear to think about. They are added when there
//! is a reason to, and have to explain all differences, and win all bets, like any other.

use super::hypothesis::{Hypothesis, SUB_RATIOS, SUB_UNIT};
use super::suspect::Class;

/// Add to the prior what the costlier class of boundaries suggests: `small` was thought to be the erase
/// block, and is a sub-unit of one so many times as large. Whether there was anything to add.
pub(super) fn think_of(
    prior: &mut Vec<(Hypothesis, f64)>,
    small: Hypothesis,
    class: Class,
) -> bool {
    let number = |n: u64| u32::try_from(n).ok();
    let larger = number(class.period).and_then(|period| small.unit.checked_mul(period));
    let behind = number(class.class).and_then(|class| small.unit.checked_mul(class));
    let (Some(unit), Some(behind)) = (larger, behind) else {
        return false;
    };
    let Some(share) = share_of(prior, unit, small.phase + behind) else {
        return false;
    };
    let phase = (small.phase + behind) % unit;
    // With the sub-unit that was seen already, instead of this one or below it.
    let mut levels = vec![(small.unit, 0)];
    if small.sub_unit != 0 {
        levels.extend([(small.unit, small.sub_unit), (small.sub_unit, 0)]);
    }
    let mut added = false;
    for (sub_unit, small_unit) in levels {
        for ratio in (0u8..).take(SUB_RATIOS.len()) {
            let hypothesis = Hypothesis {
                unit,
                phase,
                sub_unit,
                small_unit,
                ratio,
            };
            if prior.iter().all(|known| known.0 != hypothesis) {
                let weight = share * SUB_UNIT / SUB_RATIOS.len() as f64;
                prior.insert(end_of_group(prior, hypothesis), (hypothesis, weight));
                added = true;
            }
        }
    }
    added
}

/// The prior of a size and phase without sub-units; of a phase that is not thought of, the smallest of its
/// size. `None` for a size that is not thought of.
fn share_of(prior: &[(Hypothesis, f64)], unit: u32, phase: u32) -> Option<f64> {
    let plain = || {
        prior
            .iter()
            .filter(|known| known.0.unit == unit && known.0.sub_unit == 0)
    };
    plain()
        .find(|known| known.0.phase == phase % unit)
        .or_else(|| plain().min_by(|a, b| a.1.total_cmp(&b.1)))
        .map(|known| known.1)
}

/// Behind the last of the same sub-unit, or of the same size and phase: these follow one another.
fn end_of_group(prior: &[(Hypothesis, f64)], new: Hypothesis) -> usize {
    let behind = |is_alike: &dyn Fn(&Hypothesis) -> bool| {
        prior
            .iter()
            .rposition(|known| is_alike(&known.0))
            .map(|n| n + 1)
    };
    let same_place = |h: &Hypothesis| (h.unit, h.phase) == (new.unit, new.phase);
    behind(&|h| same_place(h) && h.sub_unit == new.sub_unit)
        .or_else(|| behind(&same_place))
        .unwrap_or(prior.len())
}

#[cfg(test)]
mod tests {
    use super::super::hypothesis;
    use super::*;
    use crate::units::Bytes;

    const EIGHT: Class = Class {
        period: 8,
        class: 3,
    };

    fn prior() -> Vec<(Hypothesis, f64)> {
        hypothesis::all(Bytes::gib(16), |_| 1.0)
    }

    /// A size and phase in cells of 512 KiB.
    fn plain(unit: u32, phase: u32) -> Hypothesis {
        Hypothesis {
            unit,
            phase,
            ..Hypothesis::NOTHING
        }
    }

    #[test]
    fn a_multiple_with_this_sub_unit_is_added_beside_its_like() {
        let mut all = prior();
        let before = all.len();
        assert!(think_of(&mut all, plain(2, 1), EIGHT));
        assert_eq!(all.len(), before + SUB_RATIOS.len());
        let at = all.iter().position(|h| h.0.sub_unit == 2 && h.0.unit == 16);
        let (first, weight) = all[at.unwrap()];
        assert_eq!((first.unit, first.phase), (16, 7));
        assert!(weight > 0.0);
        let before = all[at.unwrap() - 1].0;
        assert_eq!((before.unit, before.phase), (16, 7), "groups stay together");
        // Once is enough.
        assert!(!think_of(&mut all, plain(2, 1), EIGHT));
    }

    #[test]
    fn a_sub_unit_of_the_sub_unit_is_thought_of_too() {
        let mut all = prior();
        let small = Hypothesis {
            sub_unit: 2,
            ..plain(6, 0)
        };
        let second = Class {
            period: 2,
            class: 0,
        };
        assert!(think_of(&mut all, small, second));
        for (sub_unit, small_unit) in [(6, 0), (6, 2), (2, 0)] {
            let known = all.iter().filter(|h| {
                let levels = (h.0.sub_unit, h.0.small_unit);
                (h.0.unit, h.0.phase) == (12, 0) && levels == (sub_unit, small_unit)
            });
            assert_eq!(known.count(), SUB_RATIOS.len(), "{sub_unit}, {small_unit}");
        }
    }

    #[test]
    fn sizes_that_nobody_builds_are_not_added() {
        let mut all = prior();
        let elf = Class {
            period: 11,
            class: 0,
        };
        assert!(!think_of(&mut all, plain(2, 0), elf));
        assert!(!think_of(&mut all, plain(64, 0), EIGHT));
        assert_eq!(all, prior());
    }
}

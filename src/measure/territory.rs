//! Where write tests may write.

use crate::units::{ByteRange, Bytes};

/// The ranges that write tests may use and have not used yet.
///
/// When the user gives the stick away that is all of it; when its contents are to be kept, what
/// lies outside its partitions, where there is enough of that. A stage takes what it uses, so that
/// the next one meets units that are not in the middle of the stick's tidying up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Territory {
    /// Sorted, disjoint, none empty.
    free: Vec<ByteRange>,
}

impl Territory {
    /// These ranges, in any order; they may overlap.
    pub fn new(ranges: impl IntoIterator<Item = ByteRange>) -> Territory {
        let mut ranges: Vec<ByteRange> = ranges.into_iter().filter(|r| r.from < r.to).collect();
        ranges.sort_by_key(|range| range.from);
        let mut free: Vec<ByteRange> = Vec::new();
        for range in ranges {
            match free.last_mut() {
                Some(last) if range.from <= last.to => last.to = last.to.max(range.to),
                _ => free.push(range),
            }
        }
        Territory { free }
    }

    /// Everything below `capacity`.
    pub fn whole(capacity: Bytes) -> Territory {
        Territory::new([ByteRange {
            from: Bytes::ZERO,
            to: capacity,
        }])
    }

    /// What is left, sorted and disjoint.
    pub fn free(&self) -> &[ByteRange] {
        &self.free
    }

    /// How much is left.
    pub fn size(&self) -> Bytes {
        Bytes(self.free.iter().map(|range| range.length().get()).sum())
    }

    /// Whether all of `range` is left.
    pub fn contains(&self, range: ByteRange) -> bool {
        self.free
            .iter()
            .any(|free| free.from <= range.from && range.to <= free.to)
    }

    /// Up to `count` whole units `[phase + k * unit, phase + (k + 1) * unit)` that are left, from
    /// the first one at or behind `from` upwards, with at least `apart` units from the start of one
    /// to the start of the next; behind the last range it goes on at the start of the device. Fewer
    /// when there is no more room.
    pub fn units(
        &self,
        unit: Bytes,
        phase: Bytes,
        apart: u64,
        count: usize,
        from: Bytes,
    ) -> Vec<ByteRange> {
        let mut found: Vec<ByteRange> = Vec::new();
        if unit == Bytes::ZERO {
            return found;
        }
        let size = unit.get();
        let phase = phase.get() % size;
        let step = size.saturating_mul(apart.max(1));
        // Two sweeps: from `from` to the end, then from the start to `from`.
        for (low, high) in [(from.get(), u64::MAX), (0, from.get())] {
            let mut next = low;
            for free in &self.free {
                let mut start = next.max(free.from.get());
                loop {
                    // The first unit that begins at or behind `start`.
                    let k = start.saturating_sub(phase).div_ceil(size);
                    let Some(begin) = k.checked_mul(size).and_then(|x| x.checked_add(phase)) else {
                        break;
                    };
                    let Some(end) = begin.checked_add(size) else {
                        break;
                    };
                    if end > free.to.get() || begin >= high || found.len() == count {
                        break;
                    }
                    let unit = ByteRange {
                        from: Bytes(begin),
                        to: Bytes(end),
                    };
                    start = begin.saturating_add(step);
                    next = start;
                    let near = |other: &ByteRange| other.from.get().abs_diff(begin) < step;
                    if !found.iter().any(near) {
                        found.push(unit);
                    }
                }
            }
        }
        found
    }

    /// This range is used up.
    pub fn take(&mut self, used: ByteRange) {
        let mut left = Vec::with_capacity(self.free.len() + 1);
        for free in &self.free {
            let before = ByteRange {
                from: free.from,
                to: free.to.min(used.from),
            };
            let behind = ByteRange {
                from: free.from.max(used.to),
                to: free.to,
            };
            if used.from >= used.to || !free.overlaps(used) {
                left.push(*free);
            } else {
                left.extend([before, behind].into_iter().filter(|r| r.from < r.to));
            }
        }
        self.free = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(from: u64, to: u64) -> ByteRange {
        ByteRange {
            from: Bytes::mib(from),
            to: Bytes::mib(to),
        }
    }

    #[test]
    fn overlapping_and_touching_ranges_become_one() {
        let territory = Territory::new([mib(8, 12), mib(0, 4), mib(4, 6), mib(10, 16), mib(3, 3)]);
        assert_eq!(territory.free(), [mib(0, 6), mib(8, 16)]);
        assert_eq!(territory.size(), Bytes::mib(14));
        assert!(territory.contains(mib(9, 16)) && !territory.contains(mib(5, 9)));
    }

    #[test]
    fn units_lie_on_their_grid_inside_what_is_left_and_apart() {
        let territory = Territory::new([mib(0, 10), mib(30, 100)]);
        let units = territory.units(Bytes::mib(4), Bytes::mib(2), 3, 100, Bytes::mib(50));
        // Grid 2 MiB + k * 4 MiB; behind 50 MiB upwards, then from the start.
        assert_eq!(
            units,
            [
                mib(50, 54),
                mib(62, 66),
                mib(74, 78),
                mib(86, 90),
                mib(2, 6),
                mib(30, 34)
            ]
        );
        let two = territory.units(Bytes::mib(4), Bytes::mib(2), 3, 2, Bytes::mib(50));
        assert_eq!(two, units[..2]);
        assert!(
            territory
                .units(Bytes::mib(64), Bytes::ZERO, 1, 9, Bytes::ZERO)
                .is_empty()
        );
        assert!(
            territory
                .units(Bytes::ZERO, Bytes::ZERO, 1, 9, Bytes::ZERO)
                .is_empty()
        );
    }

    #[test]
    fn what_was_taken_is_not_given_again() {
        let mut territory = Territory::whole(Bytes::mib(100));
        territory.take(mib(20, 30));
        territory.take(mib(90, 200));
        territory.take(mib(25, 28));
        assert_eq!(territory.free(), [mib(0, 20), mib(30, 90)]);
        for unit in territory.units(Bytes::mib(8), Bytes::ZERO, 1, 99, Bytes::ZERO) {
            assert!(territory.contains(unit));
            territory.take(unit);
        }
        assert!(
            territory
                .units(Bytes::mib(8), Bytes::ZERO, 1, 1, Bytes::ZERO)
                .is_empty()
        );
    }
}

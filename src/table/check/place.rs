//! A place, seen from the grid.

use crate::units::{Alignment, Bytes};

/// A place on the device, and how it lies to the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The place.
    pub at: Bytes,
    /// How far behind the boundary before it; zero is on the grid.
    pub past: Bytes,
}

impl Place {
    /// A place as the grid sees it. Boundaries go on in front of the first one.
    pub fn on(grid: Alignment, at: Bytes) -> Place {
        let grain = grid.grain().get();
        // The phase is smaller than the grain.
        let rest = at.get() % grain;
        let phase = grid.phase().get();
        let past = if rest >= phase {
            rest - phase
        } else {
            rest + (grain - phase)
        };
        Place {
            at,
            past: Bytes(past),
        }
    }

    /// Whether it lies on a boundary.
    pub fn is_on_grid(self) -> bool {
        self.past == Bytes::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_shifts_the_boundaries_also_in_front_of_the_first() {
        let grid = Alignment::new(Bytes::mib(12), Bytes::mib(4)).unwrap();
        let past = |mib| Place::on(grid, Bytes::mib(mib)).past;
        assert_eq!(past(4), Bytes::ZERO);
        assert_eq!(past(28), Bytes::ZERO);
        assert_eq!(past(0), Bytes::mib(8));
        assert_eq!(past(30), Bytes::mib(2));
        let grid = Alignment::new(Bytes(u64::MAX), Bytes(u64::MAX - 1)).unwrap();
        assert_eq!(Place::on(grid, Bytes(5)).past, Bytes(6));
    }
}

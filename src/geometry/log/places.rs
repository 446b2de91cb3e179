//! Where the reads of an alignment scan lie.
//!
//! For the line of alignment A flashbench reads around the places `A + i * M`, `i = 0..6`, where M is
//! the top alignment, and prints means over the seven places. Places past the end wrap around
//! (position modulo capacity), so they lie on a boundary only if the capacity is a multiple of the
//! unit. A unit with an odd factor is hit by some of the places of a power-of-two line. Which ones
//! can be computed; a line then shows the share of its places that lie on a boundary.

use crate::units::Bytes;

/// The places of one scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Places {
    /// M, the distance between places.
    pub spacing: Bytes,
    /// How many there are.
    pub count: u32,
    /// Where they wrap; `None`: not known to.
    pub capacity: Option<Bytes>,
    /// The length of a read.
    pub blocksize: Bytes,
}

/// A grid of boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Grid {
    pub size: Bytes,
    pub phase: Bytes,
}

impl Places {
    /// The share of the places of a line at which the middle read crosses a boundary, less what the
    /// reads before and behind it cross: the factor between the cost of a crossing and what the line
    /// shows.
    pub(super) fn share(&self, align: Bytes, grid: Grid) -> f64 {
        // Sizes beyond 2^56 exist in damaged logs only; saturating keeps the arithmetic in range.
        let signed = |bytes: Bytes| i64::try_from(bytes.get().min(1 << 56)).unwrap_or(1 << 56);
        let (align, spacing) = (signed(align), signed(self.spacing));
        let (size, phase) = (signed(grid.size).max(1), signed(grid.phase));
        let length = signed(self.blocksize);
        let capacity = self.capacity.map(|capacity| signed(capacity).max(1));
        // Boundaries strictly inside a read.
        let crossed = |from: i64| -> i64 {
            let from = capacity.map_or(from, |capacity| from.rem_euclid(capacity)) - phase;
            (from + length - 1).div_euclid(size) - from.div_euclid(size)
        };
        // Twice the crossings, to stay with integers.
        let mut crossings = 0;
        for i in 0..i64::from(self.count) {
            let place = align + i * spacing;
            crossings += 2 * crossed(place - length / 2) - crossed(place - length) - crossed(place);
        }
        crossings as f64 / 2.0 / f64::from(self.count.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(places: Places, align: Bytes, size: Bytes) -> f64 {
        places.share(
            align,
            Grid {
                size,
                phase: Bytes::ZERO,
            },
        )
    }

    #[test]
    fn wrapped_places_miss_the_boundary() {
        // SanDisk SU04G: 3965190144 bytes are no multiple of 1 MiB. Three of seven places of the top
        // line, four of the others lie on 8 MiB boundaries; its plateaus show that ratio.
        let places = Places {
            spacing: Bytes::gib(1),
            count: 7,
            capacity: Some(Bytes(3_965_190_144)),
            blocksize: Bytes(1024),
        };
        let unit = Bytes::mib(8);
        assert!((share(places, Bytes::gib(1), unit) - 3.0 / 7.0).abs() < 1e-9);
        for align in [512, 64, 8] {
            assert!((share(places, Bytes::mib(align), unit) - 4.0 / 7.0).abs() < 1e-9);
        }
        assert_eq!(share(places, Bytes::mib(4), unit), 0.0);
    }

    #[test]
    fn wrapped_places_can_hit_boundaries_of_a_larger_unit() {
        // A public 32 GB card: 31914983424 bytes are 512 KiB (mod 4 MiB), and its 512 KiB line shows
        // three sevenths of the 4 MiB amplitude.
        let places = Places {
            spacing: Bytes::gib(8),
            count: 7,
            capacity: Some(Bytes(31_914_983_424)),
            blocksize: Bytes(1024),
        };
        assert!((share(places, Bytes::kib(512), Bytes::mib(4)) - 3.0 / 7.0).abs() < 1e-9);
        assert_eq!(share(places, Bytes::mib(1), Bytes::mib(4)), 0.0);
    }

    #[test]
    fn a_power_of_two_line_hits_a_third_of_an_odd_unit() {
        let places = Places {
            spacing: Bytes::gib(1),
            count: 7,
            capacity: None,
            blocksize: Bytes(1024),
        };
        for align in [256, 64, 16, 4] {
            let share = share(places, Bytes::mib(align), Bytes::mib(12));
            assert!((share - 2.0 / 7.0).abs() < 1e-9, "{align}: {share}");
        }
        assert_eq!(share(places, Bytes::mib(2), Bytes::mib(12)), 0.0);
    }

    #[test]
    fn large_reads_cross_small_grids_everywhere() {
        let places = Places {
            spacing: Bytes::gib(1),
            count: 7,
            capacity: None,
            blocksize: Bytes::mib(1),
        };
        assert_eq!(share(places, Bytes::mib(2), Bytes::kib(256)), 0.0);
        assert_eq!(share(places, Bytes::mib(2), Bytes::mib(2)), 1.0);
        let one_of_seven = share(places, Bytes(u64::MAX), Bytes(u64::MAX));
        assert!((one_of_seven - 1.0 / 7.0).abs() < 1e-9);
    }
}

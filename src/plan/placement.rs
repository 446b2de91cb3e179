//! Where each partition lies: starts on one grid, ends on another, around what is kept out.
//!
//! Pure arithmetic on half-open byte ranges; it knows neither tables nor file systems. Rounding
//! divides, it never masks: a grain of 12 MiB is as good as one of 8 MiB.

use super::intent::Percent;
use crate::units::{Alignment, ByteRange, Bytes};

/// The ground to build on.
#[derive(Clone, Debug)]
pub struct Field {
    /// Where partitions start.
    pub starts: Alignment,
    /// Where they end; its grain divides that of `starts`, and a start is also an end.
    pub ends: Alignment,
    /// The first byte that may be used.
    pub from: Bytes,
    /// The first byte that may not be used any more.
    pub to: Bytes,
    /// What is kept out, in order and without overlaps (see [`merged`]).
    pub blocked: Vec<ByteRange>,
}

/// How large a partition is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// At least this, rounded up.
    Exact(Bytes),
    /// This share of the field, rounded down to the grid of the starts.
    Share(Percent),
    /// What is left.
    Rest,
}

/// Why the wishes do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Not even one unit fits anywhere.
    NoRoom,
    /// One partition does not fit.
    TooLarge {
        /// Which, counted from 0.
        index: usize,
        /// Its size after rounding.
        need: Bytes,
        /// The largest piece left for it.
        free: Bytes,
    },
    /// Two partitions want what is left, both counted from 0.
    TwoRests(usize, usize),
}

/// Ranges in order, with those that touch or overlap joined and empty ones dropped.
pub fn merged(mut ranges: Vec<ByteRange>) -> Vec<ByteRange> {
    ranges.retain(|range| range.from < range.to);
    ranges.sort_by_key(|range| (range.from, range.to));
    let mut joined: Vec<ByteRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.from <= last.to => last.to = last.to.max(range.to),
            _ => joined.push(range),
        }
    }
    joined
}

/// The largest partition that fits into each free piece of `[from, to)`, in order. Pieces whose
/// first start lies at or behind their last end are dropped.
pub fn free_pieces(field: &Field, from: Bytes, to: Bytes) -> Vec<ByteRange> {
    let mut pieces = Vec::new();
    let mut cursor = from.max(field.from);
    let end = to.min(field.to);
    let stops = field
        .blocked
        .iter()
        .copied()
        .filter(|range| range.from < end)
        .chain(std::iter::once(ByteRange { from: end, to: end }));
    for stop in stops {
        let start = field.starts.up(cursor);
        let stop_at = field.ends.down(stop.from);
        if let (Some(from), Some(to)) = (start, stop_at)
            && from < to
        {
            pieces.push(ByteRange { from, to });
        }
        cursor = cursor.max(stop.to);
    }
    pieces
}

/// Place the wishes in their order.
///
/// Partitions in front of `Rest` are placed first fit from the start, those behind it from the end,
/// and `Rest` takes the largest piece in between. Without `Rest` all are placed from the start.
pub fn place(field: &Field, wants: &[Want]) -> Result<Vec<ByteRange>, Misfit> {
    let mut rests = wants
        .iter()
        .enumerate()
        .filter(|(_, want)| **want == Want::Rest)
        .map(|(index, _)| index);
    let rest = rests.next();
    if let (Some(first), Some(second)) = (rest, rests.next()) {
        return Err(Misfit::TwoRests(first, second));
    }
    let whole = free_pieces(field, field.from, field.to);
    let (Some(first), Some(last)) = (whole.first(), whole.last()) else {
        return Err(Misfit::NoRoom);
    };
    let room = last.to.saturating_sub(first.from);

    let mut placed = vec![
        ByteRange {
            from: Bytes::ZERO,
            to: Bytes::ZERO
        };
        wants.len()
    ];
    let mut low = field.from;
    let mut high = field.to;
    let front = rest.unwrap_or(wants.len());
    for (index, want) in wants.iter().enumerate().take(front) {
        let size = rounded(field, *want, room).ok_or(Misfit::NoRoom)?;
        let piece = free_pieces(field, low, high)
            .into_iter()
            .find(|piece| piece.length() >= size)
            .ok_or_else(|| too_large(field, index, size, low, high))?;
        let to = Bytes(piece.from.get() + size.get());
        placed[index] = ByteRange {
            from: piece.from,
            to,
        };
        low = to;
    }
    for (index, want) in wants.iter().enumerate().skip(front + 1).rev() {
        let size = rounded(field, *want, room).ok_or(Misfit::NoRoom)?;
        let range = free_pieces(field, low, high)
            .into_iter()
            .rev()
            .find_map(|piece| last_in(field, piece, size))
            .ok_or_else(|| too_large(field, index, size, low, high))?;
        placed[index] = range;
        high = range.from;
    }
    if let Some(index) = rest {
        placed[index] = free_pieces(field, low, high)
            .into_iter()
            // `max_by_key` would take the last of equals; the first is nearer to the start.
            .reduce(|best, piece| {
                if piece.length() > best.length() {
                    piece
                } else {
                    best
                }
            })
            .ok_or(Misfit::TooLarge {
                index,
                need: field.ends.grain(),
                free: Bytes::ZERO,
            })?;
    }
    Ok(placed)
}

/// The last place for `size` inside a free piece.
fn last_in(field: &Field, piece: ByteRange, size: Bytes) -> Option<ByteRange> {
    let from = field.starts.down(piece.to.checked_sub(size)?)?;
    (from >= piece.from).then(|| ByteRange {
        from,
        to: Bytes(from.get() + size.get()),
    })
}

/// The size of a wish in whole units; `None` beyond 2^64.
fn rounded(field: &Field, want: Want, room: Bytes) -> Option<Bytes> {
    let unit = field.ends.grain().get();
    let grain = field.starts.grain().get();
    match want {
        Want::Exact(size) => size.get().div_ceil(unit).max(1).checked_mul(unit),
        Want::Share(share) => match share.of(room).get() / grain {
            0 => Some(unit),
            grains => grains.checked_mul(grain),
        },
        Want::Rest => Some(unit),
    }
    .map(Bytes)
}

fn too_large(field: &Field, index: usize, need: Bytes, low: Bytes, high: Bytes) -> Misfit {
    let free = free_pieces(field, low, high)
        .into_iter()
        .map(ByteRange::length)
        .max()
        .unwrap_or(Bytes::ZERO);
    Misfit::TooLarge { index, need, free }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    fn field(grain: u64, from: u64, to: u64, blocked: &[(u64, u64)]) -> Field {
        let grid = Alignment::new(Bytes(grain), Bytes::ZERO).unwrap();
        Field {
            starts: grid,
            ends: grid,
            from: Bytes(from),
            to: Bytes(to),
            blocked: merged(blocked.iter().map(|b| range(b.0, b.1)).collect()),
        }
    }

    fn range(from: u64, to: u64) -> ByteRange {
        ByteRange {
            from: Bytes(from),
            to: Bytes(to),
        }
    }

    #[test]
    fn a_region_whose_aligned_start_passes_its_end_is_dropped() {
        // First usable sector 34, a used sector at 64, grain 2048: an unchecked subtraction gave a
        // free region of 2^64 - 1 MiB.
        let field = field(2048, 34, 10_000, &[(64, 65)]);
        assert_eq!(free_pieces(&field, Bytes(34), Bytes(64)), []);
        assert_eq!(
            free_pieces(&field, Bytes(34), Bytes(10_000)),
            [range(2048, 8192)]
        );
    }

    #[test]
    fn rest_in_the_middle_leaves_the_tail_to_its_followers() {
        let field = field(8 * MIB, MIB, 1000 * MIB + 1, &[]);
        let wants = [
            Want::Exact(Bytes::mib(100)),
            Want::Rest,
            Want::Exact(Bytes::mib(9)),
            Want::Exact(Bytes(1)),
        ];
        let placed = place(&field, &wants).unwrap();
        let mib: Vec<(u64, u64)> = placed
            .iter()
            .map(|r| (r.from.get() / MIB, r.to.get() / MIB))
            .collect();
        assert_eq!(mib, [(8, 112), (112, 976), (976, 992), (992, 1000)]);
    }

    #[test]
    fn partitions_jump_over_what_is_kept_out_and_rest_takes_the_largest_piece() {
        let field = field(
            4 * MIB,
            MIB,
            100 * MIB,
            &[(17 * MIB, 18 * MIB), (30 * MIB, 31 * MIB)],
        );
        let placed = place(&field, &[Want::Exact(Bytes::mib(13)), Want::Rest]).unwrap();
        assert_eq!(placed[0], range(32 * MIB, 48 * MIB));
        assert_eq!(placed[1], range(48 * MIB, 100 * MIB));
        let placed = place(&field, &[Want::Rest]).unwrap();
        assert_eq!(placed, [range(32 * MIB, 100 * MIB)]);
    }

    #[test]
    fn shares_of_together_100_percent_fit() {
        let field = field(8 * MIB, MIB, 1001 * MIB, &[]);
        let share = |text: &str| Want::Share(text.parse().unwrap());
        let placed = place(
            &field,
            &[share("33.333%"), share("33.333%"), share("33.334%")],
        )
        .unwrap();
        assert!(
            placed
                .iter()
                .all(|r| r.length().is_multiple_of(Bytes::mib(8)))
        );
        assert!(placed[2].to <= Bytes::mib(1001));
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let field = field(4 * MIB, MIB, 100 * MIB, &[]);
        assert_eq!(
            place(&field, &[Want::Exact(Bytes::mib(97))]),
            Err(Misfit::TooLarge {
                index: 0,
                need: Bytes::mib(100),
                free: Bytes::mib(96)
            })
        );
        assert_eq!(
            place(
                &field,
                &[Want::Rest, Want::Exact(Bytes::mib(4)), Want::Rest]
            ),
            Err(Misfit::TwoRests(0, 2))
        );
        let full = place(&field, &[Want::Exact(Bytes::mib(96)), Want::Rest]);
        assert!(matches!(full, Err(Misfit::TooLarge { index: 1, .. })));
        assert!(place(&field, &[Want::Exact(Bytes(u64::MAX))]).is_err());
    }

    #[test]
    fn a_field_smaller_than_the_grid_has_no_room() {
        assert_eq!(
            place(&field(12 * MIB, MIB, 23 * MIB, &[]), &[Want::Rest]),
            Err(Misfit::NoRoom)
        );
        assert_eq!(
            place(&field(12 * MIB, 5, 4, &[]), &[Want::Rest]),
            Err(Misfit::NoRoom)
        );
    }

    #[test]
    fn ranges_are_joined_in_order() {
        assert_eq!(
            merged(vec![
                range(9, 12),
                range(5, 5),
                range(1, 3),
                range(3, 4),
                range(10, 11)
            ]),
            [range(1, 4), range(9, 12)]
        );
    }
}

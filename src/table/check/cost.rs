//! What it costs that something is off the grid: what was measured, and the most it can be, never
//! more than that.

use super::place::Place;
use crate::units::Bytes;

/// What a place off the grid costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it is on the grid.
    None,
    /// Erase blocks are shared, pages are not.
    SharedBlocks,
    /// Pages are shared too.
    SharedPages,
    /// Whether pages are shared is not known.
    PageUnknown,
}

/// The coarsest page that is common: a shift by whole multiples of it keeps every page whole.
const COARSEST_PAGE: Bytes = Bytes::kib(64);

/// The finest page that any flash of the last fifteen years has.
const FINEST_PAGE: Bytes = Bytes::kib(4);

impl Cost {
    /// The cost of a place, with the page when it is known.
    pub fn of(place: Place, page: Option<Bytes>) -> Cost {
        let whole = |page: Bytes| place.past.is_multiple_of(page);
        match page {
            _ if place.is_on_grid() => Cost::None,
            Some(page) if whole(page) => Cost::SharedBlocks,
            Some(_) => Cost::SharedPages,
            None if whole(COARSEST_PAGE) => Cost::SharedBlocks,
            None if whole(FINEST_PAGE) => Cost::PageUnknown,
            None => Cost::SharedPages,
        }
    }

    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Cost::None => "none",
            Cost::SharedBlocks => "shared_erase_blocks",
            Cost::SharedPages => "shared_pages",
            Cost::PageUnknown => "page_unknown",
        }
    }

    /// A sentence for people. The numbers are those of one stick (a Kingston DataTraveler with erase
    /// blocks of 4 MiB, flashbench mailing list, 2011): whole pages off the grid, and a partition at
    /// sector 63.
    pub const fn sentence(self) -> &'static str {
        match self {
            Cost::None => "nothing",
            Cost::SharedBlocks => {
                "at most: a write of one erase block rewrites two, and each stream of writes keeps one more open; measured on one stick: 3 to 5 % slower"
            }
            Cost::SharedPages => {
                "at most: a write of one page rewrites two, besides sharing erase blocks; measured on one stick: writes 15 to 25 % slower, reads 5 to 15 %"
            }
            Cost::PageUnknown => {
                "depends on the page, which is not known: measured on one stick, 3 to 5 % slower when pages stay whole, else writes 15 to 25 % and reads 5 to 15 %"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Alignment;

    #[test]
    fn the_page_decides_and_without_one_nothing_is_claimed() {
        let grid = Alignment::new(Bytes::mib(4), Bytes::ZERO).unwrap();
        let cost = |at: Bytes, page: Option<Bytes>| Cost::of(Place::on(grid, at), page);
        assert_eq!(cost(Bytes::mib(8), None), Cost::None);
        assert_eq!(cost(Bytes::mib(1), None), Cost::SharedBlocks);
        assert_eq!(cost(Bytes(63 * 512), None), Cost::SharedPages);
        assert_eq!(cost(Bytes::kib(8), None), Cost::PageUnknown);
        assert_eq!(cost(Bytes::kib(8), Some(Bytes::kib(8))), Cost::SharedBlocks);
        assert_eq!(cost(Bytes::kib(8), Some(Bytes::kib(16))), Cost::SharedPages);
    }
}

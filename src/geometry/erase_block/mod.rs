//! The erase block from timed reads: size, phase and sub-unit.
//!
//! [`Search`] steers a scan. It keeps a posterior over all sizes, phases and sub-units, asks for
//! the places that separate what is left (module `choose`), and when one size and phase stands out it
//! bets on fresh places that this is right (module `confirm`). Only a won bet may be called confirmed.

mod alike;
mod between;
mod chart;
mod choose;
mod confirm;
mod fine;
mod fit;
mod grid;
mod hypothesis;
mod kinds;
mod larger;
mod posterior;
mod search;
pub(super) mod signal;
mod suspect;
mod told;
mod trials;
mod untold;
mod verdict;

use crate::measure::noise::Single;

pub use chart::ChartBar;
pub use fit::{Fit, FitCheck, Told};
pub use search::{Search, Setup};
pub use verdict::{Found, StoppedBy};

/// Whether blank places should be left out: they have no flash behind them, as they answer faster than
/// others, or they may have none and are not needed.
pub fn leave_blank_out(singles: &[Single]) -> bool {
    signal::blank_places(singles) != signal::Blank::Ordinary
}

/// The share of single reads that came back blank.
pub fn blank_share(singles: &[Single]) -> f64 {
    signal::blank_share(singles)
}

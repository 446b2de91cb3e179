//! The erase block from timed reads: size, phase and sub-unit.
//!
//! [`Search`] steers a scan. It keeps a posterior over all sizes, phases and sub-units, asks for
//! the places that separate what is left (module `choose`), and when one size and phase stands out it
//! bets on fresh places that this is right (module `confirm`). Only a won bet may be called confirmed.

mod chart;
mod choose;
mod confirm;
mod fine;
mod grid;
mod hypothesis;
mod kinds;
mod posterior;
mod search;
mod signal;
mod told;
mod untold;
mod verdict;

pub use chart::ChartBar;
pub use search::{Search, Setup};
pub use verdict::{Found, StoppedBy};

//! The stages of a run that writes, one file each: what a stage is given, and what it found.

pub mod fat_area;
pub mod fresh;
mod ground;
pub mod open_au;
pub mod page;
pub mod reading;
pub mod stall_comb;
mod stretch;

pub use ground::Ground;

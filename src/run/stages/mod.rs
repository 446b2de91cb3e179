//! The stages of a run that writes, one file each: what a stage is given, and what it found.

pub mod fat_area;
mod ground;
pub mod open_au;

pub use ground::Ground;

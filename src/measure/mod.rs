//! Timed accesses and old logs: what was done, and how long it took.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!           ^^^^^^^
//! ```
//!
//! Says nothing about what the times mean.

pub mod alignment;
pub mod flashbench_log;
pub mod noise;

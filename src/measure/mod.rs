//! Timed accesses and old logs: what was done, and how long it took.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!           ^^^^^^^
//! ```
//!
//! Says nothing about what the times mean. Which place is read next is asked of an
//! [`alignment::Inquiry`], so that the inference can steer a scan without being imported here.

pub mod alignment;
pub mod fat_area;
pub mod flashbench_log;
pub mod fresh;
pub mod in_order;
pub mod meter;
pub mod noise;
pub mod open_au;
pub mod page;
pub mod real_size;
pub mod stall;
pub mod territory;
pub mod throughput;

use crate::units::{Bytes, LogicalBlock};

/// The request size of the noise stage and of the first scan: small enough that no transport
/// splits it, large enough to hold two logical blocks of 512 bytes on either side of a boundary.
/// On devices with 4096-byte logical blocks it is two blocks.
pub fn base_read_size(block: LogicalBlock) -> Bytes {
    Bytes(4096.max(2 * block.bytes().get()))
}

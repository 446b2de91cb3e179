//! From a layout to the bytes of a partition table, and from bytes to what they mean.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!                                          ^^^^^
//! ```
//!
//! | folder | question |
//! |---|---|
//! | `read` | what is on the device now? |

pub mod read;

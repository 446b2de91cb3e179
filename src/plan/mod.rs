//! From a geometry and the user's intent to a layout.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!                                  ^^^^
//! ```
//!
//! Pure. Nothing here reads or writes a device.

pub mod intent;
pub mod layout;
pub mod placement;

//! From a layout to the bytes of a partition table, and from bytes to what they mean.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!                                          ^^^^^
//! ```
//!
//! The arrow is [`prepare()`]: it renders a layout onto an in-memory overlay of the device, adds the
//! old signatures that have to go, reads the result back and compares it with the layout. What comes
//! out can be shown, and after [`Prepared::back_up`] it can be written; there is no other way to the
//! first byte.
//!
//! | file or folder | question |
//! |---|---|
//! | `read` | what is on the device now? |
//! | `check` | what is wrong with it? |
//! | `overlay` | what would the device hold? |
//! | `mbr`, `gpt` | which bytes make this table? |
//! | `image` | which sectors change, and in which order? |
//! | `wipe` | which old signatures have to go? |
//! | `rehearse` | does the result read back as the layout? |
//! | `prepare` | the arrow: all of them in order |
//! | `backup` | how is the old content kept in a file? |
//! | `identity` | is this the device that the file was made for? |
//! | `write` | how do the bytes get onto the device, and off again when that fails? |
//! | `restore` | how does a backup get back? |

pub mod backup;
pub mod check;
mod gpt;
pub mod identity;
pub mod image;
mod mbr;
pub mod overlay;
pub mod prepare;
pub mod read;
mod rehearse;
pub mod restore;
pub mod wipe;
pub mod write;

pub use backup::Backup;
pub use identity::{Difference, Identity};
pub use image::{Extent, Part};
pub use prepare::{PrepareError, Prepared, prepare};
pub use write::{BackedUp, Undone, WriteError, Written};

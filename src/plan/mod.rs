//! From a geometry and the user's intent to a layout.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!                                  ^^^^
//! ```
//!
//! Two steps: [`alignment()`] turns a geometry into the grid that partitions start on, [`layout()`]
//! turns medium, grid and [`intent::Intent`] into partitions that lie on it. Pure: nothing here
//! reads or writes a device, knows a clock, or draws random numbers (entropy is handed in).
//!
//! | file | question |
//! |---|---|
//! | `alignment` | which grid? |
//! | `intent` | what did the user ask for? |
//! | `label` | does this file system take this label? |
//! | `medium` | what is there to partition? |
//! | `table_kind` | MBR or GPT? |
//! | `boot` | what does a board want? |
//! | `gpt_shape` | where do the parts of a GPT lie? |
//! | `table_room` | which sectors does the table leave? |
//! | `placement` | where does each partition lie? |
//! | `filesystem` | which parameters make the file system fit, and which one suits? |
//! | `fitted` | where does it lie with its file system? |
//! | `gaps` | why is the rest empty? |
//! | `recipes` | what is to be told of the file systems? |
//! | `remarks` | what is worth telling? |
//! | `ids` | which identifiers? |
//! | `types` | which type code? |
//! | `layout` | the result, and its own check |
//! | `arrange` | the arrow: all of them in order |

pub mod alignment;
mod arrange;
pub mod boot;
pub mod error;
pub mod filesystem;
mod fitted;
mod gaps;
pub mod gpt_shape;
pub mod guid;
pub mod ids;
pub mod intent;
mod label;
pub mod layout;
pub mod medium;
pub mod placement;
mod recipes;
mod remarks;
pub mod table_kind;
pub mod table_room;
pub mod types;

pub use alignment::{AlignmentChoice, alignment, alignment_of, alignment_override};
pub use arrange::layout;
pub use boot::Board;
pub use error::PlanError;
pub use gpt_shape::GptShape;
pub use guid::Guid;
pub use ids::{DiskId, IdSource};
pub use intent::Intent;
pub use layout::Layout;
pub use medium::Medium;
pub use types::{FileSystem, PartitionType, TableKind};

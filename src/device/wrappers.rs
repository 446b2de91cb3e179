//! Devices around devices: what happens to the inner one is seen, spoiled, undone or kept.
//!
//! | file | question |
//! |---|---|
//! | `fault` | what if the device fails? |
//! | `preserving` | how do the contents survive being written to? |
//! | `recorder` | what was done, for a test that wants to know? |
//! | `samples` | what was done, for whoever wants to look at it again? |
//! | `replay` | what did the device answer then? |

mod fault;
mod preserving;
mod recorder;
mod replay;
pub mod samples;

pub use fault::{Fault, FaultInjector};
pub use preserving::Preserving;
pub use recorder::{Access, AccessKind, Record, Recorder};
pub use replay::{Replay, SamplesError, is_samples};
pub use samples::SampleRecorder;

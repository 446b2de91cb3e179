//! Devices around devices: what happens to the inner one is seen, or spoiled.

mod fault;
mod recorder;

pub use fault::{Fault, FaultInjector};
pub use recorder::{Access, AccessKind, Record, Recorder};

//! What the conversation is told by whoever runs it.

use crate::output::devices::Device;
use crate::units::Bytes;

/// A device that can be picked, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What the kernel tells of it.
    pub device: Device,
    /// What is on it now, in a few words.
    pub holds: String,
}

/// What kind of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Hardware, or what the kernel takes for it.
    Disk,
    /// A plain file: there is nothing to be timed.
    Image,
    /// A stick that exists only in this process.
    Simulated,
}

/// What a look at the device that was picked told, before anything is timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// What it is.
    pub candidate: Candidate,
    /// What kind of thing it is.
    pub nature: Nature,
    /// Why it cannot be written as it is, and what to do about it.
    pub obstacle: Option<String>,
    /// What should be thought of before it is written.
    pub caution: Option<String>,
    /// The most that write tests would write.
    pub write_limit: Bytes,
    /// How often the whole flash would be written once by that, at most.
    pub wear: f64,
}

/// How closely a device is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// By reads alone.
    Read,
    /// Write tests too, and everything is put back.
    Preserve,
    /// Write tests too, and the contents are lost.
    Destroy,
}

/// What a write would do, on a device that is open for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// What is there now, what becomes of it, and which sectors are written.
    pub text: String,
    /// The same with every detail.
    pub details: String,
    /// The commands that would make the file systems, or why they cannot be made now.
    pub format: Result<Vec<String>, String>,
}

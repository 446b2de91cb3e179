//! What a conversation is given, what it wants done next, and where it can stand.

use crate::plan::intent::Intent;
use crate::wizard::{Depth, Question};

/// What was said beforehand, on the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The devices to pick from; with one there is nothing to pick.
    pub devices: Vec<String>,
    /// How closely to look.
    pub depth: Option<Depth>,
    /// What the layout shall contain; its partitions and its purpose need not be asked for then.
    pub intent: Intent,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask this, and tell [`Conversation::answer`](super::Conversation::answer).
    Ask(Question),
    /// Find the devices that there are, and tell [`Conversation::found`](super::Conversation::found). With names, only these.
    Find(Vec<String>),
    /// Look at this device, and tell [`Conversation::looked`](super::Conversation::looked) or [`Conversation::failed`](super::Conversation::failed).
    Look(String),
    /// Scan it, and tell [`Conversation::scanned`](super::Conversation::scanned).
    Scan {
        /// The device.
        device: String,
        /// How closely.
        depth: Depth,
    },
    /// Make a layout, and tell [`Conversation::planned`](super::Conversation::planned) or [`Conversation::failed`](super::Conversation::failed).
    Plan(Box<Intent>),
    /// Open the device for writing and see what a write would do; tell [`Conversation::prepared`](super::Conversation::prepared) or
    /// [`Conversation::failed`](super::Conversation::failed).
    Prepare,
    /// Let go of the device again.
    Release,
    /// Ask for consent and write. Where that is taken back, tell [`Conversation::taken_back`](super::Conversation::taken_back).
    Write {
        /// Make the file systems too.
        format: bool,
    },
    /// It is over.
    End(End),
}

/// How it is over, when nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything that was wanted is known.
    Stopped,
    /// Broken off by the person.
    Quit,
    /// By Ctrl-C or a signal.
    Interrupted,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Device,
    Look,
    Depth,
    Scan,
    Findings,
    Purpose,
    FileSystem,
    Layout,
    Confirm,
    Write,
}

impl Step {
    /// Whether a person answers it; the others only come between.
    pub(super) const fn asks(self) -> bool {
        !matches!(self, Step::Look | Step::Scan | Step::Write)
    }
}

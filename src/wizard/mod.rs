//! The conversation: every question goes through [`Ask`], and who answers is a matter of which
//! `Ask` it is. Consent to unattended writing is [`AssumeYes`], not a flag that is passed around.

mod assume_yes;
mod expect;
mod scripted;
mod target;
mod terminal;

pub use assume_yes::AssumeYes;
pub use expect::{Expectations, ExpectedSize};
pub use scripted::Scripted;
pub use target::Target;
pub use terminal::Terminal;

/// Whoever answers questions.
pub trait Ask {
    /// May this device be written?
    fn consent(&mut self, target: &Target) -> Consent;

    /// Whether somebody reads the warnings that are shown before the question. Where nobody does,
    /// what they warn of is refused.
    fn reads_warnings(&self) -> bool;
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Yes.
    Given,
    /// No.
    Declined,
    /// It is not the device that was expected: why.
    NotExpected(String),
    /// Ctrl-C.
    Interrupted,
}

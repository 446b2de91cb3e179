//! The conversation: every question goes through [`Ask`], and who answers is a matter of which
//! `Ask` it is. Consent to unattended writing is [`AssumeYes`], not a flag that is passed around.
//!
//! What is asked, in which order, and what an answer leads to is [`Conversation`]: values in, values
//! out. It touches no device; whoever runs it does what it says and tells it what came of that.
//!
//! | file | question |
//! |---|---|
//! | `conversation` | what comes next? |
//! | `known` | what does it know by now? |
//! | `steps` | how is each question put? |
//! | `question` | which answers are there, and which key means what? |
//! | `terminal` | how does a person answer? |
//! | `assume_yes`, `scripted` | how does nobody answer, and how a script? |
//! | `target`, `expect` | which device is it about, and is it the one that was expected? |
//! | `farewell` | what is to be told at the end? |

mod assume_yes;
mod conversation;
mod expect;
mod farewell;
mod known;
mod question;
mod scripted;
mod steps;
mod target;
mod terminal;

pub use assume_yes::AssumeYes;
pub use conversation::{Conversation, End, Given, Next};
pub use expect::{Expectations, ExpectedSize};
pub use farewell::{Farewell, farewell};
pub use known::{Candidate, Depth, Looked, Nature, Preview};
pub use question::{Choice, Extra, Key, Question, Reply, folded};
pub use scripted::Scripted;
pub use target::Target;
pub use terminal::Terminal;

/// Whoever answers questions.
pub trait Ask {
    /// Which of these answers?
    fn choose(&mut self, question: &Question) -> Reply;

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
    /// Not yet: one step back. Only where there is a step before.
    Back,
    /// It is not the device that was expected: why.
    NotExpected(String),
    /// Ctrl-C.
    Interrupted,
}

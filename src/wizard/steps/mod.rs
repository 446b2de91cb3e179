//! How is each question put? One question, one file: from what is known to a [`super::Question`].

pub mod confirm;
pub mod depth;
pub mod device;
pub mod file_system;
pub mod findings;
pub mod layout;
pub mod purpose;

/// In front of text that answers a key of the last question.
pub(super) fn above(aside: &str, text: &str) -> String {
    match (aside.is_empty(), text.is_empty()) {
        (true, _) => text.to_owned(),
        (false, true) => aside.to_owned(),
        (false, false) => format!("{}\n\n{text}", aside.trim_end()),
    }
}

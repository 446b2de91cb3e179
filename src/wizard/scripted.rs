//! Answers written down beforehand, as a person would type them.

use super::question::{Key, Question, Reply};
use super::terminal::{Line, ask_three_times};
use super::{Ask, Consent, Expectations, Target};
use std::collections::VecDeque;

/// Types these lines. When they run out it is as if the input was closed.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    lines: VecDeque<String>,
    expected: Expectations,
}

impl Scripted {
    /// With these lines.
    pub fn new(lines: &[&str]) -> Scripted {
        Scripted {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            expected: Expectations::default(),
        }
    }
}

/// The key that a line stands for: Enter for an empty one, else its first character.
fn key(line: &str) -> Key {
    match line.chars().next() {
        None => Key::Enter,
        Some('\u{3}') => Key::Interrupt,
        Some('\u{1b}') => Key::Escape,
        Some(c) => Key::Char(c),
    }
}

impl Ask for Scripted {
    /// Keys that mean nothing are passed over, as at a terminal.
    fn choose(&mut self, question: &Question) -> Reply {
        while let Some(line) = self.lines.pop_front() {
            if let Some(reply) = question.reply_to(key(&line)) {
                return reply;
            }
        }
        Reply::Quit
    }

    fn consent(&mut self, target: &Target) -> Consent {
        let lines = &mut self.lines;
        ask_three_times(&self.expected, target, true, |_| match lines.pop_front() {
            None => Line::Left,
            Some(line) => match key(&line) {
                Key::Interrupt => Line::Interrupted,
                Key::Escape => Line::Left,
                _ => Line::Typed(line),
            },
        })
    }

    fn reads_warnings(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::stick;
    use super::*;

    #[test]
    fn the_device_has_to_be_typed_within_three_tries() {
        for (lines, answer) in [
            (&["sdb"][..], Consent::Given),
            (&["yes", "", "/dev/sdb"], Consent::Given),
            (&["y", "yes", "sda", "sdb"], Consent::Declined),
            (&["y"], Consent::Declined),
            (&["y", "b"], Consent::Back),
            (&["q", "sdb"], Consent::Declined),
            (&["\u{1b}", "sdb"], Consent::Declined),
            (&["\u{3}", "sdb"], Consent::Interrupted),
            (&[], Consent::Declined),
        ] {
            let mut person = Scripted::new(lines);
            assert_eq!(person.consent(&stick()), answer, "{lines:?}");
        }
    }
}

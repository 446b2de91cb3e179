//! Answers written down beforehand, as a person would type them.

use super::terminal::ask_three_times;
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

impl Ask for Scripted {
    fn consent(&mut self, target: &Target) -> Consent {
        let lines = &mut self.lines;
        ask_three_times(&self.expected, target, |_| Ok(lines.pop_front()))
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
            (&[], Consent::Declined),
        ] {
            let mut person = Scripted::new(lines);
            assert_eq!(person.consent(&stick()), answer, "{lines:?}");
        }
    }
}

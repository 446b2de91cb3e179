//! What is it for?

use super::above;
use crate::plan::filesystem::advice::Purpose;
use crate::wizard::{Choice, Question};

/// In the order of the answers.
const PURPOSES: [Purpose; 4] = [
    Purpose::Data,
    Purpose::Camera,
    Purpose::LinuxRoot,
    Purpose::Boot,
];

/// The question.
pub fn question(can_go_back: bool, aside: &str) -> Question {
    let mut choices: Vec<Choice> = PURPOSES
        .into_iter()
        .map(|purpose| {
            Choice::new(match purpose {
                Purpose::Data => "files that travel between computers",
                Purpose::Camera => "a camera, recorder or phone: what cards of this size come with",
                Purpose::LinuxRoot => "the root file system of a Linux system",
                Purpose::Boot => "firmware and boot loaders read it",
            })
        })
        .collect();
    choices.push(Choice::new(
        "something else: I choose the file system myself",
    ));
    Question {
        text: above(aside, ""),
        title: "What will it be used for?".to_owned(),
        choices,
        default: 0,
        extras: Vec::new(),
        can_go_back,
    }
}

/// What the answer of this number means; `None` is something else.
pub fn answer(number: usize) -> Option<Purpose> {
    PURPOSES.get(number).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_an_answer_and_the_last_is_none_of_them() {
        let choices = question(true, "").choices;
        assert_eq!(choices.len(), PURPOSES.len() + 1);
        assert!(choices[2].label.contains("root") && answer(2) == Some(Purpose::LinuxRoot));
        assert_eq!(answer(4), None);
    }
}

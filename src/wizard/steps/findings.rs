//! This was found. What next?

use super::above;
use crate::output::human;
use crate::output::report::Report;
use crate::wizard::{Choice, Depth, Extra, Looked, Nature, Question};

/// Shows why.
pub const WHY: char = 'w';

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Lay out partitions.
    LayOut,
    /// Scan again, with write tests.
    LookCloser,
    /// That was all.
    Stop,
}

/// The answers that make sense.
fn answers(depth: Depth, looked: &Looked) -> Vec<Answer> {
    let closer =
        depth == Depth::Read && looked.obstacle.is_none() && looked.nature != Nature::Image;
    let mut answers = vec![Answer::LayOut];
    if closer {
        answers.push(Answer::LookCloser);
    }
    answers.push(Answer::Stop);
    answers
}

/// The question. `kept` tells where the report was saved.
pub fn question(
    report: &Report,
    depth: Depth,
    looked: &Looked,
    kept: Option<&str>,
    can_go_back: bool,
    aside: &str,
) -> Question {
    // What answers a key stands alone: the findings are on the screen already, or above it.
    let text = if aside.is_empty() {
        let mut text = human::findings(report);
        if let Some(path) = kept {
            text += &format!("The whole report is kept in {path}\n");
        }
        text
    } else {
        String::new()
    };
    let choices = answers(depth, looked)
        .into_iter()
        .map(|answer| {
            Choice::new(match answer {
                Answer::LayOut => "lay out partitions to fit",
                Answer::LookCloser => "look closer, with write tests",
                Answer::Stop => "that is all I wanted to know",
            })
        })
        .collect();
    Question {
        text: above(aside, &text),
        title: "What next?".to_owned(),
        choices,
        default: 0,
        extras: vec![Extra {
            key: WHY,
            label: "why: the evidence",
        }],
        can_go_back,
    }
}

/// What the answer of this number means.
pub fn answer(depth: Depth, looked: &Looked, number: usize) -> Answer {
    answers(depth, looked)
        .get(number)
        .copied()
        .unwrap_or(Answer::Stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    #[test]
    fn the_findings_are_told_once_and_the_reasons_on_a_key() {
        let (report, looked) = (fake::report("/dev/sdb"), fake::looked("/dev/sdb"));
        let asked = question(&report, Depth::Read, &looked, Some("/x.json"), true, "");
        assert!(
            asked.text.contains("The erase block is 8 MiB: confirmed."),
            "{}",
            asked.text
        );
        assert!(asked.text.contains("kept in /x.json"), "{}", asked.text);
        let again = question(&report, Depth::Read, &looked, None, true, "because");
        assert_eq!(again.text, "because");
    }

    #[test]
    fn who_looked_closely_is_not_offered_to_look_closer() {
        let looked = fake::looked("/dev/sdb");
        assert_eq!(answer(Depth::Read, &looked, 1), Answer::LookCloser);
        assert_eq!(answer(Depth::Preserve, &looked, 1), Answer::Stop);
        let busy = Looked {
            obstacle: Some("mounted".to_owned()),
            ..looked
        };
        assert_eq!(answer(Depth::Read, &busy, 1), Answer::Stop);
    }
}

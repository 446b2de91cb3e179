//! This is the layout. Shall it be written?

use super::above;
use crate::output::{layout_picture, layout_text};
use crate::plan::Layout;
use crate::wizard::{Choice, Extra, Looked, Question};

/// Shows every number of it.
pub const DETAILS: char = 'd';

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Prepare the write.
    Write,
    /// That was all.
    Stop,
}

fn answers(looked: &Looked) -> &'static [Answer] {
    match looked.obstacle {
        None => &[Answer::Write, Answer::Stop],
        Some(_) => &[Answer::Stop],
    }
}

/// The question.
pub fn question(layout: &Layout, looked: &Looked, can_go_back: bool, aside: &str) -> Question {
    let mut text = String::new();
    if aside.is_empty() {
        text = layout_picture::summary(layout);
        if let Some(obstacle) = &looked.obstacle {
            text += &format!("\nIt cannot be written now: {obstacle}\n");
        }
    }
    let choices = answers(looked)
        .iter()
        .map(|answer| {
            Choice::new(match answer {
                Answer::Write => "show what would be written, and to where",
                Answer::Stop => "that is all, write nothing",
            })
        })
        .collect();
    Question {
        text: above(aside, &text),
        title: "Is this the layout that you want?".to_owned(),
        choices,
        default: 0,
        extras: vec![Extra {
            key: DETAILS,
            label: "details: every sector, and the commands",
        }],
        can_go_back,
    }
}

/// What the answer of this number means.
pub fn answer(looked: &Looked, number: usize) -> Answer {
    answers(looked).get(number).copied().unwrap_or(Answer::Stop)
}

/// Every number of it.
pub fn details(layout: &Layout) -> String {
    layout_text::render(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    #[test]
    fn the_layout_is_a_picture_with_its_grid() {
        let layout = fake::layout(Some("data"), None);
        let asked = question(&layout, &fake::looked("/dev/sdb"), true, "");
        assert!(asked.text.contains("grid of 8 MiB"), "{}", asked.text);
        assert!(asked.text.contains("exfat"), "{}", asked.text);
        assert!(
            asked.told().lines().count() + asked.menu().lines().count() < 24,
            "{}{}",
            asked.told(),
            asked.menu()
        );
    }

    #[test]
    fn what_cannot_be_written_is_not_offered_to_be() {
        let busy = Looked {
            obstacle: Some("it is mounted".to_owned()),
            ..fake::looked("/dev/sdb")
        };
        assert_eq!(answer(&busy, 0), Answer::Stop);
        let asked = question(&fake::layout(None, None), &busy, true, "");
        assert!(asked.text.contains("it is mounted"), "{}", asked.text);
    }
}

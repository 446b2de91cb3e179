//! Choosing with the arrow keys: `dialoguer`'s list, in terminals that can redraw what they show.
//!
//! What `dialoguer` leaves to its callers is done here: Ctrl-C would end the program with the cursor
//! hidden, so it comes as a key and the cursor is shown on every way out; what was typed before the
//! list stood there is thrown away; an arrow that arrives in pieces is taken for Esc, so lines that
//! are slow enough for that get the plain face; and a list higher than the window is asked plainly,
//! because its pages count answers, not lines.
//!
//! Lines of text are never asked with `dialoguer`: its `Input` knows no Esc, ignores Ctrl-D, and asks
//! for ever when nothing is typed.

use super::WIDTH;
use super::keys::Keys;
use crate::wizard::question::{Question, Reply, folded_to};
use console::Term;
use dialoguer::Select;
use dialoguer::theme::Theme;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Terminals, by the value of `TERM`, that are consoles, serial lines, or cannot move a cursor.
const PLAIN: [&str; 5] = ["", "dumb", "linux", "unknown", "network"];
/// The same, by its beginning: what is set on serial lines.
const SERIAL: &str = "vt";

/// What every list is headed with.
const HINT: &str = "(arrows and Enter; q quits)";

/// Columns that the mark in front of an answer takes.
const MARK: usize = 2;

/// Whether this question can be asked so, at this terminal.
pub(super) fn can_ask(question: &Question) -> bool {
    let name = std::env::var("TERM").unwrap_or_default();
    if PLAIN.contains(&name.as_str()) || name.starts_with(SERIAL) {
        return false;
    }
    let Some((rows, columns)) = Term::stderr().size_checked() else {
        return false;
    };
    let columns = usize::from(columns);
    let entries = entries(question);
    let lines = entries.iter().flat_map(|entry| entry.text.lines());
    let widest = lines.clone().map(str::len).max().unwrap_or(0);
    // Two lines for the question, with a blank one above it, and one for the cursor.
    lines.count() + 4 <= usize::from(rows) && widest + MARK <= columns
}

/// Ask. `interrupted` is set by signals.
pub(super) fn choose(question: &Question, interrupted: &AtomicBool) -> Reply {
    let entries = entries(question);
    let terminal = Term::stderr();
    // Between two keys `dialoguer` gives the terminal its modes back. With these Ctrl-C is a key
    // then as well, and nothing is echoed.
    let modes = Keys::grab(interrupted, true);
    let chosen = Select::with_theme(&Ascii)
        .with_prompt(heading(&question.title))
        .items(entries.iter().map(|entry| entry.text.as_str()))
        // What was chosen is told below, in one line.
        .report(false)
        .default(question.default.min(entries.len().saturating_sub(1)))
        .interact_on_opt(&terminal);
    let reply = match chosen {
        _ if interrupted.load(Ordering::Relaxed) => Reply::Interrupted,
        Ok(Some(index)) => entries.get(index).map_or(Reply::Quit, |entry| entry.reply),
        // Esc or q, and a terminal that is gone.
        Ok(None) => Reply::Quit,
        Err(dialoguer::Error::IO(error)) if error.kind() == std::io::ErrorKind::Interrupted => {
            Reply::Interrupted
        }
        Err(_) => Reply::Quit,
    };
    // A terminal that is gone shows nothing.
    let _ = terminal.show_cursor();
    drop(modes);
    let answer = entries
        .iter()
        .find(|entry| entry.reply == reply)
        .and_then(|entry| entry.text.lines().next())
        .unwrap_or("interrupted");
    let told = folded_to(&format!("{} {answer}", question.title), WIDTH);
    let _ = terminal.write_line(&format!("\n{}", told.trim_end()));
    reply
}

/// The question and the hint, on one line if there is room.
fn heading(title: &str) -> String {
    let between = if title.len() + 1 + HINT.len() < WIDTH {
        ' '
    } else {
        '\n'
    };
    format!("\n{title}{between}{HINT}")
}

/// One line of the list, with what belongs to it below.
struct Entry {
    text: String,
    reply: Reply,
}

/// The answers, then what else can be done.
fn entries(question: &Question) -> Vec<Entry> {
    let entry = |text: String, reply| Entry { text, reply };
    let mut entries: Vec<Entry> = question
        .choices
        .iter()
        .enumerate()
        .map(|(index, choice)| {
            let mut text = choice.label.clone();
            for detail in &choice.details {
                text.push_str("\n     ");
                text.push_str(detail);
            }
            let text = folded_to(&text, WIDTH - MARK).trim_end().to_owned();
            entry(text, Reply::Chosen(index))
        })
        .collect();
    for extra in &question.extras {
        entries.push(entry(extra.label.to_owned(), Reply::Extra(extra.key)));
    }
    if question.can_go_back {
        entries.push(entry("back".to_owned(), Reply::Back));
    }
    entries.push(entry("quit".to_owned(), Reply::Quit));
    entries
}

/// A mark in front of the answer that Enter gives; no colours, and nothing beyond ASCII.
struct Ascii;

impl Theme for Ascii {
    fn format_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        f.write_str(prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::question::{Choice, Extra};

    #[test]
    fn the_list_has_every_answer_every_extra_and_the_ways_out() {
        let question = Question {
            choices: vec![
                Choice::new("this").detail("it is here"),
                Choice::new("that"),
            ],
            extras: vec![Extra {
                key: 'w',
                label: "why",
            }],
            can_go_back: true,
            ..Question::default()
        };
        let list: Vec<(String, Reply)> = entries(&question)
            .into_iter()
            .map(|entry| (entry.text, entry.reply))
            .collect();
        assert_eq!(
            list,
            [
                ("this\n     it is here".to_owned(), Reply::Chosen(0)),
                ("that".to_owned(), Reply::Chosen(1)),
                ("why".to_owned(), Reply::Extra('w')),
                ("back".to_owned(), Reply::Back),
                ("quit".to_owned(), Reply::Quit),
            ]
        );
    }

    #[test]
    fn no_line_of_the_list_is_wider_than_the_window_that_is_promised() {
        let question = Question {
            choices: vec![Choice::new("word ".repeat(40))],
            ..Question::default()
        };
        for entry in entries(&question) {
            assert!(entry.text.lines().all(|line| line.len() + MARK <= 80));
        }
    }
}

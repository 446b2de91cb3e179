//! A question as a value: what is shown, which answers there are, and which key means what.
//!
//! Whoever asks it, a person at a terminal or a script, finds the answer to a key here, so that both
//! mean the same.

use std::fmt::Write;

/// The keys that mean the same at every question.
const BACK: char = 'b';
const QUIT: char = 'q';

/// The right margin: that of a plain console, and of the report, whose lines stay as they are.
const WIDTH: usize = 80;

/// A question with fixed answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// What is told before it is asked. May be longer than a screen.
    pub text: String,
    /// The question itself, one line.
    pub title: String,
    /// The answers, numbered from 1; at most nine.
    pub choices: Vec<Choice>,
    /// The answer that Enter gives, counted from 0.
    pub default: usize,
    /// What else a key does.
    pub extras: Vec<Extra>,
    /// Whether there is a step before this one.
    pub can_go_back: bool,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// On one line.
    pub label: String,
    /// What has to be known of it, one line each.
    pub details: Vec<String>,
}

impl Choice {
    /// An answer that explains itself.
    pub fn new(label: impl Into<String>) -> Choice {
        Choice {
            label: label.into(),
            details: Vec::new(),
        }
    }

    /// The same with one more line below it.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Choice {
        self.details.push(line.into());
        self
    }
}

/// A key beside the answers, which mostly shows more and asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The key.
    pub key: char,
    /// What it does.
    pub label: &'static str,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This answer, counted from 0.
    Chosen(usize),
    /// This key.
    Extra(char),
    /// One step back.
    Back,
    /// No more of this.
    Quit,
    /// Ctrl-C, or a signal that ends the program.
    Interrupted,
}

/// A key as it was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable one.
    Char(char),
    /// Enter.
    Enter,
    /// Backspace.
    Erase,
    /// Esc alone.
    Escape,
    /// Ctrl-C, or a signal that ends the program.
    Interrupt,
    /// The input is closed.
    End,
    /// Any other, such as an arrow.
    Other,
}

impl Question {
    /// What is told before the question, no line beyond the margin.
    pub fn told(&self) -> String {
        folded(&self.text)
    }

    /// The question and its answers, with a final line break.
    pub fn menu(&self) -> String {
        let mut lines = format!("\n{}\n", self.title);
        // Writing to a String cannot fail.
        for (number, choice) in (1..).zip(&self.choices) {
            let _ = writeln!(lines, "  {number}  {}", choice.label);
            for detail in &choice.details {
                let _ = writeln!(lines, "       {detail}");
            }
        }
        let mut keys: Vec<String> = self
            .extras
            .iter()
            .map(|extra| format!("{}  {}", extra.key, extra.label))
            .collect();
        if self.can_go_back {
            keys.push(format!("{BACK}  back"));
        }
        keys.push(format!("{QUIT}  quit"));
        let _ = writeln!(lines, "  {}", keys.join("    "));
        folded(&lines)
    }

    /// What stands in front of the answer.
    pub fn prompt(&self) -> String {
        let numbers = match self.choices.len() {
            0 => String::new(),
            1 => "1, ".to_owned(),
            last => format!("1-{last}, "),
        };
        let extras: String = self
            .extras
            .iter()
            .map(|extra| format!("{}, ", extra.key))
            .collect();
        let back = if self.can_go_back { "b, " } else { "" };
        let enter = match self.choices.get(self.default) {
            Some(_) => format!("; Enter is {}", self.default + 1),
            None => String::new(),
        };
        format!("[{numbers}{extras}{back}q{enter}] ")
    }

    /// What a key answers; `None` when it means nothing here.
    pub fn reply_to(&self, key: Key) -> Option<Reply> {
        match key {
            Key::Interrupt => Some(Reply::Interrupted),
            Key::Escape | Key::End => Some(Reply::Quit),
            Key::Enter => {
                let any = self.default < self.choices.len();
                any.then_some(Reply::Chosen(self.default))
            }
            Key::Char(key) => self.reply_to_char(key),
            Key::Erase | Key::Other => None,
        }
    }

    fn reply_to_char(&self, key: char) -> Option<Reply> {
        let key = key.to_ascii_lowercase();
        if let Some(extra) = self.extras.iter().find(|extra| extra.key == key) {
            return Some(Reply::Extra(extra.key));
        }
        match key {
            QUIT => Some(Reply::Quit),
            BACK => self.can_go_back.then_some(Reply::Back),
            _ => {
                let number = usize::try_from(key.to_digit(10)?).ok()?;
                let index = number.checked_sub(1)?;
                (index < self.choices.len()).then_some(Reply::Chosen(index))
            }
        }
    }

    /// The word that is shown behind the prompt for an answer: what was pressed.
    pub fn echo(&self, reply: Reply) -> String {
        match reply {
            Reply::Chosen(index) => (index + 1).to_string(),
            Reply::Extra(key) => key.to_string(),
            Reply::Back => "back".to_owned(),
            Reply::Quit => "quit".to_owned(),
            Reply::Interrupted => "interrupted".to_owned(),
        }
    }
}

/// Break lines at the margin. What hangs over begins four columns further in than its line, so that
/// tables and pictures that fit stay as they are.
pub fn folded(text: &str) -> String {
    folded_to(text, WIDTH)
}

/// The same for a margin of one's own, in columns.
pub(super) fn folded_to(text: &str, width: usize) -> String {
    let mut folded = String::new();
    for line in text.lines() {
        fold_line(line, width, &mut folded);
    }
    folded
}

fn fold_line(line: &str, width: usize, folded: &mut String) {
    let length = |text: &str| text.chars().count();
    if length(line) <= width {
        folded.push_str(line.trim_end());
        folded.push('\n');
        return;
    }
    let indent = line.len() - line.trim_start().len();
    let mut row = " ".repeat(indent);
    let mut is_empty = true;
    // Blanks between words stay, as far as no line ends there: columns keep their places.
    let mut blanks = 0;
    for word in line.trim_start().split(' ') {
        if word.is_empty() {
            blanks += 1;
            continue;
        }
        if !is_empty && length(&row) + blanks + length(word) > width {
            folded.push_str(&row);
            folded.push('\n');
            row = " ".repeat(indent + 4);
            is_empty = true;
        }
        if !is_empty {
            row.push_str(&" ".repeat(blanks));
        }
        row.push_str(word);
        is_empty = false;
        blanks = 1;
    }
    folded.push_str(&row);
    folded.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            title: "Which?".to_owned(),
            choices: vec![
                Choice::new("this").detail("it is here"),
                Choice::new("that"),
            ],
            default: 1,
            extras: vec![Extra {
                key: 'w',
                label: "why",
            }],
            can_go_back: true,
            ..Question::default()
        }
    }

    #[test]
    fn every_answer_has_a_key_and_every_key_is_shown() {
        assert_eq!(
            question().menu(),
            "\nWhich?\n  1  this\n       it is here\n  2  that\n  w  why    b  back    q  quit\n"
        );
        assert_eq!(question().prompt(), "[1-2, w, b, q; Enter is 2] ");
    }

    #[test]
    fn keys_mean_the_same_in_either_case_and_unknown_ones_nothing() {
        let asked = question();
        for (key, reply) in [
            (Key::Enter, Some(Reply::Chosen(1))),
            (Key::Char('1'), Some(Reply::Chosen(0))),
            (Key::Char('3'), None),
            (Key::Char('0'), None),
            (Key::Char('W'), Some(Reply::Extra('w'))),
            (Key::Char('B'), Some(Reply::Back)),
            (Key::Char('q'), Some(Reply::Quit)),
            (Key::Escape, Some(Reply::Quit)),
            (Key::End, Some(Reply::Quit)),
            (Key::Interrupt, Some(Reply::Interrupted)),
            (Key::Other, None),
            (Key::Char('y'), None),
        ] {
            assert_eq!(asked.reply_to(key), reply, "{key:?}");
        }
        let first = Question {
            can_go_back: false,
            choices: Vec::new(),
            ..question()
        };
        assert_eq!(first.reply_to(Key::Char('b')), None);
        assert_eq!(first.reply_to(Key::Enter), None);
        assert_eq!(first.prompt(), "[w, q] ");
    }

    #[test]
    fn long_lines_are_broken_with_a_hanging_indent_and_short_ones_kept() {
        let text = folded(&format!("  |   |   |\n  {}", "word ".repeat(30)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  |   |   |");
        assert!(lines[1].starts_with("  word") && lines[2].starts_with("      word"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{text}");
        let columns = format!("no   start   size{}name", " ".repeat(70));
        assert_eq!(folded(&columns), "no   start   size\n    name\n");
    }
}

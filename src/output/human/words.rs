//! Words, numbers and lines of the report for people.

use crate::output::telling::numbers::belong_together;
use crate::quote::ascii;

/// The right margin.
const WIDTH: usize = 80;

/// The report as it grows.
pub(super) struct Text(String);

impl Text {
    pub(super) fn new() -> Text {
        Text(String::new())
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    /// One line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.0 += ascii(line).trim_end();
        self.0.push('\n');
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.0.push('\n');
    }

    /// An empty line and a title.
    pub(super) fn heading(&mut self, title: &str) {
        self.gap();
        self.line(title);
    }

    /// A paragraph, every line indented.
    pub(super) fn wrapped(&mut self, indent: &str, paragraph: &str) {
        self.hanging(indent, indent, paragraph);
    }

    /// One sentence each, with a dash.
    pub(super) fn items(&mut self, sentences: &[String]) {
        for sentence in sentences {
            self.hanging("  - ", "    ", sentence);
        }
    }

    /// A paragraph whose first line begins differently from the others.
    pub(super) fn hanging(&mut self, first: &str, others: &str, paragraph: &str) {
        let paragraph = ascii(paragraph);
        let mut line = first.to_owned();
        let mut is_empty = true;
        for word in unbroken(&paragraph) {
            if !is_empty && line.len() + 1 + word.len() > WIDTH {
                self.0 += line.trim_end();
                self.0.push('\n');
                line = others.to_owned();
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line += &word;
            is_empty = false;
        }
        self.0 += line.trim_end();
        self.0.push('\n');
    }

    /// A command to type, and what it does. Never broken, so that it can be copied.
    pub(super) fn command(&mut self, command: &str, what: &str) {
        let line = format!("  {command:<40}  {what}");
        if line.len() <= WIDTH {
            self.line(&line);
        } else {
            self.line(&format!("  {command}"));
            self.line(&format!("      {what}"));
        }
    }
}

/// The words of a paragraph; a number and its unit are one.
fn unbroken(paragraph: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        match words.last_mut() {
            Some(number) if belong_together(number, word) => {
                number.push(' ');
                *number += word;
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_at_the_margin_and_hang() {
        let mut text = Text::new();
        text.items(&["word ".repeat(40), "x".repeat(100)]);
        let text = text.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  - word") && lines[1].starts_with("    word"));
        assert!(lines[0].len() <= WIDTH && lines[0].len() > WIDTH - 5);
        // What cannot be broken is not cut.
        assert_eq!(lines[3].len(), 104);
    }

    #[test]
    fn a_number_is_not_parted_from_its_unit() {
        let words = unbroken("at 4 MiB, 12 places of 1.5 s (± 3 us) are 4 bytes");
        assert_eq!(
            words,
            [
                "at", "4 MiB,", "12", "places", "of", "1.5 s", "(±", "3 us)", "are", "4", "bytes"
            ]
        );
    }
}

//! A person at a terminal.
//!
//! In a window that can redraw its lines, answers are chosen from a list with the arrow keys
//! ([`arrows`]). On a plain console, over a serial line and with `TERM=dumb` questions are plain lines,
//! printed once and answered with one key or one line: nothing is redrawn, no cursor is moved or
//! hidden. No face uses colours. The modes of the terminal are restored by [`keys::Keys`].

mod arrows;
mod keys;

use super::question::{Key, Question, Reply};
use super::{Ask, Consent, Expectations, Target};
use keys::Keys;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How often a wrong answer may be typed.
const TRIES: u32 = 3;

/// The narrowest window that is promised, in columns.
const WIDTH: usize = 80;

/// A line that is typed is never longer; what is typed behind that is ignored.
const LONGEST: usize = 512;

/// Asks on stderr and reads stdin.
pub struct Terminal {
    expected: Expectations,
    interrupted: Arc<AtomicBool>,
    way_back: bool,
}

/// How the typing of a line ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// With Enter.
    Typed(String),
    /// With Esc, or the end of the input.
    Left,
    /// With Ctrl-C.
    Interrupted,
}

impl Terminal {
    /// A device that is not as expected is refused without a question. `interrupted` is set by
    /// Ctrl-C.
    pub fn new(expected: Expectations, interrupted: Arc<AtomicBool>) -> Terminal {
        Terminal {
            expected,
            interrupted,
            way_back: false,
        }
    }

    /// The same in a conversation, where consent can be put off to go one step back.
    #[must_use]
    pub fn with_way_back(mut self) -> Terminal {
        self.way_back = true;
        self
    }

    /// Whether a person can be asked here at all: both ends are a terminal.
    pub fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    fn say(text: &str) {
        // With stderr closed there is nobody to ask; the answer will be missing as well.
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }

    /// What is told before a question, a screen at a time. Gives the reply where the reader had enough.
    fn tell(&self, question: &Question) -> Option<Reply> {
        let told = question.told();
        let lines: Vec<&str> = told.lines().collect();
        let below = question.menu().lines().count() + 1;
        let height = height();
        let pages = pages(&lines, height, below);
        for (number, page) in pages.iter().enumerate() {
            Terminal::say(&format!("{}\n", page.join("\n")));
            let is_last = number + 1 == pages.len();
            if is_last && page.len() + below <= height {
                break;
            }
            let keys = Keys::grab(&self.interrupted, true);
            Terminal::say("-- more: any key, q quits -- ");
            let key = keys.next();
            drop(keys);
            Terminal::say("\n");
            match key {
                Key::Interrupt => return Some(Reply::Interrupted),
                Key::Escape | Key::End | Key::Char('q' | 'Q') => return Some(Reply::Quit),
                Key::Char('b' | 'B') if question.can_go_back => return Some(Reply::Back),
                Key::Char(_) | Key::Enter | Key::Erase | Key::Other => {}
            }
        }
        None
    }

    /// One line, with a prompt in front.
    fn line(&self, prompt: &str) -> Line {
        // What was typed ahead counts: nobody types the name of a device by accident.
        let keys = Keys::grab(&self.interrupted, false);
        Terminal::say(prompt);
        let mut line = String::new();
        let line = loop {
            match keys.next() {
                Key::Enter => break Line::Typed(line),
                Key::Escape => break Line::Left,
                // As in the line editor of a kernel: in the middle of a line it ends nothing.
                Key::End if line.is_empty() || keys.is_closed() => break Line::Left,
                Key::Interrupt => break Line::Interrupted,
                Key::Erase if line.pop().is_some() => Terminal::say("\u{8} \u{8}"),
                Key::Char(c) if line.len() < LONGEST => {
                    line.push(c);
                    Terminal::say(c.encode_utf8(&mut [0; 4]));
                }
                Key::Char(_) | Key::Erase | Key::End | Key::Other => {}
            }
        };
        drop(keys);
        Terminal::say("\n");
        line
    }
}

impl Ask for Terminal {
    fn choose(&mut self, question: &Question) -> Reply {
        if let Some(reply) = self.tell(question) {
            return reply;
        }
        if arrows::can_ask(question) {
            return arrows::choose(question, &self.interrupted);
        }
        Terminal::say(&question.menu());
        // What was typed before the question stood there is no answer to it.
        let keys = Keys::grab(&self.interrupted, true);
        Terminal::say(&question.prompt());
        let reply = loop {
            if let Some(reply) = question.reply_to(keys.next()) {
                break reply;
            }
        };
        drop(keys);
        Terminal::say(&format!("{}\n", question.echo(reply)));
        reply
    }

    fn consent(&mut self, target: &Target) -> Consent {
        ask_three_times(&self.expected, target, self.way_back, |question| {
            self.line(&question)
        })
    }

    fn reads_warnings(&self) -> bool {
        true
    }
}

/// Lines of the screen. 24 where nobody tells: that of a terminal on a serial line.
fn height() -> usize {
    let told = console::Term::stderr().size_checked();
    told.map_or(24, |(rows, _)| usize::from(rows)).max(10)
}

/// Parts of a text that each fit on the screen, the last one together with `below` lines that follow,
/// where that is possible.
fn pages<'a, 'b>(lines: &'a [&'b str], height: usize, below: usize) -> Vec<&'a [&'b str]> {
    if lines.is_empty() {
        return Vec::new();
    }
    if lines.len() + below <= height {
        return vec![lines];
    }
    // One line is for the prompt, and one of the page before is still seen.
    lines.chunks(height.saturating_sub(2).max(1)).collect()
}

/// Put the question, up to three times, to whoever `answer` is.
pub(super) fn ask_three_times(
    expected: &Expectations,
    target: &Target,
    way_back: bool,
    mut answer: impl FnMut(String) -> Line,
) -> Consent {
    if let Err(reason) = expected.check(target) {
        return Consent::NotExpected(reason);
    }
    let name = target.other_names.last().unwrap_or(&target.name);
    let ways = if way_back {
        "\n(or b back, q quit): "
    } else {
        ": "
    };
    for tried in 0..TRIES {
        let again = if tried > 0 { "that is not it. " } else { "" };
        let to = format!("{again}To write to {},", target.name.escape_debug());
        let answers = format!(
            "type its name ({name}) or its size ({})",
            target.capacity.get()
        );
        let between = if to.len() + 1 + answers.len() + ways.len() > WIDTH {
            '\n'
        } else {
            ' '
        };
        let question = format!("{to}{between}{answers}{ways}");
        match answer(question) {
            Line::Interrupted => return Consent::Interrupted,
            Line::Left => return Consent::Declined,
            Line::Typed(line) if target.is_named_by(&line) => return Consent::Given,
            Line::Typed(line) if way_back && line.trim() == "b" => return Consent::Back,
            Line::Typed(line) if way_back && line.trim() == "q" => return Consent::Declined,
            Line::Typed(_) => {}
        }
    }
    Consent::Declined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(lines: usize, height: usize, below: usize) -> Vec<usize> {
        let text = vec!["x"; lines];
        pages(&text, height, below)
            .iter()
            .map(|page| page.len())
            .collect()
    }

    #[test]
    fn what_fits_above_its_question_is_one_page_and_the_rest_is_cut_at_the_screen() {
        assert_eq!(lengths(0, 24, 8), [0; 0]);
        assert_eq!(lengths(16, 24, 8), [16]);
        assert_eq!(lengths(17, 24, 8), [17]);
        assert_eq!(lengths(50, 24, 8), [22, 22, 6]);
        assert_eq!(lengths(5, 2, 8), [1; 5]);
    }
}

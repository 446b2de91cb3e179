//! Plain characters in, words out: what separates columns, quotes lines or pads fields is gone, and
//! shell arithmetic is computed.

use super::arithmetic;
use super::glyphs::{Glyphs, UNREADABLE};

/// The longest word with a meaning is a device path; longer ones are dropped.
const LONGEST_WORD: usize = 120;
/// The longest arithmetic expression or HTML entity that is looked for.
const LONGEST_EXPRESSION: usize = 96;

/// A word, or the end of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'w> {
    Word(&'w str),
    LineEnd,
}

/// The words of a text, one at a time: memory does not grow with the text.
pub(super) struct Words<'a> {
    glyphs: Glyphs<'a>,
    word: String,
}

impl<'a> Words<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Words<'a> {
        Words {
            glyphs: Glyphs::new(bytes),
            word: String::with_capacity(LONGEST_WORD),
        }
    }

    /// The next word or line end; `None` at the end of the text.
    pub(super) fn next(&mut self) -> Option<Token<'_>> {
        self.word.clear();
        let mut too_long = false;
        loop {
            let before = self.glyphs;
            let Some(glyph) = self.glyphs.next() else {
                break;
            };
            match glyph {
                b'\n' if self.word.is_empty() && !too_long => return Some(Token::LineEnd),
                b'\n' => {
                    self.glyphs = before;
                    break;
                }
                b' ' | b'|' | b'>' | b'<' | b',' | b';' | b'"' | b'\'' | b'`' | b'*' | b'('
                | b')' => {
                    if too_long || !self.word.is_empty() {
                        break;
                    }
                }
                // A backslash escapes; at the end of a line it continues the command.
                b'\\' => {
                    let mut ahead = self.glyphs;
                    if ahead.next() == Some(b'\n') {
                        self.glyphs = ahead;
                        if !self.word.is_empty() {
                            break;
                        }
                    }
                }
                UNREADABLE => {
                    if self.is_lost_micro() {
                        self.word.push('u');
                    } else if too_long || !self.word.is_empty() {
                        break;
                    }
                }
                b'&' => match self.entity() {
                    Some('u') => self.word.push('u'),
                    Some(_) if !self.word.is_empty() => break,
                    Some(_) => {}
                    None => self.word.push('&'),
                },
                b'$' => self.push_expression(),
                _ if self.word.len() < LONGEST_WORD => self.word.push(char::from(glyph)),
                _ => too_long = true,
            }
            too_long |= self.word.len() > LONGEST_WORD;
        }
        if too_long {
            self.word.clear();
            return Some(Token::Word(""));
        }
        (!self.word.is_empty()).then_some(Token::Word(&self.word))
    }

    /// Whether the unreadable mark just read is a micro sign, or part of one that was decoded wrongly:
    /// behind a digit, before the `s` that ends the word, or with a micro sign that ends the word.
    /// Elsewhere the same mark is padding.
    fn is_lost_micro(&mut self) -> bool {
        if !self.word.ends_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let ends = |glyph: Option<u8>| glyph.is_none_or(|glyph| !glyph.is_ascii_alphanumeric());
        let mut ahead = self.glyphs;
        let mut micro = false;
        // A micro sign decoded wrongly twice is four marks.
        for _ in 0..6 {
            let before = ahead;
            match ahead.next() {
                Some(UNREADABLE) => {}
                Some(b'u') => micro = true,
                glyph => {
                    let is_unit = match glyph {
                        Some(b's') => ends(ahead.next()),
                        other => micro && ends(other),
                    };
                    if is_unit {
                        self.glyphs = before;
                    }
                    return is_unit;
                }
            }
        }
        false
    }

    /// An HTML entity behind `&`: a micro sign, or something that separates.
    fn entity(&mut self) -> Option<char> {
        for (name, meaning) in [("micro;", 'u'), ("nbsp;", ' '), ("gt;", ' '), ("lt;", ' ')] {
            let mut ahead = self.glyphs;
            if name.bytes().all(|byte| ahead.next() == Some(byte)) {
                self.glyphs = ahead;
                return Some(meaning);
            }
        }
        None
    }

    /// Behind `$`: the value of `$[…]` or `$((…))`, or the bare `$`, which nothing takes for a
    /// number.
    fn push_expression(&mut self) {
        let mut ahead = self.glyphs;
        let closing = match ahead.next() {
            Some(b'[') => "]",
            Some(b'(') if ahead.next() == Some(b'(') => "))",
            _ => {
                self.word.push('$');
                return;
            }
        };
        let mut expression = String::new();
        for glyph in ahead.by_ref().take(LONGEST_EXPRESSION) {
            // Mail programs escape the asterisks.
            if glyph != b'\\' {
                expression.push(char::from(glyph));
            }
            if let Some(inside) = expression.strip_suffix(closing) {
                match arithmetic::evaluate(inside) {
                    Some(value) => self.word.push_str(&value.to_string()),
                    None => self.word.push('$'),
                }
                self.glyphs = ahead;
                return;
            }
        }
        self.word.push('$');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Words::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(token) = words.next() {
            all.push(match token {
                Token::Word(word) => word.to_owned(),
                Token::LineEnd => "\n".to_owned(),
            });
        }
        all
    }

    #[test]
    fn padding_quoting_and_columns_disappear() {
        assert_eq!(words("8KiB ? ?2.82M/s"), ["8KiB", "2.82M/s"]);
        assert_eq!(words("64KiB??15.1M/s?\n"), ["64KiB", "15.1M/s", "\n"]);
        assert_eq!(
            words(">> | 12 | 4MiB\t\t22M/s | |"),
            ["12", "4MiB", "22M/s"]
        );
    }

    #[test]
    fn a_mark_between_a_digit_and_the_last_s_is_a_micro_sign() {
        assert_eq!(
            words("pre?868?s?on 12.2??s"),
            ["pre", "868us", "on", "12.2us"]
        );
        assert_eq!(
            words("735Âµs 7Ã\u{82}Âµs 9&micro;s"),
            ["735us", "7us", "9us"]
        );
        assert_eq!(words("1e+03Âµ x 1e+03? y"), ["1e+03u", "x", "1e+03", "y"]);
        assert_eq!(words("7?sda"), ["7", "sda"]);
    }

    #[test]
    fn arithmetic_becomes_its_value_inside_the_option() {
        assert_eq!(words("-b=$[8 * 1024*1024] x"), ["-b=8388608", "x"]);
        assert_eq!(words("-e $((4 \\* 1024)) y"), ["-e", "4096", "y"]);
        assert_eq!(words("-e=$[$i * 1024] $[8"), ["-e=$", "$[8"]);
        assert_eq!(words("--open-au \\\n --random"), ["--open-au", "--random"]);
    }

    #[test]
    fn endless_words_are_dropped() {
        let text = format!("{} 4MiB", "x".repeat(5000));
        assert_eq!(words(&text), ["", "4MiB"]);
    }
}

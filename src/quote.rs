//! Names from outside, for an eye or a shell: devices, files and labels may be called anything.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Whether a character has no shape of its own: it controls a terminal, has no width, or turns the
/// direction of writing, and so could hide or reorder what stands around it (Unicode Standard, chapter
/// 23, "Special Areas and Format Characters").
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// `text` on one line: what is not seen is named.
pub fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// `text` for a comment of a script: a line break in it must not become a command.
pub fn in_a_comment(text: &str) -> String {
    text.chars()
        .map(|c| if is_unseen(c) { ' ' } else { c })
        .collect()
}

/// `text` as printable ASCII, for consoles and serial lines that know nothing else.
pub fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            // The two micro signs.
            '\u{b5}' | '\u{3bc}' => "u".to_owned(),
            '±' => "+-".to_owned(),
            '×' => "x".to_owned(),
            '·' => "*".to_owned(),
            '–' => "-".to_owned(),
            _ => c.escape_unicode().to_string(),
        })
        .collect()
}

/// `text` as one word of a script for any POSIX shell: between single quotes nothing has a meaning but
/// the quote itself.
pub fn script_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=,@%#".contains(c);
    // A comment, and the place of a command in zsh.
    let needs_none = text.chars().all(plain) && !text.starts_with(['#', '=']);
    if !text.is_empty() && needs_none {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// `text` as one word of a command that a person copies. What is not seen, or is no text at all, is
/// spelled out between `$'` and `'` (POSIX.1-2024, 2.2.4; bash, zsh and ksh know it): the command stays
/// on one line and means the same.
pub fn shell_word(text: impl AsRef<OsStr>) -> String {
    let bytes = text.as_ref().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_unseen) => script_word(text),
        _ => spelled_out(bytes),
    }
}

fn spelled_out(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    // Writing to a String cannot fail. Always three digits: more could follow.
    let octal = |word: &mut String, bytes: &[u8]| {
        for byte in bytes {
            let _ = write!(word, "\\{byte:03o}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => word.extend(['\\', c]),
                c if is_unseen(c) => octal(&mut word, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => word.push(c),
            }
        }
        octal(&mut word, chunk.invalid());
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_move_the_cursor_or_turn_the_text() {
        assert_eq!(
            ascii("4.2 µs ± 1\u{1b}[2J\n"),
            "4.2 us +- 1\\u{1b}[2J\\u{a}"
        );
        assert_eq!(on_one_line("a\nb\u{1b}[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(on_one_line("größe \u{202e}gmi"), "größe \\u{202e}gmi");
        assert_eq!(in_a_comment("a\nrm -rf\u{2066}x"), "a rm -rf x");
    }

    #[test]
    fn a_name_is_one_word_of_the_shell() {
        assert_eq!(shell_word("sim:x#7"), "sim:x#7");
        assert_eq!(shell_word("my stick's.json"), r"'my stick'\''s.json'");
        assert_eq!(shell_word("#1"), "'#1'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(script_word("$(x) `y` \"z\" \\ *"), "'$(x) `y` \"z\" \\ *'");
    }

    #[test]
    fn a_name_with_a_line_break_or_a_broken_character_stays_one_line_and_itself() {
        let names: [&[u8]; 4] = [b"a\nb 7'\\", b"\xff7", "x\u{202e}1".as_bytes(), b"\x1b[2J"];
        for name in names {
            let word = shell_word(OsStr::from_bytes(name));
            assert!(
                !word.chars().any(is_unseen) && word.starts_with("$'"),
                "{word}"
            );
            let echoed = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {word}")])
                .output();
            match echoed {
                Ok(output) => assert_eq!(output.stdout, name, "{word}"),
                Err(error) => eprintln!("skipped: no bash to ask: {error}"),
            }
        }
    }
}

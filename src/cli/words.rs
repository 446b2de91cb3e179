//! The command that is meant when none is typed.

use std::ffi::{OsStr, OsString};

/// The words of a command line, the program's own name first, with `wizard` put in where they name
/// no command: none at all, an option, or a device.
pub fn words(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.into_iter().collect();
    if words.get(1).is_none_or(|first| !names_command(first)) {
        words.insert(words.len().min(1), OsString::from("wizard"));
    }
    words
}

/// Whether a first word is a command, or is to be told about as an unknown one. The name of a device
/// has a slash, a colon or a point in it, that of a command has none.
fn names_command(first: &OsStr) -> bool {
    let first = first.to_string_lossy();
    let help = ["-h", "--help", "-V", "--version"].contains(&first.as_ref());
    help || !(first.starts_with('-') || first.contains(['/', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(line: &str) -> String {
        let typed = std::iter::once("flashfit").chain(line.split_whitespace());
        let words = words(typed.map(OsString::from));
        assert_eq!(words[0], "flashfit");
        words[1].to_string_lossy().into_owned()
    }

    #[test]
    fn the_wizard_is_meant_when_no_command_is_named() {
        for line in [
            "",
            "--yes /dev/sdb",
            "/dev/sdb",
            "sim:corsair-voyager --yes",
            "./card.img",
            "card.img",
            "wizard sim:x",
        ] {
            assert_eq!(second(line), "wizard", "{line}");
        }
    }

    #[test]
    fn commands_help_and_slips_stay_as_they_are() {
        for line in [
            "scan sim:x",
            "help plan",
            "scna",
            "--help",
            "-V",
            "--version",
        ] {
            assert_eq!(second(line), line.split(' ').next().unwrap(), "{line}");
        }
    }
}

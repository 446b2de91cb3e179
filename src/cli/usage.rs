//! A wrong command line, told in one line like every other error.

use super::Cli;
use crate::error::Error;
use clap::CommandFactory;
use clap::error::ErrorKind;

/// The one-line form of what the parser objects to, or `None` when it wants to print a page of
/// help or the version instead (`--help`, or no command at all): that page is its own answer.
///
/// `command` is the first word typed, so that the line can end with the help to read.
pub fn usage_error(error: &clap::Error, command: Option<&str>) -> Option<Error> {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return None;
    }
    let text = error.to_string();
    let objection = text
        .split("\n\n")
        .take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more information"))
        // The possible values are listed: a guess at one of them ('512' for '1024') adds nothing.
        .filter(|part| {
            error.kind() != ErrorKind::InvalidValue || !part.trim_start().starts_with("tip:")
        })
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("; ");
    let objection = objection.strip_prefix("error: ").unwrap_or(&objection);
    let known = command.filter(|name| {
        Cli::command()
            .get_subcommands()
            .any(|sub| sub.get_name() == *name)
    });
    let help = match known {
        Some(name) => format!("see: flashfit {name} --help"),
        None => "see: flashfit --help".to_owned(),
    };
    Some(Error::usage(objection).hint(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn line(words: &[&str]) -> Option<String> {
        let error = Cli::try_parse_from(std::iter::once(&"flashfit").chain(words)).unwrap_err();
        let error = usage_error(&error, words.first().copied())?;
        assert_eq!(error.exit_code().number(), 2);
        Some(error.to_string())
    }

    #[test]
    fn every_objection_is_one_line_that_ends_with_the_help_to_read() {
        assert_eq!(
            line(&["scan"]).unwrap(),
            "the following required arguments were not provided: <DEVICE>; see: flashfit scan --help"
        );
        assert_eq!(
            line(&["scna"]).unwrap(),
            "unrecognized subcommand 'scna'; tip: a similar subcommand exists: 'scan'; see: flashfit --help"
        );
        assert_eq!(
            line(&["analyze", "a.log", "--sector-size", "1024"]).unwrap(),
            "invalid value '1024' for '--sector-size <BYTES>' [possible values: 512, 4096]; \
             see: flashfit analyze --help"
        );
        assert_eq!(
            line(&["scan", "sim:x", "--time-limit", "5"]).unwrap(),
            "invalid value '5' for '--time-limit <DURATION>': it has no unit: write 90s, 5m or 1h; \
             see: flashfit scan --help"
        );
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for words in [&["--help"][..], &["plan", "--help"], &["--version"], &[]] {
            assert_eq!(line(words), None);
        }
    }
}

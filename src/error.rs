//! How a run ends: the exit code, and the one line that says what went wrong.
//!
//! The stages have their own error types; `run` turns each into an [`Error`], which alone knows
//! the exit code. Messages are lower case, one line, without a full stop; the hint says what to do
//! next, with the exact command where there is one.

use crate::quote::on_one_line;
use std::fmt;

/// What the exit code of the process means. The numbers are a promise: scripts test them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitCode {
    /// Done; also when the reader of stdout went away.
    Done,
    /// The job cannot be done with this input.
    Failed,
    /// The command line is wrong. clap uses the same number.
    Usage,
    /// A report was given, but it does not tell the erase block.
    NotTold,
    /// Refused, because going on could destroy something or makes no sense on this target.
    Refused,
    /// The user said no.
    Declined,
    /// The device failed or went away.
    Io,
    /// The table is written and verified, but the kernel still shows the old one.
    StaleKernel,
    /// A check found something off the grid or inconsistent.
    OffGrid,
    /// Ctrl-C, SIGTERM or SIGHUP. 128 + 2, as shells report it.
    Interrupted,
}

impl ExitCode {
    /// All codes, in the order of their numbers.
    pub const ALL: [ExitCode; 10] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Usage,
        ExitCode::NotTold,
        ExitCode::Refused,
        ExitCode::Declined,
        ExitCode::Io,
        ExitCode::StaleKernel,
        ExitCode::OffGrid,
        ExitCode::Interrupted,
    ];

    /// The number that the process exits with.
    pub const fn number(self) -> u8 {
        match self {
            ExitCode::Done => 0,
            ExitCode::Failed => 1,
            ExitCode::Usage => 2,
            ExitCode::NotTold => 3,
            ExitCode::Refused => 4,
            ExitCode::Declined => 5,
            ExitCode::Io => 6,
            ExitCode::StaleKernel => 7,
            ExitCode::OffGrid => 8,
            ExitCode::Interrupted => 130,
        }
    }

    /// What it means, for the man page.
    pub const fn meaning(self) -> &'static str {
        match self {
            ExitCode::Done => "Done.",
            ExitCode::Failed => {
                "Failed: no such device, no permission, a directory, an empty or too small device, or a \
                 bad profile, log, report or layout."
            }
            ExitCode::Usage => {
                "Usage: a bad option or size, options that exclude one another, --yes without --expect or \
                 --expect-size, or no terminal to ask at."
            }
            ExitCode::NotTold => {
                "The report was given, but the erase block is neither confirmed nor likely. scan and \
                 analyze only; elsewhere only with --require-measured."
            }
            ExitCode::Refused => {
                "Refused: no medium, a partition, a device in use or otherwise unsafe to write, or another \
                 device than the one that was meant."
            }
            ExitCode::Declined => "Declined by the user. Nothing was written.",
            ExitCode::Io => "I/O error, or the device went away.",
            ExitCode::StaleKernel => {
                "The table is written and verified, but the kernel still shows the old one: plug the \
                 device in again."
            }
            ExitCode::OffGrid => {
                "check found something off the grid or inconsistent; what it is stands on stdout."
            }
            ExitCode::Interrupted => "Interrupted. What was known until then is reported.",
        }
    }

    /// How bad it is: the code of several devices is the worst of theirs.
    const fn badness(self) -> u8 {
        match self {
            ExitCode::Done => 0,
            ExitCode::NotTold => 1,
            ExitCode::OffGrid => 2,
            ExitCode::StaleKernel => 3,
            ExitCode::Declined => 4,
            ExitCode::Usage => 5,
            ExitCode::Refused => 6,
            ExitCode::Failed => 7,
            ExitCode::Io => 8,
            ExitCode::Interrupted => 9,
        }
    }

    /// The worse of two, in the order 130, 6, 1, 4, 2, 5, 7, 8, 3, 0.
    pub const fn worse(self, other: ExitCode) -> ExitCode {
        if other.badness() > self.badness() {
            other
        } else {
            self
        }
    }

    /// The worst of several; [`ExitCode::Done`] of none.
    pub fn worst(codes: impl IntoIterator<Item = ExitCode>) -> ExitCode {
        codes.into_iter().fold(ExitCode::Done, ExitCode::worse)
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code.number())
    }
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The reader of stdout went away (`flashfit list | head -1`). Success, and silent.
    BrokenPipe,
    /// Everything else.
    Failure {
        /// How the process exits.
        code: ExitCode,
        /// What happened: lower case, no full stop.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
}

impl Error {
    /// An error with this exit code and message.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Error {
        Error::Failure {
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// The input does not allow it: exit code 1.
    pub fn failed(message: impl Into<String>) -> Error {
        Error::new(ExitCode::Failed, message)
    }

    /// The command line is wrong in a way that only shows with the device at hand: exit code 2.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(ExitCode::Usage, message)
    }

    /// The target must not be used: exit code 4.
    pub fn refused(message: impl Into<String>) -> Error {
        Error::new(ExitCode::Refused, message)
    }

    /// The device failed or went away: exit code 6.
    pub fn io(message: impl Into<String>) -> Error {
        Error::new(ExitCode::Io, message)
    }

    /// The same error with the next step: "see what there is with: flashfit list".
    #[must_use]
    pub fn hint(mut self, next: impl Into<String>) -> Error {
        if let Error::Failure { hint, .. } = &mut self {
            *hint = Some(next.into());
        }
        self
    }

    /// A failed write to stdout. A reader that went away is [`Error::BrokenPipe`]; anything else
    /// (a full disk behind `>`) means that the result is lost.
    pub fn from_stdout(error: &std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Error::BrokenPipe,
            _ => Error::failed(format!("cannot write to stdout: {error}")),
        }
    }

    /// How the process exits.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::BrokenPipe => ExitCode::Done,
            Error::Failure { code, .. } => *code,
        }
    }
}

impl fmt::Display for Error {
    /// `message; hint` on one line. Names come from the command line and from devices: whatever
    /// would move the cursor, start a second line or turn the text round is shown escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BrokenPipe => f.write_str("the reader of stdout went away"),
            Error::Failure { message, hint, .. } => {
                f.write_str(&on_one_line(message))?;
                match hint {
                    Some(hint) => write!(f, "; {}", on_one_line(hint)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_scripts_rely_on() {
        let numbers: Vec<u8> = ExitCode::ALL.iter().map(|code| code.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]);
        assert_eq!(ExitCode::Done.number(), 0);
        assert_eq!(ExitCode::NotTold.number(), 3);
        assert_eq!(ExitCode::Interrupted.number(), 130);
    }

    #[test]
    fn the_worst_of_several_is_found_in_the_promised_order() {
        let order: [u8; 10] = [130, 6, 1, 4, 2, 5, 7, 8, 3, 0];
        let find = |number: u8| {
            ExitCode::ALL
                .into_iter()
                .find(|code| code.number() == number)
                .unwrap()
        };
        for (i, &worse) in order.iter().enumerate() {
            for &better in &order[i..] {
                assert_eq!(find(worse).worse(find(better)), find(worse));
                assert_eq!(find(better).worse(find(worse)), find(worse));
            }
        }
        assert_eq!(ExitCode::worst([]), ExitCode::Done);
        assert_eq!(
            ExitCode::worst([ExitCode::NotTold, ExitCode::Io, ExitCode::Refused]),
            ExitCode::Io
        );
    }

    #[test]
    fn a_message_and_its_hint_are_one_line_whatever_the_name_contains() {
        let error = Error::failed("cannot open 'a\nb\u{1b}[2J': no such device")
            .hint("see what there is with: flashfit list");
        assert_eq!(
            error.to_string(),
            "cannot open 'a\\nb\\u{1b}[2J': no such device; see what there is with: flashfit list"
        );
        assert_eq!(error.exit_code(), ExitCode::Failed);
    }

    #[test]
    fn a_reader_that_goes_away_is_success_and_a_full_disk_is_not() {
        use std::io::{Error as Io, ErrorKind};
        let gone = Error::from_stdout(&Io::from(ErrorKind::BrokenPipe));
        assert_eq!(gone, Error::BrokenPipe);
        assert_eq!(gone.exit_code(), ExitCode::Done);
        let full = Error::from_stdout(&Io::from(ErrorKind::StorageFull));
        assert_eq!(full.exit_code(), ExitCode::Failed);
    }
}

//! From the command line to the exit code: puts the stages together, one file for each command. The
//! only place, besides the terminal, that prints or looks at the wall clock.
//!
//! | file | question |
//! |---|---|
//! | `list`, `scan_command`, `analyze`, `plan`, `check_command`, `write_command`, `restore_command` | what does this command do? |
//! | `source` | what is behind the name that was typed? |
//! | `target` | may it be written, and how is it opened for that? |
//! | `consent` | who says yes? |
//! | `backup_file` | where is the old content kept? |
//! | `arrange` | how does a grid become a layout? |
//! | `ground` | what is a layout made from? |
//! | `put` | how does a layout get onto a device? |
//! | `provision` | how are many devices done, with nobody to ask? |
//! | `examine` | how does a device become a report? |
//! | `write_tests` | how is a device opened, asked about and left when tests write to it? |
//! | `unoccupied` | where may write tests write without touching a partition? |
//! | `scan` | how is a device scanned? |
//! | `stages` | what is a stage given, and what does it do? |
//! | `samples_file`, `replay` | how is a run kept, and looked at again? |
//! | `restore_journal` | how are write tests undone that could not end? |
//! | `intent` | what do the words of the user mean for a layout? |
//! | `mkfs` | how are the file systems of a layout made and checked? |
//! | `interrupt` | was Ctrl-C pressed? |
//! | `progress` | how far is it? |
//! | `deliver` | where does a report go? |
//! | `read_file`, `write_file` | how do reports get in and out? |
//! | `entropy` | where do identifiers come from? |
//! | `ending` | how does it end when several things went wrong? |

mod analyze;
mod arrange;
mod backup_file;
mod check_command;
mod consent;
mod deliver;
mod ending;
mod entropy;
mod examine;
mod ground;
mod intent;
mod interrupt;
mod list;
pub mod mkfs;
mod plan;
mod progress;
mod provision;
mod put;
mod read_file;
mod replay;
mod restore_command;
mod restore_journal;
mod samples_file;
pub mod scan;
mod scan_command;
mod source;
pub mod stages;
mod target;
mod unoccupied;
mod write_command;
mod write_file;
mod write_tests;

use crate::cli::{self, Cli, Command};
use crate::error::{Error, ExitCode};
use std::io::Write;

/// Do what was typed.
///
/// # Errors
/// Whatever ended it early. What could be told all the same is printed before.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    match cli.command {
        Command::List(args) => list::list(&args),
        Command::Scan(args) => scan_command::scan(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Check(args) => check_command::check_device(&args),
        Command::Write(args) => write_command::write(&args),
        Command::Wizard(args) if args.consent.yes => provision::provision(&args),
        Command::Wizard(_) => Err(Error::usage("there is no terminal to ask at")
            .hint("for unattended use give --yes and --expect SERIAL or --expect-size SIZE")),
        Command::Restore(args) => restore_command::restore(&args),
        Command::Completions { shell } => print(&cli::completions(shell)).map(|()| ExitCode::Done),
        Command::Man => print(cli::man::page().as_bytes()).map(|()| ExitCode::Done),
    }
}

/// Put a result on stdout.
fn print(result: &[u8]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(result)
        .and_then(|()| stdout.flush())
        .map_err(|error| Error::from_stdout(&error))
}

/// Put something beside the result on stderr. With stderr closed there is nobody left to tell.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Put an error on stderr, on one line. A reader of stdout that went away is none.
pub fn complain(error: &Error) {
    if *error != Error::BrokenPipe {
        tell(&format!("flashfit: {error}\n"));
    }
}

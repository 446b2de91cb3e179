//! From the command line to the exit code: the only place that knows all stages.

use crate::cli::{self, Cli, Command};
use crate::error::{Error, ExitCode};
use std::io::Write;

/// Do what was typed.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    match cli.command {
        Command::Completions { shell } => print(&cli::completions(shell)),
        Command::Man => print(cli::man::page().as_bytes()),
        Command::List(_) | Command::Scan(_) | Command::Analyze(_) | Command::Plan(_) => {
            Err(Error::failed("this command is not connected"))
        }
    }
}

/// Put a result on stdout.
fn print(result: &[u8]) -> Result<ExitCode, Error> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(result)
        .and_then(|()| stdout.flush())
        .map_err(|error| Error::from_stdout(&error))?;
    Ok(ExitCode::Done)
}

//! Parse, run, print the error, exit.

use clap::Parser;
use flashfit::cli::Cli;
use flashfit::error::{Error, ExitCode};
use std::io::Write;

fn main() -> std::process::ExitCode {
    // Ends the process itself: help and version with 0, a wrong command line with 2.
    let cli = Cli::parse();
    let code = match flashfit::run::run(cli) {
        Ok(code) => code,
        Err(Error::BrokenPipe) => ExitCode::Done,
        Err(error) => {
            // With stderr closed there is nobody left to tell; the exit code still does.
            let _ = writeln!(std::io::stderr(), "flashfit: {error}");
            error.exit_code()
        }
    };
    code.into()
}

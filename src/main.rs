//! Parse, run, print the error, exit.

use clap::Parser;
use flashfit::cli::{self, Cli};
use flashfit::error::{Error, ExitCode};
use std::io::Write;

fn main() -> std::process::ExitCode {
    let ended = match Cli::try_parse() {
        Ok(cli) => flashfit::run::run(cli),
        Err(error) => {
            let command = std::env::args_os().nth(1);
            match cli::usage_error(&error, command.as_deref().and_then(|word| word.to_str())) {
                Some(error) => Err(error),
                // Help and version end with 0, help because nothing was typed with 2.
                None => error.exit(),
            }
        }
    };
    let code = match ended {
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

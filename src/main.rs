//! Parse, run, print the error, exit.

use clap::Parser;
use flashfit::cli::{self, Cli};
use flashfit::run;

fn main() -> std::process::ExitCode {
    let ended = match Cli::try_parse() {
        Ok(cli) => run::run(cli),
        Err(error) => {
            let command = std::env::args_os().nth(1);
            match cli::usage_error(&error, command.as_deref().and_then(|word| word.to_str())) {
                Some(error) => Err(error),
                // Help and version end with 0, help because nothing was typed with 2.
                None => error.exit(),
            }
        }
    };
    let code = ended.unwrap_or_else(|error| {
        run::complain(&error);
        error.exit_code()
    });
    code.into()
}

//! Parse, run, print the error, exit.

use clap::Parser;
use flashfit::cli::{self, Cli};
use flashfit::error::{Error, ExitCode};
use flashfit::run;

fn main() -> std::process::ExitCode {
    let words = cli::words(std::env::args_os());
    let ended = match Cli::try_parse_from(&words) {
        Ok(cli) => run::run(cli),
        Err(error) => {
            let command = words.get(1).and_then(|word| word.to_str());
            match cli::usage_error(&error, command) {
                Some(error) => Err(error),
                // Help and version, on stdout, end with 0; the help for no command at all does not.
                None => match error.print() {
                    Err(full) if !error.use_stderr() => Err(Error::from_stdout(&full)),
                    _ if error.exit_code() == 0 => Ok(ExitCode::Done),
                    _ => Ok(ExitCode::Usage),
                },
            }
        }
    };
    let code = ended.unwrap_or_else(|error| {
        run::complain(&error);
        error.exit_code()
    });
    code.into()
}

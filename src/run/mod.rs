//! Puts the stages together, one file for each command. The only place, besides the terminal, that
//! prints or looks at the wall clock.

pub mod scan;

use crate::cli::Cli;
use crate::error::{Error, ExitCode};
/// x
/// # Errors
/// x
pub fn run(_: Cli) -> Result<ExitCode, Error> {
    Err(Error::failed("in work"))
}

//! x
use crate::cli::ListArgs;
use crate::error::{Error, ExitCode};
/// x
pub fn list(_: &ListArgs) -> Result<ExitCode, Error> { Ok(ExitCode::Done) }

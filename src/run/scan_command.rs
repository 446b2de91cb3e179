//! `flashfit scan`: measure a device and report.

use super::ending::Ending;
use super::examine::{Examined, examine_and_keep};
use super::samples_file::SamplesFile;
use super::{print, source, write_file, write_tests};
use crate::cli::{ScanArgs, WriteTests};
use crate::error::{Error, ExitCode};
use crate::output::report::Report;
use crate::output::{human, json};
use std::path::Path;

/// Do it.
///
/// # Errors
/// A device that cannot be opened.
pub fn scan(args: &ScanArgs) -> Result<ExitCode, Error> {
    let inputs = source::files_of(&args.device);
    // Before a scan of minutes: whether its result could be saved at all.
    if let Some(path) = &args.report {
        write_file::check(path, &inputs)?;
    }
    let samples = SamplesFile::new(args.samples.as_deref(), &inputs)?;
    let Examined {
        report,
        trouble,
        also,
    } = match args.write_tests {
        WriteTests::None => examine_and_keep(&args.device, args.seed, args.time_limit, &samples)?,
        WriteTests::Preserve | WriteTests::Destroy => write_tests::examine(args, &samples)?,
    };
    let mut ending = deliver(&report, args.json, args.report.as_deref());
    ending.add(trouble.map_or(Ok(()), Err));
    for error in also {
        ending.add(Err(error));
    }
    Ok(ending.finish())
}

/// Print a report and save it where that is wanted. The exit code tells whether the erase block is
/// told.
pub(super) fn deliver(report: &Report, as_json: bool, save_as: Option<&Path>) -> Ending {
    let mut ending = Ending::new(if report.is_told() {
        ExitCode::Done
    } else {
        ExitCode::NotTold
    });
    let text = if as_json {
        json::render(report)
    } else {
        human::render(report, save_as)
    };
    ending.add(print(text.as_bytes()));
    if let Some(path) = save_as {
        ending.add(write_file::write(path, &json::render(report)));
    }
    ending
}

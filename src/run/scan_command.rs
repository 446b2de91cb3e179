//! `flashfit scan`: measure a device and report.

use super::deliver::{self, deliver};
use super::examine::{Examined, examine_and_keep};
use super::samples_file::SamplesFile;
use super::{source, write_tests};
use crate::cli::{ScanArgs, WriteTests};
use crate::error::{Error, ExitCode};

/// Do it.
///
/// # Errors
/// A device that cannot be opened.
pub fn scan(args: &ScanArgs) -> Result<ExitCode, Error> {
    let inputs = source::files_of(&args.device);
    // Before a scan of minutes: whether its result could be saved at all.
    deliver::check(
        &[
            ("--report", args.output.report.as_deref()),
            ("--html", args.output.html.as_deref()),
            ("--samples", args.samples.as_deref()),
        ],
        &inputs,
    )?;
    let samples = SamplesFile::new(args.samples.as_deref(), &inputs)?;
    let Examined {
        report,
        trouble,
        also,
    } = match args.write_tests {
        WriteTests::None => examine_and_keep(&args.device, args.seed, args.time_limit, &samples)?,
        WriteTests::Preserve | WriteTests::Destroy => write_tests::examine(args, &samples)?,
    };
    let mut ending = deliver(&report, &args.output);
    ending.add(trouble.map_or(Ok(()), Err));
    for error in also {
        ending.add(Err(error));
    }
    Ok(ending.finish())
}

//! `flashfit scan`: measure a device and report.

use super::deliver::{self, deliver};
use super::examine::{Examined, examine_and_keep};
use super::progress::Watch;
use super::samples_file::SamplesFile;
use super::write_tests::{How, Tests};
use super::{consent, interrupt, source, write_tests};
use crate::cli::{ScanArgs, WRITE_LIMIT, WriteTests};
use crate::error::{Error, ExitCode};

/// Do it.
///
/// # Errors
/// A device that cannot be opened.
pub fn scan(args: &ScanArgs) -> Result<ExitCode, Error> {
    only_with_write_tests(args)?;
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
        WriteTests::None => {
            let interrupted = interrupt::listen()?;
            let watch = Watch::alone(&interrupted);
            examine_and_keep(&args.device, args.seed, args.time_limit, &samples, watch)?
        }
        WriteTests::Preserve => with_write_tests(args, Tests::Preserve, &samples)?,
        WriteTests::Destroy => with_write_tests(args, Tests::Destroy, &samples)?,
    };
    let mut ending = deliver(&report, &args.output);
    ending.add(trouble.map_or(Ok(()), Err));
    for error in also {
        ending.add(Err(error));
    }
    Ok(ending.finish())
}

/// Refuse options that would be ignored.
fn only_with_write_tests(args: &ScanArgs) -> Result<(), Error> {
    if args.write_tests != WriteTests::None {
        return Ok(());
    }
    let consent = &args.consent;
    let given = [
        ("--write-limit", args.write_limit.is_some()),
        ("--backup", args.backup.is_some()),
        ("--yes", consent.yes),
        ("--expect", !consent.expect.is_empty()),
        ("--expect-size", consent.expect_size.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(format!(
            "{option} is for write tests, and a scan without them writes nothing"
        ))
        .hint(
            "leave it out, or add --write-tests preserve (keeps the contents) or --write-tests destroy",
        )),
    }
}

/// Test what only writes show.
fn with_write_tests(
    args: &ScanArgs,
    tests: Tests,
    samples: &SamplesFile,
) -> Result<Examined, Error> {
    let given = &args.consent;
    // A simulated stick is nobody's; where everything is put back, typing --write-tests is consent.
    let told = given.yes || !given.expect.is_empty() || given.expect_size.is_some();
    let harmless = args.device.starts_with(source::SIMULATED) || tests == Tests::Preserve;
    let mut asker = match told || !harmless {
        true => Some(consent::asker(given)?),
        false => None,
    };
    let interrupted = interrupt::listen()?;
    let how = How {
        name: &args.device,
        seed: args.seed,
        time_limit: args.time_limit,
        write_limit: args.write_limit.unwrap_or(WRITE_LIMIT),
        tests,
        journal: args.backup.as_deref(),
        samples,
    };
    write_tests::examine(&how, asker.as_deref_mut(), Watch::alone(&interrupted))
}

//! Where a report goes: to stdout, and into the files that were asked for.

use super::ending::Ending;
use super::{print, source, write_file};
use crate::cli::{ReportArgs, WizardArgs};
use crate::error::{Error, ExitCode};
use crate::output::report::Report;
use crate::output::{html, human, json};
use std::path::{Path, PathBuf};

/// Whether all these files could be written, asked before the measurement that they are to hold. Each
/// stands behind the option that named it, if it did.
///
/// # Errors
/// A name that cannot be written to, one of a file in `inputs`, and one that is given twice.
pub(super) fn check(files: &[(&str, Option<&Path>)], inputs: &[PathBuf]) -> Result<(), Error> {
    let mut seen: Vec<(&str, &Path)> = Vec::new();
    for &(option, path) in files {
        let Some(path) = path else { continue };
        write_file::check_option(option, path, inputs)?;
        if let Some((first, _)) = seen
            .iter()
            .find(|(_, other)| write_file::is_same(path, other))
        {
            return Err(Error::usage(format!(
                "{first} and {option} name the same file, {}",
                path.display()
            ))
            .hint("name two files"));
        }
        seen.push((option, path));
    }
    Ok(())
}

/// The same for the files of the wizard, at a terminal and unattended.
///
/// # Errors
/// As [`check`].
pub(super) fn check_wizard(args: &WizardArgs) -> Result<(), Error> {
    let inputs: Vec<_> = args
        .devices
        .iter()
        .flat_map(|name| source::files_of(name))
        .chain(args.profile.clone())
        .collect();
    check(
        &[
            ("--report", args.report.as_deref()),
            ("--html", args.html.as_deref()),
            ("--samples", args.samples.as_deref()),
        ],
        &inputs,
    )
}

/// Print a report and save it where that is wanted. The exit code tells whether the erase block is
/// told.
pub(super) fn deliver(report: &Report, wanted: &ReportArgs) -> Ending {
    let mut ending = Ending::new(if report.is_told() {
        ExitCode::Done
    } else {
        ExitCode::NotTold
    });
    let text = if wanted.json {
        json::render(report)
    } else {
        human::render(report, wanted.report.as_deref())
    };
    ending.add(print(text.as_bytes()));
    if let Some(path) = &wanted.report {
        ending.add(write_file::write(path, &json::render(report)));
    }
    if let Some(path) = &wanted.html {
        ending.add(write_html(path, report, wanted.html_serial));
    }
    ending
}

/// Save a report as a web page.
///
/// # Errors
/// A name that cannot be written to.
pub(super) fn write_html(path: &Path, report: &Report, with_serial: bool) -> Result<(), Error> {
    let serial = if with_serial {
        html::Serial::Told
    } else {
        html::Serial::LeftOut
    };
    write_file::write_option("--html", path, &html::render(report, serial))
}

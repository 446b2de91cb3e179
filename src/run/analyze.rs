//! `flashfit analyze`: the report that saved flashbench output allows.

use super::deliver::{self, deliver};
use super::plan::whole_sectors;
use super::read_file::{STDIN, read_stream};
use super::replay;
use crate::cli::AnalyzeArgs;
use crate::device::wrappers::is_samples;
use crate::error::{Error, ExitCode};
use crate::geometry::{Warning, log};
use crate::measure::flashbench_log::{self, MOST_LINES};
use crate::output::report::{Cost, Report};
use crate::topology::{Facts, Transport};
use crate::units::Bytes;
use std::path::Path;
use std::time::Instant;

/// Do it. All files are of one device.
///
/// # Errors
/// A file that cannot be read, or that holds no measurement.
pub fn analyze(args: &AnalyzeArgs) -> Result<ExitCode, Error> {
    let begun = Instant::now();
    let capacity = match args.capacity {
        None => None,
        Some(size) => Some(whole_sectors("--capacity", size, args.sector_size)?),
    };
    deliver::check(
        &[
            ("--report", args.output.report.as_deref()),
            ("--html", args.output.html.as_deref()),
        ],
        &args.files,
    )?;
    if let [file] = args.files.as_slice() {
        let text = read_stream(file)?;
        if is_samples(&text) {
            return replay::analyze(args, &shown(file), &text);
        }
        return analyze_logs(args, capacity, &[text], begun);
    }
    let texts = args.files.iter().map(|file| read_stream(file));
    analyze_logs(
        args,
        capacity,
        &texts.collect::<Result<Vec<_>, _>>()?,
        begun,
    )
}

/// Output of flashbench.
fn analyze_logs(
    args: &AnalyzeArgs,
    capacity: Option<Bytes>,
    texts: &[Vec<u8>],
    begun: Instant,
) -> Result<ExitCode, Error> {
    let mut runs = Vec::new();
    let mut mentioned: Vec<Bytes> = Vec::new();
    let mut cut_short = false;
    for (file, text) in args.files.iter().zip(texts) {
        if is_samples(text) {
            return Err(Error::usage(format!(
                "{} holds the samples of a whole scan, which stand alone",
                shown(file)
            ))
            .hint("give it as the only file"));
        }
        let log = flashbench_log::parse(text).map_err(|_| {
            Error::failed(format!("{}: no flashbench results in it", shown(file)))
                .hint("give the output of: flashbench -a, flashbench -O or flashbench -f")
        })?;
        runs.extend(log.runs);
        mentioned.extend(log.capacities);
        cut_short |= log.cut_short;
    }
    let names: Vec<String> = args.files.iter().map(|file| shown(file)).collect();
    let facts = Facts::bare(names.join(", "), Transport::Log, capacity, args.sector_size);
    let inference = log::infer(&runs, capacity, &facts.reported);
    let cost = Cost {
        wall_time: begun.elapsed(),
        ..Cost::default()
    };
    let mut report = Report::new(facts, inference.geometry, cost);
    for note in inference.notes {
        report.warnings.push(Warning::new(note.code, note.text));
    }
    report.warnings.extend(about_capacity(capacity, &mentioned));
    if cut_short {
        report.warnings.push(Warning::new(
            "log_cut_short",
            format!(
                "the log is very long: what follows the first {MOST_LINES} results was left out"
            ),
        ));
    }
    Ok(deliver(&report, &args.output).finish())
}

fn shown(file: &Path) -> String {
    if file == Path::new(STDIN) {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    }
}

/// A log without capacity allows no layout; what it mentions may be another device's.
fn about_capacity(given: Option<Bytes>, mentioned: &[Bytes]) -> Option<Warning> {
    if given.is_some() {
        return None;
    }
    let text = match mentioned {
        [one, others @ ..] if others.iter().all(|other| other == one) => format!(
            "the capacity was not given, so no layout can be planned; the log mentions a device of {} bytes: if it is this one, add --capacity {}B",
            one.get(),
            one.get()
        ),
        _ => "the capacity was not given, so no layout can be planned: add --capacity SIZE"
            .to_owned(),
    };
    Some(Warning::new("capacity_unknown", text))
}

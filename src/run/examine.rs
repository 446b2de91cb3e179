//! A device in, a report out.

use super::interrupt;
use super::progress::{Progress, Watch};
use super::samples_file::{After, SamplesFile, SavedOptions};
use super::scan::{self, Options, Scanned};
use super::source;
use crate::device::AccessError;
use crate::device::wrappers::SampleRecorder;
use crate::error::{Error, ExitCode};
use crate::geometry::{EraseBlock, Geometry, Verdict, Warning};
use crate::measure::meter::Stop;
use crate::output::report::{Cost, Report};
use crate::topology::Facts;
use crate::units::Bytes;
use std::time::{Duration, Instant};

/// A report, and what went wrong on the way to it.
pub struct Examined {
    /// What is known.
    pub report: Report,
    /// Why it is less than it could be: interrupted, or the device failed.
    pub trouble: Option<Error>,
    /// What else went wrong, beside the report.
    pub also: Vec<Error>,
}

impl Examined {
    pub(super) fn only(report: Report) -> Examined {
        Examined {
            report,
            trouble: None,
            also: Vec::new(),
        }
    }
}

/// Open a device read-only, scan it, and report.
///
/// # Errors
/// A device that cannot be opened. One that fails later still gives a report.
pub fn examine(name: &str, seed: u64, time_limit: Duration) -> Result<Examined, Error> {
    let no_samples = SamplesFile::new(None, &[])?;
    let interrupted = interrupt::listen()?;
    let watch = Watch::alone(&interrupted);
    examine_and_keep(name, seed, time_limit, &no_samples, watch)
}

/// The same under the eyes of somebody, and every access goes to a file.
///
/// # Errors
/// As [`examine`].
pub fn examine_and_keep(
    name: &str,
    seed: u64,
    time_limit: Duration,
    samples: &SamplesFile,
    watch: Watch<'_>,
) -> Result<Examined, Error> {
    let mut opened = source::open(name, seed, "scan")?;
    let facts = opened.device().facts().clone();
    if !opened.is_flash() {
        return Ok(Examined::only(of_image(facts)));
    }
    let begun = Instant::now();
    let mut progress = Progress::begin(watch.lines, name, time_limit, opened.is_simulated());
    let options = Options {
        time_limit,
        seed,
        in_use: !opened.uses().is_empty(),
    };
    let show = &mut |now| progress.show(&now);
    let (scanned, log) = match samples.open()? {
        None => {
            let device = opened.device();
            (scan::scan(device, options, watch.interrupted, show), None)
        }
        Some(file) => {
            let saved = SavedOptions::of(options, None).value();
            let mut recorder = SampleRecorder::new(opened.device(), file, saved);
            let scanned = scan::scan(&mut recorder, options, watch.interrupted, show);
            (scanned, Some(recorder.into_log()))
        }
    };
    progress.end();
    let after = After {
        interrupted: scanned.stop == Some(Stop::Interrupted),
        exchanged: opened.was_exchanged(),
        uses: opened.uses().iter().map(ToString::to_string).collect(),
        ..After::default()
    };
    let kept = samples.finish(log, &after);
    let mut examined = conclude(name, facts, scanned, &after, begun.elapsed());
    examined.also.extend(kept.err());
    Ok(examined)
}

/// From what a scan brought, and what happened besides, to the report.
pub(super) fn conclude(
    name: &str,
    facts: Facts,
    scanned: Scanned,
    after: &After,
    wall_time: Duration,
) -> Examined {
    let mut trouble = scanned
        .stop
        .as_ref()
        .and_then(|stop| of_stop(name, stop, &doing(scanned.stage)));
    let mut report = of_scan(facts, scanned, after, wall_time);
    name_the_users(&mut report, &after.uses);
    report.warnings.extend(after.notes.iter().cloned());
    if after.exchanged {
        distrust(&mut report);
        let what = format!("{name}: the medium was exchanged while it was scanned");
        trouble = trouble.or(Some(
            Error::io(what).hint("scan the one that is in there now"),
        ));
    }
    Examined {
        report,
        trouble,
        also: Vec::new(),
    }
}

fn of_scan(mut facts: Facts, scanned: Scanned, after: &After, wall_time: Duration) -> Report {
    facts.real_capacity = scanned.real_capacity;
    let spent = scanned.cost;
    let cost = Cost {
        device_time: spent.device_time,
        wall_time,
        reads: spent.reads,
        bytes_read: spent.bytes_read,
        writes: spent.writes + after.writes_back,
        bytes_written: Bytes(spent.bytes_written.get() + after.bytes_back.get()),
        stopped_by: Some(scanned.stopped_by),
    };
    let mut report = Report::new(facts, scanned.geometry, cost);
    report.warnings.extend(scanned.found.warnings);
    report.warnings.extend(scanned.warnings);
    report.chart = scanned.found.chart;
    report.speeds = scanned.speeds;
    report
}

/// A plain file has no erase blocks: nothing is timed, and the alignment is the fallback.
pub(super) fn of_image(facts: Facts) -> Report {
    let geometry = Geometry {
        erase_block: EraseBlock {
            evidence: vec![
                "an image file is not a flash device: how long it takes to read tells nothing"
                    .to_owned(),
            ],
            ..EraseBlock::default()
        },
        ..Geometry::default()
    };
    let mut report = Report::new(facts, geometry, Cost::default());
    report.warnings.push(Warning::new(
        "image_file",
        "this is an image file, nothing was measured: scan the stick that it is meant for, and plan with --report",
    ));
    report
}

/// Say who uses the device, where the scan only knows that somebody does.
fn name_the_users(report: &mut Report, uses: &[String]) {
    if uses.is_empty() {
        return;
    }
    report.warnings.retain(|warning| warning.code != "in_use");
    report.warnings.push(Warning::new(
        "in_use",
        format!(
            "the device is in use ({}): others may disturb the times, so nothing is called confirmed; to be sure, release it and scan again",
            uses.join(", ")
        ),
    ));
}

/// Two media in one scan tell of neither.
fn distrust(report: &mut Report) {
    let found = &mut report.geometry.erase_block;
    *found = EraseBlock {
        verdict: Verdict::NotVisible,
        evidence: vec!["the medium was exchanged during the scan: the times are of two".to_owned()],
        ..EraseBlock::default()
    };
    let mut fresh = Report::new(report.device.clone(), report.geometry.clone(), report.cost);
    fresh.warnings.append(&mut report.warnings);
    *report = fresh;
}

/// What the scan was doing when it ended.
fn doing(stage: &str) -> String {
    match stage {
        "noise" => "while measuring how much read times scatter".to_owned(),
        "boundaries" => "while looking for boundaries".to_owned(),
        "page" => "while looking for the page".to_owned(),
        "rates" => "while timing reads of several sizes".to_owned(),
        "size" => "while testing whether it is as large as it claims".to_owned(),
        other => format!("during the test '{other}'"),
    }
}

/// The error of a scan that ended early, unless it ended by its own limit.
pub(super) fn of_stop(name: &str, stop: &Stop, stage: &str) -> Option<Error> {
    let error = match stop {
        Stop::TimeLimit | Stop::WriteLimit => return None,
        Stop::Interrupted => Error::new(
            ExitCode::Interrupted,
            format!("{name}: interrupted {stage}"),
        )
        .hint("the report holds what was known by then"),
        Stop::Failed(error @ AccessError::Gone { .. }) => Error::io(format!(
            "{name}: {error}, {stage}"
        ))
        .hint("plug it in again and repeat the scan; the report holds what was known by then"),
        Stop::Hung { at, took } => Error::io(format!(
            "{name}: one access at byte {} took {} s, {stage}",
            at.get(),
            took.as_secs()
        ))
        .hint("try another port or reader; the report holds what was known by then"),
        Stop::Failed(error @ AccessError::NotSaved { .. }) => Error::failed(format!(
            "{name}: {error}, {stage}"
        ))
        .hint(
            "name a journal on another disk with --backup FILE, or write less with --write-limit",
        ),
        Stop::Failed(error) => Error::io(format!("{name}: {error}, {stage}"))
            .hint("try another port or reader; the report holds what was known by then"),
    };
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Transport;
    use crate::units::LogicalBlock;

    fn facts() -> Facts {
        Facts::bare("x", Transport::Usb, Some(Bytes::gib(8)), LogicalBlock::B512)
    }

    #[test]
    fn an_exchanged_medium_leaves_no_verdict_and_the_fallback_grid() {
        let geometry = Geometry {
            erase_block: EraseBlock {
                verdict: Verdict::Confirmed,
                bytes: Some(Bytes::mib(8)),
                confidence: 1.0,
                ..EraseBlock::default()
            },
            ..Geometry::default()
        };
        let mut report = Report::new(facts(), geometry, Cost::default());
        report.warnings.push(Warning::new("unsteady", "kept"));
        assert!(!report.alignment.fallback);
        distrust(&mut report);
        assert_eq!(report.geometry.erase_block.verdict, Verdict::NotVisible);
        assert!(report.alignment.fallback && !report.is_told());
        assert_eq!(report.warnings[0].code, "unsteady");
    }

    #[test]
    fn only_a_time_limit_is_no_trouble() {
        assert_eq!(of_stop("x", &Stop::TimeLimit, "while reading"), None);
        let code = |stop| of_stop("x", &stop, "while reading").map(|error| error.exit_code());
        assert_eq!(code(Stop::Interrupted), Some(ExitCode::Interrupted));
        let gone = Stop::Failed(AccessError::Gone { at: 4096 });
        let error = of_stop("sim:x", &gone, "while reading").unwrap();
        assert_eq!(
            error.to_string(),
            "sim:x: the device went away at byte 4096, while reading; plug it in again and repeat the scan; \
             the report holds what was known by then"
        );
        assert_eq!(error.exit_code(), ExitCode::Io);
    }
}

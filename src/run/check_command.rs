//! `flashfit check`: audit what is on a device against a grid.

use super::intent::of_plan;
use super::plan::{saved_report, whole_sectors};
use super::print;
use super::source::{self, Opened};
use crate::cli::{CheckArgs, CheckGeometry};
use crate::device::AccessError;
use crate::error::{Error, ExitCode};
use crate::geometry::Geometry;
use crate::output::check::CheckReport;
use crate::output::{check_json, check_text};
use crate::plan::{self, AlignmentChoice};
use crate::table::check::{Finding, Measure, Weight, check};
use crate::table::read::contents;
use crate::topology::{Facts, Origin};
use crate::units::{Bytes, Size};

/// The noise of a simulated stick does not matter: nothing is timed.
const SEED: u64 = 1;

/// Do it.
///
/// # Errors
/// A device or a report that cannot be read. What is off the grid or inconsistent is a result.
pub fn check_device(args: &CheckArgs) -> Result<ExitCode, Error> {
    let mut opened = source::open(&args.device, SEED, "check")?;
    let facts = opened.device().facts().clone();
    let Judged { choice, page, note } = judged(args, &facts)?;
    let alignment_offset = match &opened {
        Opened::Block(device, _) => device.alignment_offset(),
        Opened::Image(_) | Opened::Simulated(_) => None,
    };
    let found = contents(opened.device()).map_err(|error| of_access(&args.device, &error))?;
    let measure = Measure {
        choice,
        page,
        is_image: matches!(opened, Opened::Image(_)),
        alignment_offset,
    };
    let mut checked = check(&found, &measure);
    checked.findings.extend(note);
    let code = if checked.is_good() {
        ExitCode::Done
    } else {
        ExitCode::OffGrid
    };
    let report = CheckReport {
        path: args.device.clone(),
        capacity: found.capacity,
        logical_block: found.logical_block,
        table: found.table,
        choice: measure.choice,
        checked,
    };
    let text = if args.json {
        check_json::render(&report)
    } else {
        check_text::render(&report)
    };
    print(text.as_bytes())?;
    Ok(code)
}

/// What the contents are held against.
struct Judged {
    choice: AlignmentChoice,
    page: Option<Bytes>,
    note: Option<Finding>,
}

fn judged(args: &CheckArgs, facts: &Facts) -> Result<Judged, Error> {
    match args.geometry() {
        CheckGeometry::Report(path) => {
            let report = saved_report(path)?;
            let page = report.geometry.page;
            let note = of_another_device(&report.device, facts);
            let mut choice = report.alignment;
            if note.is_some() {
                choice.reason.push_str(", of another device");
            }
            Ok(Judged {
                note,
                page: page.bytes.filter(|_| page.verdict.is_told()),
                choice,
            })
        }
        CheckGeometry::Given { erase_block, phase } => {
            let block = facts.logical_block;
            let erase_block = whole_sectors("--erase-block", erase_block, block)?;
            let phase = whole_sectors("--phase", phase.unwrap_or(Size::Bytes(Bytes::ZERO)), block)?;
            // What the bridge claims is no part of a grid that is given by hand.
            let bare = Facts::bare(&facts.path, facts.transport, facts.capacity, block);
            let choice =
                plan::alignment_of(erase_block, phase, &bare).map_err(|error| of_plan(&error))?;
            Ok(Judged {
                choice,
                page: None,
                note: None,
            })
        }
        CheckGeometry::Reported => Ok(Judged {
            choice: reported(facts),
            page: None,
            note: None,
        }),
    }
}

/// The grid of what card or kernel report, else the fallback for the capacity.
fn reported(facts: &Facts) -> AlignmentChoice {
    let preferred = facts.reported.preferred_erase_size;
    let said = match (facts.reported.declared(), preferred) {
        (Some(bytes), _) => Some((bytes, "declared by the card")),
        (None, Some(size)) if size.origin == Origin::CardOrKernelDefault => {
            Some((size.bytes, "declared by the card, or the kernel's default"))
        }
        (None, _) => None,
    };
    let bare = Facts::bare(
        &facts.path,
        facts.transport,
        facts.capacity,
        facts.logical_block,
    );
    said.and_then(|(bytes, whose)| {
        let choice = plan::alignment_of(bytes, Bytes::ZERO, &bare).ok()?;
        Some(AlignmentChoice {
            reason: format!("{bytes} {whose}; not measured"),
            ..choice
        })
    })
    .unwrap_or_else(|| plan::alignment(&Geometry::default(), facts))
}

/// A report of another device tells nothing about this one; an image may be shorter than its card.
fn of_another_device(reported: &Facts, here: &Facts) -> Option<Finding> {
    let differ =
        |a: Option<&String>, b: Option<&String>| matches!((a, b), (Some(a), Some(b)) if a != b);
    let other = reported.capacity != here.capacity
        || differ(reported.serial.as_ref(), here.serial.as_ref())
        || differ(reported.model.as_ref(), here.model.as_ref());
    other.then(|| Finding {
        code: "report_of_another_device",
        weight: Weight::Note,
        text: "the report was made of a device with another size, model or serial number: its grid may not be that of this one".to_owned(),
    })
}

fn of_access(name: &str, error: &AccessError) -> Error {
    let failed = Error::io(format!("{name}: {error}, while reading the table"));
    match error {
        AccessError::Gone { .. } => failed.hint("plug it in again and repeat the check"),
        _ => failed.hint("try another port or reader"),
    }
}

//! `flashfit plan`: from a device, a saved report, or numbers given by hand to a layout.

use super::arrange::{arrange, present_id, saved_layout};
use super::examine::{Examined, examine};
use super::intent::{intent, of_plan};
use super::read_file::read;
use super::{print, source, tell};
use crate::cli::{Format, PlanArgs, PlanSource};
use crate::error::{Error, ExitCode};
use crate::output::report::Report;
use crate::output::{human, json, layout_json, layout_text, mkfs, parted, sfdisk, sgdisk};
use crate::plan::intent::{DiskIdChoice, Intent};
use crate::plan::{self, AlignmentChoice, DiskId, Layout, Medium};
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock, Size};
use std::path::Path;

/// What a layout is made for.
struct Ground {
    facts: Facts,
    choice: AlignmentChoice,
    /// Where the grid comes from; `None` when the numbers were given by hand.
    report: Option<Report>,
    trouble: Option<Error>,
}

/// Do it.
///
/// # Errors
/// A source that cannot be used, and a layout that cannot be made.
pub fn plan(args: &PlanArgs) -> Result<ExitCode, Error> {
    // Before a scan of minutes: what is wrong whatever the device.
    let intent = intent(&args.intent, "plan")?;
    if let PlanSource::Layout(path) = args.source() {
        let layout = saved_layout(path)?;
        print(text(&layout, args.format, None, false)?.as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let ground = ground(args)?;
    if let Some(report) = &ground.report {
        show_report(report, args.format)?;
    }
    if let Some(trouble) = ground.trouble {
        return Err(trouble);
    }
    if let Some(report) = &ground.report {
        not_measured(args.intent.require_measured, report)?;
    }
    let present = present(args, &intent)?;
    let geometry = ground.report.as_ref().map(|report| &report.geometry);
    let layout = arrange(&ground.facts, &ground.choice, geometry, &intent, present)?;
    let medium = Medium::from_facts(&ground.facts).map_err(|error| of_plan(&error))?;
    let disk = medium.disk.as_deref();
    print(text(&layout, args.format, disk, ground.report.is_some())?.as_bytes())?;
    Ok(ExitCode::Done)
}

/// Refuse a report that does not tell the erase block, when `--require-measured` was given.
pub(super) fn not_measured(required: bool, report: &Report) -> Result<(), Error> {
    if !required || report.is_told() {
        return Ok(());
    }
    Err(Error::new(
        ExitCode::NotTold,
        "the erase block is neither confirmed nor likely, and --require-measured was given",
    )
    .hint("plan on the alignment above by leaving it out, or give --capacity and --erase-block"))
}

/// The identifier that the device bears, when it is to be kept.
fn present(args: &PlanArgs, intent: &Intent) -> Result<Option<DiskId>, Error> {
    if intent.disk_id != DiskIdChoice::Keep {
        return Ok(None);
    }
    let PlanSource::Device(device) = args.source() else {
        return Err(Error::usage(
            "--disk-id keep: without a device there is no identifier to keep",
        )
        .hint("name the identifier that it bears; this prints it: sudo sfdisk --disk-id DEVICE"));
    };
    let mut opened = source::open(device, args.seed, "plan")?;
    present_id(opened.device(), intent)
}

/// The medium and its grid.
fn ground(args: &PlanArgs) -> Result<Ground, Error> {
    match args.source() {
        PlanSource::Device(device) => {
            let Examined {
                report, trouble, ..
            } = examine(device, args.seed, args.time_limit)?;
            Ok(Ground::of(report, trouble))
        }
        PlanSource::Report(path) => Ok(Ground::of(saved_report(path)?, None)),
        // Printed as it is, before this is asked for.
        PlanSource::Layout(path) => Err(Error::usage(format!(
            "{} is a layout already",
            path.display()
        ))),
        PlanSource::Given {
            capacity,
            erase_block,
            phase,
            sector_size,
        } => given(capacity, erase_block, phase, sector_size),
    }
}

impl Ground {
    fn of(report: Report, trouble: Option<Error>) -> Ground {
        Ground {
            facts: report.device.clone(),
            choice: report.alignment.clone(),
            report: Some(report),
            trouble,
        }
    }
}

/// A report from a file.
pub(super) fn saved_report(path: &Path) -> Result<Report, Error> {
    let bytes = read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let report = json::parse(&text)
        .map_err(|error| Error::failed(format!("{}: {error}", path.display())))?;
    if report.device.capacity.is_none() {
        return Err(
            Error::failed(format!("{}: it does not tell the capacity", path.display()))
                .hint("make it anew with: flashfit analyze FILE --capacity SIZE --report FILE"),
        );
    }
    Ok(report)
}

/// Numbers given by hand.
fn given(
    capacity: Size,
    erase_block: Size,
    phase: Option<Size>,
    block: LogicalBlock,
) -> Result<Ground, Error> {
    let bytes = |option: &str, size: Size| whole_sectors(option, size, block);
    let capacity = bytes("--capacity", capacity)?;
    let erase_block = bytes("--erase-block", erase_block)?;
    let phase = phase.map_or(Ok(Bytes::ZERO), |phase| bytes("--phase", phase))?;
    check_phase(phase, erase_block)?;
    let facts = Facts::bare("given by hand", Transport::Unknown, Some(capacity), block);
    let choice = plan::alignment_of(erase_block, phase, &facts).map_err(|error| of_plan(&error))?;
    Ok(Ground {
        facts,
        choice,
        report: None,
        trouble: None,
    })
}

/// A phase lies within one erase block.
pub(super) fn check_phase(phase: Bytes, erase_block: Bytes) -> Result<(), Error> {
    if phase < erase_block {
        return Ok(());
    }
    Err(Error::usage(format!(
        "--phase {phase} is not smaller than --erase-block {erase_block}"
    ))
    .hint(format!(
        "the boundaries repeat, so this means the same: --phase {}B",
        phase.get() % erase_block.get()
    )))
}

/// The bytes of an option that must be whole sectors.
pub(super) fn whole_sectors(option: &str, size: Size, block: LogicalBlock) -> Result<Bytes, Error> {
    let bytes = size.in_bytes(block).ok_or_else(|| {
        Error::usage(format!("{option} is beyond 2^64 bytes")).hint("check the number of sectors")
    })?;
    if bytes.is_multiple_of(block.bytes()) {
        return Ok(bytes);
    }
    Err(Error::usage(format!(
        "{option} of {} bytes is no multiple of the sector size of {} bytes",
        bytes.get(),
        block.bytes().get()
    ))
    .hint("correct it, or give the right --sector-size"))
}

/// In front of a table, or beside what a program reads.
fn show_report(report: &Report, format: Format) -> Result<(), Error> {
    let text = human::summary(report);
    match format {
        Format::Table => print(format!("{text}\n").as_bytes()),
        Format::Json | Format::Sfdisk | Format::Sgdisk | Format::Parted | Format::Mkfs => {
            tell(&text);
            Ok(())
        }
    }
}

/// The layout as it was asked for. `disk` is the name of the disk, where it is known; `behind_report`
/// says that a report stands above.
fn text(
    layout: &Layout,
    format: Format,
    disk: Option<&str>,
    behind_report: bool,
) -> Result<String, Error> {
    let text = match format {
        Format::Json => layout_json::render(layout),
        Format::Sfdisk => sfdisk::render(layout),
        Format::Sgdisk => {
            sgdisk::render(layout).map_err(|error| Error::usage(error.to_string()))?
        }
        Format::Parted => {
            parted::render(layout).map_err(|error| Error::usage(error.to_string()))?
        }
        Format::Mkfs => mkfs::render(layout, disk),
        Format::Table => {
            let title = if behind_report { "Layout\n\n" } else { "" };
            format!(
                "{title}{}\nScript for sfdisk (this alone: --format sfdisk)\n\n{}",
                layout_text::render(layout),
                sfdisk::render(layout)
            )
        }
    };
    Ok(text)
}

//! `flashfit write`: a layout onto a device.
//!
//! Everything that can fail is done before the first byte: refusals, scan, layout, rehearsal,
//! consent, backup.

use super::arrange::saved_layout;
use super::backup_file;
use super::consent::asker;
use super::ending::Ending;
use super::examine::{Examined, examine};
use super::ground::{Ground, layout, with_block};
use super::intent::intent;
use super::plan::{not_measured, saved_report};
use super::progress::Watch;
use super::put::{Job, Ready, prepare};
use super::target;
use super::{interrupt, print, tell};
use crate::cli::{WriteArgs, WriteSource};
use crate::error::{Error, ExitCode};
use crate::output::{change_text, human};
use crate::plan::intent::Intent;
use std::path::Path;

/// Do it.
///
/// # Errors
/// Everything that keeps the table from being written, and a kernel that still shows the old one.
pub fn write(args: &WriteArgs) -> Result<ExitCode, Error> {
    // Before a scan of minutes: what is wrong whatever the device, and whether it may be written.
    let intent = intent(&args.intent, "write")?;
    if args.dry_run {
        return dry_run(args, &intent);
    }
    let mut asker = asker(&args.consent)?;
    let place = backup_file::place(args.backup.as_deref(), &args.device)?;
    target::check(&args.device, args.sector_size, "write")?;
    // From here on a signal ends what is going on, not the program.
    let interrupted = interrupt::listen()?;
    let watch = Watch::alone(&interrupted);
    let ground = ground(args)?;
    let job = Job {
        name: &args.device,
        command: "write",
        seed: args.seed,
        sector_size: args.sector_size,
        mkfs: args.mkfs,
        discard: args.discard,
        place: &place,
    };
    let ready = Ready::new(&job, &ground, &intent)?;
    // What the question is about, where it is put.
    tell(&ready.preview());
    ready.ask(asker.as_mut())?;
    let written = ready.write(watch)?;
    let mut ending = Ending::new(ExitCode::Done);
    let told = print(written.text.as_bytes());
    ending.add(told.map_err(|error| written.untold(error)));
    let made = written
        .shown
        .clone()
        .and_then(|()| written.make_file_systems(&args.device, watch));
    ending.add(made.and_then(|text| print(text.as_bytes())));
    Ok(ending.finish())
}

/// Everything but the write, on a device that is open for reading only.
fn dry_run(args: &WriteArgs, intent: &Intent) -> Result<ExitCode, Error> {
    let refusal = target::check(&args.device, args.sector_size, "write").err();
    let ground = ground(args)?;
    // Why it must not be written says more than that it cannot even be read.
    let mut looked = target::look(&args.device, args.seed, args.sector_size, "write")
        .map_err(|error| refusal.clone().unwrap_or(error))?;
    let layout = layout(&ground, looked.reader(), intent)?;
    let prepared = prepare(looked.reader(), &layout)?;
    let mut text = change_text::render(looked.reader().facts(), &prepared);
    text += "\ndry run: nothing was written\n";
    print(text.as_bytes())?;
    match refusal {
        None => Ok(ExitCode::Done),
        Some(refusal) => Err(refusal),
    }
}

/// Where the layout comes from, scanned or read.
fn ground(args: &WriteArgs) -> Result<Ground, Error> {
    match args.source() {
        WriteSource::Layout(path) => Ok(Ground::Layout(Box::new(saved_layout(path)?))),
        WriteSource::Given { erase_block, phase } => Ok(Ground::Given {
            erase_block,
            phase,
            capacity: args.capacity,
        }),
        WriteSource::Report(path) => {
            let report = saved_report(path)?;
            not_measured(args.intent.require_measured, &report)?;
            Ok(Ground::of(report))
        }
        WriteSource::Scan => {
            let Examined {
                mut report,
                trouble,
                ..
            } = examine(&args.device, args.seed, args.time_limit)?;
            tell(&human::summary(&report));
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            not_measured(args.intent.require_measured, &report)?;
            if let (true, Some(block)) = (Path::new(&args.device).is_file(), args.sector_size) {
                report.device = with_block(report.device, block);
            }
            Ok(Ground::of(report))
        }
    }
}

//! `flashfit write`: a layout onto a device.
//!
//! Everything that can fail is done before the first byte: refusals, scan, layout, rehearsal,
//! consent, backup. From the exclusive opening to the end nobody else can use the device.

use super::arrange::{arrange, present_id, saved_layout};
use super::backup_file::{self, Place};
use super::consent::{ask, asker};
use super::examine::{Examined, examine};
use super::intent::{intent, of_plan};
use super::plan::{not_measured, saved_report, whole_sectors};
use super::target::{self, Target};
use super::{interrupt, mkfs, print, tell};
use crate::cli::{WriteArgs, WriteSource};
use crate::device::{ReadDevice, shell_word};
use crate::error::{Error, ExitCode};
use crate::geometry::Geometry;
use crate::output::{change_text, human};
use crate::plan::filesystem::command::UNKNOWN_DISK;
use crate::plan::intent::Intent;
use crate::plan::{self, AlignmentChoice, Layout, Medium};
use crate::table::{self, Identity, PrepareError, Prepared, Undone, WriteError};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes, LogicalBlock, Size};
use std::path::Path;
use std::sync::atomic::Ordering;

/// What the layout is made from.
enum Ground {
    /// It is made already.
    Layout(Box<Layout>),
    /// A grid, and the device that it was found on.
    Grid {
        choice: Box<AlignmentChoice>,
        geometry: Box<Geometry>,
        device: Box<Facts>,
    },
    /// Numbers given by hand.
    Given {
        erase_block: Size,
        phase: Option<Size>,
        capacity: Option<Size>,
    },
}

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
    let ground = ground(args)?;
    let mut target = target::open(&args.device, args.seed, args.sector_size, "write")?;
    let layout = layout(&ground, target.reader(), &intent)?;
    let prepared = prepare(target.reader(), &layout)?;
    let tools = args
        .mkfs
        .then(|| mkfs_tools(&target, &layout))
        .transpose()?;
    preview(&target, &prepared);
    let who = target.for_people(&args.device);
    ask(asker.as_mut(), &who)?;
    let was_exchanged = |target: &Target| {
        target.disk().is_some_and(|disk| {
            let now = disk.as_read_only().disk_sequence_now();
            now != disk.facts().diskseq
        })
    };
    if was_exchanged(&target) {
        return Err(exchanged(&args.device));
    }
    let ended = carry_out(args, &mut target, prepared, &place)?;
    if let Some(tools) = tools {
        // The tools claim the partitions themselves, which nobody can while the disk is claimed.
        // Nothing is in them that a desktop could mount: old signatures were wiped.
        let is_image = matches!(target, Target::Image(_));
        drop(target);
        make_file_systems(&args.device, is_image, &layout, &tools)?;
    }
    Ok(ended)
}

/// Find the tools for the file systems before anything is written.
fn mkfs_tools(target: &Target, layout: &Layout) -> Result<mkfs::Prepared, Error> {
    match target {
        Target::Simulated(_) => Err(Error::usage(
            "--mkfs: a simulated stick has no partitions that a tool could open",
        )
        .hint("leave it out, or try it on an image file")),
        Target::Image(_) => {
            mkfs::loop_disk::check()?;
            mkfs::prepare(layout)
        }
        Target::Block(_) => mkfs::prepare(layout),
    }
}

/// Make the file systems, and say where they lie.
fn make_file_systems(
    name: &str,
    is_image: bool,
    layout: &Layout,
    tools: &mkfs::Prepared,
) -> Result<(), Error> {
    let made = if is_image {
        let disk = mkfs::loop_disk::LoopDisk::attach(Path::new(name), layout)?;
        mkfs::make_all(layout, tools, disk.path())?
    } else {
        let path = std::fs::canonicalize(name)
            .map_err(|error| Error::io(format!("{name}: it went away: {error}")))?;
        mkfs::make_all(layout, tools, &path.to_string_lossy())?
    };
    let text: String = made
        .iter()
        .map(|(number, outcome)| format!("partition {number}: {outcome}\n"))
        .collect();
    print(text.as_bytes())
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
            Ok(Ground::Grid {
                choice: Box::new(report.alignment),
                geometry: Box::new(report.geometry),
                device: Box::new(report.device),
            })
        }
        WriteSource::Scan => {
            let Examined {
                report, trouble, ..
            } = examine(&args.device, args.seed, args.time_limit)?;
            tell(&human::summary(&report));
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            not_measured(args.intent.require_measured, &report)?;
            let mut device = report.device;
            if let (true, Some(block)) = (Path::new(&args.device).is_file(), args.sector_size) {
                device = with_block(device, block);
            }
            Ok(Ground::Grid {
                choice: Box::new(report.alignment),
                geometry: Box::new(report.geometry),
                device: Box::new(device),
            })
        }
    }
}

/// An image as a device with these sectors would show it.
fn with_block(mut facts: Facts, block: LogicalBlock) -> Facts {
    let unit = block.bytes().get();
    facts.logical_block = block;
    facts.capacity = facts.capacity.map(|size| Bytes(size.get() / unit * unit));
    facts
}

/// The layout for the device that is open now.
fn layout(ground: &Ground, device: &mut dyn ReadDevice, intent: &Intent) -> Result<Layout, Error> {
    let mut facts = device.facts().clone();
    let mut measured = None;
    let choice = match ground {
        Ground::Layout(layout) => {
            let mut layout = layout.as_ref().clone();
            // The file may have been made for another disk, or for none.
            let disk = Medium::disk_of(&facts);
            layout.name_disk(disk.as_deref().unwrap_or(UNKNOWN_DISK));
            return Ok(layout);
        }
        Ground::Grid {
            choice,
            geometry,
            device,
        } => {
            same_device(device, &facts)?;
            measured = Some(geometry.as_ref());
            facts.real_capacity = device.real_capacity;
            choice.as_ref().clone()
        }
        Ground::Given {
            erase_block,
            phase,
            capacity,
        } => given(*erase_block, *phase, *capacity, &facts)?,
    };
    let present = present_id(device, intent)?;
    arrange(&facts, &choice, measured, intent, present)
}

/// Refuse a report or a scan of another device.
fn same_device(then: &Facts, now: &Facts) -> Result<(), Error> {
    if let Some(difference) = Identity::of(then).difference(&Identity::of(now)) {
        return Err(Error::refused(format!(
            "the report is of another device than {}: {difference}",
            now.path
        ))
        .hint("name the device that it was made of, or leave out --report to scan this one"));
    }
    if then.diskseq.is_some() && now.diskseq.is_some() && then.diskseq != now.diskseq {
        return Err(exchanged(&now.path));
    }
    Ok(())
}

fn exchanged(name: &str) -> Error {
    Error::refused(format!(
        "{name}: another medium is in there than the one that was looked at; nothing was written"
    ))
    .hint("make sure that it is the right one, and run the command again")
}

fn given(
    erase_block: Size,
    phase: Option<Size>,
    capacity: Option<Size>,
    facts: &Facts,
) -> Result<AlignmentChoice, Error> {
    let block = facts.logical_block;
    let bytes = |option: &str, size: Size| whole_sectors(option, size, block);
    if let Some(capacity) = capacity {
        let capacity = bytes("--capacity", capacity)?;
        if Some(capacity) != facts.capacity {
            return Err(Error::refused(format!(
                "{} has {} bytes, and --capacity says {}",
                facts.path,
                facts.capacity.unwrap_or_default().get(),
                capacity.get()
            ))
            .hint("name the device that is meant, or leave --capacity out"));
        }
    }
    let erase_block = bytes("--erase-block", erase_block)?;
    let phase = phase.map_or(Ok(Bytes::ZERO), |phase| bytes("--phase", phase))?;
    super::plan::check_phase(phase, erase_block)?;
    plan::alignment_of(erase_block, phase, facts).map_err(|error| of_plan(&error))
}

fn prepare(device: &mut dyn ReadDevice, layout: &Layout) -> Result<Prepared, Error> {
    table::prepare(device, layout).map_err(|error| {
        let text = error.to_string();
        match error {
            PrepareError::OtherSize { .. }
            | PrepareError::OtherBlock { .. }
            | PrepareError::KeepOut { .. } => Error::refused(text),
            PrepareError::Access(_) => Error::io(text),
            PrepareError::SpecialType { .. } => Error::usage(text),
            PrepareError::Fault(_)
            | PrepareError::Table(_)
            | PrepareError::Rehearsal(_)
            | PrepareError::Leftover { .. } => Error::failed(text),
        }
    })
}

/// What the question is about, on stderr where it is put.
fn preview(target: &Target, prepared: &Prepared) {
    let mut text = change_text::render(target.facts(), prepared);
    if let Some(caution) = target::caution(target.facts()) {
        text += &format!("\nwarning: {caution}\n");
    }
    text.push('\n');
    tell(&text);
}

fn carry_out(
    args: &WriteArgs,
    target: &mut Target,
    prepared: Prepared,
    place: &Place,
) -> Result<ExitCode, Error> {
    let name = &args.device;
    let layout = prepared.layout().clone();
    let identity = Identity::of(target.facts());
    let interrupted = interrupt::listen()?;
    let mut path = None;
    let image = prepared.back_up(identity, |text| {
        path = Some(place.save(text)?);
        Ok::<(), Error>(())
    })?;
    let path = path.unwrap_or_default();
    let undo = format!(
        "flashfit restore {} --backup {}",
        shell_word(name),
        shell_word(&path.to_string_lossy())
    );
    let stop = || interrupted.load(Ordering::Relaxed);
    image
        .write(target.device(), &stop)
        .map_err(|error| of_write(name, &error, &undo))?;
    if args.discard {
        discard(target, &layout);
    }
    let mut text = change_text::done(name, &layout);
    let shown = show(target, &layout, name);
    if let (Ok(()), Some(disk)) = (&shown, target.disk()) {
        let nodes = disk.as_read_only().disk().partitions();
        let nodes: Vec<String> = nodes.iter().map(|node| format!("/dev/{node}")).collect();
        text += &format!("partitions: {}\n", nodes.join(" "));
    }
    text += &format!(
        "what was there is saved in {}\nto undo: {undo}\n",
        path.display()
    );
    if !args.mkfs {
        for command in &layout.mkfs {
            text += &format!("file system: {command}\n");
        }
    }
    print(text.as_bytes())?;
    shown.map(|()| ExitCode::Done)
}

/// The exit code and the way out of a write that failed.
fn of_write(name: &str, error: &WriteError, undo: &str) -> Error {
    let code = match error {
        WriteError::Changed { .. } => ExitCode::Refused,
        WriteError::Interrupted { .. } => ExitCode::Interrupted,
        _ => ExitCode::Io,
    };
    let hint = match error.undone() {
        None => "find out who uses the device, and run the command again".to_owned(),
        Some(Undone::Restored) => "try another port or reader; the device is as it was".to_owned(),
        Some(Undone::Failed(_) | Undone::Lies { .. }) => {
            format!("what was there is saved; once the device works again put it back with: {undo}")
        }
    };
    Error::new(code, format!("{name}: {error}")).hint(hint)
}

/// Let the device forget the new partitions. It is a favour, so a refusal is only told.
fn discard(target: &Target, layout: &Layout) {
    let Some(disk) = target.disk() else {
        tell("--discard: only a block device can be told, nothing was discarded\n");
        return;
    };
    for partition in &layout.partitions {
        if let Err(errno) = disk.discard(layout.byte_range(partition)) {
            let what = errno.desc().to_lowercase();
            tell(&format!(
                "--discard: the device refuses it ({what}), nothing is lost by that\n"
            ));
            return;
        }
    }
}

/// Make the kernel show the new partitions.
fn show(target: &Target, layout: &Layout, name: &str) -> Result<(), Error> {
    let Some(disk) = target.disk() else {
        return Ok(());
    };
    let wanted: Vec<(u32, ByteRange)> = (1..)
        .zip(&layout.partitions)
        .map(|(number, partition)| (number, layout.byte_range(partition)))
        .collect();
    disk.show_partitions(&wanted).map_err(|trouble| {
        Error::new(
            ExitCode::StaleKernel,
            format!("{name}: the table is written and verified, but the kernel does not show it: {trouble}"),
        )
        .hint("plug the device in again")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Transport;

    #[test]
    fn another_serial_number_or_another_attachment_is_another_device() {
        let scanned = Facts {
            serial: Some("4C53".to_owned()),
            diskseq: Some(7),
            ..Facts::bare(
                "/dev/sdb",
                Transport::Usb,
                Some(Bytes::gib(8)),
                LogicalBlock::B512,
            )
        };
        assert_eq!(same_device(&scanned, &scanned), Ok(()));
        let saved = Facts {
            diskseq: None,
            ..scanned.clone()
        };
        assert_eq!(same_device(&saved, &scanned), Ok(()));
        let exchanged = Facts {
            diskseq: Some(8),
            ..scanned.clone()
        };
        let other = Facts {
            serial: Some("4C54".to_owned()),
            ..scanned.clone()
        };
        for (now, says) in [
            (exchanged, "another medium is in there"),
            (other, "serial number"),
        ] {
            let error = same_device(&scanned, &now).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::Refused);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_failed_restore_names_the_backup_and_a_good_one_does_not() {
        let failed = |undone| {
            let error = WriteError::Lies {
                part: table::Part::Mbr,
                at: Bytes(0),
                undone,
            };
            of_write(
                "/dev/sdb",
                &error,
                "flashfit restore /dev/sdb --backup b.json",
            )
            .to_string()
        };
        let gone = crate::device::AccessError::Gone { at: 0 };
        let text = failed(Undone::Failed(gone));
        assert!(
            text.contains("other bytes are read") && text.contains("went away"),
            "{text}"
        );
        assert!(
            text.ends_with("flashfit restore /dev/sdb --backup b.json"),
            "{text}"
        );
        assert!(!failed(Undone::Restored).contains("b.json"));
    }
}

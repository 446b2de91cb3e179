//! `flashfit restore`: what a command saved, back onto its device.

use super::consent::{ask, asker};
use super::read_file::read;
use super::restore_journal::{is_journal, restore_journal};
use super::target::{self, Target};
use super::{interrupt, print, tell};
use crate::cli::RestoreArgs;
use crate::error::{Error, ExitCode};
use crate::output::change_text;
use crate::quote::on_one_line;
use crate::table::backup::{self, Backup};
use crate::table::restore::{self, RestoreError, Restoring, State};
use crate::units::LogicalBlock;

/// Do it.
///
/// # Errors
/// A file that is no backup, a device that it is not of, and everything that must not be written.
pub fn restore(args: &RestoreArgs) -> Result<ExitCode, Error> {
    // What was begun is brought to its end: half of it would be neither the old nor the new.
    let _interrupted = interrupt::listen()?;
    // The journal of write tests may be larger than any text.
    if is_journal(&args.backup) {
        return restore_journal(args);
    }
    let bytes = read(&args.backup)?;
    let text = String::from_utf8_lossy(&bytes);
    let schema = schema(&text);
    match schema.as_deref() {
        // A file without one is told so by the reader of the schema that is meant here.
        None | Some(backup::SCHEMA) => restore_table(args, &text),
        Some(other) => Err(Error::failed(format!(
            "{}: schema '{}' is not known, this version restores {}",
            args.backup.display(),
            other.escape_debug(),
            backup::SCHEMA
        ))
        .hint(if is_backup_of_any_version(other) {
            "use the version of flashfit that wrote it"
        } else {
            WHERE_BACKUPS_ARE
        })),
    }
}

/// Where to look for the right file.
const WHERE_BACKUPS_ARE: &str = "name the file that the write told of; this lists them: ls -lt ~/.local/state/flashfit /var/lib/flashfit";

fn is_backup_of_any_version(schema: &str) -> bool {
    schema.split('/').next() == backup::SCHEMA.split('/').next()
}

/// What kind of file it says it is.
fn schema(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        schema: String,
    }
    let named: Named = serde_json::from_str(text).ok()?;
    Some(named.schema.chars().take(80).collect())
}

/// The old table and what else a write replaced.
fn restore_table(args: &RestoreArgs, text: &str) -> Result<ExitCode, Error> {
    let backup = Backup::parse(text).map_err(|error| {
        Error::failed(format!("{}: {error}", args.backup.display())).hint(WHERE_BACKUPS_ARE)
    })?;
    // An image does not tell its sectors; the file knows them.
    let block = std::path::Path::new(&args.device)
        .is_file()
        .then_some(backup.device.logical_block);
    if args.dry_run {
        return dry_run(args, backup, block);
    }
    let mut asker = asker(&args.consent)?;
    let mut target = target::open(&args.device, 1, block, "restore")?;
    let restoring = restore::prepare(target.reader(), backup).map_err(|error| of(args, &error))?;
    tell(&change_text::restore(target.facts(), &restoring));
    if !asker.reads_warnings() {
        recognised(args, &restoring)?;
    }
    ask(asker.as_mut(), &target.for_people(&args.device))?;
    target.is_still(&args.device)?;
    let written = restoring
        .write(target.device())
        .map_err(|error| of(args, &error))?;
    let shown = show(&target, args);
    print(
        format!(
            "{}: all {} sectors hold the old bytes again, {written} were written\n",
            on_one_line(&args.device),
            restoring.backup().sectors.len()
        )
        .as_bytes(),
    )?;
    shown.map(|()| ExitCode::Done)
}

/// Where nobody reads the warning: a device that holds nothing of what was written
/// then, but something else, is likely another one.
fn recognised(args: &RestoreArgs, restoring: &Restoring) -> Result<(), Error> {
    let holds = |state: State| restoring.sectors().any(|(_, now)| now == state);
    if holds(State::Other) && !holds(State::Replaced) {
        return Err(Error::refused(format!(
            "{}: nothing of what was written then is there, but something else is: it may be another device",
            args.device
        ))
        .hint("look at it with --dry-run, and restore it at a terminal, without --yes"));
    }
    Ok(())
}

fn dry_run(
    args: &RestoreArgs,
    backup: Backup,
    block: Option<LogicalBlock>,
) -> Result<ExitCode, Error> {
    let refusal = target::check(&args.device, block, "restore").err();
    let mut looked = target::look(&args.device, 1, block, "restore")?;
    let restoring = restore::prepare(looked.reader(), backup).map_err(|error| of(args, &error))?;
    let mut text = change_text::restore(looked.reader().facts(), &restoring);
    for (saved, state) in restoring.sectors().filter(|(_, it)| *it != State::Old) {
        let now = match state {
            State::Other => ", something else is there now",
            State::Old | State::Replaced => "",
        };
        text += &format!("  sector {}: {}{now}\n", saved.at, saved.part);
    }
    text += "dry run: nothing was written\n";
    print(text.as_bytes())?;
    match refusal {
        None => Ok(ExitCode::Done),
        Some(refusal) => Err(refusal),
    }
}

fn of(args: &RestoreArgs, error: &RestoreError) -> Error {
    let code = match error {
        RestoreError::OtherDevice(_) => ExitCode::Refused,
        RestoreError::Unreadable(_) | RestoreError::Failed { .. } | RestoreError::Lies { .. } => {
            ExitCode::Io
        }
    };
    Error::new(code, format!("{}: {error}", args.device))
}

/// Make the kernel look at the table that is back. Which partitions it has is for the kernel to say.
fn show(target: &Target, args: &RestoreArgs) -> Result<(), Error> {
    let Some(disk) = target.disk() else {
        return Ok(());
    };
    disk.forget_partitions().map_err(|trouble| {
        Error::new(
            ExitCode::StaleKernel,
            format!(
                "{}: the old bytes are back, but the kernel still shows the other table: {trouble}",
                args.device
            ),
        )
        .hint("plug the device in again")
    })
}

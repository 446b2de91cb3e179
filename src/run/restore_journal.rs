//! `flashfit restore` with the journal of write tests: what they overwrote and could not put back.

use super::consent::{ask, asker};
use super::target;
use super::{print, tell};
use crate::cli::RestoreArgs;
use crate::device::ReadDevice;
use crate::device::journal::{Journal, PutBackError, SCHEMA};
use crate::error::{Error, ExitCode};
use crate::quote::on_one_line;
use crate::table::Identity;
use std::io::Read;
use std::path::Path;

/// Whether a file is a journal, by its first bytes. It may be too large to be read whole.
pub fn is_journal(path: &Path) -> bool {
    // Looked at first: opening a pipe would wait for its writer.
    if !path.is_file() {
        return false;
    }
    let mut first = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(100).read_to_end(&mut first));
    // The name without its number: another version is refused by name.
    let family = SCHEMA.trim_end_matches(|c: char| c.is_ascii_digit());
    let wanted = format!("{{\"schema\":\"{family}");
    read.is_ok() && first.starts_with(wanted.as_bytes())
}

/// Put back what the journal holds. It can be done again at any time, with the same result; once that
/// came to its end, only by somebody who is asked.
///
/// # Errors
/// A file that is no journal, a device that it is not of, and everything that must not be written.
pub fn restore_journal(args: &RestoreArgs) -> Result<ExitCode, Error> {
    let shown = on_one_line(&args.backup.to_string_lossy());
    let mut journal = Journal::open(&args.backup).map_err(|error| {
        Error::failed(format!("{shown}: {error}")).hint("nothing was written; check the name")
    })?;
    let block = Path::new(&args.device)
        .is_file()
        .then_some(journal.facts().logical_block);
    if args.dry_run {
        return dry_run(args, &journal, block);
    }
    let mut asker = asker(&args.consent)?;
    let mut target = target::open(&args.device, 1, block, "restore")?;
    same_device(args, &journal, target.reader())?;
    // What was written since would be lost, and where nobody is asked nobody reads that.
    if journal.is_done() && !asker.reads_warnings() {
        print(
            format!(
                "{}: {shown} was put back before, so nothing is written now; to do it again restore it at a terminal, \
                 without --yes\n",
                on_one_line(&args.device)
            )
            .as_bytes(),
        )?;
        return Ok(ExitCode::Done);
    }
    tell(&what(args, &journal));
    ask(asker.as_mut(), &target.for_people(&args.device))?;
    target.is_still(&args.device)?;
    let back = journal.put_back(target.device()).map_err(|error| {
        let code = match &error {
            PutBackError::Journal(_) => ExitCode::Failed,
            PutBackError::Device(_) | PutBackError::Differs(_) => ExitCode::Io,
        };
        Error::new(
            code,
            format!("{}: not everything was put back: {error}", args.device),
        )
        .hint("the journal is kept; run the same command again")
    })?;
    journal.mark_done().map_err(|error| {
        Error::failed(format!(
            "{}: everything is put back, but {shown} cannot be marked so: {error}",
            args.device
        ))
        .hint("remove it")
    })?;
    print(
        format!(
            "{}: {} in {} places hold the old bytes again; {shown} is of no more use\n",
            on_one_line(&args.device),
            back.bytes,
            back.writes
        )
        .as_bytes(),
    )?;
    Ok(ExitCode::Done)
}

fn dry_run(
    args: &RestoreArgs,
    journal: &Journal,
    block: Option<crate::units::LogicalBlock>,
) -> Result<ExitCode, Error> {
    let refusal = target::check(&args.device, block, "restore").err();
    let mut looked = target::look(&args.device, 1, block, "restore")?;
    same_device(args, journal, looked.reader())?;
    let mut text = what(args, journal);
    for range in journal.ranges() {
        text += &format!("  bytes {} to {}\n", range.from.get(), range.to.get());
    }
    text += "dry run: nothing was written\n";
    print(text.as_bytes())?;
    refusal.map_or(Ok(ExitCode::Done), Err)
}

fn what(args: &RestoreArgs, journal: &Journal) -> String {
    let done = if journal.is_done() {
        "; that was done before, and what was written since will be lost"
    } else {
        ""
    };
    let torn = if journal.is_torn() {
        "\n  its last entry was never finished: that place was not overwritten"
    } else {
        ""
    };
    format!(
        "{} will get back {} in {} places that write tests overwrote{done}{torn}\n",
        on_one_line(&args.device),
        journal.size(),
        journal.len()
    )
}

/// Refuse a device that the journal is not of.
fn same_device(
    args: &RestoreArgs,
    journal: &Journal,
    device: &dyn ReadDevice,
) -> Result<(), Error> {
    let (then, now) = (journal.facts(), device.facts());
    match Identity::of(then).difference(&Identity::of(now)) {
        None => Ok(()),
        Some(difference) => Err(Error::refused(format!(
            "{} is of another device than {}: {difference}",
            args.backup.display(),
            args.device
        ))
        .hint("nothing was written; plug in the one that was tested")),
    }
}

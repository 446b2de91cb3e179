//! A layout onto a device: open, ask, back up, write, show, make file systems. Every command that writes
//! a table takes these steps and no others.
//!
//! Everything that can fail is done before the first byte. From the opening to the end of the write
//! nobody else can use the device.

use super::backup_file::Place;
use super::consent::ask;
use super::ground::{Ground, exchanged, layout};
use super::mkfs;
use super::progress::Watch;
use super::target::{self, Target};
use crate::device::ReadDevice;
use crate::error::{Error, ExitCode};
use crate::output::change_text;
use crate::plan::Layout;
use crate::plan::intent::Intent;
use crate::quote::{on_one_line, shell_word};
use crate::table::{self, Identity, PrepareError, Prepared, Undone, WriteError};
use crate::topology::Facts;
use crate::units::{ByteRange, LogicalBlock};
use crate::wizard::Ask;
use std::path::{Path, PathBuf};

/// Which device, and what is done to it besides.
pub struct Job<'a> {
    /// The device as it was typed.
    pub name: &'a str,
    /// The command that was typed, for hints.
    pub command: &'a str,
    /// The noise of a simulated stick.
    pub seed: u64,
    /// The logical block of an image, when that was typed.
    pub sector_size: Option<LogicalBlock>,
    /// Make the file systems.
    pub mkfs: bool,
    /// Let the device forget what is in the new partitions.
    pub discard: bool,
    /// Where the old content is kept.
    pub place: &'a Place,
}

/// A device that is open for writing, and everything that will be written.
pub struct Ready<'a> {
    job: &'a Job<'a>,
    target: Target,
    prepared: Prepared,
    tools: Option<mkfs::Prepared>,
}

/// A table that is written and verified.
pub struct Written {
    /// What to tell of it.
    pub text: String,
    /// Where the old content is.
    pub backup: PathBuf,
    /// The command that puts it back.
    pub undo: String,
    /// Whether the kernel shows the new partitions.
    pub shown: Result<(), Error>,
    layout: Layout,
    tools: Option<mkfs::Prepared>,
    is_image: bool,
}

impl<'a> Ready<'a> {
    /// Open the device, lay it out, rehearse, and find the tools for its file systems.
    ///
    /// # Errors
    /// Everything that keeps the layout from being written.
    pub fn new(job: &'a Job<'a>, ground: &Ground, intent: &Intent) -> Result<Ready<'a>, Error> {
        let mut target = target::open(job.name, job.seed, job.sector_size, job.command)?;
        let layout = layout(ground, target.reader(), intent)?;
        let prepared = prepare(target.reader(), &layout)?;
        let tools = job.mkfs.then(|| mkfs_tools(&target, &layout)).transpose()?;
        Ok(Ready {
            job,
            target,
            prepared,
            tools,
        })
    }

    /// Find the tools for its file systems, where that was not asked for at first.
    ///
    /// # Errors
    /// Why they cannot be made here.
    pub fn find_tools(&mut self) -> Result<(), Error> {
        self.tools = Some(mkfs_tools(&self.target, self.prepared.layout())?);
        Ok(())
    }

    /// Leave its file systems to be made by hand.
    pub fn leave_file_systems(&mut self) {
        self.tools = None;
    }

    /// The layout, and every sector of it.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// What the device says of itself.
    pub fn facts(&self) -> &Facts {
        self.target.facts()
    }

    /// All that would change, for people.
    pub fn preview(&self) -> String {
        let mut text = change_text::render(self.facts(), &self.prepared);
        if let Some(caution) = target::caution(self.facts()) {
            text += &format!("\nwarning: {caution}\n");
        }
        text.push('\n');
        text
    }

    /// Ask whether this device may be written, and look whether it is still in there then.
    ///
    /// # Errors
    /// Every answer but yes, and another medium.
    pub fn ask(&self, asker: &mut dyn Ask) -> Result<(), Error> {
        let name = self.job.name;
        ask(asker, &self.target.for_people(name))?;
        self.target.is_still(name)?;
        let was_exchanged = self.target.disk().is_some_and(|disk| {
            let now = disk.as_read_only().disk_sequence_now();
            now != disk.facts().diskseq
        });
        if was_exchanged {
            return Err(exchanged(name));
        }
        Ok(())
    }

    /// Save what is there, write, read back, and make the kernel look.
    ///
    /// # Errors
    /// A backup that cannot be kept, and a write that failed, with the way out of it. A kernel that
    /// shows the old table is no error here: the table is written.
    pub fn write(mut self, watch: Watch<'_>) -> Result<Written, Error> {
        let (name, target) = (self.job.name, &mut self.target);
        if watch.is_stopped() {
            return Err(interrupted(name));
        }
        let layout = self.prepared.layout().clone();
        let identity = Identity::of(target.facts());
        let mut path = None;
        let image = self.prepared.back_up(identity, |text| {
            path = Some(self.job.place.save(text)?);
            Ok::<(), Error>(())
        })?;
        let backup = path.unwrap_or_default();
        let undo = format!(
            "flashfit restore {} --backup {}",
            shell_word(name),
            shell_word(&backup)
        );
        image
            .write(target.device(), &|| watch.is_stopped())
            .map_err(|error| of_write(name, &error, &undo))?;
        if self.job.discard {
            discard(target, &layout, watch.say);
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
            on_one_line(&backup.to_string_lossy())
        );
        if self.tools.is_none() {
            for command in &layout.mkfs {
                text += &format!("file system: {command}\n");
            }
        }
        Ok(Written {
            text,
            backup,
            undo,
            shown,
            layout,
            tools: self.tools,
            is_image: matches!(self.target, Target::Image(_)),
        })
    }
}

impl Written {
    /// What to say besides, where the result could not be told: it is there all the same.
    pub fn untold(&self, error: Error) -> Error {
        error.hint(format!(
            "the table is written and verified; to undo: {}",
            self.undo
        ))
    }

    /// Make the file systems that were asked for, and tell where they lie. The tools claim the
    /// partitions themselves, which nobody can while the disk is claimed. Nothing is in them that a
    /// desktop could mount: old signatures were wiped.
    ///
    /// # Errors
    /// A partition that the kernel does not show, a tool that fails, and a file system that does not lie
    /// where the layout wants it.
    pub fn make_file_systems(&self, name: &str, watch: Watch<'_>) -> Result<String, Error> {
        /// The tools write wherever they like, into what may have been somebody's files.
        const NOT_UNDONE: &str = "what these file systems were made over is gone: restore brings back the old table and \
            signatures, not the files\n";
        let Some(tools) = &self.tools else {
            return Ok(String::new());
        };
        let stop = || watch.is_stopped();
        let made = if self.is_image {
            let disk = mkfs::loop_disk::LoopDisk::attach(Path::new(name), &self.layout)?;
            mkfs::make_all(&self.layout, tools, disk.path(), watch.say, &stop)?
        } else {
            let path = std::fs::canonicalize(name)
                .map_err(|error| Error::io(format!("{name}: it went away: {error}")))?;
            mkfs::make_all(
                &self.layout,
                tools,
                &path.to_string_lossy(),
                watch.say,
                &stop,
            )?
        };
        Ok(made
            .iter()
            .map(|(number, outcome)| format!("partition {number}: {outcome}\n"))
            .chain((!made.is_empty()).then(|| NOT_UNDONE.to_owned()))
            .collect())
    }
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

/// Render the layout, play the write through, and list what is replaced.
///
/// # Errors
/// A layout that does not belong on this device.
pub fn prepare(device: &mut dyn ReadDevice, layout: &Layout) -> Result<Prepared, Error> {
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

/// Ctrl-C came in time.
pub fn interrupted(name: &str) -> Error {
    Error::new(
        ExitCode::Interrupted,
        format!("{name}: interrupted, nothing was written"),
    )
}

/// The exit code and the way out of a write that failed.
fn of_write(name: &str, error: &WriteError, undo: &str) -> Error {
    let code = match error {
        WriteError::Changed { .. } => ExitCode::Refused,
        WriteError::Interrupted { .. } => ExitCode::Interrupted,
        _ => ExitCode::Io,
    };
    let was_interrupted = matches!(error, WriteError::Interrupted { .. });
    let hint = match error.undone() {
        None if was_interrupted => "run the command again to write it".to_owned(),
        None => "find out who uses the device, and run the command again".to_owned(),
        Some(Undone::Restored) if was_interrupted => "the device is as it was".to_owned(),
        Some(Undone::Restored) => "try another port or reader; the device is as it was".to_owned(),
        Some(Undone::Failed(_) | Undone::Lies { .. }) => {
            format!("what was there is saved; once the device works again put it back with: {undo}")
        }
    };
    Error::new(code, format!("{name}: {error}")).hint(hint)
}

/// Let the device forget the new partitions. It is a favour, so a refusal is only told.
fn discard(target: &Target, layout: &Layout, say: &dyn Fn(&str)) {
    let Some(disk) = target.disk() else {
        say("--discard: only a block device can be told, nothing was discarded\n");
        return;
    };
    for partition in &layout.partitions {
        if let Err(errno) = disk.discard(layout.byte_range(partition)) {
            let what = errno.desc().to_lowercase();
            say(&format!(
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
    use crate::units::Bytes;

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

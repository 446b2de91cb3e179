//! A scan with write tests: who is asked, where it writes, and how the device is left.

use super::examine::{Examined, conclude, of_image};
use super::progress::{Progress, Watch};
use super::samples_file::{After, SamplesFile, SavedOptions};
use super::scan::{self, Options, Scanned, Writes};
use super::target::Target;
use super::{backup_file, consent, source, target, unoccupied};
use crate::cli::{WRITE_LIMIT, WizardArgs};
use crate::device::journal::{Journal, PutBack, PutBackError};
use crate::device::sysfs;
use crate::device::wrappers::samples::SampleLog;
use crate::device::wrappers::{Preserving, SampleRecorder};
use crate::device::{Device, ReadDevice};
use crate::error::{Error, ExitCode};
use crate::geometry::Warning;
use crate::measure::meter::Stop;
use crate::measure::territory::Territory;
use crate::output::wear::times_full;
use crate::quote::{on_one_line, shell_word};
use crate::units::{Bytes, Size};
use crate::wizard::Ask;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How the contents are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// What is overwritten is saved and put back.
    Preserve,
    /// What is overwritten is lost.
    Destroy,
}

/// What is to be done.
pub struct How<'a> {
    /// The device as it was typed.
    pub name: &'a str,
    /// Order of places and answer follow from it.
    pub seed: u64,
    /// The longest device time.
    pub time_limit: Duration,
    /// The most that is written, what is put back included.
    pub write_limit: Size,
    /// How the contents are treated.
    pub tests: Tests,
    /// Where the journal of a preserving run goes, when that was typed.
    pub journal: Option<&'a Path>,
    /// Where every access goes.
    pub samples: &'a SamplesFile,
}

impl<'a> How<'a> {
    /// As the wizard makes them, at a terminal and unattended.
    pub fn of_wizard(
        args: &WizardArgs,
        name: &'a str,
        tests: Tests,
        samples: &'a SamplesFile,
    ) -> How<'a> {
        How {
            name,
            seed: args.seed,
            time_limit: args.time_limit,
            write_limit: args.write_limit.unwrap_or(WRITE_LIMIT),
            tests,
            journal: None,
            samples,
        }
    }
}

/// Open, ask when there is somebody to ask, scan, put back, report.
///
/// # Errors
/// Whatever keeps it from beginning. A device that fails later still gives a report.
pub fn examine(
    how: &How<'_>,
    asker: Option<&mut (dyn Ask + '_)>,
    watch: Watch<'_>,
) -> Result<Examined, Error> {
    let name = how.name;
    let simulated = name.starts_with(source::SIMULATED);
    let preserve = how.tests == Tests::Preserve;
    if !preserve && how.journal.is_some() {
        return Err(
            Error::usage("--backup is for --write-tests preserve, destroy saves nothing")
                .hint("leave it out"),
        );
    }
    let mut target = target::open(name, how.seed, None, "scan")?;
    let facts = target.facts().clone();
    if let Target::Image(_) = target {
        return Ok(Examined::only(of_image(facts)));
    }
    let limit = how
        .write_limit
        .in_bytes(facts.logical_block)
        .ok_or_else(|| {
            Error::usage("--write-limit is beyond 2^64 bytes").hint("check the number of sectors")
        })?;
    let territory = if preserve {
        unoccupied::territory(target.reader())
    } else {
        Territory::whole(target.reader().capacity())
    };
    let journal_path = match (preserve, simulated && how.journal.is_none()) {
        (true, false) => Some(backup_file::journal(how.journal, name)?),
        _ => None,
    };
    let notes = notes(&target);
    if !simulated {
        (watch.say)(&announcement(
            name,
            limit,
            &territory,
            &target,
            journal_path.as_ref(),
        ));
    }
    if let Some(asker) = asker {
        consent::ask(asker, &target.for_people(name))?;
    }
    let run = Run {
        name,
        samples: how.samples,
        options: Options {
            time_limit: how.time_limit,
            seed: how.seed,
            in_use: false,
        },
        writes: Writes { limit, territory },
        watch,
        simulated,
    };
    let begun = Instant::now();
    let mut done = if preserve {
        let journal = match &journal_path {
            Some(path) => Journal::create(path, &facts),
            None => Journal::in_memory(&facts),
        };
        let journal = journal.map_err(|error| {
            let shown = journal_path
                .as_deref()
                .unwrap_or("memory".as_ref())
                .display();
            Error::failed(format!(
                "cannot make the journal {shown}: {error}; nothing was written"
            ))
            .hint("name another place with --backup FILE")
        })?;
        run.preserving(target.device(), journal)?
    } else {
        run.destroying(target.device())?
    };
    done.after.exchanged = was_exchanged(&target);
    if done.error.is_none() && done.scanned.stop.is_none() {
        done.error = power_cut(name, &target);
    }
    done.after.notes.splice(0..0, notes);
    let kept = how.samples.finish(done.log, &done.after);
    let mut examined = conclude(name, facts, done.scanned, &done.after, begun.elapsed());
    examined.also.extend(kept.err());
    examined.also.extend(done.error);
    Ok(examined)
}

/// A run that is ready to begin.
struct Run<'a> {
    name: &'a str,
    samples: &'a SamplesFile,
    options: Options,
    writes: Writes,
    watch: Watch<'a>,
    simulated: bool,
}

/// A run that is over.
struct Done {
    scanned: Scanned,
    log: Option<SampleLog>,
    after: After,
    /// Something was not put back.
    error: Option<Error>,
}

impl Run<'_> {
    /// Without putting back.
    fn destroying(self, device: &mut dyn Device) -> Result<Done, Error> {
        let mut progress = self.progress();
        let (scanned, log) = self.scan(device, &mut progress)?;
        progress.end();
        Ok(Done {
            after: After {
                interrupted: scanned.stop == Some(Stop::Interrupted),
                ..After::default()
            },
            scanned,
            log,
            error: None,
        })
    }

    /// With everything put back at the end, however it comes.
    fn preserving(self, device: &mut dyn Device, journal: Journal) -> Result<Done, Error> {
        let mut progress = self.progress();
        let mut preserving = Preserving::new(device, journal);
        let scanned = self.scan(&mut preserving, &mut progress);
        let size = preserving.journal().size();
        progress.say(&format!("putting back {size}"));
        let (result, journal) = preserving.put_back();
        progress.end();
        let (back, error) = left(self.name, result, journal);
        // With nothing scanned nothing was written, so an error here comes alone.
        let (scanned, log) = scanned?;
        Ok(Done {
            after: After {
                interrupted: scanned.stop == Some(Stop::Interrupted),
                writes_back: back.writes,
                bytes_back: back.bytes,
                notes: back_note(back, error.is_none()).into_iter().collect(),
                ..After::default()
            },
            scanned,
            log,
            error,
        })
    }

    fn progress(&self) -> Progress {
        let limit = self.options.time_limit;
        Progress::begin(self.watch.lines, self.name, limit, self.simulated)
    }

    fn scan(
        &self,
        device: &mut dyn Device,
        progress: &mut Progress,
    ) -> Result<(Scanned, Option<SampleLog>), Error> {
        let show = &mut |now| progress.show(&now);
        let writes = self.writes.clone();
        let (options, interrupted) = (self.options, self.watch.interrupted);
        Ok(match self.samples.open()? {
            None => (
                scan::scan_and_write(device, writes, options, interrupted, show),
                None,
            ),
            Some(file) => {
                let saved = SavedOptions::of(options, Some(&writes)).value();
                let mut recorder = SampleRecorder::new(device, file, saved);
                let scanned =
                    scan::scan_and_write(&mut recorder, writes, options, interrupted, show);
                (scanned, Some(recorder.into_log()))
            }
        })
    }
}

/// What is left of a journal: nothing when everything is put back, else the way to do it later.
fn left(
    name: &str,
    result: Result<PutBack, PutBackError>,
    journal: Journal,
) -> (PutBack, Option<Error>) {
    match result {
        Ok(back) => {
            let error = journal.remove().err().map(|(path, error)| {
                Error::failed(format!(
                    "{name}: everything is put back, but the journal {} cannot be removed: {error}",
                    path.display()
                ))
                .hint("remove it")
            });
            (back, error)
        }
        Err(error) => {
            let gone = Error::new(
                ExitCode::Io,
                format!("{name}: not everything was put back: {error}"),
            );
            let error = match journal.path() {
                Some(path) => gone.hint(format!(
                    "the journal is kept; plug it in again and run: flashfit restore {} --backup {}",
                    shell_word(name),
                    shell_word(path)
                )),
                None => gone,
            };
            (PutBack::default(), Some(error))
        }
    }
}

fn back_note(back: PutBack, complete: bool) -> Option<Warning> {
    (complete && back.writes != 0).then(|| {
        Warning::new(
            "put_back",
            format!(
                "{} that the tests overwrote were put back and read again",
                back.bytes
            ),
        )
    })
}

/// What the reader of the report should know of the way the device is written.
fn notes(target: &Target) -> Vec<Warning> {
    let Some(disk) = target.disk() else {
        return Vec::new();
    };
    match sysfs::has_volatile_cache(disk.as_read_only().disk()) {
        Some(true) => vec![Warning::new(
            "write_cache",
            "the device reports a write cache that loses its contents with the power; every write was made to reach the medium before the next one",
        )],
        Some(false) | None => Vec::new(),
    }
}

/// How often a device is written full once by write tests that may write so much, at most.
pub fn wear(limit: Bytes, capacity: Bytes) -> f64 {
    scan::programmed(limit).get() as f64 / (capacity.get().max(1)) as f64
}

/// Said before anybody consents.
fn announcement(
    name: &str,
    limit: Bytes,
    territory: &Territory,
    target: &Target,
    journal: Option<&PathBuf>,
) -> String {
    let name = on_one_line(name);
    let wear = wear(limit, target.facts().capacity.unwrap_or_default());
    let what = match journal {
        Some(path) => format!(
            "write tests will overwrite parts of {name} and put them back; what was there is saved first, in {}\n",
            on_one_line(&path.to_string_lossy())
        ),
        None => format!("write tests will destroy what is on {name}: nothing is put back\n"),
    };
    let ranges: Vec<String> = territory
        .free()
        .iter()
        .take(4)
        .map(|range| format!("{} to {}", range.from, range.to))
        .collect();
    let more = match territory.free().len() {
        0..=4 => "",
        _ => " and more",
    };
    format!(
        "{what}  at most {limit} are written, in {}{more}, and single blocks all over the device\n  the flash may wear by up to {} of being written full once\n",
        ranges.join(", "),
        times_full(wear)
    )
}

/// A simulated stick whose power was cut takes writes without keeping them: nothing fails, but the
/// run did not test what it seems to have tested. Where the tests ended for another reason, that is told.
fn power_cut(name: &str, target: &Target) -> Option<Error> {
    match target {
        Target::Simulated(stick) if stick.was_cut_off() => Some(
            Error::io(format!(
                "{name}: its power was cut during the tests, what was written since is lost"
            ))
            .hint("take the power cut out of the profile, and repeat the scan"),
        ),
        _ => None,
    }
}

fn was_exchanged(target: &Target) -> bool {
    target.disk().is_some_and(|disk| {
        let before = disk.facts().diskseq;
        // A disk that is gone has no number; its accesses tell.
        before.is_some()
            && disk
                .as_read_only()
                .disk_sequence_now()
                .is_some_and(|now| Some(now) != before)
    })
}

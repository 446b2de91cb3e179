//! How does the device become a report, and where is that kept?

use super::Run;
use crate::error::{Error, ExitCode};
use crate::output::report::Report;
use crate::output::{human, json};
use crate::quote::on_one_line;
use crate::run::examine::{Examined, examine_and_keep};
use crate::run::ground::with_block;
use crate::run::plan::not_measured;
use crate::run::progress::Watch;
use crate::run::provision::profile::Profile;
use crate::run::samples_file::SamplesFile;
use crate::run::write_tests::{self, How, Tests};
use crate::run::{backup_file, complain, deliver, print, source, tell, write_file};
use crate::wizard::{Ask, Conversation, Depth};
use std::path::Path;

impl Run<'_> {
    /// Scan, keep the report, and tell the conversation.
    ///
    /// # Errors
    /// A device that fails or goes away, Ctrl-C, and no consent. What was found by then is told before.
    pub(super) fn measure(
        &mut self,
        talk: &mut Conversation,
        device: &str,
        depth: Depth,
    ) -> Result<(), Error> {
        let examined = match self.examine(device, depth) {
            Err(_) if self.person.put_off() && talk.taken_back() => return Ok(()),
            examined => examined?,
        };
        let Examined {
            mut report,
            trouble,
            also,
        } = examined;
        if let (true, Some(block)) = (Path::new(device).is_file(), self.args.sector_size) {
            report.device = with_block(report.device, block);
        }
        let kept = self.keep(device, &report);
        if let Some(path) = &self.args.html {
            deliver::write_html(path, &report, self.args.html_serial)?;
        }
        if self.args.json {
            print(json::render(&report).as_bytes())?;
        }
        if let Some(error) = trouble.into_iter().chain(also).reduce(worse) {
            tell(&human::findings(&report));
            return Err(error);
        }
        not_measured(self.args.intent.require_measured, &report)?;
        talk.scanned(report, kept);
        Ok(())
    }

    fn examine(&mut self, device: &str, depth: Depth) -> Result<Examined, Error> {
        let args = self.args;
        let samples = SamplesFile::new(args.samples.as_deref(), &source::files_of(device))?;
        let tests = match depth {
            Depth::Read => match &self.profile {
                Some(profile) => return self.take_profile(profile, device),
                None => {
                    let watch = self.watch();
                    return examine_and_keep(device, args.seed, args.time_limit, &samples, watch);
                }
            },
            Depth::Preserve => Tests::Preserve,
            Depth::Destroy => Tests::Destroy,
        };
        let how = How::of_wizard(args, device, tests, &samples);
        let watch = Watch::alone(self.interrupted);
        // A simulated stick is nobody's.
        let asker: Option<&mut dyn Ask> = if device.starts_with(source::SIMULATED) {
            None
        } else {
            Some(&mut self.person)
        };
        write_tests::examine(&how, asker, watch)
    }

    /// What a saved report of the same model says, checked when that was asked for.
    fn take_profile(&self, profile: &Profile, device: &str) -> Result<Examined, Error> {
        let mut opened = source::open(device, self.args.seed, "wizard")?;
        let mut report = profile.apply(opened.device().facts())?;
        if self.args.verify_profile {
            profile.verify(
                &mut report,
                opened.device(),
                self.args.seed,
                self.interrupted,
            )?;
        }
        Ok(Examined::only(report))
    }

    /// Keep the report where it was asked for, else beside the backups. Gives its name; that it cannot
    /// be kept spoils nothing, and is only told.
    fn keep(&self, device: &str, report: &Report) -> Option<String> {
        let text = json::render(report);
        let kept = match &self.args.report {
            Some(path) => write_file::write(path, &text).map(|()| path.clone()),
            None => backup_file::keep_report(device, &text),
        };
        match kept {
            Ok(path) => Some(on_one_line(&path.to_string_lossy())),
            Err(error) => {
                complain(&error);
                None
            }
        }
    }
}

/// The one of two errors that decides the exit code; the other is told.
fn worse(one: Error, other: Error) -> Error {
    let (a, b): (ExitCode, ExitCode) = (one.exit_code(), other.exit_code());
    let (worse, better) = if a.worse(b) == a {
        (one, other)
    } else {
        (other, one)
    };
    complain(&better);
    worse
}

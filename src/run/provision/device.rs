//! What is done with one device: look, ask, measure, lay out, write, make file systems.

use super::bus::{Bus, Buses};
use super::log::Log;
use super::profile::Profile;
use crate::cli::{WizardArgs, WriteTests};
use crate::error::{Error, ExitCode};
use crate::geometry::erase_block::Fit;
use crate::output::holds::holds;
use crate::output::json;
use crate::output::report::Report;
use crate::plan::Layout;
use crate::plan::intent::Intent;
use crate::quote::on_one_line;
use crate::run::backup_file::{self, Place};
use crate::run::consent::{ask, asker};
use crate::run::examine::{Examined, examine_and_keep};
use crate::run::ground::{Ground, with_block};
use crate::run::plan::not_measured;
use crate::run::progress::Watch;
use crate::run::put::{Job, Ready, interrupted};
use crate::run::samples_file::SamplesFile;
use crate::run::target::{self, Looked};
use crate::run::write_tests::{How, Tests, examine};
use crate::run::{deliver, source, write_file};
use crate::topology::Facts;
use crate::units::Bytes;
use crate::wizard::Ask;
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// One device among those that were named.
pub struct Task<'a> {
    pub args: &'a WizardArgs,
    pub name: &'a str,
    pub intent: &'a Intent,
    pub profile: Option<&'a Profile>,
    pub buses: &'a Buses,
    pub log: &'a Log,
    pub interrupted: &'a AtomicBool,
}

impl Task<'_> {
    /// Do it, and tell how it ended.
    pub fn run(&self) -> ExitCode {
        let mut report = None;
        let mut ended = self.steps(&mut report);
        if let (true, Some(report)) = (self.args.json, &report) {
            let told = self.log.result(&self.json(report));
            ended = ended.and(told);
        }
        match ended {
            Ok(()) | Err(Error::BrokenPipe) => {
                let what = match self.args.mkfs {
                    true => "table and file systems are written and verified",
                    false => "the table is written and verified",
                };
                self.step("done", what, json!({ "status": 0 }));
                ExitCode::Done
            }
            Err(error) => {
                self.log.failed(self.name, &error);
                error.exit_code()
            }
        }
    }

    /// One document for one device, one line each for several.
    fn json(&self, report: &Report) -> String {
        let text = json::render(report);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) if self.args.devices.len() > 1 => format!("{value}\n"),
            _ => text,
        }
    }

    fn step(&self, step: &str, text: &str, facts: serde_json::Value) {
        self.log.step(self.name, step, text, facts);
    }

    /// A line with nothing for programs but its text.
    fn say(&self, step: &str, text: &str) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        self.step(step, &lines.join("; "), json!({}));
    }

    /// What is known of the device stays in `known`, however it ends.
    fn steps(&self, known: &mut Option<Report>) -> Result<(), Error> {
        let args = self.args;
        target::check(self.name, args.sector_size, "wizard")?;
        let mut looked = target::look(self.name, args.seed, args.sector_size, "wizard")?;
        // Before a scan of minutes: whether this is the device that is meant.
        let mut asker = asker(&args.consent)?;
        ask(asker.as_mut(), &looked.for_people(self.name))?;
        let bus = self.buses.of(looked.disk());
        let place = backup_file::place(args.backup.as_deref(), self.name)?;
        self.tell_device(looked.reader().facts());
        let measured = self.measure(looked, &bus, known);
        let saved = known.as_ref().map_or(Ok(()), |report| self.save(report));
        measured.and(saved)?;
        let Some(report) = known.clone() else {
            return Ok(());
        };
        self.tell_geometry(&report);
        not_measured(args.intent.require_measured, &report)?;
        self.put(Ground::of(report), &bus, &place, asker.as_mut())
    }

    /// Into the files that were asked for.
    fn save(&self, report: &Report) -> Result<(), Error> {
        if let Some(path) = &self.args.report {
            write_file::write(path, &json::render(report))?;
        }
        match &self.args.html {
            Some(path) => deliver::write_html(path, report, self.args.html_serial),
            None => Ok(()),
        }
    }

    /// From the device to a report, by a scan or from a profile.
    fn measure(&self, looked: Looked, bus: &Bus, known: &mut Option<Report>) -> Result<(), Error> {
        if let Some(profile) = self.profile {
            return self.compare(profile, looked, bus, known);
        }
        // The scan opens the device as it needs it.
        drop(looked);
        let _turn = bus.timing(&|bus| self.wait(bus));
        self.go_on()?;
        let Examined {
            mut report,
            trouble,
            also,
        } = self.scan()?;
        if let (true, Some(block)) = (Path::new(self.name).is_file(), self.args.sector_size) {
            report.device = with_block(report.device, block);
        }
        *known = Some(report);
        // Whatever went wrong, nothing more is done to this device.
        match trouble.into_iter().chain(also).reduce(worse) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The report of a profile, checked when that was asked for.
    fn compare(
        &self,
        profile: &Profile,
        mut looked: Looked,
        bus: &Bus,
        known: &mut Option<Report>,
    ) -> Result<(), Error> {
        let report = known.insert(profile.apply(looked.reader().facts())?);
        if !self.args.verify_profile {
            return Ok(());
        }
        let _turn = bus.timing(&|bus| self.wait(bus));
        self.go_on()?;
        let fit = profile.verify(report, looked.reader(), self.args.seed, self.interrupted)?;
        match fit {
            Fit::NotTold(why) if self.args.intent.require_measured => Err(Error::new(
                ExitCode::NotTold,
                format!("whether the profile fits could not be told: {why}"),
            )
            .hint("leave out --require-measured, or scan this device without --profile")),
            Fit::NotTold(_) | Fit::Contradicted(_) => Ok(()),
            Fit::Fits => {
                self.step(
                    "profile",
                    "the erase block of the profile fits this device",
                    json!({ "reads": report.cost.reads }),
                );
                Ok(())
            }
        }
    }

    fn scan(&self) -> Result<Examined, Error> {
        let args = self.args;
        let samples = SamplesFile::new(args.samples.as_deref(), &source::files_of(self.name))?;
        let say = |text: &str| self.say("scan", text);
        let watch = self.watch(&say);
        let tests = match args.write_tests {
            None | Some(WriteTests::None) => {
                let limit = args.time_limit.as_secs_f64();
                self.say(
                    "scan",
                    &match Path::new(self.name).is_file() {
                        true => "none: an image file has no flash to time".to_owned(),
                        false => format!("by reads alone, at most {limit} s"),
                    },
                );
                return examine_and_keep(self.name, args.seed, args.time_limit, &samples, watch);
            }
            Some(WriteTests::Preserve) => Tests::Preserve,
            Some(WriteTests::Destroy) => Tests::Destroy,
        };
        let how = How::of_wizard(args, self.name, tests, &samples);
        examine(&how, Some(asker(&args.consent)?.as_mut()), watch)
    }

    /// The layout onto the device.
    fn put(
        &self,
        ground: Ground,
        bus: &Bus,
        place: &Place,
        asker: &mut dyn Ask,
    ) -> Result<(), Error> {
        let args = self.args;
        let job = Job {
            name: self.name,
            command: "wizard",
            seed: args.seed,
            sector_size: args.sector_size,
            mkfs: args.mkfs,
            discard: args.discard,
            place,
        };
        let _turn = bus.writing(&|bus| self.wait(bus));
        self.go_on()?;
        let ready = Ready::new(&job, &ground, self.intent)?;
        let before = holds(ready.prepared().before());
        self.step("before", &before, json!({ "before": before }));
        self.tell_layout(ready.prepared().layout());
        ready.ask(asker)?;
        let say = |text: &str| self.say("write", text);
        let written = ready.write(self.watch(&say))?;
        self.step(
            "write",
            &format!(
                "what was there is saved in {}; to undo: {}",
                on_one_line(&written.backup.to_string_lossy()),
                written.undo
            ),
            json!({ "backup": written.backup.display().to_string(), "undo": written.undo }),
        );
        let made = match &written.shown {
            Ok(()) => {
                let say = |text: &str| self.say("mkfs", text);
                written.make_file_systems(self.name, self.watch(&say))
            }
            Err(error) => Err(error.clone()),
        };
        // At one stroke, so that what is told of several devices does not mix.
        let mut text = written.text.clone();
        if let Ok(made) = &made {
            text += made;
        }
        let told = if args.json {
            Ok(())
        } else {
            let told = self.log.result(&text);
            told.map_err(|error| written.untold(error))
        };
        made?;
        told
    }

    fn watch<'w>(&'w self, say: &'w dyn Fn(&str)) -> Watch<'w> {
        Watch {
            interrupted: self.interrupted,
            lines: self.log.lines(),
            say,
        }
    }

    /// Whether Ctrl-C came.
    fn go_on(&self) -> Result<(), Error> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(interrupted(self.name));
        }
        Ok(())
    }

    fn wait(&self, bus: &str) {
        let text = format!("another device on the bus {bus} is being timed or written");
        self.step("wait", &text, json!({ "bus": bus }));
    }

    fn tell_device(&self, facts: &Facts) {
        let capacity = facts.capacity.unwrap_or_default();
        let who = [&facts.vendor, &facts.model];
        let mut words: Vec<String> = who.into_iter().flatten().cloned().collect();
        words.extend(
            facts
                .serial
                .iter()
                .map(|serial| format!("serial number {serial}")),
        );
        words.push(format!("{} bytes", capacity.get()));
        self.step(
            "device",
            &words.join(", "),
            json!({
                "vendor": facts.vendor,
                "model": facts.model,
                "serial": facts.serial,
                "capacity_bytes": capacity.get(),
            }),
        );
        if let Some(caution) = target::caution(facts) {
            self.tell_warning("built_in", &caution);
        }
    }

    fn tell_geometry(&self, report: &Report) {
        let found = &report.geometry.erase_block;
        let grid = report.alignment.alignment;
        let block = match found.bytes {
            Some(bytes) => format!("{bytes} ({})", found.verdict),
            None => found.verdict.to_string(),
        };
        self.step(
            "geometry",
            &format!("erase block: {block}; partitions on multiples of {grid}"),
            json!({
                "verdict": found.verdict,
                "erase_block_bytes": found.bytes.map(Bytes::get),
                "alignment_bytes": grid.grain().get(),
                "phase_bytes": grid.phase().get(),
            }),
        );
        for warning in &report.warnings {
            self.tell_warning(&warning.code, &warning.text);
        }
    }

    fn tell_layout(&self, layout: &Layout) {
        let partitions: Vec<String> = layout
            .partitions
            .iter()
            .map(|it| format!("{} from sector {}", it.filesystem, it.first))
            .collect();
        self.step(
            "layout",
            &format!("{} table: {}", layout.table, partitions.join(", ")),
            json!({ "table": layout.table.to_string(), "disk_id": layout.disk_id.to_string() }),
        );
        for warning in &layout.warnings {
            self.tell_warning(&warning.code, &warning.text);
        }
    }

    fn tell_warning(&self, code: &str, text: &str) {
        self.step("warning", text, json!({ "code": code }));
    }
}

/// The one of two errors that decides the exit code.
fn worse(one: Error, other: Error) -> Error {
    let (a, b) = (one.exit_code(), other.exit_code());
    if a.worse(b) == a { one } else { other }
}

//! `flashfit` at a terminal: the conversation of [`crate::wizard`], carried out with the functions that
//! `list`, `scan`, `plan` and `write` call.
//!
//! | file | question |
//! |---|---|
//! | `look` | what is there, and what is on it now? |
//! | `measure` | how does the device become a report, and where is that kept? |
//! | `put` | how does the layout get onto the device? |
//! | `person` | who is asked, and was consent put off? |

mod look;
mod measure;
mod person;
mod put;

use super::arrange::{arrange, present_id};
use super::intent::intent;
use super::progress::Watch;
use super::provision::profile::Profile;
use super::{backup_file, consent, deliver, interrupt, source, tell};
use crate::cli::{WizardArgs, WriteTests};
use crate::error::{Error, ExitCode};
use crate::output::report::Report;
use crate::plan::Layout;
use crate::plan::intent::{DiskIdChoice, Intent};
use crate::wizard::{Ask, Conversation, Depth, End, Given, Next, Terminal};
use person::Person;
use std::sync::atomic::AtomicBool;

/// Do it.
///
/// # Errors
/// No terminal to ask at, a device that fails or goes away, and every end but a good one.
pub fn wizard(args: &WizardArgs) -> Result<ExitCode, Error> {
    if !Terminal::is_there() {
        return Err(Error::usage(
            "there is no terminal to ask at, and without --yes the wizard asks",
        )
        .hint(
            "unattended: flashfit wizard DEVICE --yes and --expect SERIAL or --expect-size SIZE; \
                 what else there is: flashfit --help",
        ));
    }
    let intent = intent(&args.intent, "wizard")?;
    deliver::check_wizard(args)?;
    // Before a scan of minutes: a name that is taken.
    backup_file::place(args.backup.as_deref(), "device")?;
    let profile = args.profile.as_deref().map(Profile::read).transpose()?;
    let interrupted = interrupt::listen()?;
    let terminal = Terminal::new(consent::expectations(&args.consent), interrupted.clone());
    let mut run = Run {
        args,
        profile,
        interrupted: &interrupted,
        person: Person::new(Box::new(terminal.with_way_back())),
    };
    let given = Given {
        devices: args.devices.clone(),
        depth: given_depth(args),
        intent,
    };
    run.talk(Conversation::new(given))
}

/// How closely to look, where that was said.
fn given_depth(args: &WizardArgs) -> Option<Depth> {
    match args.write_tests {
        None => args.profile.as_ref().map(|_| Depth::Read),
        Some(WriteTests::None) => Some(Depth::Read),
        Some(WriteTests::Preserve) => Some(Depth::Preserve),
        Some(WriteTests::Destroy) => Some(Depth::Destroy),
    }
}

/// A conversation that is carried out.
struct Run<'a> {
    args: &'a WizardArgs,
    profile: Option<Profile>,
    interrupted: &'a AtomicBool,
    person: Person,
}

impl Run<'_> {
    fn watch(&self) -> Watch<'_> {
        Watch::alone(self.interrupted)
    }

    /// To its end.
    fn talk(&mut self, mut talk: Conversation) -> Result<ExitCode, Error> {
        loop {
            match talk.next() {
                Next::Ask(question) => talk.answer(self.person.choose(&question)),
                Next::Find(names) => {
                    tell("looking at what is plugged in ...\n");
                    let (candidates, others) = look::find(self.args, &names);
                    talk.found(candidates, others);
                }
                Next::Look(name) => match look::look(self.args, &name) {
                    Ok(looked) => talk.looked(looked),
                    Err(error) => go_on(talk.failed(&error.to_string()), error)?,
                },
                Next::Scan { device, depth } => self.measure(&mut talk, &device, depth)?,
                Next::Plan(intent) => match self.plan(&talk, &intent) {
                    Ok(layout) => talk.planned(layout),
                    Err(error) => go_on(talk.failed(&error.to_string()), error)?,
                },
                Next::Prepare | Next::Write { .. } => {
                    if let Some(code) = self.put(&mut talk)? {
                        return Ok(code);
                    }
                }
                Next::Release => talk.released(),
                Next::End(end) => return over(end, talk.device()),
            }
        }
    }

    /// A layout for the device by what is known of it.
    fn plan(&self, talk: &Conversation, intent: &Intent) -> Result<Layout, Error> {
        let report: &Report = talk
            .report()
            .ok_or_else(|| Error::failed("nothing is known of the device yet"))?;
        let present = match intent.disk_id {
            DiskIdChoice::Keep => {
                let mut opened = source::open(talk.device(), self.args.seed, "wizard")?;
                present_id(opened.device(), intent)?
            }
            DiskIdChoice::Random | DiskIdChoice::Given(_) => None,
        };
        arrange(
            &report.device,
            &report.alignment,
            Some(&report.geometry),
            intent,
            present,
        )
    }
}

/// An error ends it only where the conversation knows no way to go on.
fn go_on(goes_on: bool, error: Error) -> Result<(), Error> {
    // What was done by Ctrl-C is not asked about.
    if goes_on && error.exit_code() != ExitCode::Interrupted {
        return Ok(());
    }
    Err(error)
}

/// How it ended without a table being written.
fn over(end: End, device: &str) -> Result<ExitCode, Error> {
    let before = match device {
        "" => String::new(),
        name => format!("{}: ", name.escape_debug()),
    };
    match end {
        End::Stopped => Ok(ExitCode::Done),
        End::Quit => Err(Error::new(
            ExitCode::Declined,
            format!("{before}left by you, no table was written"),
        )),
        End::Interrupted => Err(Error::new(
            ExitCode::Interrupted,
            format!("{before}interrupted, no table was written"),
        )),
    }
}

//! How does the layout get onto the device? From the opening on nobody else can use it; where the
//! person goes back, it is let go of.

use super::Run;
use super::go_on;
use crate::error::{Error, ExitCode};
use crate::output::change_text;
use crate::plan::Layout;
use crate::plan::intent::Intent;
use crate::quote::shell_word;
use crate::run::backup_file;
use crate::run::ground::Ground;
use crate::run::progress::Watch;
use crate::run::put::{Job, Ready};
use crate::run::source::SIMULATED;
use crate::run::{print, target, tell};
use crate::wizard::{Ask, Conversation, Farewell, Nature, Next, Preview, farewell};
use std::path::Path;

impl Run<'_> {
    /// Open the device, show what a write would do, ask, and write. `None` when it was let go of.
    ///
    /// # Errors
    /// No consent, a backup that cannot be kept, a write that failed.
    pub(super) fn put(&mut self, talk: &mut Conversation) -> Result<Option<ExitCode>, Error> {
        let (Some(layout), Some(report)) = (talk.layout().cloned(), talk.report()) else {
            return Err(Error::failed("there is no layout to write yet"));
        };
        let ground = Ground::Arranged {
            layout: Box::new(layout.clone()),
            device: Box::new(report.device.clone()),
        };
        let device = talk.device().to_owned();
        let place = backup_file::place(self.args.backup.as_deref(), &device)?;
        let job = Job {
            name: &device,
            command: "wizard",
            seed: self.args.seed,
            sector_size: self.args.sector_size,
            mkfs: false,
            discard: self.args.discard,
            place: &place,
        };
        // The layout is made: nothing of an intent is left to be done.
        let mut ready = match Ready::new(&job, &ground, &Intent::default()) {
            Ok(ready) => ready,
            Err(error) => {
                go_on(talk.failed(&error.to_string()), error)?;
                return Ok(None);
            }
        };
        talk.prepared(preview(&mut ready, &layout));
        loop {
            match talk.next() {
                Next::Ask(question) => talk.answer(self.person.choose(&question)),
                Next::Write { format } => match ready.ask(&mut self.person) {
                    Err(_) if self.person.put_off() && talk.taken_back() => {}
                    asked => {
                        asked?;
                        return self.write(ready, format, talk).map(Some);
                    }
                },
                Next::Release => {
                    talk.released();
                    return Ok(None);
                }
                _ => return Ok(None),
            }
        }
    }

    /// With consent: write, and say what is to be done next.
    fn write(
        &self,
        mut ready: Ready<'_>,
        format: bool,
        talk: &Conversation,
    ) -> Result<ExitCode, Error> {
        if !format {
            ready.leave_file_systems();
        }
        let watch = Watch::alone(self.interrupted);
        tell("writing, and reading back ...\n");
        let written = ready.write(watch)?;
        print(written.text.as_bytes()).map_err(|error| written.untold(error))?;
        written.shown.clone()?;
        print(written.make_file_systems(talk.device(), watch)?.as_bytes())?;
        let device = talk.device();
        let nature = if device.starts_with(SIMULATED) {
            Nature::Simulated
        } else if Path::new(device).is_file() {
            Nature::Image
        } else {
            Nature::Disk
        };
        if let Some(layout) = talk.layout() {
            tell(&farewell(&Farewell {
                device: &shell_word(device),
                nature,
                layout,
                formatted: format,
                report: talk.kept(),
            }));
        }
        Ok(ExitCode::Done)
    }
}

/// What a write would do, and whether file systems can be made.
fn preview(ready: &mut Ready<'_>, layout: &Layout) -> Preview {
    let format = match ready.find_tools() {
        Ok(()) => Ok(layout.mkfs.clone()),
        // Nobody typed the option that it is about.
        Err(error) => Err(error.to_string().replace("--mkfs: ", "")),
    };
    let mut text = change_text::changes(ready.facts(), ready.prepared());
    if let Some(caution) = target::caution(ready.facts()) {
        text += &format!("\nwarning: {caution}\n");
    }
    Preview {
        text,
        details: ready.preview(),
        format,
    }
}

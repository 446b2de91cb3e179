//! `flashfit wizard DEVICE... --yes`: the wizard with nobody to ask. Options and defaults answer, stdin is
//! not read, and every step is one line on stderr.
//!
//! Every device has a thread of its own, and goes through the steps of `scan` and `write`, through the same
//! functions. One that fails does not stop the others.
//!
//! | file | question |
//! |---|---|
//! | `device` | what is done with one device? |
//! | `profile` | what if a stick of the same model was measured before? |
//! | `bus` | who may be timed, when others hang on the same bus? |
//! | `log` | what is told, and how? |
//! | `refuse` | which options make no sense together? |

mod bus;
mod device;
mod log;
pub(super) mod profile;
mod refuse;

use super::consent::asker;
use super::intent::intent;
use super::{deliver, interrupt};
use crate::cli::{LogForm, WizardArgs};
use crate::error::{Error, ExitCode};
use bus::Buses;
use device::Task;
use log::Log;
use profile::Profile;

/// Do it.
///
/// # Errors
/// What is wrong whatever the devices, where the log is for people. What goes wrong with one of them is
/// logged, and the exit code is that of the worst.
pub fn provision(args: &WizardArgs) -> Result<ExitCode, Error> {
    let log = Log::new(args.log);
    match all(args, &log) {
        Err(error) if args.log == LogForm::Json => {
            log.not_begun(&error);
            Ok(error.exit_code())
        }
        ended => ended,
    }
}

fn all(args: &WizardArgs, log: &Log) -> Result<ExitCode, Error> {
    refuse::nonsense(args)?;
    let intent = intent(&args.intent, "wizard")?;
    // Each device is asked about by itself; whether anything is expected at all is known now.
    asker(&args.consent)?;
    let profile = args.profile.as_deref().map(Profile::read).transpose()?;
    deliver::check_wizard(args)?;
    let interrupted = interrupt::listen()?;
    let buses = Buses::default();
    let task = |name| Task {
        args,
        name,
        intent: &intent,
        profile: profile.as_ref(),
        buses: &buses,
        log,
        interrupted: &interrupted,
    };
    let codes: Vec<ExitCode> = std::thread::scope(|scope| {
        let running: Vec<_> = args
            .devices
            .iter()
            .map(|name| scope.spawn(move || task(name).run()))
            .collect();
        running
            .into_iter()
            // A thread that panicked told so itself.
            .map(|thread| thread.join().unwrap_or(ExitCode::Failed))
            .collect()
    });
    if args.devices.len() > 1 {
        log.all_ended(&args.devices, &codes);
    }
    Ok(ExitCode::worst(codes))
}

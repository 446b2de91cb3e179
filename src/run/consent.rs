//! Who is asked, and what the answer means for the run.

use super::interrupt;
use crate::cli::{self, ConsentArgs};
use crate::error::{Error, ExitCode};
use crate::wizard::{Ask, AssumeYes, Consent, Expectations, ExpectedSize, Target, Terminal};
use std::io::IsTerminal;

/// Whoever will be asked. Decided before anything else, so that nobody waits for a scan in vain.
///
/// # Errors
/// `--yes` without saying for what, and nobody to ask.
pub fn asker(args: &ConsentArgs) -> Result<Box<dyn Ask>, Error> {
    let expected = expectations(args);
    if args.yes {
        return match AssumeYes::new(expected) {
            Some(yes) => Ok(Box::new(yes)),
            None => Err(
                Error::usage("--yes consents to writing whatever device is there")
                    .hint("say which one is meant, with --expect SERIAL or --expect-size SIZE"),
            ),
        };
    }
    if !std::io::stdin().is_terminal() {
        return Err(Error::usage(
            "there is no terminal to ask at whether the device may be written",
        )
        .hint("for unattended use give --yes and --expect SERIAL or --expect-size SIZE"));
    }
    Ok(Box::new(Terminal::new(expected, interrupt::listen()?)))
}

/// What was said beforehand of the device that may be written.
pub fn expectations(args: &ConsentArgs) -> Expectations {
    Expectations {
        names: args.expect.clone(),
        size: args.expect_size.map(|size| match size {
            cli::ExpectedSize::Exactly(size) => ExpectedSize::Exactly(size),
            cli::ExpectedSize::About(size) => ExpectedSize::About(size),
        }),
    }
}

/// Ask.
///
/// # Errors
/// Every answer but yes.
pub fn ask(asker: &mut dyn Ask, target: &Target) -> Result<(), Error> {
    match asker.consent(target) {
        Consent::Given => Ok(()),
        // Whoever can go back knows that it was this.
        Consent::Declined | Consent::Back => Err(Error::new(
            ExitCode::Declined,
            format!("{}: declined, nothing was written", target.name),
        )),
        Consent::NotExpected(reason) => Err(Error::refused(reason)
            .hint("nothing was written; see what there is with: flashfit list")),
        Consent::Interrupted => Err(Error::new(
            ExitCode::Interrupted,
            format!("{}: interrupted, nothing was written", target.name),
        )),
    }
}

//! A person at a terminal.

use super::{Ask, Consent, Expectations, Target};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often a wrong answer may be typed.
const TRIES: u32 = 3;

/// How soon Ctrl-C is noticed while nobody types.
const LOOK: Duration = Duration::from_millis(50);

/// Asks on stderr and reads stdin.
pub struct Terminal {
    expected: Expectations,
    interrupted: Arc<AtomicBool>,
}

/// Ctrl-C came instead of an answer.
pub(super) struct Interrupted;

impl Terminal {
    /// A device that is not as expected is refused without a question. `interrupted` is set by
    /// Ctrl-C.
    pub fn new(expected: Expectations, interrupted: Arc<AtomicBool>) -> Terminal {
        Terminal {
            expected,
            interrupted,
        }
    }

    fn say(text: &str) {
        // With stderr closed there is nobody to ask; the answer will be missing as well.
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }

    /// One line, `None` at the end of the input. Read elsewhere, because a handled signal does not
    /// end a read.
    fn line(&self) -> Result<Option<String>, Interrupted> {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let line = read.ok().filter(|length| *length > 0).map(|_| line);
            // Nobody listens any more after an interrupt.
            let _ = send.send(line);
        });
        loop {
            match receive.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.interrupted.load(Ordering::Relaxed) => {
                    return Err(Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Ask for Terminal {
    fn consent(&mut self, target: &Target) -> Consent {
        ask_three_times(&self.expected, target, |question| {
            Terminal::say(&question);
            self.line()
        })
    }

    fn reads_warnings(&self) -> bool {
        true
    }
}

/// Put the question, up to three times, to whoever `answer` is.
pub(super) fn ask_three_times(
    expected: &Expectations,
    target: &Target,
    mut answer: impl FnMut(String) -> Result<Option<String>, Interrupted>,
) -> Consent {
    if let Err(reason) = expected.check(target) {
        return Consent::NotExpected(reason);
    }
    let name = target.other_names.last().unwrap_or(&target.name);
    for tried in 0..TRIES {
        let again = if tried > 0 { "that is not it. " } else { "" };
        let question = format!(
            "{again}To write to {}, type its name ({name}) or its size ({}): ",
            target.name.escape_debug(),
            target.capacity.get()
        );
        match answer(question) {
            Err(Interrupted) => return Consent::Interrupted,
            Ok(None) => return Consent::Declined,
            Ok(Some(line)) if target.is_named_by(&line) => return Consent::Given,
            Ok(Some(_)) => {}
        }
    }
    Consent::Declined
}

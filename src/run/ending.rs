//! How a run ends when the result is out and several things may have gone wrong.

use super::complain;
use crate::error::{Error, ExitCode};

/// Collects what went wrong; the worst decides the exit code.
pub struct Ending {
    code: ExitCode,
    errors: Vec<Error>,
}

impl Ending {
    /// Nothing wrong so far, apart from `code`.
    pub fn new(code: ExitCode) -> Ending {
        Ending {
            code,
            errors: Vec::new(),
        }
    }

    /// One step more, and how it went.
    pub fn add(&mut self, step: Result<(), Error>) {
        self.errors.extend(step.err());
    }

    /// Tell what went wrong, one line each, and give the worst exit code.
    pub fn finish(self) -> ExitCode {
        self.errors.iter().for_each(complain);
        ExitCode::worst(self.errors.iter().map(Error::exit_code).chain([self.code]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_decides_and_a_reader_that_went_away_counts_nothing() {
        let mut ending = Ending::new(ExitCode::NotTold);
        ending.add(Ok(()));
        ending.add(Err(Error::BrokenPipe));
        assert_eq!(ending.finish(), ExitCode::NotTold);
        let mut ending = Ending::new(ExitCode::NotTold);
        ending.add(Err(Error::io("unplugged, as this test wants it")));
        ending.add(Err(Error::failed("disk full, as this test wants it")));
        assert_eq!(ending.finish(), ExitCode::Io);
    }
}

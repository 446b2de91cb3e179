//! The file that `--samples` names.

use super::scan::{Options, Writes};
use super::write_file::check_option;
use crate::device::wrappers::samples::SampleLog;
use crate::error::Error;
use crate::geometry::Warning;
use crate::measure::territory::Territory;
use crate::units::{ByteRange, Bytes};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the run was made, as its first line keeps it.
#[derive(Serialize, Deserialize)]
pub struct SavedOptions {
    time_limit_nanoseconds: u64,
    seed: u64,
    in_use: bool,
    writes: Option<SavedWrites>,
}

#[derive(Serialize, Deserialize)]
struct SavedWrites {
    limit: Bytes,
    territory: Vec<ByteRange>,
}

/// What happened outside of the stages, as the last line keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// Ctrl-C ended it.
    pub interrupted: bool,
    /// The medium was exchanged.
    pub exchanged: bool,
    /// Who uses the device, in words.
    pub uses: Vec<String>,
    /// What the runner has to say.
    pub notes: Vec<Warning>,
    /// Writes that put back what was there.
    pub writes_back: u64,
    /// Bytes of these.
    pub bytes_back: Bytes,
}

impl SavedOptions {
    /// From those of a run.
    pub fn of(options: Options, writes: Option<&Writes>) -> SavedOptions {
        let nanoseconds = options.time_limit.as_nanos();
        SavedOptions {
            time_limit_nanoseconds: u64::try_from(nanoseconds).unwrap_or(u64::MAX),
            seed: options.seed,
            in_use: options.in_use,
            writes: writes.map(|writes| SavedWrites {
                limit: writes.limit,
                territory: writes.territory.free().to_vec(),
            }),
        }
    }

    /// As they were.
    pub fn restore(&self) -> (Options, Option<Writes>) {
        let options = Options {
            time_limit: Duration::from_nanos(self.time_limit_nanoseconds),
            seed: self.seed,
            in_use: self.in_use,
        };
        let writes = self.writes.as_ref().map(|writes| Writes {
            limit: writes.limit,
            territory: Territory::new(writes.territory.iter().copied()),
        });
        (options, writes)
    }

    /// As JSON for the first line.
    pub fn value(&self) -> serde_json::Value {
        // Numbers, booleans and lists: cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Where the accesses of a run go: a file, or nowhere.
pub struct SamplesFile {
    path: Option<PathBuf>,
}

impl SamplesFile {
    /// The file of this name, or none. It must not be one of `inputs`.
    ///
    /// # Errors
    /// A name that cannot be written to.
    pub fn new(path: Option<&Path>, inputs: &[PathBuf]) -> Result<SamplesFile, Error> {
        if let Some(path) = path {
            check_option("--samples", path, inputs)?;
        }
        Ok(SamplesFile {
            path: path.map(Path::to_owned),
        })
    }

    /// Open it; what it held is lost.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Option<Box<dyn Write>>, Error> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        Ok(Some(Box::new(BufWriter::with_capacity(1 << 20, file))))
    }

    /// Write the last line.
    ///
    /// # Errors
    /// The file is not complete.
    pub fn finish(&self, log: Option<SampleLog>, after: &After) -> Result<(), Error> {
        let (Some(path), Some(log)) = (&self.path, log) else {
            return Ok(());
        };
        let words = serde_json::to_value(after).unwrap_or_default();
        log.end(words).map_err(|error| failed(path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::failed(format!("cannot write {}: {error}", path.display()))
        .hint("name another file after --samples")
}

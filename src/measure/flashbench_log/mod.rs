//! flashbench output in whatever shape it was pasted: bytes in, [`Run`]s out.
//!
//! Three kinds of runs are read: alignment scans (`-a`), open-AU tests (`-O`) and FAT-area tests
//! (`-f`). Each keeps what its command line asked for as far as it is known; a fragment without a
//! command line is a run of which only the lines are known. Nothing is interpreted here beyond the
//! restoring of cut fields and lost units.
//!
//! The text is read once, word by word: time is linear, and memory grows only with the lines found,
//! of which at most [`MOST_LINES`] are kept.

mod arithmetic;
mod assemble;
mod command;
mod difference;
mod glyphs;
mod loops;
mod number;
mod words;

pub use number::Timing;

use crate::units::Bytes;

/// The most lines kept of one text. The longest public log has about 600.
pub const MOST_LINES: usize = 200_000;

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Every run with at least one line, in the order of the text.
    pub runs: Vec<Run>,
    /// Capacities that lines around the runs mention (`fdisk -l`). A hint only: they may be another
    /// device's.
    pub capacities: Vec<Bytes>,
    /// Lines beyond [`MOST_LINES`] were left out.
    pub cut_short: bool,
}

/// One table of flashbench.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// `-a`: read times around places of each alignment.
    Align(AlignScan),
    /// `-O`: write rates with several open allocation units.
    OpenAu(OpenAuRun),
    /// `-f`: write rates of each of the first erase blocks.
    FindFat(FindFatRun),
}

/// The command line of a run. `None`: unknown. Options that were not given have flashbench's
/// default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The command line itself stands in front of the first line.
    pub has_command: bool,
    /// The device or partition.
    pub device: Option<String>,
    /// `--blocksize`: the request size of `-a`, the smallest one of `-O` and `-f`. Default 16 KiB.
    pub blocksize: Option<Bytes>,
    /// `--erasesize`, default 4 MiB.
    pub erasesize: Option<Bytes>,
    /// `--count`, default 8.
    pub count: Option<u64>,
    /// `--offset`, default 16 MiB rounded up to `erasesize`.
    pub offset: Option<Bytes>,
}

/// An alignment scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlignScan {
    /// Its command line.
    pub request: Request,
    /// Its lines, by falling alignment.
    pub lines: Vec<AlignLine>,
}

/// A line of an alignment scan: means over several places of the fastest of several reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignLine {
    /// The places are multiples of this.
    pub align: Bytes,
    /// The read that ends at the place.
    pub pre: Option<Timing>,
    /// The read that has the place in its middle.
    pub on: Option<Timing>,
    /// The read that starts at the place.
    pub post: Option<Timing>,
    /// `on - (pre + post) / 2`, printed or restored.
    pub difference: Timing,
}

/// An open-AU test: rates when `nr` allocation units are written in turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenAuRun {
    /// Its command line.
    pub request: Request,
    /// How many units were open.
    pub nr: Option<u64>,
    /// In random order inside each unit.
    pub random: Option<bool>,
    /// It was stopped (`Terminated`, `^C`).
    pub broken_off: bool,
    /// Its lines, by falling request size.
    pub lines: Vec<RateLine>,
}

/// A line of an open-AU test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLine {
    /// The request size.
    pub size: Bytes,
    /// The rate.
    pub bytes_per_second: f64,
}

/// A FAT-area test: rates in each of the first erase blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindFatRun {
    /// Its command line.
    pub request: Request,
    /// In random order inside each block.
    pub random: Option<bool>,
    /// It was stopped.
    pub broken_off: bool,
    /// Its lines, by falling request size.
    pub lines: Vec<FindFatLine>,
}

/// A line of a FAT-area test.
#[derive(Clone, Debug, PartialEq)]
pub struct FindFatLine {
    /// The request size.
    pub size: Bytes,
    /// The rate in each erase block from the start of the device, in bytes per second.
    pub bytes_per_second: Vec<f64>,
}

/// A text without any flashbench result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no flashbench results in it: give the output of 'flashbench -a', '-O' or '-f',")]
pub struct NoMeasurement;

/// Read a text. It may be in any encoding and of any length.
///
/// # Errors
/// [`NoMeasurement`] when no line of it is a result of flashbench.
pub fn parse(text: &[u8]) -> Result<Log, NoMeasurement> {
    let log = assemble::assemble(text);
    if log.runs.is_empty() {
        Err(NoMeasurement)
    } else {
        Ok(log)
    }
}

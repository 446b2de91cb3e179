//! The options of `scan`.

use super::{ConsentArgs, ReportArgs, values};
use crate::units::{Bytes, Size};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Options of `scan`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ScanArgs {
    /// Block device, image file, or sim:NAME
    pub device: String,
    /// Stop after this much time, such as 90s, 5m or 1h, and report what is known by then
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = values::duration)]
    pub time_limit: Duration,
    /// Choose which places are read, and in which order
    ///
    /// Two scans with the same seed read the same places; on a simulated stick they give the same
    /// report, apart from wall_seconds.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the report goes.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Save every timed access to FILE, one line of JSON each; flashfit analyze reads it
    ///
    /// The bytes that were read are not in it, only whether they were blank or repeated.
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// Test what only writes show: not at all, or putting everything back, or not putting it back
    #[arg(long, value_name = "HOW", value_enum, default_value_t = WriteTests::None,
        help_heading = "Write tests")]
    pub write_tests: WriteTests,
    /// Write no more than this, what is put back included; 1GiB when not given
    ///
    /// The flash itself may write eight times as much, as it copies whole erase blocks.
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size, help_heading = "Write tests")]
    pub write_limit: Option<Size>,
    /// With --write-tests preserve: keep the journal in this new file
    ///
    /// Without it the file goes to $XDG_STATE_HOME/flashfit, else for root to /var/lib/flashfit and
    /// for others to ~/.local/state/flashfit. It is removed when everything is put back.
    #[arg(long, value_name = "FILE", help_heading = "Write tests")]
    pub backup: Option<PathBuf>,
    /// Who says yes.
    #[command(flatten)]
    pub consent: ConsentArgs,
}

/// The most that write tests write when no limit is given. It allows the flash to copy eight times as
/// much, which counting open units takes on erase blocks of 64 MiB, the largest known.
pub const WRITE_LIMIT: Size = Size::Bytes(Bytes::gib(1));

/// How write tests treat the contents of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteTests {
    /// Write nothing
    None,
    /// Save what is overwritten and put it back
    Preserve,
    /// Overwrite without putting back: the contents of the device are lost
    Destroy,
}

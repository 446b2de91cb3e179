//! The options of the wizard, at a terminal and unattended.

use super::{ConsentArgs, IntentArgs, WriteTests, sector_size_parser, values};
use crate::units::{LogicalBlock, Size};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What is measured, which a profile stands in for.
const MEASURING: [&str; 4] = ["write_tests", "write_limit", "time_limit", "samples"];

/// Options of `wizard`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct WizardArgs {
    /// Block devices, image files, or sim:NAME; with none you are asked which
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Make the file systems too, with the real mkfs tools, and read them back
    ///
    /// The tools are looked for before anything is written. Afterwards the superblocks are read: the
    /// exit code is 8 when a file system does not lie where the layout wants it. On an image file this
    /// goes through a loop device, which needs root.
    #[arg(long)]
    pub mkfs: bool,
    /// Tell the device that it may forget the contents of the new partitions
    ///
    /// What is forgotten cannot be restored. A discard that fails does not fail the command.
    #[arg(long)]
    pub discard: bool,
    /// Save what is there now to this new file; for one device
    ///
    /// Without it the file goes to $XDG_STATE_HOME/flashfit, else for root to /var/lib/flashfit and
    /// for others to ~/.local/state/flashfit. A file that exists is never replaced.
    #[arg(long, value_name = "FILE")]
    pub backup: Option<PathBuf>,
    /// Logical block size that an image file is meant for; 512 when not given
    #[arg(long, value_name = "BYTES", value_parser = sector_size_parser())]
    pub sector_size: Option<LogicalBlock>,
    /// With --yes: how each step is logged on stderr
    ///
    /// A line of JSON has schema (flashfit.log/1), seconds since the start, device, step and text, and
    /// what belongs to the step: verdict and erase_block_bytes with geometry, backup and undo with write. The last
    /// step of each device is done or failed, with its exit code as status; of several devices a line
    /// without device ends the log, with step end.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = LogForm::Text, requires = "yes")]
    pub log: LogForm,
    /// Print the report as JSON; of several devices one line each, in the order in which they end
    #[arg(long)]
    pub json: bool,
    /// Also write the report as JSON to FILE; for one device
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Also write the report as a web page to FILE, with charts; for one device
    ///
    /// The serial number of the device is left out, and so are the places where it is mounted.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Tell the serial number in the web page
    #[arg(long, requires = "html")]
    pub html_serial: bool,
    /// Do not measure: take the geometry from FILE, the report of another stick of the same model
    ///
    /// scan --report wrote it. Vendor, model, size and logical block must be those of the device at hand,
    /// its serial number need not; of an image file only size and logical block are compared.
    #[arg(long, value_name = "FILE", conflicts_with_all = MEASURING, help_heading = "Instead of a scan")]
    pub profile: Option<PathBuf>,
    /// Spend 2 s of reads on checking that the erase block of the profile fits this very device
    ///
    /// A device that contradicts it is refused. One that does not show its erase block to reads, such as
    /// a stick that was never written, is only told of; with --require-measured it ends with exit code 3.
    #[arg(long, requires = "profile", help_heading = "Instead of a scan")]
    pub verify_profile: bool,
    /// Stop the scan after this much time, such as 90s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = values::duration,
        help_heading = "Scan")]
    pub time_limit: Duration,
    /// Choose which places are read, and in which order
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Scan")]
    pub seed: u64,
    /// Save every timed access to FILE; for one device
    #[arg(long, value_name = "FILE", help_heading = "Scan")]
    pub samples: Option<PathBuf>,
    /// Test what only writes show: not at all, or putting everything back, or not putting it back
    ///
    /// Not given, the wizard asks at a terminal, and unattended none are made.
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Scan")]
    pub write_tests: Option<WriteTests>,
    /// With --write-tests: write no more than this, what is put back included; 1GiB when not given
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size, help_heading = "Scan")]
    pub write_limit: Option<Size>,
    /// Who says yes.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// What the layout shall contain.
    #[command(flatten)]
    pub intent: IntentArgs,
}

/// How steps are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// One line for people each
    Text,
    /// One line of JSON each
    Json,
}

//! The options of the commands that write.

use super::{ExpectedSize, IntentArgs, sector_size_parser, values};
use crate::units::{LogicalBlock, Size};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options that say what a layout shall contain: a saved layout says it already.
pub(super) const INTENT: [&str; 11] = [
    "table",
    "partitions",
    "fs",
    "align",
    "keep_out",
    "reserve_end",
    "max_size",
    "boot",
    "disk_id",
    "id_seed",
    "require_measured",
];

/// Options of `write`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct WriteArgs {
    /// Block device, image file, or sim:NAME
    pub device: String,
    /// Show every sector that would be written and what it replaces, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Save what is there now to this new file
    ///
    /// Without it the file goes to $XDG_STATE_HOME/flashfit, else for root to /var/lib/flashfit and
    /// for others to ~/.local/state/flashfit. A file that exists is never replaced.
    #[arg(long, value_name = "FILE")]
    pub backup: Option<PathBuf>,
    /// Make the file systems too, with the real mkfs tools, and read them back
    ///
    /// The tools are looked for before anything is written. Afterwards the superblocks are read: the
    /// exit code is 8 when a file system does not lie where the layout wants it. On an image file this
    /// goes through a loop device, which needs root.
    #[arg(long)]
    pub mkfs: bool,
    /// Tell the device that it may forget the contents of the new partitions
    ///
    /// What is forgotten cannot be restored. Experience with cards is mixed: some became fast again,
    /// some were corrupted. A discard that fails does not fail the command.
    #[arg(long)]
    pub discard: bool,
    /// Read the geometry from FILE, which scan --report or analyze --report wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layout", "erase_block"],
        help_heading = "Instead of a scan")]
    report: Option<PathBuf>,
    /// Write the layout in FILE, which plan --format json printed
    #[arg(long, value_name = "FILE", conflicts_with = "erase_block",
        conflicts_with_all = INTENT, help_heading = "Instead of a scan")]
    layout: Option<PathBuf>,
    /// Erase block of the device; need not be a power of two
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size,
        help_heading = "Instead of a scan")]
    erase_block: Option<Size>,
    /// Where the first erase-block boundary lies, when it is not at the start of the device
    #[arg(long, value_name = "SIZE", requires = "erase_block", value_parser = values::size,
        help_heading = "Instead of a scan")]
    phase: Option<Size>,
    /// Size of the device: it must be exactly this
    #[arg(long, value_name = "SIZE", requires = "erase_block", value_parser = values::positive_size,
        help_heading = "Instead of a scan")]
    pub capacity: Option<Size>,
    /// Logical block size that an image file is meant for; 512 when not given
    #[arg(long, value_name = "BYTES", value_parser = sector_size_parser())]
    pub sector_size: Option<LogicalBlock>,
    /// Stop the scan after this much time, such as 90s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "5m",
        conflicts_with_all = ["report", "layout", "erase_block"], value_parser = values::duration,
        help_heading = "Scan")]
    pub time_limit: Duration,
    /// Choose which places are read, and in which order
    #[arg(long, value_name = "N", default_value_t = 1,
        conflicts_with_all = ["report", "layout", "erase_block"], help_heading = "Scan")]
    pub seed: u64,
    /// Who says yes.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// What the layout shall contain.
    #[command(flatten)]
    pub intent: IntentArgs,
}

/// Options of `restore`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct RestoreArgs {
    /// Block device, image file, or sim:NAME
    pub device: String,
    /// The backup that write saved, or the journal of write tests
    #[arg(long, value_name = "FILE")]
    pub backup: PathBuf,
    /// Show what would be put back, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Who says yes.
    #[command(flatten)]
    pub consent: ConsentArgs,
}

/// Who consents to writing, and to what.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Consent")]
pub struct ConsentArgs {
    /// Do not ask; needs --expect or --expect-size, so that only the device meant is written
    #[arg(long)]
    pub yes: bool,
    /// Refuse a device that does not have this serial number or by-id name. Repeat it for more
    #[arg(long, value_name = "SERIAL|BY-ID", value_parser = NonEmptyStringValueParser::new())]
    pub expect: Vec<String>,
    /// Refuse a device of another size; ~32GB allows a tenth more or less
    #[arg(long, value_name = "SIZE", value_parser = values::expected_size)]
    pub expect_size: Option<ExpectedSize>,
}

/// Where `write` takes the layout from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSource<'a> {
    /// Scan the device now.
    Scan,
    /// A saved report.
    Report(&'a Path),
    /// A saved layout.
    Layout(&'a Path),
    /// Numbers given by hand.
    Given {
        /// The erase block.
        erase_block: Size,
        /// Its first boundary, when given.
        phase: Option<Size>,
    },
}

impl WriteArgs {
    /// Where the layout comes from.
    pub fn source(&self) -> WriteSource<'_> {
        match self {
            WriteArgs {
                report: Some(report),
                ..
            } => WriteSource::Report(report),
            WriteArgs {
                layout: Some(layout),
                ..
            } => WriteSource::Layout(layout),
            WriteArgs {
                erase_block: Some(erase_block),
                phase,
                ..
            } => WriteSource::Given {
                erase_block: *erase_block,
                phase: *phase,
            },
            _ => WriteSource::Scan,
        }
    }
}

//! What was typed: the command line, nothing more.
//!
//! These types hold the words of the user. What the words mean (which device, which alignment,
//! whether a size fits) is decided in `run`, which turns them into the types of the stages.
//! The man page and the shell completions are made from the same definitions.

mod layout;
pub mod man;
mod report;
mod scan;
mod usage;
mod values;
mod wizard;
mod words;
mod write;

pub use layout::{BootChoice, FILE_SYSTEMS, FatArea, IntentArgs, Purpose, TableChoice};
pub use report::ReportArgs;
pub use scan::{ScanArgs, WRITE_LIMIT, WriteTests};
pub use usage::usage_error;
pub use values::{ExpectedSize, SizeRange};
pub use wizard::{LogForm, WizardArgs};
pub use words::words;
pub use write::{ConsentArgs, RestoreArgs, WriteArgs, WriteSource};

use crate::units::{LogicalBlock, Size};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;
use write::INTENT;

/// Find out how a USB stick, SD card or eMMC is built inside, and lay partitions out to fit
///
/// Flash media write and erase in large units, the erase blocks. A partition that starts in the
/// middle of one makes the stick slower and wears it out sooner, but no stick tells the size of its
/// erase blocks. flashfit times short reads, tells the erase block and how sure that is, and
/// proposes a partition table to fit, and writes it when it is told to. Only wizard, write, restore and
/// scan --write-tests write to a device. wizard, write and --write-tests preserve save what was there
/// first; all but scan --write-tests preserve ask you to type the name or the size of the device.
///
/// Without a command flashfit is the wizard: flashfit DEVICE means flashfit wizard DEVICE.
///
/// DEVICE is a block device by any path (/dev/sdX, /dev/disk/by-id/...), an image file, or a
/// simulated stick: sim:NAME for one that is built in, sim:./my.toml for one of your own. With a
/// simulated stick everything can be tried without hardware.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "flashfit",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Try it: flashfit scan sim:corsair-voyager",
    after_long_help = man::EXAMPLES_HELP
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Scan, lay out and write, step by step: what flashfit does when no command is named
    ///
    /// At a terminal you are asked at every step. In a window the arrow keys and Enter choose an answer, the step
    /// before, or reasons and details; q, Esc or Ctrl-C leave. On a plain console, over a serial line, in a small window and with
    /// TERM=dumb nothing is redrawn, and one key answers: the number of an answer, Enter for the one that is named behind the question, b to
    /// go back, letters for reasons and details. Nothing is written to a real device before you have typed its name.
    /// There are no colours, and 80 by 24 is enough.
    ///
    /// With --yes nobody is asked and stdin is not read: options and defaults answer. One line
    /// for each step goes to stderr, results go to stdout.
    ///
    /// With --yes several devices are done at once; only scans of devices on one USB bus wait for one another,
    /// as they would disturb each other's times. A device that fails does not stop the others,
    /// and the exit code is that of the worst.
    ///
    /// For many sticks of one model --profile takes the report of one of them instead of measuring
    /// each. --id-seed gives reproducible identifiers, to one device only.
    #[command(after_help = "Examples:
  sudo flashfit
  sudo flashfit wizard /dev/sdX --use data
  sudo flashfit wizard /dev/sdX --yes --expect 4C530001 --fs exfat --mkfs
  sudo flashfit wizard /dev/sdX /dev/sdY --yes --expect-size 31914983424B --profile stick.json --verify-profile --log json
  flashfit wizard sim:corsair-voyager#1 sim:corsair-voyager#2 --yes --expect 1 --expect 2")]
    Wizard(Box<WizardArgs>),
    /// List the devices that can be scanned
    ///
    /// Each begins with the name to use, from /dev/disk/by-id where there is one: it stays the same from
    /// one plugging in to the next. Below stand node, size, transport, model and serial number, other
    /// names, and who uses it.
    #[command(after_help = "Examples:
  flashfit list
  flashfit list --all --json")]
    List(ListArgs),
    /// Time reads on a device and report its erase block. Writes nothing without --write-tests
    ///
    /// The device is opened read-only. The time that a scan takes does not depend on the size of
    /// the device. Stop it with Ctrl-C at any time: what is known so far is reported.
    ///
    /// Some things only writes show: the size of a page, how many erase blocks can be written in
    /// turns, special zones near the start, the speed of writing, and whether the device is as large
    /// as it claims. --write-tests destroy tests them on a stick that you give away. --write-tests
    /// preserve tests them too, saves what it overwrites to a journal first, and puts it back at the
    /// end, on an error, and on Ctrl-C; after a power cut, flashfit restore does it. Both refuse a
    /// device that anybody else uses.
    #[command(after_help = "Examples:
  sudo flashfit scan /dev/sdX
  flashfit scan sim:corsair-voyager --report stick.json --html stick.html
  flashfit scan sim:corsair-voyager --write-tests destroy
  sudo flashfit scan /dev/sdX --write-tests preserve --samples stick.samples")]
    Scan(ScanArgs),
    /// Report from saved flashbench output, or from a saved scan
    ///
    /// A file that scan --samples wrote gives the report of that scan again, byte for byte but for
    /// wall_seconds.
    ///
    /// Understands the output of flashbench --align, --open-au and --find-fat as it is found in
    /// mails: quoted, run together, cut off. All files are of one device and give one report.
    #[command(after_help = "Examples:
  flashfit analyze align.log open-au.log --capacity 31914983424B
  flashfit analyze mail.txt --report stick.json
  flashfit analyze stick.samples --html stick.html")]
    Analyze(AnalyzeArgs),
    /// Propose a partition table that fits
    ///
    /// Start and end of every partition are placed on the erase-block grid. The grid comes from a
    /// scan of DEVICE done now, from the report of an earlier one, or from your own numbers.
    /// Prints what was found, the layout with every gap explained, the commands that make the file
    /// systems so that their data lies on the grid too, which file systems suit the stick, and a script
    /// for sfdisk; writes nothing to any device.
    #[command(after_help = "Examples:
  sudo flashfit plan /dev/sdX --fs exfat
  flashfit plan --report stick.json --partition 256MiB:fat32:BOOT --partition rest:ext4
  flashfit plan --report stick.json --use data --format mkfs
  flashfit plan --capacity 31914983424B --erase-block 8MiB --format sfdisk")]
    Plan(Box<PlanArgs>),
    /// Check whether the partitions on a device fit it. Writes nothing
    ///
    /// Reads the partition table (MBR or GPT, both copies) and the first sectors of every file
    /// system, and says for each partition whether it lies on the erase-block grid. Where the file
    /// system is known its data area decides, not the start of the partition. Says what it costs
    /// when it does not, names the nearest good starts, and tells what contradicts what: copies that
    /// differ, partitions that overlap or pass the end, remains of former tables and file systems.
    ///
    /// Without --report and --erase-block the grid is what the card or the kernel reports; when they
    /// report nothing, it is a precaution by capacity.
    #[command(after_help = "Examples:
  sudo flashfit check /dev/sdX --report stick.json
  flashfit check card.img --erase-block 4MiB --json")]
    Check(CheckArgs),
    /// Write a partition table that fits, after saving what is there
    ///
    /// The layout is made as plan makes it, from a scan done now, from a saved report, from your own
    /// numbers, or it is read from a file. It is rendered, read back and compared before anything is
    /// written; what is there now is saved to a file and flushed to its disk; every sector is read
    /// back afterwards. Signatures of old tables, file systems, RAIDs and encrypted containers that
    /// would be found again are listed beforehand and zeroed. A device that is mounted, used as
    /// swap, held by RAID, LVM or dm-crypt, locked, write-protected, or part of the running system is
    /// refused.
    ///
    /// You are asked to type the name or the size of the device. Unattended, --yes needs --expect or
    /// --expect-size.
    #[command(after_help = "Examples:
  sudo flashfit write /dev/sdX --dry-run
  sudo flashfit write /dev/disk/by-id/usb-... --report stick.json --partition 256MiB:fat32:BOOT --partition rest:ext4
  sudo flashfit write /dev/sdX --layout layout.json --yes --expect 4C530001")]
    Write(Box<WriteArgs>),
    /// Put back what a write replaced, byte for byte
    ///
    /// Takes the backup of write, and the journal that scan --write-tests preserve leaves behind when it
    /// is cut off. The device must be the one that the file was made of, by size, sectors, serial number and
    /// model. It is refused and asked about as with write.
    #[command(after_help = "Examples:
  sudo flashfit restore /dev/sdX --backup /var/lib/flashfit/sdX-20261130-121500.json --dry-run
  sudo flashfit restore /dev/sdX --backup /var/lib/flashfit/sdX-20261130-121500.json")]
    Restore(RestoreArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:
  flashfit completions bash > ~/.local/share/bash-completion/completions/flashfit")]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the man page
    #[command(hide = true)]
    Man,
}

/// Options of `list`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ListArgs {
    /// Show the other devices too, each with the reason why it is no candidate
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `analyze`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct AnalyzeArgs {
    /// Logs of one device, or the file that scan --samples wrote; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Size of the device, when the log does not tell it; it makes the answer more certain
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size)]
    pub capacity: Option<Size>,
    /// Logical block size of the device
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = sector_size_parser())]
    pub sector_size: LogicalBlock,
    /// Where the report goes.
    #[command(flatten)]
    pub output: ReportArgs,
}

/// Options of `plan`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(group(ArgGroup::new("source").required(true).args(["device", "report", "capacity", "layout"])))]
pub struct PlanArgs {
    /// Scan this device now: block device, image file, or sim:NAME
    device: Option<String>,
    /// What to print
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Read the geometry from FILE, which scan --report or analyze --report wrote; plan writes no file
    #[arg(long, value_name = "FILE", help_heading = "Instead of DEVICE")]
    report: Option<PathBuf>,
    /// Read the layout from FILE, which plan --format json printed, and print it in another form
    #[arg(long, value_name = "FILE", conflicts_with_all = INTENT, help_heading = "Instead of DEVICE")]
    layout: Option<PathBuf>,
    /// Size of the device, when you give the numbers by hand
    #[arg(long, value_name = "SIZE", requires = "erase_block", value_parser = values::positive_size,
        help_heading = "Instead of DEVICE")]
    capacity: Option<Size>,
    /// Erase block of the device; need not be a power of two
    #[arg(long, value_name = "SIZE", requires = "capacity", conflicts_with_all = ["device", "report", "layout"],
        value_parser = values::positive_size, help_heading = "Instead of DEVICE")]
    erase_block: Option<Size>,
    /// Where the first erase-block boundary lies, when it is not at the start of the device
    #[arg(long, value_name = "SIZE", requires = "erase_block", conflicts_with_all = ["device", "report", "layout"],
        value_parser = values::size, help_heading = "Instead of DEVICE")]
    phase: Option<Size>,
    /// Logical block size of the device; 512 when not given
    #[arg(long, value_name = "BYTES", requires = "capacity", conflicts_with_all = ["device", "report", "layout"],
        value_parser = sector_size_parser(), help_heading = "Instead of DEVICE")]
    sector_size: Option<LogicalBlock>,
    /// Stop the scan of DEVICE after this much time, such as 90s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "device",
        conflicts_with_all = ["report", "capacity", "layout"], value_parser = values::duration,
        help_heading = "Scan")]
    pub time_limit: Duration,
    /// Choose which places of DEVICE are read, and in which order
    #[arg(long, value_name = "N", default_value_t = 1, requires = "device",
        conflicts_with_all = ["report", "capacity", "layout"], help_heading = "Scan")]
    pub seed: u64,
    /// What the layout shall contain.
    #[command(flatten)]
    pub intent: IntentArgs,
}

/// Where `plan` takes the geometry from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSource<'a> {
    /// Scan this device now.
    Device(&'a str),
    /// A saved report.
    Report(&'a Path),
    /// A saved layout.
    Layout(&'a Path),
    /// Numbers given by hand.
    Given {
        /// Size of the device.
        capacity: Size,
        /// Its erase block.
        erase_block: Size,
        /// Its first boundary, when given.
        phase: Option<Size>,
        /// Its logical block.
        sector_size: LogicalBlock,
    },
}

impl PlanArgs {
    /// Where the geometry comes from: exactly one of the four.
    pub fn source(&self) -> PlanSource<'_> {
        match self {
            PlanArgs {
                device: Some(device),
                ..
            } => PlanSource::Device(device),
            PlanArgs {
                report: Some(report),
                ..
            } => PlanSource::Report(report),
            PlanArgs {
                layout: Some(layout),
                ..
            } => PlanSource::Layout(layout),
            PlanArgs {
                capacity: Some(capacity),
                erase_block: Some(erase_block),
                phase,
                sector_size,
                ..
            } => PlanSource::Given {
                capacity: *capacity,
                erase_block: *erase_block,
                phase: *phase,
                sector_size: sector_size.unwrap_or(LogicalBlock::B512),
            },
            // The fields are private: only the parser makes this type, and its group "source" and
            // the requirement of --erase-block by --capacity leave no other case.
            _ => unreachable!("the parser demands a source"),
        }
    }
}

/// Options of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct CheckArgs {
    /// Block device, image file, or sim:NAME
    pub device: String,
    /// Take the grid from FILE, which scan --report or analyze --report wrote
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Erase block of the device; need not be a power of two
    #[arg(long, value_name = "SIZE", conflicts_with = "report", value_parser = values::positive_size)]
    erase_block: Option<Size>,
    /// Where the first erase-block boundary lies, when it is not at the start of the device
    #[arg(long, value_name = "SIZE", requires = "erase_block", conflicts_with = "report",
        value_parser = values::size)]
    phase: Option<Size>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where `check` takes the grid from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckGeometry<'a> {
    /// What card or kernel report, else a precaution.
    Reported,
    /// A saved report.
    Report(&'a Path),
    /// Numbers given by hand.
    Given {
        /// The erase block.
        erase_block: Size,
        /// Its first boundary, when given.
        phase: Option<Size>,
    },
}

impl CheckArgs {
    /// Where the grid comes from.
    pub fn geometry(&self) -> CheckGeometry<'_> {
        match (&self.report, self.erase_block) {
            (Some(report), _) => CheckGeometry::Report(report),
            (None, Some(erase_block)) => CheckGeometry::Given {
                erase_block,
                phase: self.phase,
            },
            (None, None) => CheckGeometry::Reported,
        }
    }
}

/// What `plan` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: what was found, the layout, and the script
    Table,
    /// Schema flashfit.layout/1
    Json,
    /// The script for sfdisk alone, in sectors
    Sfdisk,
    /// The commands that make the file systems, with every parameter fitted to the grid
    Mkfs,
    /// A shell script for sgdisk; GPT only
    Sgdisk,
    /// A shell script for parted, as far as its commands reach
    Parted,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// The completion script for this shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    // The generators would offer hidden commands too.
    let all = Cli::command();
    let mut offered = clap::Command::new("flashfit")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(
            all.get_subcommands()
                .filter(|sub| !sub.is_hide_set())
                .cloned(),
        );
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offered, "flashfit", &mut script);
    script
}

/// Known values only, so that completions offer them; then the type.
fn sector_size_parser() -> impl TypedValueParser<Value = LogicalBlock> {
    PossibleValuesParser::new(["512", "4096"]).try_map(|text| values::sector_size(&text))
}

#[cfg(test)]
mod tests;

//! What was typed about the layout: options that `plan` and `write` share.

use super::values::{self, SizeRange};
use crate::units::Size;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

/// The file systems that a partition can be meant for.
pub const FILE_SYSTEMS: [&str; 10] = [
    "fat16", "fat32", "exfat", "ext4", "f2fs", "btrfs", "xfs", "ntfs", "swap", "none",
];

/// What a layout shall contain.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Layout")]
pub struct IntentArgs {
    /// Kind of partition table; auto takes MBR where it reaches and is understood, else GPT
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TableChoice::Auto)]
    pub table: TableChoice,
    /// One partition: SIZE or rest, then file system and label if you like. Repeat it for more
    ///
    /// The form is SIZE:FS:LABEL or rest:FS:LABEL, where FS and LABEL may be left out:
    /// 256MiB:fat32:BOOT, rest:ext4. Sizes are rounded to the grid, and the layout says how.
    #[arg(long = "partition", value_name = "SPEC")]
    pub partitions: Vec<String>,
    /// One partition for the whole device, meant for this file system
    #[arg(long, value_name = "FS", conflicts_with = "partitions",
        value_parser = PossibleValuesParser::new(FILE_SYSTEMS))]
    pub fs: Option<String>,
    /// What the medium is for; picks the file system when neither --fs nor --partition is given
    ///
    /// The layout then says which file systems suit this stick and which do not, with the reasons:
    /// a stick keeps only so many erase blocks open, and each file system writes in so many places.
    #[arg(long = "use", value_name = "PURPOSE", value_enum)]
    pub purpose: Option<Purpose>,
    /// Whether FATs go into the special area that some sticks have at their start
    ///
    /// auto takes an area that a report found, when FAT or exFAT has room in it and its data area
    /// still lies on the grid. Such a partition starts off the grid on purpose.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = FatArea::Auto)]
    pub fat_area: FatArea,
    /// Place partitions on multiples of this size instead of what the geometry suggests
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size)]
    pub align: Option<Size>,
    /// Place no partition in this range (half-open). Repeat it for more
    #[arg(long = "keep-out", value_name = "FROM-TO", value_parser = values::size_range)]
    pub keep_out: Vec<SizeRange>,
    /// Leave this much unused at the end, as spare room for the stick's controller
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub reserve_end: Option<Size>,
    /// Use no more than this much of the device
    #[arg(long, value_name = "SIZE", value_parser = values::positive_size)]
    pub max_size: Option<Size>,
    /// The board that boots from it: leaves its loader alone, and takes table and first partition
    /// that its ROM understands
    #[arg(long, value_name = "BOARD", value_enum, default_value_t = BootChoice::Generic)]
    pub boot: BootChoice,
    /// Disk identifier: random, keep (the present one), 0x and eight hex digits for MBR, or a UUID for GPT
    #[arg(long, value_name = "ID", default_value = "random")]
    pub disk_id: String,
    /// Derive all identifiers from TEXT: the same text gives the same identifiers
    #[arg(long, value_name = "TEXT")]
    pub id_seed: Option<String>,
    /// End with exit code 3 instead of planning on a grid that was not measured
    #[arg(long)]
    pub require_measured: bool,
}

/// Kind of partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableChoice {
    /// The one that suits the device
    Auto,
    /// Master boot record: understood everywhere, up to 2 TiB with 512-byte sectors
    Mbr,
    /// GUID partition table
    Gpt,
}

/// What a medium is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Cameras and other devices: what cards of this size come with
    Camera,
    /// Files that travel between computers
    Data,
    /// The root file system of Linux
    LinuxRoot,
    /// Read by firmware and boot loaders
    Boot,
}

/// Whether FATs go into a special area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FatArea {
    /// When one was found that suits and has the room
    Auto,
    /// Always, else refuse; without a report where such areas usually are
    Use,
    /// Never
    Ignore,
}

/// Boards with wishes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BootChoice {
    /// None: data media, and PCs
    Generic,
    /// Raspberry Pi up to 3: MBR, FAT32 first
    RaspberryPi,
    /// Raspberry Pi 4 and later: FAT first
    #[value(name = "raspberry-pi-4")]
    RaspberryPi4,
    /// Allwinner: loader at 8 KiB; a GPT has 56 entries
    Allwinner,
    /// Rockchip: loaders from 32 KiB to 16 MiB; GPT
    Rockchip,
    /// NXP i.MX 6 and 7: loader at 1 KiB; MBR
    Imx6,
    /// NXP i.MX 8 and 9: loader from 32 KiB to 8 MiB
    Imx8,
    /// TI AM335x: loaders from 128 KiB to 4 MiB; FAT first
    Am335x,
}

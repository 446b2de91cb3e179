//! Which command makes a file system, and under which name does the kernel know the partition?
//!
//! Every command is complete and asks nothing: on a stick that held a file system before, mkfs.ext4
//! would wait for an answer that nobody sees. None of them discards: that has killed cards, and
//! tables are written without it too.

use super::fat::FatWidth;
use super::{Format, Parameters};
use crate::plan::layout::{Layout, Partition};
use crate::quote::script_word;
use crate::units::{Bytes, KIB, LogicalBlock, MIB};

/// What stands for the disk in commands when its name is not known.
pub const UNKNOWN_DISK: &str = "/dev/sdX";

/// A program that makes a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// The option that makes it tell its version.
    pub version_option: &'static str,
    /// The oldest version whose options mean what they mean here, as numbers.
    pub oldest: &'static [u64],
    /// The same with the reason.
    pub why: &'static str,
}

/// A command, ready to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MkfsCommand {
    /// The program.
    pub tool: Tool,
    /// Its arguments; the last is the partition.
    pub arguments: Vec<String>,
}

impl MkfsCommand {
    /// The command as one line for a shell.
    pub fn line(&self) -> String {
        let words = std::iter::once(self.tool.program)
            .chain(self.arguments.iter().map(String::as_str))
            .map(script_word);
        words.collect::<Vec<_>>().join(" ")
    }
}

const MKFS_FAT: Tool = Tool {
    program: "mkfs.fat",
    package: "dosfstools",
    version_option: "--help",
    oldest: &[4, 1],
    why: "4.1 is the first that rounds the reserved sectors as the plan expects",
};

const MKFS_EXFAT: Tool = Tool {
    program: "mkfs.exfat",
    package: "exfatprogs",
    version_option: "-V",
    oldest: &[1, 1, 1],
    why: "1.1.1 is the first that aligns with -b",
};

const MKFS_EXT4: Tool = Tool {
    program: "mkfs.ext4",
    package: "e2fsprogs",
    version_option: "-V",
    oldest: &[1, 43],
    why: "1.43 is the first with all options used",
};

const MKFS_F2FS: Tool = Tool {
    program: "mkfs.f2fs",
    package: "f2fs-tools",
    version_option: "-V",
    oldest: &[1, 6, 1],
    why: "before 1.6.1 the number behind -s was an exponent",
};

const MKFS_BTRFS: Tool = Tool {
    program: "mkfs.btrfs",
    package: "btrfs-progs",
    version_option: "--version",
    oldest: &[4, 0],
    why: "4.0 is the first whose extents lie as planned",
};

const MKFS_XFS: Tool = Tool {
    program: "mkfs.xfs",
    package: "xfsprogs",
    version_option: "-V",
    oldest: &[4, 0],
    why: "4.0 is the first with all options used",
};

const MKNTFS: Tool = Tool {
    program: "mkntfs",
    package: "ntfs-3g",
    version_option: "-V",
    oldest: &[2010],
    why: "it is the first of ntfs-3g",
};

const MKSWAP: Tool = Tool {
    program: "mkswap",
    package: "util-linux",
    version_option: "-V",
    oldest: &[2, 20],
    why: "2.20 is the first with all options used",
};

/// The command for a partition on `disk`; `None` for one without file system, or whose parameters
/// are not known.
///
/// `number` counts from 1.
pub fn mkfs(layout: &Layout, number: usize, disk: &str) -> Option<MkfsCommand> {
    let partition = layout.partitions.get(number.checked_sub(1)?)?;
    let format = partition.format.as_ref()?;
    Some(command(
        format,
        partition,
        layout.logical_block,
        &partition_node(disk, number),
    ))
}

/// The name under which the kernel, or udev for a link below `/dev/disk`, knows a partition: a `p`
/// in between when the name of the disk ends in a digit (`mmcblk0p1`, `nvme0n1p1`, `loop0p1`, but
/// `sda1`; kernel function `disk_name` in block/partitions/core.c), `-part1` for the links.
pub fn partition_node(disk: &str, number: usize) -> String {
    if disk.starts_with("/dev/disk/") {
        format!("{disk}-part{number}")
    } else if disk.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{disk}p{number}")
    } else {
        format!("{disk}{number}")
    }
}

/// The command for these parameters.
pub fn command(
    format: &Format,
    partition: &Partition,
    block: LogicalBlock,
    node: &str,
) -> MkfsCommand {
    let label = partition.label.as_deref();
    let sector = block.bytes().get();
    let mut words: Vec<String> = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    let (tool, label_option) = match &format.parameters {
        Parameters::Fat(fat) => {
            add(&["-F", &fat.width.bits().to_string()]);
            if block != LogicalBlock::B512 {
                add(&["-S", &sector.to_string()]);
            }
            add(&["-s", &(fat.cluster.get() / sector).to_string()]);
            if fat.fats != 2 {
                add(&["-f", &fat.fats.to_string()]);
            }
            if fat.width != FatWidth::Fat32 {
                add(&["-r", "512"]);
            }
            let geometry = fat.geometry;
            add(&[
                "-g",
                &format!("{}/{}", geometry.heads, geometry.sectors_per_track),
            ]);
            add(&["-R", &fat.reserved.to_string()]);
            add(&["-h", &hidden(partition)]);
            (MKFS_FAT, "-n")
        }
        Parameters::ExFat(exfat) => {
            add(&["-b", &short(exfat.boundary, ["K", "M"])]);
            add(&["-c", &short(exfat.cluster, ["K", "M"])]);
            (MKFS_EXFAT, "-L")
        }
        Parameters::Ext4(ext4) => {
            add(&["-F", "-q", "-b", "4096"]);
            let mut extended = vec!["nodiscard".to_owned()];
            if ext4.stripe_blocks > 0 {
                extended.push(format!("stride={}", ext4.stride_blocks));
                extended.push(format!("stripe_width={}", ext4.stripe_blocks));
            }
            if ext4.packed_meta {
                extended.push("packed_meta_blocks=1".to_owned());
            }
            add(&["-E", &extended.join(",")]);
            (MKFS_EXT4, "-L")
        }
        Parameters::F2fs(f2fs) => {
            add(&["-f", "-q", "-t", "0"]);
            add(&["-s", &f2fs.segments_per_section.to_string()]);
            add(&["-z", &f2fs.sections_per_zone.to_string()]);
            (MKFS_F2FS, "-l")
        }
        Parameters::Btrfs(btrfs) => {
            add(&["-f", "-q", "-K"]);
            if btrfs.mixed {
                add(&["-M"]);
            } else {
                // What mkfs.btrfs does by default on one device since 5.15; older ones took
                // "single" on a medium that does not rotate.
                add(&["-m", "dup"]);
            }
            if let Some(node) = btrfs.node {
                add(&["-n", &short(node, ["k", "m"])]);
            }
            (MKFS_BTRFS, "-L")
        }
        Parameters::Xfs(xfs) => {
            add(&["-f", "-q", "-K"]);
            let mut data = Vec::new();
            if xfs.stripe_unit != Bytes::ZERO {
                data.push(format!("su={},sw=1", short(xfs.stripe_unit, ["k", "m"])));
            }
            data.push(format!("agcount={}", xfs.groups));
            add(&["-d", &data.join(",")]);
            if xfs.stripe_unit != Bytes::ZERO {
                // The log takes stripes up to 256 KiB and complains about larger ones.
                add(&["-l", "su=32k"]);
            }
            (MKFS_XFS, "-L")
        }
        Parameters::Ntfs(ntfs) => {
            add(&["-Q", "-F", "-q"]);
            add(&["-c", &ntfs.cluster.get().to_string()]);
            add(&["-s", &sector.to_string()]);
            add(&["-p", &hidden(partition)]);
            add(&["-H", "255", "-S", "63"]);
            (MKNTFS, "-L")
        }
        Parameters::Swap => {
            add(&["-f"]);
            (MKSWAP, "-L")
        }
    };
    if let Some(label) = label {
        add(&[label_option, label]);
    }
    add(&[node]);
    MkfsCommand {
        tool,
        arguments: words,
    }
}

/// Sectors in front of a partition, as boot sectors note them: in 32 bits, else 0, which boot code
/// takes for "not told".
fn hidden(partition: &Partition) -> String {
    let first = partition.first.get();
    u32::try_from(first).unwrap_or(0).to_string()
}

/// A size with one of two units, or in bytes.
fn short(size: Bytes, [kilo, mega]: [&str; 2]) -> String {
    match size.get() {
        n if n.is_multiple_of(MIB) => format!("{}{mega}", n / MIB),
        n if n.is_multiple_of(KIB) => format!("{}{kilo}", n / KIB),
        n => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_have_the_names_that_the_kernel_gives() {
        for (disk, node) in [
            ("/dev/sda", "/dev/sda1"),
            ("/dev/vda", "/dev/vda1"),
            ("/dev/mmcblk0", "/dev/mmcblk0p1"),
            ("/dev/nvme0n1", "/dev/nvme0n1p1"),
            ("/dev/loop0", "/dev/loop0p1"),
            ("/dev/zram0", "/dev/zram0p1"),
            (
                "/dev/disk/by-id/usb-Corsair_Voyager_0",
                "/dev/disk/by-id/usb-Corsair_Voyager_0-part1",
            ),
        ] {
            assert_eq!(partition_node(disk, 1), node);
        }
    }

    #[test]
    fn words_survive_a_shell() {
        for word in [
            "a b",
            "it's",
            "$(rm -rf x)",
            "",
            "ü",
            "-R",
            "`id`",
            "a\\b",
            "*",
        ] {
            let line = format!("printf %s {}", script_word(word));
            let run = std::process::Command::new("sh")
                .args(["-c", &line])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(run.stdout).unwrap(), word, "{line}");
        }
        assert_eq!(script_word("su=8m,sw=1"), "su=8m,sw=1");
    }
}

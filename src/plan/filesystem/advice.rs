//! Which file system suits this stick?
//!
//! A file system writes in several places at once, and a stick keeps only so many allocation units
//! open: each write beyond that costs the copying of a whole erase block. So the question is one of
//! two numbers. How many places each file system writes in was counted from what it must update for
//! one file that grows (data, allocation tables, directory, journal, logs); it is a judgement, not a
//! measurement.

use super::stick::{Open, Stick};
use super::{cluster, standard};
use crate::plan::alignment::AlignmentChoice;
use crate::plan::types::FileSystem;
use crate::units::{Bytes, GIB};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What the stick is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A camera or another device that knows only what cards come with.
    Camera,
    /// Files that travel between computers.
    Data,
    /// The root file system of a Linux system.
    LinuxRoot,
    /// Firmware and boot loaders read it.
    Boot,
}

impl Purpose {
    /// The word used in options and files.
    pub const fn word(self) -> &'static str {
        match self {
            Purpose::Camera => "camera",
            Purpose::Data => "data",
            Purpose::LinuxRoot => "linux-root",
            Purpose::Boot => "boot",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Purpose {
    type Err = String;
    fn from_str(text: &str) -> Result<Purpose, String> {
        [
            Purpose::Camera,
            Purpose::Data,
            Purpose::LinuxRoot,
            Purpose::Boot,
        ]
        .into_iter()
        .find(|purpose| purpose.word() == text)
        .ok_or_else(|| format!("'{text}': write camera, data, linux-root or boot"))
    }
}

/// How well a file system suits a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suits {
    /// It writes in no more places than the stick keeps open.
    Well,
    /// It does so with the options named, or most of the time.
    WithCare,
    /// It does not.
    Badly,
    /// How many places the stick keeps open is not known.
    Unknown,
}

impl Suits {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Suits::Well => "suits it",
            Suits::WithCare => "works with care",
            Suits::Badly => "does not suit it",
            Suits::Unknown => "cannot be judged",
        }
    }
}

/// One file system on this stick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Which.
    pub filesystem: String,
    /// How well.
    pub suits: Suits,
    /// In how many places it writes at once: at least and at most.
    pub writes_in: (u32, u32),
    /// Why.
    pub reasons: Vec<String>,
    /// Its cluster or block.
    pub unit_bytes: Bytes,
    /// How to mount it.
    pub mount: String,
}

/// The advice on a stick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What it is for, when that was said.
    pub purpose: Option<Purpose>,
    /// The file system for that purpose.
    pub filesystem: Option<String>,
    /// For people who read nothing else.
    pub paragraph: String,
    /// Every file system, with reasons.
    pub choices: Vec<Choice>,
    /// What a partition off the grid would cost.
    pub misalignment: String,
}

/// The file system for a purpose.
pub fn file_system(
    purpose: Purpose,
    capacity: Bytes,
    grid: &AlignmentChoice,
    stick: &Stick,
) -> FileSystem {
    match purpose {
        Purpose::Camera => standard::file_system(capacity),
        // A FAT32 file ends at 4 GiB, which nothing on a smaller stick exceeds.
        Purpose::Data if capacity.get() <= 4 * GIB && capacity > Bytes::mib(64) => {
            FileSystem::Fat32
        }
        Purpose::Data => FileSystem::ExFat,
        Purpose::LinuxRoot => {
            let open = stick.linear.safe().unwrap_or(0);
            let aligned = grid.alignment.phase() == Bytes::ZERO && capacity > Bytes::gib(1);
            if random_is_bad(stick) && open >= 3 && aligned {
                FileSystem::F2fs
            } else {
                FileSystem::Ext4
            }
        }
        Purpose::Boot if capacity <= Bytes::mib(64) => FileSystem::Fat16,
        Purpose::Boot => FileSystem::Fat32,
    }
}

/// The advice on a stick of this capacity.
pub fn advice(
    purpose: Option<Purpose>,
    capacity: Bytes,
    grid: &AlignmentChoice,
    stick: &Stick,
) -> Advice {
    let judged = [
        FileSystem::Fat32,
        FileSystem::ExFat,
        FileSystem::Ext4,
        FileSystem::F2fs,
        FileSystem::Btrfs,
        FileSystem::Xfs,
        FileSystem::Ntfs,
    ];
    let choices: Vec<Choice> = judged
        .into_iter()
        .map(|fs| choice(fs, capacity, grid, stick))
        .collect();
    let taken = purpose.map(|purpose| file_system(purpose, capacity, grid, stick));
    let misalignment = misalignment(grid, stick);
    Advice {
        purpose,
        filesystem: taken.map(|fs| fs.word().to_owned()),
        paragraph: paragraph(purpose, taken, &choices, grid, stick),
        choices,
        misalignment,
    }
}

/// How well one file system suits the stick, and why.
pub fn judge(fs: FileSystem, stick: &Stick) -> (Suits, Vec<String>) {
    let mut reasons = Vec::new();
    let (least, most) = places(fs, stick);
    let random = writes_at_random(fs);
    let open = open_for(fs, stick);
    if stick.like_ssd {
        reasons.push("the stick shows neither boundaries nor a limit, as SSDs do".to_owned());
        return (Suits::Well, reasons);
    }
    let mut suits = match open {
        None => Suits::Unknown,
        Some(open) if open >= most => Suits::Well,
        Some(open) if open >= least => Suits::WithCare,
        Some(_) => Suits::Badly,
    };
    reasons.push(match open {
        None => format!("it writes in {least} to {most} places at once; how many the stick keeps open was not measured"),
        Some(open) => format!(
            "it writes in {least} to {most} places at once{}, and the stick keeps {}{open} open",
            if random { ", in any order" } else { "" },
            if no_limit(fs, stick) { "at least " } else { "" }
        ),
    });
    if random_is_bad(stick) {
        if random {
            suits = Suits::Badly;
            reasons.push("the stick takes writes in any order badly".to_owned());
        } else if fs == FileSystem::F2fs && suits != Suits::Unknown {
            reasons.push(
                "it turns writes in any order into writes in order, which this stick needs"
                    .to_owned(),
            );
        } else if fs == FileSystem::Ext4 && suits == Suits::Well {
            suits = Suits::WithCare;
            reasons.push("the stick takes writes in any order badly".to_owned());
        }
    }
    if stick.linear.safe().is_some_and(|open| open <= 2)
        && matches!(fs, FileSystem::Ext4 | FileSystem::Xfs)
    {
        suits = Suits::Badly;
        reasons
            .push("with two open places or fewer no Linux root file system is bearable".to_owned());
    }
    (suits, reasons)
}

fn choice(fs: FileSystem, capacity: Bytes, grid: &AlignmentChoice, stick: &Stick) -> Choice {
    let (suits, mut reasons) = judge(fs, stick);
    if stick.good_zones().next().is_some() {
        match fs {
            FileSystem::Fat32 | FileSystem::ExFat => {
                reasons.push("its FAT goes into the special area of the stick".to_owned());
            }
            FileSystem::Ext4 => {
                reasons.push("its metadata goes to the front with packed_meta_blocks".to_owned());
            }
            FileSystem::F2fs => reasons.push("it keeps its metadata in front".to_owned()),
            _ => {}
        }
    }
    if fs == FileSystem::Fat32 && capacity.get() > 4 * GIB {
        reasons.push("no file larger than 4 GiB".to_owned());
    }
    let phase = grid.alignment.phase() != Bytes::ZERO;
    match fs {
        FileSystem::F2fs if phase => {
            reasons.push("only its start can be aligned: boundaries do not begin at 0".to_owned());
        }
        FileSystem::Btrfs if !Bytes::mib(8).is_multiple_of(grid.unit) => {
            reasons.push(format!(
                "only its start can be aligned: its extents lie in steps of 8 MiB, not of {}",
                grid.unit
            ));
        }
        FileSystem::Ntfs => {
            reasons.push("only its start can be aligned; exFAT is kinder to flash".to_owned());
        }
        _ => {}
    }
    Choice {
        filesystem: fs.word().to_owned(),
        suits,
        writes_in: places(fs, stick),
        reasons,
        unit_bytes: match fs {
            FileSystem::Fat32 => cluster::fat(capacity, stick),
            FileSystem::ExFat => cluster::exfat(capacity, grid.erase_block, stick),
            FileSystem::Ntfs => cluster::ntfs(stick),
            _ => Bytes::kib(4),
        },
        mount: mount(fs, stick),
    }
}

/// In how many places it writes while one file grows: at least and at most.
fn places(fs: FileSystem, stick: &Stick) -> (u32, u32) {
    match fs {
        FileSystem::Fat16 | FileSystem::Fat32 | FileSystem::ExFat => (2, 3),
        FileSystem::Ext4 => (4, 6),
        FileSystem::F2fs => match stick.linear.safe() {
            None | Some(8..) => (7, 8),
            Some(5..=7) => (5, 6),
            Some(_) => (3, 4),
        },
        FileSystem::Btrfs => (3, 4),
        FileSystem::Xfs => (4, 10),
        FileSystem::Ntfs => (4, 6),
        FileSystem::Swap => (1, 1),
        FileSystem::None => (0, 0),
    }
}

/// Whether it writes within those places in any order.
fn writes_at_random(fs: FileSystem) -> bool {
    matches!(fs, FileSystem::Btrfs | FileSystem::Ntfs)
}

/// The number of open places that counts for this file system.
fn open_for(fs: FileSystem, stick: &Stick) -> Option<u32> {
    let count = if writes_at_random(fs) && stick.random != Open::Unknown {
        stick.random
    } else {
        stick.linear
    };
    count.safe()
}

fn no_limit(fs: FileSystem, stick: &Stick) -> bool {
    let count = if writes_at_random(fs) && stick.random != Open::Unknown {
        stick.random
    } else {
        stick.linear
    };
    matches!(count, Open::AtLeast(_))
}

/// Not even one allocation unit can be written in any order, or only in pieces above 256 KiB, which
/// no file system but a log writes.
fn random_is_bad(stick: &Stick) -> bool {
    stick.random.safe() == Some(0)
        || stick
            .random_efficient
            .is_some_and(|size| size > Bytes::kib(256))
}

fn mount(fs: FileSystem, stick: &Stick) -> String {
    match fs {
        FileSystem::Ext4 | FileSystem::Btrfs | FileSystem::Xfs => "noatime".to_owned(),
        FileSystem::F2fs => format!(
            "noatime,active_logs={}",
            super::f2fs::active_logs(stick.linear.safe())
        ),
        _ => String::new(),
    }
}

fn misalignment(grid: &AlignmentChoice, stick: &Stick) -> String {
    let Some(block) = grid.erase_block.filter(|_| !stick.like_ssd) else {
        return "no erase block is told, so what a partition off the grid would cost cannot be said"
            .to_owned();
    };
    let open = match stick.linear.safe() {
        Some(open) if open > 1 => format!(" (of {open} open ones {} are left)", open / 2),
        _ => String::new(),
    };
    format!(
        "a partition off the grid makes every write of {block} touch two erase blocks instead of one{open}; on an 8 GB stick with 4 MiB erase blocks a start at 1 MiB cost 3 to 5 % of the write speed and a start at sector 63 15 to 25 %, and 5 to 15 % of the read speed (published measurement of 2011); in the worst case a write of 4 KiB costs the rewriting of {block}, {} times as much",
        block.get() / 4096
    )
}

fn paragraph(
    purpose: Option<Purpose>,
    taken: Option<FileSystem>,
    choices: &[Choice],
    grid: &AlignmentChoice,
    stick: &Stick,
) -> String {
    let block = grid.erase_block.unwrap_or(grid.unit);
    let mut text = if stick.like_ssd {
        "This stick shows neither erase blocks nor a limit of open ones, as an SSD does: any file system suits it, and any start on whole megabytes will do.".to_owned()
    } else {
        match stick.linear {
            Open::Unknown => format!(
                "How many erase blocks this stick keeps open at once is not known, so the file systems that write in the fewest places are the safe ones: FAT32 and exFAT (2 to 3), then ext4 (4 to 6). Each place too many costs the copying of a whole erase block of {block} for every small write."
            ),
            Open::Between(open, _) | Open::AtLeast(open) => format!(
                "This stick keeps {}{open} erase block{} open at once. A file system that writes in more places than that makes it copy a whole erase block of {block} for every further small write.{}",
                if matches!(stick.linear, Open::AtLeast(_)) {
                    "at least "
                } else {
                    ""
                },
                if open == 1 { "" } else { "s" },
                verdicts(choices)
            ),
        }
    };
    if let (Some(purpose), Some(fs)) = (purpose, taken) {
        text += &format!(" For {purpose} take {fs}");
        match choices.iter().find(|choice| choice.filesystem == fs.word()) {
            Some(choice) if choice.suits == Suits::Badly => {
                text += ", the least bad for it: another stick would serve better.";
            }
            Some(choice) if !choice.mount.is_empty() => {
                text += &format!(", mounted with {}.", choice.mount);
            }
            Some(choice) => text += &format!(" with clusters of {}.", choice.unit_bytes),
            None => text += ".",
        }
    }
    text
}

fn verdicts(choices: &[Choice]) -> String {
    let mut text = String::new();
    for suits in [Suits::Well, Suits::WithCare, Suits::Badly] {
        let names: Vec<&str> = choices
            .iter()
            .filter(|choice| choice.suits == suits)
            .map(|choice| choice.filesystem.as_str())
            .collect();
        let words = match (suits, names.as_slice()) {
            (_, []) => continue,
            (Suits::Well, _) => "Suitable",
            (Suits::WithCare, _) => "Bearable with care",
            _ => "Not suitable",
        };
        text += &format!(" {words}: {}.", names.join(", "));
    }
    text
}

//! Which file system suits this stick?
//!
//! A file system writes in several places at once, and a stick keeps only so many allocation units
//! open: each write beyond that costs the copying of a whole erase block. So the question is one of
//! two numbers. How many places each file system writes in was counted from what it must update for
//! one file that grows (data, allocation tables, directory, journal, logs); it is a judgement, not a
//! measurement.

mod made;
mod suits;
mod words;

pub use made::Made;
pub use suits::judge;

use super::standard;
use super::stick::Stick;
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
    /// Its cluster or block; `None` when it does not fit here.
    pub unit_bytes: Option<Bytes>,
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
            if suits::random_is_bad(stick) && open >= 3 && aligned {
                FileSystem::F2fs
            } else {
                FileSystem::Ext4
            }
        }
        Purpose::Boot if capacity <= Bytes::mib(64) => FileSystem::Fat16,
        Purpose::Boot => FileSystem::Fat32,
    }
}

/// The advice on a stick of this capacity. `made` tells how each file system is made in this plan, or
/// would be.
pub fn advice(
    purpose: Option<Purpose>,
    capacity: Bytes,
    grid: &AlignmentChoice,
    stick: &Stick,
    made: &dyn Fn(FileSystem) -> Made,
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
        .map(|fs| choice(fs, capacity, grid, stick, &made(fs)))
        .collect();
    let taken = purpose.map(|purpose| file_system(purpose, capacity, grid, stick));
    let misalignment = words::misalignment(grid, stick);
    Advice {
        purpose,
        filesystem: taken.map(|fs| fs.word().to_owned()),
        paragraph: words::paragraph(purpose, taken, &choices, grid, stick),
        choices,
        misalignment,
    }
}

fn choice(
    fs: FileSystem,
    capacity: Bytes,
    grid: &AlignmentChoice,
    stick: &Stick,
    made: &Made,
) -> Choice {
    let (suits, mut reasons) = judge(fs, stick);
    reasons.extend(made.in_zone(stick));
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
        writes_in: suits::places(fs, stick),
        reasons,
        unit_bytes: made.unit(),
        mount: mount(fs, stick),
    }
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

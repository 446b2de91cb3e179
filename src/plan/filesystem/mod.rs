//! Which parameters make a file system fit the stick?
//!
//! An aligned partition is half the work: what must lie on the grid is where the file system keeps
//! its data, and the defaults of mkfs put it anywhere. The arrow of this folder is [`fit()`]: from a
//! place for a partition to the start it shall have, the parameters of its mkfs tool, and what of
//! it then lies on the grid. Pure arithmetic; [`command`] turns the parameters into a command line.
//!
//! | file | question |
//! |---|---|
//! | `stick` | what of the stick matters? |
//! | `cluster` | how large a cluster? |
//! | `fat` | what does mkfs.fat make of its options? |
//! | `fat_fit` | which start and which options for FAT? |
//! | `exfat` | the same for exFAT |
//! | `linux` | the same for ext4 and XFS, which count from their start |
//! | `f2fs`, `btrfs` | the same for these |
//! | `ntfs` | the same for NTFS |
//! | `standard` | how does the SD Association format cards? |
//! | `command` | which command makes it, and under which name will the kernel know the partition? |
//! | `follows` | are parameters from a file those that follow from partition and grid? |
//! | `advice` | which file system suits this stick? |
//! | `error` | why does it not fit? |

pub mod advice;
pub mod btrfs;
pub mod cluster;
pub mod command;
pub mod error;
pub mod exfat;
pub mod f2fs;
pub mod fat;
mod fat_fit;
pub(super) mod follows;
pub mod linux;
pub mod ntfs;
pub mod standard;
pub mod stick;

pub use error::FitError;
pub use stick::Stick;

use super::layout::AlignedBy;
use super::types::FileSystem;
use crate::units::{Alignment, ByteRange, Bytes, LogicalBlock, Sectors};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The least that a partition moved off the grid is rounded to, where there is room: starts on
/// whole megabytes are what every other tool expects.
const MEGABYTE: Bytes = Bytes::mib(1);

/// A place for a partition.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The logical block.
    pub block: LogicalBlock,
    /// Nothing in front of it may be used: table, boot loader, another partition.
    pub floor: Bytes,
    /// From the grid of the starts to the grid of the ends.
    pub range: ByteRange,
    /// Where partitions start.
    pub starts: Alignment,
    /// The erase-block grid, where data areas begin.
    pub boundaries: Alignment,
    /// The erase block, when it is told.
    pub erase_block: Option<Bytes>,
    /// What of the stick matters.
    pub stick: &'a Stick,
    /// Whether FATs go into a special area.
    pub fat_area: FatAreaChoice,
    /// Heads and sectors per track that a boot ROM looks for in this FAT.
    pub fat_geometry: Option<fat::FatGeometry>,
}

impl Site<'_> {
    /// The size of the partition if it starts on the grid.
    pub fn size(&self) -> Bytes {
        self.range.length()
    }

    /// The sectors from `start` to the end of the site.
    fn sectors_from(&self, start: Bytes) -> Sectors {
        Sectors(self.range.to.saturating_sub(start).get() / self.block.bytes().get())
    }

    /// Places of the erase-block grid from `from` on.
    fn boundaries_from(&self, from: Bytes) -> impl Iterator<Item = Bytes> + use<> {
        let grain = self.boundaries.grain();
        let first = self.boundaries.up(from);
        std::iter::successors(first, move |place| place.checked_add(grain))
    }
}

/// `--fat-area`: whether the FAT goes into a special area near the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FatAreaChoice {
    /// When one was measured that suits it and has the room.
    #[default]
    Auto,
    /// Always; it is an error when there is none.
    Use,
    /// Never.
    Ignore,
}

impl FromStr for FatAreaChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<FatAreaChoice, String> {
        match text {
            "auto" => Ok(FatAreaChoice::Auto),
            "use" => Ok(FatAreaChoice::Use),
            "ignore" => Ok(FatAreaChoice::Ignore),
            _ => Err(format!("'{text}': write auto, use or ignore")),
        }
    }
}

/// The parameters of a file system, complete for its mkfs tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Parameters {
    /// FAT16 or FAT32.
    Fat(fat::Fat),
    /// exFAT.
    ExFat(exfat::ExFat),
    /// ext4.
    Ext4(linux::Ext4),
    /// F2FS.
    F2fs(f2fs::F2fs),
    /// Btrfs.
    Btrfs(btrfs::Btrfs),
    /// XFS.
    Xfs(linux::Xfs),
    /// NTFS.
    Ntfs(ntfs::Ntfs),
    /// Swap space has none.
    Swap,
}

impl Parameters {
    /// The file system that they belong to.
    pub const fn file_system(&self) -> FileSystem {
        match self {
            Parameters::Fat(fat) => match fat.width {
                fat::FatWidth::Fat12 | fat::FatWidth::Fat16 => FileSystem::Fat16,
                fat::FatWidth::Fat32 => FileSystem::Fat32,
            },
            Parameters::ExFat(_) => FileSystem::ExFat,
            Parameters::Ext4(_) => FileSystem::Ext4,
            Parameters::F2fs(_) => FileSystem::F2fs,
            Parameters::Btrfs(_) => FileSystem::Btrfs,
            Parameters::Xfs(_) => FileSystem::Xfs,
            Parameters::Ntfs(_) => FileSystem::Ntfs,
            Parameters::Swap => FileSystem::Swap,
        }
    }

    /// How to mount it; empty when the defaults are right.
    pub fn mount(&self) -> String {
        match self {
            Parameters::Ext4(_) | Parameters::Btrfs(_) | Parameters::Xfs(_) => "noatime".to_owned(),
            Parameters::F2fs(f2fs) => format!("noatime,active_logs={}", f2fs.active_logs),
            _ => String::new(),
        }
    }

    /// The place, counted from the start of the partition, that has to lie on the grid for its units
    /// to lie there: the data area where the parameters decide that, the places that all units of
    /// Btrfs share modulo 8 MiB, else the start.
    pub fn anchor(&self, block: LogicalBlock) -> Option<Bytes> {
        match self {
            Parameters::Fat(_) | Parameters::ExFat(_) => self.data_offset(block),
            Parameters::Btrfs(_) => Some(btrfs::EXTENTS),
            _ => Some(Bytes::ZERO),
        }
    }

    /// Where its data area begins, counted from the start of the partition, where the parameters
    /// decide that: FAT and exFAT. `None` for the others, and beyond 2^64.
    pub fn data_offset(&self, block: LogicalBlock) -> Option<Bytes> {
        match self {
            Parameters::Fat(fat) => fat.data().to_bytes(block),
            Parameters::ExFat(exfat) => exfat.heap_offset.to_bytes(block),
            _ => None,
        }
    }
}

/// What of a file system lies on the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inside {
    /// This place, counted from the start of the partition, lies on the erase-block grid, and the
    /// units in which the file system allocates are counted from it.
    OnGrid(Bytes),
    /// The units in which the file system allocates lie on the erase-block grid wherever its mkfs
    /// tool begins to count them, which is not told: how much it puts in front is its own affair.
    UnitsOnGrid,
    /// Only the start of the partition; the reason why not more.
    StartOnly(String),
}

/// A file system as it will be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The parameters.
    pub parameters: Parameters,
    /// What of it lies on the grid.
    pub inside: Inside,
    /// How to mount it, for `/etc/fstab`; empty when the defaults are right.
    pub mount: String,
}

/// The answer: where the partition starts, and how its file system is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The start, at or behind the floor.
    pub start: Bytes,
    /// What of the partition lies on the grid.
    pub aligned_by: AlignedBy,
    /// The file system; `None` for a partition without one.
    pub format: Option<Format>,
    /// What is worth telling.
    pub notes: Vec<String>,
    /// The factory layout of a card, where it is another one.
    pub alternative: Option<Alternative>,
}

/// Another way to lay the partition out that someone may want, and why it was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What it is and why it was not taken.
    pub reason: String,
    /// Its start.
    pub start: Bytes,
    /// Its file system.
    pub format: Format,
}

impl Fit {
    /// A file system whose partition starts on the grid.
    fn at(start: Bytes, parameters: Parameters, inside: Inside) -> Fit {
        Fit {
            start,
            aligned_by: AlignedBy::Start,
            format: Some(Format {
                parameters,
                inside,
                mount: String::new(),
            }),
            notes: Vec::new(),
            alternative: None,
        }
    }

    /// How to mount it.
    fn mounted(mut self, options: &str) -> Fit {
        if let Some(format) = &mut self.format {
            options.clone_into(&mut format.mount);
        }
        self
    }

    /// One more note.
    fn note(mut self, text: impl Into<String>) -> Fit {
        self.notes.push(text.into());
        self
    }
}

/// Fit a file system to a place.
///
/// # Errors
/// A size that the file system cannot have, and places where its data area cannot lie on the grid.
pub fn fit(fs: FileSystem, site: &Site<'_>) -> Result<Fit, FitError> {
    let mut fit = own(fs, site)?;
    if let Some(factory) = standard::site(fs, site).and_then(|it| own(fs, &it).ok()) {
        compare(fs, site, &mut fit, factory);
    }
    Ok(fit)
}

/// Set the factory layout of a card beside the one that was found.
fn compare(fs: FileSystem, site: &Site<'_>, fit: &mut Fit, factory: Fit) {
    let Some(format) = factory.format else { return };
    let same = fit.start == factory.start
        && fit
            .format
            .as_ref()
            .is_some_and(|own| own.inside == format.inside);
    if same {
        fit.notes.push(format!(
            "close to the SD Association's factory layout for {fs} on a card of this size, though not identical with it"
        ));
        return;
    }
    let data = match format.inside {
        Inside::OnGrid(offset) => Bytes(factory.start.get().saturating_add(offset.get())),
        Inside::UnitsOnGrid | Inside::StartOnly(_) => factory.start,
    };
    let why = if site.boundaries.contains(data) {
        "both fit the grid".to_owned()
    } else {
        format!(
            "its data area at {data} is not on the grid of {}",
            site.boundaries
        )
    };
    fit.alternative = Some(Alternative {
        reason: format!(
            "the SD Association's factory layout for {fs} on a card of this size, for a camera that insists on it; not taken: {why}"
        ),
        start: factory.start,
        format,
    });
}

fn own(fs: FileSystem, site: &Site<'_>) -> Result<Fit, FitError> {
    match fs {
        FileSystem::Fat16 => fat_fit::fit(fat::FatWidth::Fat16, site),
        FileSystem::Fat32 => fat_fit::fit(fat::FatWidth::Fat32, site),
        FileSystem::ExFat => exfat::fit(site),
        FileSystem::Ext4 => linux::ext4(site),
        FileSystem::F2fs => f2fs::fit(site),
        FileSystem::Btrfs => btrfs::fit(site),
        FileSystem::Xfs => linux::xfs(site),
        FileSystem::Ntfs => ntfs::fit(site),
        FileSystem::Swap => Ok(Fit::at(
            site.range.from,
            Parameters::Swap,
            Inside::OnGrid(Bytes::ZERO),
        )),
        FileSystem::None => Ok(Fit {
            start: site.range.from,
            aligned_by: AlignedBy::Start,
            format: None,
            notes: Vec::new(),
            alternative: None,
        }),
    }
}

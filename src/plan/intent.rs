//! What the user asked for, as typed: sizes may still be in sectors, `auto` is not resolved yet.
//! What it means on a medium is decided by [`super::layout()`].

pub use super::label::LabelError;

use super::boot::Board;
use super::filesystem::FatAreaChoice;
use super::filesystem::advice::Purpose;
use super::ids::DiskId;
use super::label::check_label;
use super::types::{FileSystem, PartitionType, TableKind};
use crate::units::{Bytes, Size, SizeError};
use std::str::FromStr;

/// A wish for a table with partitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// Which table.
    pub table: TableChoice,
    /// The partitions in the order in which they lie on the medium. Empty: one partition over the
    /// whole device: what suits the purpose, else FAT16 up to 2 GiB, FAT32 up to 32 GiB, exFAT above.
    pub partitions: Vec<PartitionIntent>,
    /// A grid that overrides the one of the geometry.
    pub align: Option<Size>,
    /// The phase of that grid; zero when not given.
    pub phase: Option<Size>,
    /// Ranges that no partition may touch.
    pub keep_out: Vec<KeepOut>,
    /// How much to leave free at the end of the medium.
    pub reserve_end: Option<Size>,
    /// Use nothing beyond this place, whatever the capacity says.
    pub max_size: Option<Size>,
    /// What board boots from it.
    pub boot: Board,
    /// The identifier of the disk.
    pub disk_id: DiskIdChoice,
    /// Derive identifiers from this text instead of from entropy.
    pub id_seed: Option<String>,
    /// Whether FATs go into a special area of the stick.
    pub fat_area: FatAreaChoice,
    /// What the medium is for: picks the file system when no partition is named.
    pub purpose: Option<Purpose>,
}

impl Intent {
    /// One partition with one file system over the whole device.
    pub fn whole_device(filesystem: FileSystem, label: Option<String>) -> Intent {
        Intent {
            partitions: vec![PartitionIntent {
                label,
                ..PartitionIntent::new(PartitionSize::Rest, filesystem)
            }],
            ..Intent::default()
        }
    }
}

/// Which table is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableChoice {
    /// The one that suits partitions and capacity.
    #[default]
    Auto,
    /// This one.
    Kind(TableKind),
}

impl FromStr for TableChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<TableChoice, String> {
        match text {
            "auto" => Ok(TableChoice::Auto),
            _ => text
                .parse()
                .map(TableChoice::Kind)
                .map_err(|_| format!("'{text}' is no table kind: write auto, mbr or gpt")),
        }
    }
}

/// Which disk identifier is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskIdChoice {
    /// A new one.
    #[default]
    Random,
    /// The one that the medium bears now.
    Keep,
    /// This one.
    Given(DiskId),
}

impl FromStr for DiskIdChoice {
    type Err = super::ids::DiskIdError;
    fn from_str(text: &str) -> Result<DiskIdChoice, Self::Err> {
        match text {
            "random" => Ok(DiskIdChoice::Random),
            "keep" => Ok(DiskIdChoice::Keep),
            _ => text.parse().map(DiskIdChoice::Given),
        }
    }
}

/// One partition as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionIntent {
    /// How large.
    pub size: PartitionSize,
    /// What will live in it.
    pub filesystem: FileSystem,
    /// The label of the file system, and the name of the GPT entry.
    pub label: Option<String>,
    /// A type other than the one of the file system.
    pub type_override: Option<PartitionType>,
    /// The MBR active flag, or GPT attribute bit 2 (legacy BIOS bootable).
    pub bootable: bool,
}

impl PartitionIntent {
    /// A partition without label and peculiarities.
    pub fn new(size: PartitionSize, filesystem: FileSystem) -> PartitionIntent {
        PartitionIntent {
            size,
            filesystem,
            label: None,
            type_override: None,
            bootable: false,
        }
    }
}

/// How large a partition is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionSize {
    /// At least this much: rounded up to whole erase blocks.
    Exact(Size),
    /// A share of what the table leaves, rounded down to the grid so that shares of together
    /// 100 % fit.
    Share(Percent),
    /// What the others leave, down to the last place of the grid.
    Rest,
}

/// A percentage above 0 and up to 100, exact to three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent {
    thousandths: u32,
}

impl Percent {
    /// This share of `whole`, rounded down.
    pub fn of(self, whole: Bytes) -> Bytes {
        let share = u128::from(whole.get()) * u128::from(self.thousandths) / 100_000;
        // At most 100 %, so it is never larger than `whole`.
        Bytes(u64::try_from(share).unwrap_or(whole.get()))
    }
}

impl FromStr for Percent {
    type Err = IntentError;

    /// Digits, perhaps a point and at most three decimals, and `%`.
    fn from_str(text: &str) -> Result<Percent, IntentError> {
        let refuse = || IntentError::Percent(text.to_owned());
        let number = text.strip_suffix('%').ok_or_else(refuse)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(decimals, 3) {
            return Err(refuse());
        }
        let thousandths: u32 = format!("{whole}{decimals:0<3}")
            .parse()
            .map_err(|_| refuse())?;
        if !(1..=100_000).contains(&thousandths) {
            return Err(refuse());
        }
        Ok(Percent { thousandths })
    }
}

/// A range that no partition may touch, half-open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepOut {
    /// The first byte or sector inside.
    pub from: Size,
    /// The first byte or sector outside.
    pub to: Size,
    /// Whose range it is; `None` when the user typed it. Typed ranges may not overlap each other,
    /// since that is a slip; ranges of a boot profile may overlap anything.
    pub owner: Option<String>,
}

/// Why an intent is wrong whatever the medium.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IntentError {
    /// `--partition` with nothing in front of the first colon.
    #[error("partition '{0}' has no size: write SIZE|rest[:FS[:LABEL]], such as 8GiB:ext4:root")]
    NoSize(String),
    /// The size is no size.
    #[error("partition size {0}, or 'rest'")]
    Size(SizeError),
    /// No percentage, or none of a whole.
    #[error(
        "partition size '{0}' is no share: write more than 0% and at most 100%, with at most three decimals"
    )]
    Percent(String),
    /// Nothing to make.
    #[error("{0} has size zero: give a size, or 'rest'")]
    ZeroSize(String),
    /// The file system is unknown.
    #[error("{0}")]
    FileSystem(String),
    /// The label does not fit the file system.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Only one partition can take what is left.
    #[error("partitions {0} and {1} both ask for 'rest': give one of them a size")]
    TwoRests(usize, usize),
    /// A number of sectors that is beyond 2^64 bytes.
    #[error("{0} is beyond 2^64 bytes: check the number of sectors")]
    TooLarge(&'static str),
    /// `--keep-out` without a range.
    #[error(
        "keep-out '{0}' is no range: write FROM-TO (TO is the first byte outside), such as 0.5MiB-16MiB"
    )]
    NoRange(String),
    /// One end of `--keep-out` is no size.
    #[error("keep-out {0}")]
    KeepOutSize(SizeError),
    /// Nothing inside.
    #[error("keep-out '{0}' is empty: TO is the first byte outside and must be larger than FROM")]
    EmptyKeepOut(String),
    /// Two typed ranges share bytes.
    #[error("keep-out ranges {0} and {1} overlap: give them as one range")]
    OverlappingKeepOuts(String, String),
    /// A type of the other table.
    #[error("partition {number}: type {kind} does not exist in an {table} table")]
    WrongType {
        /// Its number, counted from 1.
        number: usize,
        /// The type.
        kind: PartitionType,
        /// The table of the plan.
        table: TableKind,
    },
}

impl FromStr for PartitionIntent {
    type Err = IntentError;

    /// `SIZE|rest[:FS[:LABEL]]`, SIZE also as a percentage; the label may contain colons. Without FS the partition stays
    /// empty (`none`).
    fn from_str(text: &str) -> Result<PartitionIntent, IntentError> {
        let mut parts = text.splitn(3, ':');
        let size = match parts.next().map(str::trim) {
            None | Some("") => return Err(IntentError::NoSize(text.to_owned())),
            Some("rest") => PartitionSize::Rest,
            Some(percent) if percent.ends_with('%') => PartitionSize::Share(percent.parse()?),
            Some(size) => PartitionSize::Exact(size.parse().map_err(IntentError::Size)?),
        };
        if matches!(size, PartitionSize::Exact(size) if is_zero(size)) {
            return Err(IntentError::ZeroSize(format!("partition '{text}'")));
        }
        let filesystem = match parts.next() {
            None => FileSystem::None,
            Some(fs) => fs.trim().parse().map_err(IntentError::FileSystem)?,
        };
        let label = parts.next().map(str::to_owned);
        if let Some(label) = &label {
            check_label(label, filesystem)?;
        }
        Ok(PartitionIntent {
            label,
            ..PartitionIntent::new(size, filesystem)
        })
    }
}

impl FromStr for KeepOut {
    type Err = IntentError;

    /// `FROM-TO`, half-open.
    fn from_str(text: &str) -> Result<KeepOut, IntentError> {
        let (from, to) = text
            .split_once('-')
            .ok_or_else(|| IntentError::NoRange(text.to_owned()))?;
        let from: Size = from.parse().map_err(IntentError::KeepOutSize)?;
        let to: Size = to.parse().map_err(IntentError::KeepOutSize)?;
        Ok(KeepOut {
            from,
            to,
            owner: None,
        })
    }
}

/// Whether nothing is asked for, in whatever unit.
pub(super) fn is_zero(size: Size) -> bool {
    match size {
        Size::Bytes(bytes) => bytes.get() == 0,
        Size::Sectors(sectors) => sectors.get() == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Sectors;

    fn parse(text: &str) -> Result<PartitionIntent, IntentError> {
        text.parse()
    }

    #[test]
    fn a_partition_is_size_file_system_and_label() {
        let partition = parse("1.5GiB:ext4:root:fs").unwrap();
        assert_eq!(
            partition.size,
            PartitionSize::Exact(Size::Bytes(Bytes::mib(1536)))
        );
        assert_eq!(partition.filesystem, FileSystem::Ext4);
        assert_eq!(partition.label.as_deref(), Some("root:fs"));
        let rest = parse("rest").unwrap();
        assert_eq!(
            (rest.size, rest.filesystem),
            (PartitionSize::Rest, FileSystem::None)
        );
        assert_eq!(
            parse("2048s:FAT32").unwrap().size,
            PartitionSize::Exact(Size::Sectors(Sectors(2048)))
        );
    }

    #[test]
    fn what_is_no_partition_is_refused_with_a_way_out() {
        for (text, says) in [
            ("", "has no size"),
            (":ext4", "has no size"),
            ("1:ext4", "has no unit"),
            ("0%:ext4", "is no share"),
            ("100.001%", "is no share"),
            ("1e1%", "is no share"),
            ("0.0001%", "is no share"),
            ("0MiB", "has size zero"),
            ("8GiB:zfs", "unknown file system 'zfs'"),
            ("8GiB:", "unknown file system ''"),
            ("8GiB:fat32:", "label is empty"),
            ("8GiB:fat32:TWELVE CHARS", "too long"),
            ("-8GiB", "no size"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
        }
    }

    #[test]
    fn a_share_is_exact_and_never_more_than_the_whole() {
        let of = |text: &str, whole: u64| text.parse::<Percent>().unwrap().of(Bytes(whole)).get();
        assert_eq!(of("10%", 500_107_859_968), 50_010_785_996);
        assert_eq!(of("12.5%", 1000), 125);
        assert_eq!(of("0.001%", 200_000), 2);
        assert_eq!(of("100%", u64::MAX), u64::MAX);
    }

    #[test]
    fn tables_and_identifiers_are_words_or_values() {
        assert_eq!("auto".parse(), Ok(TableChoice::Auto));
        assert_eq!("gpt".parse(), Ok(TableChoice::Kind(TableKind::Gpt)));
        assert!(
            "dos"
                .parse::<TableChoice>()
                .unwrap_err()
                .contains("auto, mbr or gpt")
        );
        assert_eq!("keep".parse(), Ok(DiskIdChoice::Keep));
        assert_eq!(
            "0x0cf7e848".parse(),
            Ok(DiskIdChoice::Given(DiskId::Mbr(0x0cf7_e848)))
        );
    }

    #[test]
    fn a_keep_out_is_a_range_of_sizes() {
        let range: KeepOut = "64s-32768s".parse().unwrap();
        assert_eq!(range.from, Size::Sectors(Sectors(64)));
        assert_eq!(range.to, Size::Sectors(Sectors(32768)));
        assert!("16MiB".parse::<KeepOut>().is_err());
        assert!("1-2MiB".parse::<KeepOut>().is_err());
    }
}

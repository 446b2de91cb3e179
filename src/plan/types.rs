//! Table kinds, file systems, and the type codes that announce them.

use super::guid::Guid;
use crate::units::{Lba, Sectors};
use std::fmt;
use std::str::FromStr;

/// The two partition tables that flashfit writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// Master boot record, four primary partitions.
    Mbr,
    /// GUID partition table, 128 entries.
    Gpt,
}

impl TableKind {
    /// The word used in options and files.
    pub const fn word(self) -> &'static str {
        match self {
            TableKind::Mbr => "mbr",
            TableKind::Gpt => "gpt",
        }
    }
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TableKind::Mbr => "MBR",
            TableKind::Gpt => "GPT",
        })
    }
}

impl FromStr for TableKind {
    type Err = String;
    fn from_str(text: &str) -> Result<TableKind, String> {
        match text {
            "mbr" => Ok(TableKind::Mbr),
            "gpt" => Ok(TableKind::Gpt),
            _ => Err(format!("'{text}' is no table kind: write mbr or gpt")),
        }
    }
}

/// What is to live in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileSystem {
    /// FAT with 16-bit entries.
    Fat16,
    /// FAT with 32-bit entries.
    Fat32,
    /// exFAT.
    ExFat,
    /// ext4.
    Ext4,
    /// F2FS.
    F2fs,
    /// Btrfs.
    Btrfs,
    /// XFS.
    Xfs,
    /// NTFS.
    Ntfs,
    /// Linux swap space.
    Swap,
    /// None: the partition stays empty.
    None,
}

impl FileSystem {
    /// All of them, in the order in which they are listed for users.
    pub const ALL: [FileSystem; 10] = [
        FileSystem::Fat16,
        FileSystem::Fat32,
        FileSystem::ExFat,
        FileSystem::Ext4,
        FileSystem::F2fs,
        FileSystem::Btrfs,
        FileSystem::Xfs,
        FileSystem::Ntfs,
        FileSystem::Swap,
        FileSystem::None,
    ];

    /// The word used in options and files.
    pub const fn word(self) -> &'static str {
        match self {
            FileSystem::Fat16 => "fat16",
            FileSystem::Fat32 => "fat32",
            FileSystem::ExFat => "exfat",
            FileSystem::Ext4 => "ext4",
            FileSystem::F2fs => "f2fs",
            FileSystem::Btrfs => "btrfs",
            FileSystem::Xfs => "xfs",
            FileSystem::Ntfs => "ntfs",
            FileSystem::Swap => "swap",
            FileSystem::None => "none",
        }
    }

    /// Whether cameras, consoles or Windows read it: the file systems that carry data between
    /// machines.
    pub const fn is_exchange(self) -> bool {
        matches!(
            self,
            FileSystem::Fat16 | FileSystem::Fat32 | FileSystem::ExFat | FileSystem::Ntfs
        )
    }

    /// Whether only Linux uses it.
    pub const fn is_linux_only(self) -> bool {
        matches!(
            self,
            FileSystem::Ext4
                | FileSystem::F2fs
                | FileSystem::Btrfs
                | FileSystem::Xfs
                | FileSystem::Swap
        )
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for FileSystem {
    type Err = String;
    fn from_str(text: &str) -> Result<FileSystem, String> {
        FileSystem::ALL
            .into_iter()
            .find(|fs| fs.word().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let known: Vec<&str> = FileSystem::ALL.iter().map(|fs| fs.word()).collect();
                format!(
                    "unknown file system '{text}': write one of {}",
                    known.join(", ")
                )
            })
    }
}

/// The type that a table entry announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartitionType {
    /// An MBR type byte, never 0 (unused entry).
    Mbr(u8),
    /// A GPT type GUID, never nil (unused entry).
    Gpt(Guid),
}

impl fmt::Display for PartitionType {
    /// `0x0c`, or the GUID.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionType::Mbr(code) => f.pad(&format!("0x{code:02x}")),
            PartitionType::Gpt(guid) => f.pad(&guid.to_string()),
        }
    }
}

impl FromStr for PartitionType {
    type Err = String;
    /// `0x` and two hex digits, or a GUID.
    fn from_str(text: &str) -> Result<PartitionType, String> {
        let parsed = match text.strip_prefix("0x") {
            Some(hex) if hex.len() == 2 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                u8::from_str_radix(hex, 16).ok().map(PartitionType::Mbr)
            }
            Some(_) => None,
            None => text.parse().ok().map(PartitionType::Gpt),
        };
        match parsed {
            Some(PartitionType::Mbr(0)) => {
                Err("partition type 0x00 means an unused entry: give the real type".to_owned())
            }
            Some(PartitionType::Gpt(guid)) if guid.is_nil() => {
                Err("a nil type GUID means an unused entry: give the real type".to_owned())
            }
            Some(kind) => Ok(kind),
            None => Err(format!(
                "'{text}' is no partition type: write 0x and two hex digits (MBR) or a GUID (GPT)"
            )),
        }
    }
}

/// Microsoft basic data: FAT, exFAT and NTFS in a GPT (UEFI specification and Microsoft's
/// `PARTITION_BASIC_DATA_GUID`).
pub const BASIC_DATA: Guid = Guid::from_u128(0xEBD0A0A2_B9E5_4433_87C0_68B6B72699C7);
/// Linux file system data (util-linux `include/pt-gpt-partnames.h`).
pub const LINUX_DATA: Guid = Guid::from_u128(0x0FC63DAF_8483_4772_8E79_3D69D8477DE4);
/// Linux swap (util-linux, as above).
pub const LINUX_SWAP: Guid = Guid::from_u128(0x0657FD6D_A4AB_43C4_84E5_0933C84B4F4F);

/// The first sector that a CHS address of 1024 cylinders, 255 heads and 63 sectors cannot express.
/// FAT types exist in two flavours, below and beyond it (0x0B and 0x0C).
pub const CHS_LIMIT: Lba = Lba(1024 * 255 * 63);

/// FAT16 partitions below 32 MiB have their own type 0x04: fewer than 65536 sectors of 512 bytes,
/// the limit of the 16-bit sector count of MS-DOS 3.
const FAT16_SMALL: Sectors = Sectors(65536);

/// The type of a partition from `first` over `sectors` that holds `fs`.
///
/// MBR codes: 04/06/0E FAT16, 0B/0C FAT32 (the larger code when the partition passes
/// [`CHS_LIMIT`]), 07 exFAT and NTFS, 82 swap, 83 anything of Linux (util-linux
/// `include/pt-mbr-partnames.h`). A partition without file system gets the Linux type, which no
/// system formats or repairs on its own.
pub fn type_for(fs: FileSystem, kind: TableKind, first: Lba, sectors: Sectors) -> PartitionType {
    let beyond_chs = first.checked_add(sectors).is_none_or(|end| end > CHS_LIMIT);
    match kind {
        TableKind::Gpt => PartitionType::Gpt(match fs {
            FileSystem::Fat16 | FileSystem::Fat32 | FileSystem::ExFat | FileSystem::Ntfs => {
                BASIC_DATA
            }
            FileSystem::Swap => LINUX_SWAP,
            _ => LINUX_DATA,
        }),
        TableKind::Mbr => PartitionType::Mbr(match fs {
            FileSystem::Fat16 if beyond_chs => 0x0e,
            FileSystem::Fat16 if sectors < FAT16_SMALL => 0x04,
            FileSystem::Fat16 => 0x06,
            FileSystem::Fat32 if beyond_chs => 0x0c,
            FileSystem::Fat32 => 0x0b,
            FileSystem::ExFat | FileSystem::Ntfs => 0x07,
            FileSystem::Swap => 0x82,
            _ => 0x83,
        }),
    }
}

/// A word for a type, for people.
pub fn type_name(kind: PartitionType) -> &'static str {
    match kind {
        PartitionType::Mbr(code) => match code {
            0x01 => "FAT12",
            0x04 => "FAT16 below 32 MiB",
            0x06 => "FAT16",
            0x0e => "FAT16 LBA",
            0x0b => "FAT32",
            0x0c => "FAT32 LBA",
            0x07 => "exFAT or NTFS",
            0x82 => "Linux swap",
            0x83 => "Linux",
            0xef => "EFI system",
            _ => "other",
        },
        PartitionType::Gpt(guid) if guid == BASIC_DATA => "basic data",
        PartitionType::Gpt(guid) if guid == LINUX_DATA => "Linux file system",
        PartitionType::Gpt(guid) if guid == LINUX_SWAP => "Linux swap",
        PartitionType::Gpt(_) => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbr(fs: FileSystem, first: u64, sectors: u64) -> u8 {
        match type_for(fs, TableKind::Mbr, Lba(first), Sectors(sectors)) {
            PartitionType::Mbr(code) => code,
            PartitionType::Gpt(guid) => panic!("{guid}"),
        }
    }

    #[test]
    fn fat_types_change_at_the_chs_limit() {
        assert_eq!(mbr(FileSystem::Fat32, 8192, 16_450_560 - 8192), 0x0b);
        assert_eq!(mbr(FileSystem::Fat32, 8192, 16_450_561 - 8192), 0x0c);
        assert_eq!(mbr(FileSystem::Fat16, 2048, 65_535), 0x04);
        assert_eq!(mbr(FileSystem::Fat16, 2048, 65_536), 0x06);
        assert_eq!(mbr(FileSystem::Fat16, 16_450_560, 8192), 0x0e);
        assert_eq!(mbr(FileSystem::Fat32, u64::MAX, 2), 0x0c);
    }

    #[test]
    fn every_file_system_has_a_word_and_a_type() {
        for fs in FileSystem::ALL {
            assert_eq!(fs.word().parse(), Ok(fs));
            assert_ne!(mbr(fs, 2048, 4096), 0);
        }
        assert_eq!(mbr(FileSystem::Ntfs, 2048, 4096), 0x07);
        assert_eq!(mbr(FileSystem::Swap, 2048, 4096), 0x82);
        assert_eq!(mbr(FileSystem::None, 2048, 4096), 0x83);
        let error = "reiserfs".parse::<FileSystem>().unwrap_err();
        assert!(
            error.contains("'reiserfs'") && error.contains("exfat"),
            "{error}"
        );
    }

    #[test]
    fn types_survive_text_and_unused_entries_are_refused() {
        for text in ["0x0c", "0xef", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"] {
            let parsed: PartitionType = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
        }
        for text in [
            "0x00",
            "c",
            "0xc",
            "0x100",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert!(text.parse::<PartitionType>().is_err(), "{text}");
        }
    }
}

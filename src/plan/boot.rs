//! What a board wants of its boot medium: where its loader lies, which table its ROM understands,
//! and what the first partition has to be.
//!
//! One table of facts; `arrange` and `table_kind` obey it. Sources stand at each board; those of
//! U-Boot are in its tree below `doc/board`.

use super::filesystem::fat::FatGeometry;
use super::gpt_shape::{GptShape, STANDARD_ENTRIES};
use super::types::{FileSystem, TableKind};
use crate::units::{ByteRange, Bytes, LogicalBlock, MIB, Sectors, lcm};
use std::fmt;
use std::str::FromStr;

/// A family of boards with the same wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Board {
    /// No wishes: data media, and PCs.
    #[default]
    Generic,
    /// Raspberry Pi up to 3.
    RaspberryPi,
    /// Raspberry Pi 4 and later.
    RaspberryPi4,
    /// Allwinner (sunxi).
    Allwinner,
    /// Rockchip.
    Rockchip,
    /// NXP i.MX 6 and 7.
    Imx6,
    /// NXP i.MX 8 and 9.
    Imx8,
    /// TI AM335x.
    Am335x,
}

/// What a board wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    /// Its name for people.
    pub name: &'static str,
    /// Where its loader lies: nothing else may.
    pub loaders: &'static [Loader],
    /// Which table.
    pub table: TableWish,
    /// The first partition starts no earlier.
    pub first_start: Bytes,
    /// What the first partition has to be.
    pub first: FirstWish,
    /// The geometry that the boot sector of the first FAT has to name (`mkfs.fat -g`); `None` when
    /// the ROM does not look at it.
    pub fat_geometry: Option<FatGeometry>,
}

/// A range that belongs to a loader, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    /// Its first byte.
    pub from: Bytes,
    /// The first byte behind it.
    pub to: Bytes,
    /// What lies there.
    pub owner: &'static str,
}

impl Loader {
    /// The range.
    pub const fn range(&self) -> ByteRange {
        ByteRange {
            from: self.from,
            to: self.to,
        }
    }
}

/// Which table a board wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableWish {
    /// Whatever suits the medium.
    Any,
    /// MBR and nothing else, for this reason.
    MbrOnly(&'static str),
    /// MBR unless asked otherwise.
    Mbr(&'static str),
    /// GPT unless asked otherwise; then with a warning.
    Gpt(&'static str),
}

/// What the first partition has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWish {
    /// Anything.
    Any,
    /// FAT16 or FAT32. `active`: with the active flag in an MBR.
    Fat {
        /// Whether the ROM looks for the active flag.
        active: bool,
    },
    /// FAT32 and no other.
    Fat32,
}

const GENERIC: Wishes = Wishes {
    name: "generic",
    loaders: &[],
    table: TableWish::Any,
    first_start: Bytes(MIB),
    first: FirstWish::Any,
    fat_geometry: None,
};

/// The ROM reads bootcode.bin from the first entry of an MBR and knows the types 0B and 0C (Raspberry
/// Pi documentation, "Boot flow"; raspberrypi/documentation issue 1291). Compute modules 3 with early
/// ROMs boot from FAT32 only (raspberrypi/firmware issue 1738).
const RASPBERRY_PI: Wishes = Wishes {
    name: "Raspberry Pi up to 3",
    table: TableWish::MbrOnly("its ROM finds no boot files on a GPT"),
    first: FirstWish::Fat32,
    ..GENERIC
};

/// The loader in the EEPROM reads GPT as well (Raspberry Pi documentation, "Raspberry Pi boot
/// EEPROM"), and looks for its entries in sector 2 only (raspberrypi/rpi-eeprom issue 585), where all
/// tables of flashfit have them.
const RASPBERRY_PI_4: Wishes = Wishes {
    name: "Raspberry Pi 4 and later",
    first: FirstWish::Fat { active: false },
    ..GENERIC
};

/// The ROM loads from 8 KiB, later ones also from 128 or 256 KiB; U-Boot follows at least 32 KiB
/// later (U-Boot `doc/board/allwinner/sunxi.rst`). 8 KiB lies inside the entries of a GPT of 128
/// entries (armbian/build issue 10647).
const ALLWINNER: Wishes = Wishes {
    name: "Allwinner",
    loaders: &[Loader {
        from: Bytes::kib(8),
        to: Bytes::mib(1),
        owner: "Allwinner boot loader (SPL at 8 KiB or 128 KiB, U-Boot behind it)",
    }],
    table: TableWish::Mbr("its loader at 8 KiB lies where a GPT of 128 entries has them"),
    ..GENERIC
};

/// idbloader in sector 64, U-Boot in 16384, trust in 24576, and the first partition in 32768 (U-Boot
/// `doc/board/rockchip/rockchip.rst`; Rockchip wiki, "Partitions"). Loaders of the vendor want a GPT
/// (armbian/configng pull request 972).
const ROCKCHIP: Wishes = Wishes {
    name: "Rockchip",
    loaders: &[Loader {
        from: Bytes(64 * 512),
        to: Bytes(32768 * 512),
        owner: "Rockchip boot loaders (idbloader in sector 64, U-Boot in 16384, trust in 24576)",
    }],
    table: TableWish::Gpt("loaders of the vendor refuse an MBR"),
    first_start: Bytes::mib(16),
    ..GENERIC
};

/// The ROM loads from 1 KiB, where the entries of a GPT begin; U-Boot follows at 69 KiB (U-Boot
/// `doc/imx/common/imx6.txt`, nxp-imx/mfgtools issue 300).
const IMX6: Wishes = Wishes {
    name: "i.MX 6 and 7",
    loaders: &[Loader {
        from: Bytes::kib(1),
        to: Bytes::mib(1),
        owner: "i.MX boot loader (at 1 KiB, U-Boot at 69 KiB)",
    }],
    table: TableWish::MbrOnly("its loader at 1 KiB lies where the entries of a GPT begin"),
    ..GENERIC
};

/// The ROM loads from 32 or 33 KiB (U-Boot `doc/board/nxp`); images leave 8 MiB to it.
const IMX8: Wishes = Wishes {
    name: "i.MX 8 and 9",
    loaders: &[Loader {
        from: Bytes::kib(32),
        to: Bytes::mib(8),
        owner: "i.MX boot container (at 32 or 33 KiB)",
    }],
    first_start: Bytes::mib(8),
    ..GENERIC
};

/// The ROM looks for a loader at 0, 128, 256 and 384 KiB, and for the file MLO on the active FAT
/// partition of an MBR (AM335x Technical Reference Manual, "MMC / SD Cards"); U-Boot lies at sector
/// 0x300 (U-Boot `doc/board/ti/am335x_evm.rst`). The copy at 0 would take the table's own sector and
/// is not used. The same manual (SPRUH73Q, quoted in dosfstools issue 165) wants 255 heads and 63
/// sectors per track in the FAT, and as many sectors in it as in the entry of the MBR.
const AM335X: Wishes = Wishes {
    name: "TI AM335x",
    loaders: &[Loader {
        from: Bytes::kib(128),
        to: Bytes::mib(4),
        owner: "AM335x boot loaders (copies at 128 and 256 KiB, U-Boot at 384 KiB)",
    }],
    table: TableWish::Mbr("its ROM looks for the active FAT partition of an MBR"),
    first_start: Bytes::mib(4),
    first: FirstWish::Fat { active: true },
    fat_geometry: Some(FatGeometry {
        heads: 255,
        sectors_per_track: 63,
    }),
};

impl Board {
    /// All of them, in the order in which they are listed for users.
    pub const ALL: [Board; 8] = [
        Board::Generic,
        Board::RaspberryPi,
        Board::RaspberryPi4,
        Board::Allwinner,
        Board::Rockchip,
        Board::Imx6,
        Board::Imx8,
        Board::Am335x,
    ];

    /// The word used in options.
    pub const fn word(self) -> &'static str {
        match self {
            Board::Generic => "generic",
            Board::RaspberryPi => "raspberry-pi",
            Board::RaspberryPi4 => "raspberry-pi-4",
            Board::Allwinner => "allwinner",
            Board::Rockchip => "rockchip",
            Board::Imx6 => "imx6",
            Board::Imx8 => "imx8",
            Board::Am335x => "am335x",
        }
    }

    /// What it wants.
    pub const fn wishes(self) -> Wishes {
        match self {
            Board::Generic => GENERIC,
            Board::RaspberryPi => RASPBERRY_PI,
            Board::RaspberryPi4 => RASPBERRY_PI_4,
            Board::Allwinner => ALLWINNER,
            Board::Rockchip => ROCKCHIP,
            Board::Imx6 => IMX6,
            Board::Imx8 => IMX8,
            Board::Am335x => AM335X,
        }
    }

    /// How many entries a GPT for it can have: the standard number, or fewer when its loader lies
    /// among them; `None` when it cannot have any.
    pub fn gpt_entries(self, block: LogicalBlock) -> Option<u32> {
        let first = self.wishes().loaders.iter().map(|loader| loader.from).min();
        match first {
            None => Some(STANDARD_ENTRIES),
            Some(place) => GptShape::most_entries_before(place, block),
        }
    }

    /// The word for programs and the sentence for people of what may surprise with this table.
    pub(super) fn warning(self, table: TableKind, entries: u32) -> Option<(&'static str, String)> {
        let name = self.wishes().name;
        match (self.wishes().table, table) {
            (TableWish::Gpt(why), TableKind::Mbr) => Some((
                "board_wants_gpt",
                format!("{name}: {why}, and an MBR was asked for"),
            )),
            (_, TableKind::Gpt) if entries < STANDARD_ENTRIES => Some((
                "fewer_gpt_entries",
                format!(
                    "{name}: the GPT has {entries} entries instead of {STANDARD_ENTRIES}, to leave its loader alone: tools that make it larger again destroy the loader"
                ),
            )),
            _ => None,
        }
    }
}

/// What may surprise about the first partition: mkfs.fat (dosfstools 4.2) cuts a FAT to whole tracks,
/// and a ROM that compares its size with that of the partition then refuses it. `unit` is that of the
/// sizes, in which a partition of whole tracks is looked for.
pub(super) fn fat_fills_its_partition(
    board: Board,
    first: Sectors,
    unit: Sectors,
) -> Option<(&'static str, String)> {
    let wishes = board.wishes();
    let track = u64::from(wishes.fat_geometry?.sectors_per_track);
    if first.get().is_multiple_of(track) {
        return None;
    }
    let whole = lcm(Bytes(track), Bytes(unit.get()))?;
    Some((
        "fat_shorter_than_partition",
        format!(
            "{}: its ROM reads the file MLO only from a FAT that fills its partition, and mkfs.fat cuts it to whole tracks of {track} sectors: give the first partition a multiple of {}s, or use the copies of the loader in front of it",
            wishes.name,
            whole.get()
        ),
    ))
}

impl FirstWish {
    /// What makes a first partition of this file system wrong, if anything.
    pub(super) const fn refuses(self, fs: FileSystem) -> Option<&'static str> {
        match (self, fs) {
            (FirstWish::Any, _)
            | (FirstWish::Fat { .. }, FileSystem::Fat16 | FileSystem::Fat32)
            | (FirstWish::Fat32, FileSystem::Fat32) => None,
            (FirstWish::Fat { .. }, _) => Some("FAT16 or FAT32"),
            (FirstWish::Fat32, _) => Some("FAT32"),
        }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Board {
    type Err = String;
    fn from_str(text: &str) -> Result<Board, String> {
        Board::ALL
            .into_iter()
            .find(|board| board.word() == text)
            .ok_or_else(|| {
                let known: Vec<&str> = Board::ALL.iter().map(|board| board.word()).collect();
                format!("unknown board '{text}': write one of {}", known.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_a_word_and_ranges_that_make_sense() {
        for board in Board::ALL {
            assert_eq!(board.word().parse(), Ok(board));
            let wishes = board.wishes();
            for loader in wishes.loaders {
                assert!(loader.from < loader.to && loader.to <= wishes.first_start);
                assert!(loader.from >= Bytes(512), "{board}: over the MBR");
            }
        }
        assert!(
            "raspberry"
                .parse::<Board>()
                .unwrap_err()
                .contains("rockchip")
        );
    }

    #[test]
    fn loaders_leave_a_gpt_its_entries_or_not() {
        let entries = |board: Board| board.gpt_entries(LogicalBlock::B512);
        assert_eq!(entries(Board::Generic), Some(128));
        assert_eq!(entries(Board::RaspberryPi4), Some(128));
        assert_eq!(entries(Board::Allwinner), Some(56));
        assert_eq!(entries(Board::Rockchip), Some(128));
        assert_eq!(entries(Board::Imx6), None);
        assert_eq!(entries(Board::Imx8), Some(128));
        assert_eq!(entries(Board::Am335x), Some(128));
        assert_eq!(Board::Allwinner.gpt_entries(LogicalBlock::B4096), None);
    }
}

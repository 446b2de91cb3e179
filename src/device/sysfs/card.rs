//! The registers of an SD card or eMMC that the kernel's own MMC host shows. A card behind a USB
//! reader shows none of them.

use super::text;
use crate::units::Bytes;
use std::path::Path;

/// What kind of card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardKind {
    /// An SD card.
    Sd,
    /// An eMMC or an old MultiMediaCard.
    Mmc,
}

/// An SD card or eMMC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What kind.
    pub kind: CardKind,
    /// Product name (5 characters on SD, 6 on eMMC).
    pub name: Option<String>,
    /// Manufacturer id as the kernel prints it (`0x000003`).
    pub manufacturer: Option<String>,
    /// OEM id as the kernel prints it (`0x5344`).
    pub oem: Option<String>,
    /// Serial number as the kernel prints it (`0x1a2b3c4d`).
    pub serial: Option<String>,
    /// The card identification register, 32 hex digits: unique to the card.
    pub cid: Option<String>,
    /// Month and year of manufacture (`06/2019`).
    pub date: Option<String>,
    /// The card specific data register.
    pub csd: Option<Csd>,
    /// sysfs `erase_size`: on an eMMC the erase group in use (the high-capacity one when the card
    /// has it). `None` on SD, where it is a constant of 512 bytes for every block-addressed card
    /// and says nothing about erase blocks.
    pub erase_group: Option<Bytes>,
    /// AU_SIZE of the SD status register; `None` when the kernel does not show the register.
    pub ssr: Option<super::AuSize>,
    /// sysfs `preferred_erase_size` as it stands.
    pub preferred_erase_size: Option<Bytes>,
}

impl Card {
    /// Read the card's attributes from its `device` directory; `None` when there is no card type.
    pub(super) fn read(device: &Path) -> Option<Card> {
        let get = |attribute: &str| text(&device.join(attribute));
        let size = |attribute: &str| get(attribute)?.parse().ok().filter(|n| *n != 0).map(Bytes);
        // "SD" and "SDcombo" are SD cards, "MMC" is both MMC and eMMC (drivers/mmc/core/bus.c).
        let kind = match get("type")?.as_str() {
            "SD" | "SDcombo" => CardKind::Sd,
            "MMC" => CardKind::Mmc,
            _ => return None,
        };
        Some(Card {
            kind,
            name: get("name"),
            manufacturer: get("manfid"),
            oem: get("oemid"),
            serial: get("serial"),
            cid: get("cid"),
            date: get("date"),
            csd: get("csd").and_then(|hex| Csd::parse(&hex, kind)),
            erase_group: size("erase_size").filter(|_| kind == CardKind::Mmc),
            ssr: get("ssr").and_then(|hex| super::au_size(&hex)),
            preferred_erase_size: size("preferred_erase_size"),
        })
    }
}

/// The card specific data register: SD Physical Layer Simplified Specification, section 5.3, and
/// JESD84-B51, section 7.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csd {
    /// The capacity that it states; `None` on an eMMC above 2 GiB, whose capacity stands in EXT_CSD.
    pub capacity: Option<Bytes>,
    /// The erase unit that it states: on SD up to 2 GB the sector size or one block, on MMC the
    /// legacy erase group. `None` on SDHC and later, where the field is a constant.
    pub erase_unit: Option<Bytes>,
}

impl Csd {
    /// Decode the text of sysfs `csd`, 32 hex digits, most significant first.
    pub fn parse(hex: &str, kind: CardKind) -> Option<Csd> {
        let hex = hex.trim();
        if hex.len() != 32 {
            return None;
        }
        let register = u128::from_str_radix(hex, 16).ok()?;
        // Bits `high` to `low`, both included, as the specifications number them.
        let bits = |high: u32, low: u32| -> u64 {
            let width = high - low + 1;
            let mask = (1u128 << width) - 1;
            u64::try_from((register >> low) & mask).unwrap_or(u64::MAX)
        };
        let blocks = || {
            let shift = u32::try_from(bits(49, 47)).unwrap_or(0) + 2;
            (bits(73, 62) + 1) << shift
        };
        let block_length = 1u64 << bits(83, 80);
        let write_block = 1u64 << bits(25, 22);
        match (kind, bits(127, 126)) {
            (CardKind::Sd, 0) => Some(Csd {
                capacity: blocks().checked_mul(block_length).map(Bytes),
                erase_unit: Some(Bytes(match bits(46, 46) {
                    1 => 512,
                    _ => (bits(45, 39) + 1) * write_block,
                })),
            }),
            (CardKind::Sd, 1) => Some(Csd {
                capacity: Some(Bytes::kib(512 * (bits(69, 48) + 1))),
                erase_unit: None,
            }),
            (CardKind::Sd, 2) => Some(Csd {
                capacity: Some(Bytes::kib(512 * (bits(75, 48) + 1))),
                erase_unit: None,
            }),
            (CardKind::Sd, _) => None,
            (CardKind::Mmc, _) => Some(Csd {
                // C_SIZE is all ones when the capacity stands in EXT_CSD SEC_COUNT.
                capacity: (bits(73, 62) != 0xfff)
                    .then(|| blocks().checked_mul(block_length).map(Bytes))
                    .flatten(),
                erase_unit: Some(Bytes((bits(46, 42) + 1) * (bits(41, 37) + 1) * write_block)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_of_a_16_gb_sdhc_card_is_decoded() {
        // The register of a real card, published in raspberrypi/linux issue 1518.
        let csd = Csd::parse("400e00325b59000073a77f800a400001", CardKind::Sd).unwrap();
        assert_eq!(csd.capacity, Some(Bytes(15_523_119_104)));
        assert_eq!(csd.erase_unit, None);
    }

    /// A register with the given fields, each `(value, low bit)`.
    fn register(fields: &[(u128, u32)]) -> String {
        format!(
            "{:032x}",
            fields
                .iter()
                .fold(0, |all, (value, low)| all | value << low)
        )
    }

    #[test]
    fn a_version_1_card_states_capacity_and_erase_sector() {
        // 2048 * 2^(7+2) blocks of 1024 bytes = 1 GiB; sector of 32 write blocks of 1024 bytes.
        let fields = [(2047, 62), (7, 47), (10, 80), (31, 39), (10, 22)];
        let csd = Csd::parse(&register(&fields), CardKind::Sd).unwrap();
        assert_eq!(csd.capacity, Some(Bytes::gib(1)));
        assert_eq!(csd.erase_unit, Some(Bytes::kib(32)));
        let single = [&fields[..], &[(1, 46)]].concat();
        let csd = Csd::parse(&register(&single), CardKind::Sd).unwrap();
        assert_eq!(csd.erase_unit, Some(Bytes(512)));
    }

    #[test]
    fn an_sduc_card_uses_28_bits_of_size() {
        // 4 TiB in units of 512 KiB.
        let csd = Csd::parse(&register(&[(2, 126), ((1 << 23) - 1, 48)]), CardKind::Sd).unwrap();
        assert_eq!(csd.capacity, Some(Bytes::gib(4096)));
    }

    #[test]
    fn a_large_emmc_states_only_its_legacy_erase_group() {
        let fields = [
            (3, 126),
            (0xfff, 62),
            (7, 47),
            (9, 80),
            (31, 42),
            (31, 37),
            (9, 22),
        ];
        let csd = Csd::parse(&register(&fields), CardKind::Mmc).unwrap();
        assert_eq!(csd.capacity, None);
        assert_eq!(csd.erase_unit, Some(Bytes::kib(512)));
    }

    #[test]
    fn a_broken_register_is_no_register() {
        assert_eq!(Csd::parse("400e", CardKind::Sd), None);
        assert_eq!(Csd::parse(&"z".repeat(32), CardKind::Sd), None);
        assert_eq!(Csd::parse(&"f".repeat(32), CardKind::Sd), None);
    }
}

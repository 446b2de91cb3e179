//! The sizes that card and kernel report, and whose word each of them is.

use super::{AuSize, Card, CardKind, Disk};
use crate::topology::{Origin, PreferredEraseSize, Reported};
use crate::units::Bytes;

/// Read the reported sizes of a disk.
pub fn reported(disk: &Disk, card: Option<&Card>) -> Reported {
    let block = disk
        .size_of("queue/physical_block_size")
        .or_else(|| disk.logical_block_bytes())
        .unwrap_or(Bytes(512));
    let optimal = disk.size_of("queue/optimal_io_size");
    let (optimal_io_size, optimal_io_quirk) = adopted_optimal_io(optimal, block);
    Reported {
        preferred_erase_size: card
            .and_then(|card| preferred(card, disk.capacity().unwrap_or(Bytes::ZERO))),
        ssr_au_size: card.and_then(|card| match card.ssr {
            Some(AuSize::Defined(bytes)) => Some(bytes),
            _ => None,
        }),
        optimal_io_size,
        optimal_io_quirk,
        // 0 means that the device cannot discard.
        discard_granularity: disk.size_of("queue/discard_granularity"),
    }
}

/// Whose word the preferred erase size is.
fn preferred(card: &Card, capacity: Bytes) -> Option<PreferredEraseSize> {
    let bytes = card.preferred_erase_size?;
    let by_capacity = kernel_default(capacity, card.erase_group);
    let from_card = match (card.kind, card.ssr) {
        (CardKind::Sd, Some(AuSize::Defined(au))) => bytes == au || bytes != by_capacity,
        // The register is there and defines none: the number can only be the kernel's.
        (CardKind::Sd, Some(AuSize::Undefined)) => false,
        // Without the register, the value that the rule gives may still be the card's.
        (CardKind::Sd, None) => bytes != by_capacity,
        // The erase group is the card's word when it is itself the preferred size.
        (CardKind::Mmc, _) => card.erase_group == Some(bytes) || bytes != by_capacity,
    };
    Some(PreferredEraseSize {
        bytes,
        origin: if from_card {
            Origin::Card
        } else {
            Origin::CardOrKernelDefault
        },
    })
}

/// The kernel's choice when an SD card defines no allocation unit, and for every MMC: by capacity,
/// then raised to a multiple of the erase group (`mmc_init_erase` in drivers/mmc/core/core.c).
fn kernel_default(capacity: Bytes, erase_group: Option<Bytes>) -> Bytes {
    let size = match capacity.get() >> 20 {
        0..128 => Bytes::kib(512),
        128..512 => Bytes::mib(1),
        512..1024 => Bytes::mib(2),
        _ => Bytes::mib(4),
    };
    match erase_group {
        Some(Bytes(group)) if group != 0 => Bytes(size.get().div_ceil(group) * group),
        _ => size,
    }
}

/// Sort an `optimal_io_size` into (adopted, quirk).
///
/// It is adopted when it is a multiple of the physical block and of 4096, and m * 2^k with m <= 9.
/// Bridges that report 65535 sectors (33553920 = 65535 * 512, see util-linux issue 1221) give a
/// number that has nothing to do with flash and sends partitioners to sector 65535; flash comes in
/// powers of two times the small odd factors of multi-level cells and planes.
pub fn adopted_optimal_io(
    optimal: Option<Bytes>,
    physical_block: Bytes,
) -> (Option<Bytes>, Option<Bytes>) {
    let Some(bytes) = optimal.filter(|bytes| *bytes != Bytes::ZERO) else {
        return (None, None);
    };
    let odd_part = bytes.get() >> bytes.get().trailing_zeros();
    let is_plausible =
        bytes.is_multiple_of(physical_block) && bytes.is_multiple_of(Bytes(4096)) && odd_part <= 9;
    if is_plausible {
        (Some(bytes), None)
    } else {
        (None, Some(bytes))
    }
}

/// The largest request that the kernel passes on in one piece.
pub fn max_request(disk: &Disk) -> Option<Bytes> {
    let kib = disk.number_of("queue/max_sectors_kb").filter(|n| *n != 0)?;
    kib.checked_mul(1024).map(Bytes)
}

/// Whether the kernel takes the device for one whose write cache loses its contents with the power,
/// so that it flushes it (`queue/write_cache`: "write back" or "write through").
pub fn has_volatile_cache(disk: &Disk) -> Option<bool> {
    match disk.text_of("queue/write_cache")?.as_str() {
        "write back" => Some(true),
        "write through" => Some(false),
        _ => None,
    }
}

/// What the device itself says of the place of its first logical block. Zero is no proof of
/// alignment: a device without hints always reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignmentOffset {
    /// 0: nothing known, or aligned.
    Zero,
    /// The first aligned place lies this far in.
    Shifted(Bytes),
    /// -1: the device says that it is misaligned.
    Misaligned,
}

/// Read `alignment_offset`.
pub fn alignment_offset(disk: &Disk) -> Option<AlignmentOffset> {
    let value: i64 = disk.text_of("alignment_offset")?.parse().ok()?;
    Some(AlignmentOffset::from(value))
}

impl From<i64> for AlignmentOffset {
    fn from(value: i64) -> AlignmentOffset {
        match u64::try_from(value) {
            Ok(0) => AlignmentOffset::Zero,
            Ok(bytes) => AlignmentOffset::Shifted(Bytes(bytes)),
            Err(_) => AlignmentOffset::Misaligned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;

    #[test]
    fn only_plausible_optimal_sizes_are_adopted() {
        let sort = |n| adopted_optimal_io(Some(Bytes(n)), Bytes(512));
        assert_eq!(sort(33_553_920), (None, Some(Bytes(33_553_920))));
        assert_eq!(sort(0), (None, None));
        // 192 KiB and 12 MiB: no powers of two, but 3 * 2^k.
        assert_eq!(sort(196_608), (Some(Bytes(196_608)), None));
        assert_eq!(sort(12 << 20), (Some(Bytes::mib(12)), None));
        assert_eq!(sort(9 << 20), (Some(Bytes::mib(9)), None));
        assert_eq!(sort(11 << 20), (None, Some(Bytes::mib(11))));
        assert_eq!(sort(512), (None, Some(Bytes(512))));
        let larger_block = adopted_optimal_io(Some(Bytes(4096)), Bytes(16384));
        assert_eq!(larger_block, (None, Some(Bytes(4096))));
    }

    #[test]
    fn the_kernel_default_follows_the_capacity() {
        let of = |mib| kernel_default(Bytes::mib(mib), None);
        assert_eq!(of(127), Bytes::kib(512));
        assert_eq!(of(128), Bytes::mib(1));
        assert_eq!(of(511), Bytes::mib(1));
        assert_eq!(of(512), Bytes::mib(2));
        assert_eq!(of(1023), Bytes::mib(2));
        assert_eq!(of(1024), Bytes::mib(4));
        let group = Some(Bytes(3 << 20));
        assert_eq!(kernel_default(Bytes::gib(8), group), Bytes::mib(6));
    }

    const CARD: u64 = 15_523_119_104;

    fn of_card(kind: &str, bytes: u64, attributes: &[(&str, &str)]) -> Reported {
        let tree = Tree::new();
        tree.mmc("mmcblk0", "179:0", kind, bytes);
        for (attribute, value) in attributes {
            tree.attribute("mmcblk0", attribute, value);
        }
        let disk = tree.get("mmcblk0");
        reported(&disk, super::super::identity(&disk).card.as_ref())
    }

    fn register(code: char) -> String {
        let digits = format!("{:020}{code}", 0);
        format!("{digits:0<128}")
    }

    #[test]
    fn four_mebibytes_without_the_register_may_be_the_kernels_default() {
        let reported = of_card("SD", CARD, &[("device/preferred_erase_size", "4194304\n")]);
        let expected = PreferredEraseSize {
            bytes: Bytes::mib(4),
            origin: Origin::CardOrKernelDefault,
        };
        assert_eq!(reported.preferred_erase_size, Some(expected));
        assert_eq!(reported.ssr_au_size, None);
        assert_eq!(reported.declared(), None);
    }

    #[test]
    fn the_register_tells_the_cards_word_from_the_default() {
        let preferred = ("device/preferred_erase_size", "4194304\n");
        let said = of_card("SD", CARD, &[preferred, ("device/ssr", &register('9'))]);
        assert_eq!(said.preferred_erase_size.unwrap().origin, Origin::Card);
        assert_eq!(said.ssr_au_size, Some(Bytes::mib(4)));
        let silent = of_card("SD", CARD, &[preferred, ("device/ssr", &register('0'))]);
        let origin = silent.preferred_erase_size.unwrap().origin;
        assert_eq!(origin, Origin::CardOrKernelDefault);
        assert_eq!(silent.declared(), None);
        // Declared 12 MiB, which this kernel did not take over.
        let ignored = of_card("SD", CARD, &[preferred, ("device/ssr", &register('b'))]);
        let origin = ignored.preferred_erase_size.unwrap().origin;
        assert_eq!(origin, Origin::CardOrKernelDefault);
        assert_eq!(ignored.declared(), Some(Bytes::mib(12)));
    }

    #[test]
    fn a_value_that_the_rule_does_not_give_is_the_cards_word() {
        for value in ["8388608", "12582912", "25165824"] {
            let reported = of_card("SD", CARD, &[("device/preferred_erase_size", value)]);
            let size = reported.preferred_erase_size.unwrap();
            assert_eq!(size.origin, Origin::Card, "{value}");
            assert_eq!(reported.declared(), Some(size.bytes));
        }
    }

    #[test]
    fn an_emmc_declares_its_erase_group_only() {
        let group_of = |group: &str, preferred: &str| {
            let attributes = [
                ("device/erase_size", group),
                ("device/preferred_erase_size", preferred),
            ];
            of_card("MMC", 31_268_536_320, &attributes).declared()
        };
        assert_eq!(group_of("4194304", "4194304"), Some(Bytes::mib(4)));
        assert_eq!(group_of("8388608", "8388608"), Some(Bytes::mib(8)));
        // 512 KiB groups, and a preferred size that the kernel made of them.
        assert_eq!(group_of("524288", "4194304"), None);
    }

    #[test]
    fn queue_limits_are_read_and_zero_is_unknown() {
        let tree = Tree::new();
        tree.virtual_disk("sda", "8:0", 2048)
            .attribute("sda", "queue/physical_block_size", "4096\n")
            .attribute("sda", "queue/optimal_io_size", "196608\n")
            .attribute("sda", "queue/discard_granularity", "4194304\n")
            .attribute("sda", "queue/max_sectors_kb", "1024\n");
        let disk = tree.get("sda");
        let all = reported(&disk, None);
        assert_eq!(all.optimal_io_size, Some(Bytes::kib(192)));
        assert_eq!(all.optimal_io_quirk, None);
        assert_eq!(all.discard_granularity, Some(Bytes::mib(4)));
        assert_eq!(max_request(&disk), Some(Bytes::mib(1)));
        tree.attribute("sda", "queue/optimal_io_size", "0\n");
        assert_eq!(reported(&disk, None).optimal_io_size, None);
    }

    #[test]
    fn the_device_may_say_that_it_is_misaligned() {
        let tree = Tree::new();
        tree.virtual_disk("sda", "8:0", 2048);
        let disk = tree.get("sda");
        assert_eq!(alignment_offset(&disk), None);
        for (text, expected) in [
            ("0\n", AlignmentOffset::Zero),
            ("3584\n", AlignmentOffset::Shifted(Bytes(3584))),
            ("-1\n", AlignmentOffset::Misaligned),
        ] {
            tree.attribute("sda", "alignment_offset", text);
            assert_eq!(alignment_offset(&disk), Some(expected));
        }
    }
}

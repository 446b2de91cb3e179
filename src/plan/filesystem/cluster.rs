//! How large a cluster?
//!
//! The largest of three: what the SD specification prescribes for a card of this size, the page of
//! the stick (smaller writes cost a whole page all the same), and the size from which writes reach
//! 70 % of the sequential rate. Then within what the file system and its readers allow.

use super::stick::Stick;
use crate::units::{Bytes, KIB};

/// FAT: 64 KiB is the largest cluster that every reader takes (Microsoft's FAT specification,
/// `BPB_SecPerClus`: more than 32 KiB is not for everyone, more than 64 KiB for nobody).
pub const LARGEST_FAT: Bytes = Bytes::kib(64);

/// exFAT: at most 32 MiB (exFAT specification 3.1.15).
const LARGEST_EXFAT: Bytes = Bytes::mib(32);

/// The cluster for FAT16 or FAT32, before the limits on the number of clusters: 32 KiB on every
/// card from 1 GB to 32 GB, 16 KiB below (SD specification part 2), 64 KiB where the stick writes
/// 32 KiB badly.
pub fn fat(size: Bytes, stick: &Stick) -> Bytes {
    let standard = if size <= Bytes::gib(1) {
        Bytes::kib(16)
    } else {
        Bytes::kib(32)
    };
    standard.max(wanted(stick)).min(LARGEST_FAT)
}

/// The cluster for exFAT: 128, 256 and 512 KiB on cards up to 128 GiB, 512 GiB and above (SD
/// specification part 2), 32 KiB up to 32 GiB and 4 KiB up to 256 MiB (Microsoft's defaults). The
/// stick may ask for more, up to a quarter of its erase block: larger clusters waste more than they
/// save.
pub fn exfat(size: Bytes, erase_block: Option<Bytes>, stick: &Stick) -> Bytes {
    let standard = match size {
        s if s <= Bytes::mib(256) => Bytes::kib(4),
        s if s <= Bytes::gib(32) => Bytes::kib(32),
        s if s <= Bytes::gib(128) => Bytes::kib(128),
        s if s <= Bytes::gib(512) => Bytes::kib(256),
        _ => Bytes::kib(512),
    };
    let most = erase_block.map_or(LARGEST_FAT, |block| power_below(Bytes(block.get() / 4)));
    standard.max(wanted(stick).min(most)).min(LARGEST_EXFAT)
}

/// The cluster for NTFS: 4 KiB, which alone allows compression, or the page of the stick; at most 64
/// KiB, beyond which Windows before 10 version 1709 reads nothing.
pub fn ntfs(stick: &Stick) -> Bytes {
    let page = stick.page.map_or(Bytes::kib(4), power_above);
    page.clamp(Bytes::kib(4), Bytes::kib(64))
}

/// What the stick itself wants.
fn wanted(stick: &Stick) -> Bytes {
    let sizes = [stick.page, stick.efficient];
    sizes
        .into_iter()
        .flatten()
        .map(power_above)
        .max()
        .unwrap_or(Bytes::ZERO)
}

/// The smallest power of two that is not smaller; at most 1 GiB.
pub fn power_above(size: Bytes) -> Bytes {
    Bytes(size.get().clamp(1, 1 << 30).next_power_of_two())
}

/// The largest power of two that is not larger; at least 512 bytes.
pub fn power_below(size: Bytes) -> Bytes {
    Bytes(1 << size.get().max(KIB / 2).ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stick(page: Option<u64>, efficient: Option<u64>) -> Stick {
        Stick {
            page: page.map(Bytes::kib),
            efficient: efficient.map(Bytes::kib),
            ..Stick::default()
        }
    }

    #[test]
    fn a_cluster_follows_card_standard_page_and_efficient_size_within_limits() {
        let plain = stick(None, None);
        assert_eq!(fat(Bytes::gib(8), &plain), Bytes::kib(32));
        assert_eq!(fat(Bytes::mib(500), &plain), Bytes::kib(16));
        assert_eq!(fat(Bytes::gib(8), &stick(Some(16), None)), Bytes::kib(32));
        assert_eq!(
            fat(Bytes::gib(8), &stick(Some(16), Some(512))),
            Bytes::kib(64)
        );
        let exfat_of = |size, block, stick| exfat(size, Some(Bytes::mib(block)), &stick);
        assert_eq!(
            exfat_of(Bytes::gib(64), 4, stick(None, None)),
            Bytes::kib(128)
        );
        // At most a quarter of the erase block, which need not be a power of two.
        assert_eq!(
            exfat_of(Bytes::gib(64), 3, stick(None, Some(4096))),
            Bytes::kib(512)
        );
        assert_eq!(ntfs(&plain), Bytes::kib(4));
        assert_eq!(ntfs(&stick(Some(24), None)), Bytes::kib(32));
        assert_eq!(ntfs(&stick(Some(128), None)), Bytes::kib(64));
    }
}

//! Disk and partition identifiers: kept, given, random or reproducible.

use super::guid::Guid;
use super::types::TableKind;
use std::fmt;
use std::str::FromStr;

/// The identifier of a whole disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskId {
    /// The MBR disk signature, never zero (Windows takes zero for "not initialised").
    Mbr(u32),
    /// The GPT disk GUID, never nil.
    Gpt(Guid),
}

impl DiskId {
    /// Which table it belongs to.
    pub const fn kind(self) -> TableKind {
        match self {
            DiskId::Mbr(_) => TableKind::Mbr,
            DiskId::Gpt(_) => TableKind::Gpt,
        }
    }
}

impl fmt::Display for DiskId {
    /// Always eight hex digits behind `0x`: a signature printed without its leading zeros gives a
    /// wrong `root=PARTUUID=`, and the board does not boot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskId::Mbr(id) => f.pad(&format!("0x{id:08x}")),
            DiskId::Gpt(guid) => f.pad(&guid.to_string()),
        }
    }
}

/// Why a text is no disk identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskIdError {
    /// Neither form.
    #[error(
        "'{0}' is no disk identifier: write 0x and eight hex digits (MBR), a GUID (GPT), or random"
    )]
    Malformed(String),
    /// Zero.
    #[error("a disk identifier of zero means \"not initialised\": choose another, or random")]
    Zero,
}

impl FromStr for DiskId {
    type Err = DiskIdError;

    /// `0x` and exactly eight hex digits, or a GUID.
    fn from_str(text: &str) -> Result<DiskId, DiskIdError> {
        let malformed = || DiskIdError::Malformed(text.to_owned());
        let id = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) if hex.len() == 8 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                DiskId::Mbr(u32::from_str_radix(hex, 16).map_err(|_| malformed())?)
            }
            Some(_) => return Err(malformed()),
            None => DiskId::Gpt(text.parse().map_err(|_| malformed())?),
        };
        match id {
            DiskId::Mbr(0) => Err(DiskIdError::Zero),
            DiskId::Gpt(guid) if guid.is_nil() => Err(DiskIdError::Zero),
            id => Ok(id),
        }
    }
}

/// Where new identifiers come from: 128 bits handed in, or a text. Every identifier is derived for
/// its role, so adding a partition does not change those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSource {
    high: u64,
    low: u64,
}

impl IdSource {
    /// From 16 bytes of true randomness, drawn by the caller.
    pub fn from_entropy(entropy: [u8; 16]) -> IdSource {
        let value = u128::from_be_bytes(entropy);
        IdSource {
            high: high_half(value),
            low: low_half(value),
        }
    }

    /// From a text: the same text gives the same identifiers. Reproducible, not secret.
    pub fn from_seed(text: &str) -> IdSource {
        IdSource {
            high: mix(fnv1a(text.as_bytes(), 1)),
            low: mix(fnv1a(text.as_bytes(), 2)),
        }
    }

    /// The disk's identifier.
    pub fn disk(self, kind: TableKind) -> DiskId {
        match kind {
            TableKind::Gpt => DiskId::Gpt(self.guid("disk")),
            TableKind::Mbr => {
                let [a, b, c, d, ..] = self.derive("mbr signature");
                // One draw in 2^32 would be zero, which means "not initialised".
                DiskId::Mbr(u32::from_be_bytes([a, b, c, d]).max(1))
            }
        }
    }

    /// The identifier of partition `number`, counted from 1.
    pub fn partition(self, number: usize) -> Guid {
        self.guid(&format!("partition {number}"))
    }

    fn guid(self, role: &str) -> Guid {
        Guid::random_from(self.derive(role))
    }

    /// 16 bytes for a role. For a fixed role this is a bijection of the source, so no entropy is
    /// lost.
    fn derive(self, role: &str) -> [u8; 16] {
        let high = mix(self.high ^ fnv1a(role.as_bytes(), 3));
        let low = mix(self.low ^ fnv1a(role.as_bytes(), 4) ^ high.rotate_left(23));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&mix(high ^ low.rotate_left(41)).to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes
    }
}

fn high_half(value: u128) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = value.to_be_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn low_half(value: u128) -> u64 {
    high_half(value << 64)
}

/// FNV-1a, 64 bit (offset basis and prime of the IETF draft "The FNV Non-Cryptographic Hash
/// Algorithm"), started with a lane number so that lanes differ.
fn fnv1a(bytes: &[u8], lane: u8) -> u64 {
    std::iter::once(&lane)
        .chain(bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): a bijection that spreads every input bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_leading_zero_of_the_signature_is_kept() {
        let id: DiskId = "0x0cf7e848".parse().unwrap();
        assert_eq!(id, DiskId::Mbr(0x0cf7_e848));
        assert_eq!(id.to_string(), "0x0cf7e848");
        for text in ["cf7e848", "0xcf7e848", "0x0cf7e8480", "0x+cf7e848", ""] {
            assert!(
                matches!(text.parse::<DiskId>(), Err(DiskIdError::Malformed(_))),
                "{text}"
            );
        }
        assert_eq!("0x00000000".parse::<DiskId>(), Err(DiskIdError::Zero));
    }

    #[test]
    fn the_same_seed_gives_the_same_identifiers_and_another_seed_others() {
        let a = IdSource::from_seed("kiosk 7");
        let mut seen = HashSet::new();
        for source in [a, IdSource::from_seed("kiosk 8"), IdSource::from_seed("")] {
            for number in 1..=128 {
                assert!(seen.insert(source.partition(number)));
            }
            assert_ne!(source.disk(TableKind::Mbr), DiskId::Mbr(0));
        }
        assert_eq!(a.partition(2), IdSource::from_seed("kiosk 7").partition(2));
        assert_ne!(
            a.disk(TableKind::Mbr),
            IdSource::from_seed("kiosk 8").disk(TableKind::Mbr)
        );
    }

    #[test]
    fn single_bits_of_entropy_change_every_identifier() {
        let mut seen = HashSet::new();
        for bit in 0..128 {
            let source = IdSource::from_entropy((1u128 << bit).to_be_bytes());
            assert!(seen.insert(source.disk(TableKind::Mbr).to_string()));
            assert!(seen.insert(source.disk(TableKind::Gpt).to_string()));
            assert!(seen.insert(source.partition(1).to_string()));
        }
    }
}

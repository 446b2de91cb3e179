//! The vocabulary of sizes and places: every size, count of blocks and address that crosses a
//! module boundary is one of these types, never a bare integer.
//!
//! Bytes and logical blocks are different types; converting between them needs the device's
//! [`LogicalBlock`]. Rounding divides, it never masks: an erase block need not be a power of two,
//! and boundaries need not start at 0.

mod size;

pub use size::{Size, SizeError};

use serde::{Deserialize, Serialize};
use std::fmt;

/// One binary kilobyte (1024 bytes).
pub const KIB: u64 = 1 << 10;
/// One binary megabyte (1024 KiB).
pub const MIB: u64 = 1 << 20;
/// One binary gigabyte (1024 MiB).
pub const GIB: u64 = 1 << 30;

/// A number of bytes: a size, or a distance from the start of the device.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` KiB.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n * KIB)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n * MIB)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n * GIB)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self + other`, or `None` beyond 2^64.
    pub fn checked_add(self, other: Bytes) -> Option<Bytes> {
        self.0.checked_add(other.0).map(Bytes)
    }

    /// `self - other`, or `None` below zero.
    pub fn checked_sub(self, other: Bytes) -> Option<Bytes> {
        self.0.checked_sub(other.0).map(Bytes)
    }

    /// `self - other`, or zero.
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// Whether `self` is a whole number of `unit`s. False for a unit of zero.
    pub fn is_multiple_of(self, unit: Bytes) -> bool {
        unit.0 != 0 && self.0.is_multiple_of(unit.0)
    }

    /// The whole number of logical blocks, or `None` when there is a remainder.
    pub fn to_sectors(self, block: LogicalBlock) -> Option<Sectors> {
        let size = block.bytes().0;
        self.0
            .is_multiple_of(size)
            .then_some(Sectors(self.0 / size))
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that gives an exact number with at most three decimals
    /// (`1.5 MiB`, `29.723 GiB` is never rounded: sizes that do not fit so are printed in bytes).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
        for (unit, name) in UNITS {
            let thousandths = u128::from(self.0) * 1000;
            if self.0 >= unit && thousandths.is_multiple_of(u128::from(unit)) {
                let thousandths = thousandths / u128::from(unit);
                let (whole, part) = (thousandths / 1000, thousandths % 1000);
                let text = if part == 0 {
                    format!("{whole} {name}")
                } else {
                    format!(
                        "{whole}.{} {name}",
                        format!("{part:03}").trim_end_matches('0')
                    )
                };
                return f.pad(&text);
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

/// The device's logical block: the unit that the kernel addresses and that a partition table
/// counts in. 512 or 4096 bytes on every device that flashfit supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub enum LogicalBlock {
    /// 512 bytes.
    B512,
    /// 4096 bytes ("4Kn").
    B4096,
}

impl LogicalBlock {
    /// Its size.
    pub const fn bytes(self) -> Bytes {
        match self {
            LogicalBlock::B512 => Bytes(512),
            LogicalBlock::B4096 => Bytes(4096),
        }
    }
}

impl TryFrom<u64> for LogicalBlock {
    type Error = String;
    fn try_from(n: u64) -> Result<Self, String> {
        match n {
            512 => Ok(LogicalBlock::B512),
            4096 => Ok(LogicalBlock::B4096),
            _ => Err(format!(
                "logical blocks of {n} bytes are not supported, only 512 and 4096"
            )),
        }
    }
}

impl From<LogicalBlock> for u64 {
    fn from(block: LogicalBlock) -> u64 {
        block.bytes().0
    }
}

/// A number of logical blocks (a size).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sectors(pub u64);

impl Sectors {
    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The size in bytes, or `None` beyond 2^64.
    pub fn to_bytes(self, block: LogicalBlock) -> Option<Bytes> {
        self.0.checked_mul(block.bytes().0).map(Bytes)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

/// A logical block address: the number of logical blocks before a place.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lba(pub u64);

impl Lba {
    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The distance from the start of the device, or `None` beyond 2^64.
    pub fn to_bytes(self, block: LogicalBlock) -> Option<Bytes> {
        self.0.checked_mul(block.bytes().0).map(Bytes)
    }

    /// The place `count` blocks further, or `None` beyond 2^64.
    pub fn checked_add(self, count: Sectors) -> Option<Lba> {
        self.0.checked_add(count.0).map(Lba)
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

/// A half-open range of bytes, `from` inside and `to` outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte inside.
    pub from: Bytes,
    /// The first byte outside.
    pub to: Bytes,
}

impl ByteRange {
    /// Whether the two share a byte.
    pub fn overlaps(self, other: ByteRange) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Its length; zero when it is empty or inverted.
    pub fn length(self) -> Bytes {
        self.to.saturating_sub(self.from)
    }
}

/// A grid of places: all `x` with `x ≡ phase (mod grain)`. `grain` is never zero and `phase` is
/// always smaller than `grain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alignment {
    grain: Bytes,
    phase: Bytes,
}

impl Alignment {
    /// A grid of `grain` through `phase`; `phase` is reduced modulo `grain`.
    /// `None` when `grain` is zero.
    pub fn new(grain: Bytes, phase: Bytes) -> Option<Alignment> {
        (grain.0 != 0).then(|| Alignment {
            grain,
            phase: Bytes(phase.0 % grain.0),
        })
    }

    /// The distance between two places of the grid.
    pub const fn grain(self) -> Bytes {
        self.grain
    }

    /// The first place of the grid.
    pub const fn phase(self) -> Bytes {
        self.phase
    }

    /// Whether `x` is a place of the grid.
    pub fn contains(self, x: Bytes) -> bool {
        x.0 % self.grain.0 == self.phase.0
    }

    /// The first place of the grid at or after `x`, or `None` beyond 2^64.
    pub fn up(self, x: Bytes) -> Option<Bytes> {
        let below = self.down(x);
        match below {
            None => Some(self.phase),
            Some(b) if b == x => Some(x),
            Some(b) => b.checked_add(self.grain),
        }
    }

    /// The last place of the grid at or before `x`, or `None` when `x` lies before the first.
    pub fn down(self, x: Bytes) -> Option<Bytes> {
        let above_phase = x.checked_sub(self.phase)?;
        Some(Bytes(
            self.phase.0 + above_phase.0 / self.grain.0 * self.grain.0,
        ))
    }
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.phase == Bytes::ZERO {
            write!(f, "{}", self.grain)
        } else {
            write!(f, "{} at phase {}", self.grain, self.phase)
        }
    }
}

/// The least common multiple, or `None` beyond 2^64 or when one of the two is zero.
pub fn lcm(a: Bytes, b: Bytes) -> Option<Bytes> {
    if a.0 == 0 || b.0 == 0 {
        return None;
    }
    (a.0 / gcd(a.0, b.0)).checked_mul(b.0).map(Bytes)
}

/// The greatest common divisor; `gcd(a, 0)` is `a`.
pub const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_a_phase_rounds_by_division() {
        let grid = Alignment::new(Bytes::mib(12), Bytes::mib(4)).unwrap();
        assert_eq!(grid.up(Bytes(1)), Some(Bytes::mib(4)));
        assert_eq!(grid.up(Bytes::mib(4)), Some(Bytes::mib(4)));
        assert_eq!(grid.up(Bytes::mib(5)), Some(Bytes::mib(16)));
        assert_eq!(grid.down(Bytes::mib(3)), None);
        assert_eq!(grid.down(Bytes::mib(27)), Some(Bytes::mib(16)));
        assert!(grid.contains(Bytes::mib(28)) && !grid.contains(Bytes::mib(24)));
        assert_eq!(grid.up(Bytes(u64::MAX)), None);
    }

    #[test]
    fn a_phase_is_reduced_and_a_grain_of_zero_is_no_grid() {
        let grid = Alignment::new(Bytes::mib(4), Bytes::mib(9)).unwrap();
        assert_eq!(grid.phase(), Bytes::mib(1));
        assert_eq!(Alignment::new(Bytes(0), Bytes(0)), None);
    }

    #[test]
    fn bytes_print_exactly_or_in_bytes() {
        for (n, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1536, "1.5 KiB"),
            (3 * MIB / 2, "1.5 MiB"),
            (12 * MIB, "12 MiB"),
            (1 << 40, "1 TiB"),
            (31_914_983_424, "30436.5 MiB"),
            (1_000_000, "1000000 B"),
        ] {
            assert_eq!(Bytes(n).to_string(), text);
        }
    }

    #[test]
    fn conversions_refuse_remainders_and_overflow() {
        assert_eq!(Bytes(1024).to_sectors(LogicalBlock::B512), Some(Sectors(2)));
        assert_eq!(Bytes(1024).to_sectors(LogicalBlock::B4096), None);
        assert_eq!(Lba(u64::MAX / 2).to_bytes(LogicalBlock::B512), None);
        assert_eq!(lcm(Bytes::mib(8), Bytes::mib(12)), Some(Bytes::mib(24)));
        assert_eq!(lcm(Bytes(u64::MAX), Bytes(u64::MAX - 1)), None);
    }
}

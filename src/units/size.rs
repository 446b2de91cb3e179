//! Sizes as people type them: exact or refused.

use super::{Bytes, LogicalBlock, Sectors};
use std::str::FromStr;

/// A size as typed: in bytes, or in logical blocks whose size only the device knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Any byte unit.
    Bytes(Bytes),
    /// The unit `s`.
    Sectors(Sectors),
}

impl Size {
    /// The size in bytes on a device with this logical block, or `None` beyond 2^64.
    pub fn in_bytes(self, block: LogicalBlock) -> Option<Bytes> {
        match self {
            Size::Bytes(bytes) => Some(bytes),
            Size::Sectors(sectors) => sectors.to_bytes(block),
        }
    }
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// A bare number.
    #[error("'{0}' has no unit: write {units}", units = with_units(.0))]
    NoUnit(String),
    /// An unknown unit.
    #[error(
        "'{text}': unknown unit '{unit}', use B, s, KiB, MiB, GiB, TiB, K, M, G, T (binary) or kB, MB, GB, TB (decimal)"
    )]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The part behind the number.
        unit: String,
    },
    /// No number in front.
    #[error("'{0}' is no size: write a number and a unit, such as 12MiB")]
    NoNumber(String),
    /// A fraction that is no whole number of bytes.
    #[error("'{0}' is no whole number of bytes")]
    Inexact(String),
    /// 2^64 bytes or more.
    #[error("'{0}' is beyond 2^64")]
    TooLarge(String),
}

/// The number with the units that it may have been meant in: millions are seldom MiB.
fn with_units(number: &str) -> String {
    if number.len() < "1000000".len() {
        format!("{number}MiB, {number}MB, {number}B or {number}s (sectors)")
    } else {
        format!("{number}B (bytes) or {number}s (sectors)")
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Size, SizeError> {
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim_start();
        let no_number = || SizeError::NoNumber(trimmed.to_owned());
        let (whole, fraction) = match number.split_once('.') {
            None => (number, ""),
            Some((_, "")) => return Err(no_number()),
            Some(parts) => parts,
        };
        if whole.is_empty() || fraction.contains('.') {
            return Err(no_number());
        }
        let too_large = || SizeError::TooLarge(trimmed.to_owned());
        let unit_size: u128 = match unit {
            "" => return Err(SizeError::NoUnit(trimmed.to_owned())),
            "B" | "s" => 1,
            "K" | "KiB" => 1 << 10,
            "M" | "MiB" => 1 << 20,
            "G" | "GiB" => 1 << 30,
            "T" | "TiB" => 1 << 40,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            _ => {
                return Err(SizeError::UnknownUnit {
                    text: trimmed.to_owned(),
                    unit: unit.to_owned(),
                });
            }
        };
        let whole: u64 = whole.parse().map_err(|_| too_large())?;
        let fraction = fraction.trim_end_matches('0');
        // 10^20 exceeds every unit's powers of two and ten: a longer fraction cannot be exact.
        if fraction.len() > 20 {
            return Err(SizeError::Inexact(trimmed.to_owned()));
        }
        let mut total = u128::from(whole) * unit_size;
        if !fraction.is_empty() {
            let digits: u128 = fraction.parse().map_err(|_| no_number())?;
            let scale = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| no_number())?);
            // Overflow is impossible to miss: digits < 10^20 < 2^67 and unit_size <= 2^40.
            let scaled = digits * unit_size;
            if !scaled.is_multiple_of(scale) {
                return Err(SizeError::Inexact(trimmed.to_owned()));
            }
            total += scaled / scale;
        }
        let total = u64::try_from(total).map_err(|_| too_large())?;
        Ok(match unit {
            "s" => Size::Sectors(Sectors(total)),
            _ => Size::Bytes(Bytes(total)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> u64 {
        match text.parse() {
            Ok(Size::Bytes(Bytes(n))) => n,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn binary_and_decimal_units_are_told_apart() {
        assert_eq!(bytes("8MiB"), 8 << 20);
        assert_eq!(bytes("8M"), 8 << 20);
        assert_eq!(bytes("8MB"), 8_000_000);
        assert_eq!(bytes("1kB"), 1000);
        assert_eq!(bytes("1K"), 1024);
        assert_eq!(bytes("31914983424B"), 31_914_983_424);
        assert_eq!(bytes("2T"), 2 << 40);
        assert_eq!(bytes("2 TB"), 2_000_000_000_000);
        assert_eq!("2048s".parse(), Ok(Size::Sectors(Sectors(2048))));
    }

    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!(bytes("1.5MiB"), 3 << 19);
        assert_eq!(bytes("0.5K"), 512);
        assert_eq!(bytes("1.50000000000000000000000000MiB"), 3 << 19);
        assert_eq!(
            "0.3B".parse::<Size>(),
            Err(SizeError::Inexact("0.3B".into()))
        );
        assert_eq!(
            "1.1KiB".parse::<Size>(),
            Err(SizeError::Inexact("1.1KiB".into()))
        );
        assert_eq!(
            "0.5s".parse::<Size>(),
            Err(SizeError::Inexact("0.5s".into()))
        );
    }

    #[test]
    fn a_number_in_the_millions_is_not_taken_for_mebibytes() {
        let said = |text: &str| text.parse::<Size>().unwrap_err().to_string();
        assert!(said("8").contains("8MiB, "));
        assert!(said("8019509248").ends_with("write 8019509248B (bytes) or 8019509248s (sectors)"));
    }

    #[test]
    fn bare_numbers_unknown_units_and_overflow_are_refused() {
        assert_eq!("1".parse::<Size>(), Err(SizeError::NoUnit("1".into())));
        for text in [
            "", "MiB", "-1MiB", ".5MiB", "1.MiB", "1.2.3MiB", "+1M", "1e3M",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert!(matches!(
            "8mb".parse::<Size>(),
            Err(SizeError::UnknownUnit { .. })
        ));
        assert!(matches!(
            "8 µs".parse::<Size>(),
            Err(SizeError::UnknownUnit { .. })
        ));
        for text in [
            "16777216TiB",
            "18446744073709551616B",
            "99999999999999999999T",
        ] {
            assert!(
                matches!(text.parse::<Size>(), Err(SizeError::TooLarge(_))),
                "{text}"
            );
        }
        assert_eq!(bytes("18446744073709551615B"), u64::MAX);
        assert!("16777215.99999999999999999999TiB".parse::<Size>().is_err());
    }
}

//! Values as people type them on the command line: exact or refused.

use crate::units::{Bytes, LogicalBlock, Sectors, Size};
use std::time::Duration;

/// A half-open range as typed, `FROM-TO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeRange {
    /// The first place inside.
    pub from: Size,
    /// The first place outside.
    pub to: Size,
}

/// A size that a device is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedSize {
    /// Exactly this.
    Exactly(Size),
    /// Typed with `~` in front: within a tenth of it.
    About(Size),
}

/// A size, with `~` in front when it need not be exact.
pub(super) fn expected_size(text: &str) -> Result<ExpectedSize, String> {
    match text.strip_prefix('~') {
        Some(about) => positive_size(about).map(ExpectedSize::About),
        None => positive_size(text).map(ExpectedSize::Exactly),
    }
}

/// Any size, zero included.
pub(super) fn size(text: &str) -> Result<Size, String> {
    text.parse()
        .map_err(|error: crate::units::SizeError| error.to_string())
}

/// A size that must not be zero.
pub(super) fn positive_size(text: &str) -> Result<Size, String> {
    match size(text)? {
        Size::Bytes(Bytes(0)) | Size::Sectors(Sectors(0)) => Err("it must not be zero".to_owned()),
        size => Ok(size),
    }
}

/// `512` or `4096`: the two logical block sizes that exist, without a unit because nothing else
/// is possible.
pub(super) fn sector_size(text: &str) -> Result<LogicalBlock, String> {
    match text {
        "512" => Ok(LogicalBlock::B512),
        "4096" => Ok(LogicalBlock::B4096),
        _ => Err("write 512 or 4096".to_owned()),
    }
}

/// `FROM-TO`. That `FROM` lies below `TO` is checked here when both have the same kind of unit,
/// and by the plan otherwise.
pub(super) fn size_range(text: &str) -> Result<SizeRange, String> {
    let (from, to) = text
        .split_once('-')
        .ok_or("write FROM-TO, such as 1GiB-2GiB")?;
    let (from, to) = (size(from)?, size(to)?);
    let ascending = match (from, to) {
        (Size::Bytes(from), Size::Bytes(to)) => from < to,
        (Size::Sectors(from), Size::Sectors(to)) => from < to,
        _ => true,
    };
    if !ascending {
        return Err("nothing lies in it: FROM must be smaller than TO".to_owned());
    }
    Ok(SizeRange { from, to })
}

/// A time with its unit: `90s`, `5m`, `1.5h`. It must not be zero, and a fraction must be a whole
/// number of nanoseconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const NANOS: u128 = 1_000_000_000;
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_nanos = match unit {
        "s" => NANOS,
        "m" | "min" => 60 * NANOS,
        "h" => 3600 * NANOS,
        "" => return Err("it has no unit: write 90s, 5m or 1h".to_owned()),
        _ => return Err(format!("unknown unit '{unit}': write 90s, 5m or 1h")),
    };
    let no_number = || "write a number and a unit, such as 90s, 5m or 1h".to_owned();
    let (whole, fraction) = match number.split_once('.') {
        None => (number, ""),
        Some((_, "")) => return Err(no_number()),
        Some(parts) => parts,
    };
    if whole.is_empty() || fraction.contains('.') {
        return Err(no_number());
    }
    let too_long = || "it is too long".to_owned();
    let whole: u64 = whole.parse().map_err(|_| too_long())?;
    let mut nanos = u128::from(whole) * unit_nanos;
    let mut scale = unit_nanos;
    for digit in fraction.trim_end_matches('0').bytes() {
        if scale % 10 != 0 {
            return Err("it is finer than a nanosecond".to_owned());
        }
        scale /= 10;
        nanos += u128::from(digit - b'0') * scale;
    }
    if nanos == 0 {
        return Err("it must not be zero".to_owned());
    }
    let seconds = u64::try_from(nanos / NANOS).map_err(|_| too_long())?;
    let rest = u32::try_from(nanos % NANOS).map_err(|_| too_long())?;
    Ok(Duration::new(seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_are_exact() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("5min", 300), ("1.5h", 5400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("0.25s"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("0.5000000000s"), Ok(Duration::from_millis(500)));
        for text in [
            "",
            "5",
            "s",
            "-5m",
            ".5m",
            "5.m",
            "1.2.3s",
            "5 m",
            "5ms",
            "5M",
            "0s",
            "0.00m",
            "0.0000000001s",
            "1h30m",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_half_open_and_ascending() {
        assert_eq!(
            size_range("1MiB-2.5MiB"),
            Ok(SizeRange {
                from: Size::Bytes(Bytes(1 << 20)),
                to: Size::Bytes(Bytes(5 << 19)),
            })
        );
        assert!(size_range("0s-2048s").is_ok());
        assert!(size_range("2048s-1GiB").is_ok());
        for text in [
            "1MiB",
            "2MiB-1MiB",
            "1MiB-1MiB",
            "5s-4s",
            "1-2MiB",
            "1MiB-",
            "-1MiB",
            "1MiB-2MiB-3MiB",
        ] {
            assert!(size_range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_expected_size_is_exact_or_about() {
        let gigabytes = Size::Bytes(Bytes(32_000_000_000));
        assert_eq!(expected_size("32GB"), Ok(ExpectedSize::Exactly(gigabytes)));
        assert_eq!(expected_size("~32GB"), Ok(ExpectedSize::About(gigabytes)));
        for text in ["32", "~", "~32", "~~32GB", "0B", "~0B"] {
            assert!(expected_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_that_must_not_be_zero_is_not_zero() {
        assert!(positive_size("0MiB").is_err());
        assert!(positive_size("0s").is_err());
        assert_eq!(positive_size("1B"), Ok(Size::Bytes(Bytes(1))));
    }
}

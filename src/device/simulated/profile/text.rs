//! How sizes, times, shares and ranges are written in a profile.

use crate::units::{ByteRange, Bytes, Size};
use serde::de::{Deserialize, Deserializer, Error};
use std::time::Duration;

/// A size with its unit, such as "8MiB".
pub(super) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    parse_size(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A size that may be absent.
pub(super) fn optional_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    size(from).map(Some)
}

/// A time with its unit, such as "860us".
pub(super) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    parse_time(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A time that may be absent.
pub(super) fn optional_time<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Duration>, D::Error> {
    time(from).map(Some)
}

/// A list of half-open ranges, such as ["4MiB-12MiB"].
pub(super) fn ranges<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ByteRange>, D::Error> {
    Vec::<String>::deserialize(from)?
        .iter()
        .map(|text| parse_range(text).map_err(D::Error::custom))
        .collect()
}

fn parse_size(text: &str) -> Result<Bytes, String> {
    match text.parse::<Size>().map_err(|e| e.to_string())? {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Sectors(_) => Err(format!(
            "'{text}' counts sectors: profiles are written in bytes, use B, KiB, MiB or GiB"
        )),
    }
}

fn parse_range(text: &str) -> Result<ByteRange, String> {
    let (from, to) = text
        .split_once('-')
        .ok_or_else(|| format!("'{text}' is no range: write FROM-TO, such as 4MiB-12MiB"))?;
    let range = ByteRange {
        from: parse_size(from)?,
        to: parse_size(to)?,
    };
    if range.length() == Bytes::ZERO {
        return Err(format!("'{text}' is empty: TO must lie behind FROM"));
    }
    Ok(range)
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let no_time = || format!("'{trimmed}' is no time: write a number and a unit, such as 860us");
    if number.is_empty() {
        return Err(no_time());
    }
    let seconds_per_unit = match unit.trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "" => {
            return Err(format!(
                "'{trimmed}' has no unit: write ns, us, ms, s or min, such as {trimmed}us"
            ));
        }
        other => {
            return Err(format!(
                "'{trimmed}': unknown unit '{other}', use ns, us, ms, s or min"
            ));
        }
    };
    let number: f64 = number.parse().map_err(|_| no_time())?;
    // 10^9 s is 31 years: longer than any simulated access, and far inside Duration's range.
    let seconds = number * seconds_per_unit;
    if !(0.0..1e9).contains(&seconds) {
        return Err(format!("'{trimmed}' is too long"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit_and_fractions_work() {
        assert_eq!(parse_time("860us"), Ok(Duration::from_micros(860)));
        assert_eq!(parse_time("1.06ms"), Ok(Duration::from_micros(1060)));
        assert_eq!(parse_time("0.45 s"), Ok(Duration::from_millis(450)));
        assert_eq!(parse_time("2µs"), Ok(Duration::from_nanos(2000)));
        for text in [
            "",
            "us",
            "860",
            "-1us",
            "1 fortnight",
            "1.2.3s",
            "99999999999s",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_half_open_and_never_empty() {
        assert_eq!(
            parse_range("4MiB-12MiB"),
            Ok(ByteRange {
                from: Bytes::mib(4),
                to: Bytes::mib(12)
            })
        );
        for text in ["4MiB", "4MiB-4MiB", "8MiB-4MiB", "4-8", "1s-2s"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }
}

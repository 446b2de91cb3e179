//! Words that are numbers: times, rates and sizes, as flashbench prints them.
//!
//! Times and rates are printed with three significant digits into a field of seven bytes, so units
//! can be cut (`-22205n`, `-412331`, `1e+03µ`, `1.641G/`). Times and rates count in powers of ten,
//! sizes in powers of two.

use crate::units::{Bytes, GIB, KIB, MIB};

/// A number and what follows it in the same word.
struct Literal<'w> {
    value: f64,
    negative: bool,
    /// Digits before the exponent.
    digits: usize,
    exponent: bool,
    unit: &'w str,
}

fn literal(word: &str) -> Option<Literal<'_>> {
    let bytes = word.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let mut end = usize::from(negative);
    let mut digits = 0;
    let mut point = false;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' if !point => point = true,
            _ => break,
        }
        end += 1;
    }
    if digits == 0 || bytes.get(usize::from(negative)) == Some(&b'.') {
        return None;
    }
    let mut exponent = false;
    if let Some([b'e', b'+' | b'-', tens, ones]) = bytes.get(end..end + 4)
        && tens.is_ascii_digit()
        && ones.is_ascii_digit()
    {
        exponent = true;
        end += 4;
    }
    let value: f64 = word.get(..end)?.parse().ok()?;
    value.is_finite().then_some(Literal {
        value,
        negative,
        digits,
        exponent,
        unit: word.get(end..)?,
    })
}

/// The unit of a printed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Nano,
    Micro,
    Milli,
    /// `s`: seconds, or microseconds whose micro sign was lost on the way.
    SecondOrMicro,
    /// Cut off, or lost.
    Lost,
}

/// A time as printed, its unit perhaps in doubt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PrintedTime {
    /// In `unit`.
    pub value: f64,
    pub unit: TimeUnit,
    /// All seven bytes of the field are digits and sign: more digits may have been cut.
    pub maybe_cut: bool,
    exponent: bool,
}

/// A time with the rounding of its print.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Nanoseconds.
    pub nanos: f64,
    /// The true value lies within this many nanoseconds.
    pub half_width: f64,
}

impl PrintedTime {
    /// Read a word; `None` when it is no time.
    pub(super) fn read(word: &str) -> Option<PrintedTime> {
        let number = literal(word)?;
        let unit = match number.unit {
            "ns" | "n" => TimeUnit::Nano,
            "us" | "u" => TimeUnit::Micro,
            "ms" | "m" => TimeUnit::Milli,
            "s" => TimeUnit::SecondOrMicro,
            // A bare number is a time only where the field was cut: a negative number of six or
            // more digits, or a mantissa rounded up to 1e+03. Others are line numbers and the like.
            "" if number.exponent || (number.negative && number.digits >= 6) => TimeUnit::Lost,
            _ => return None,
        };
        Some(PrintedTime {
            value: number.value,
            unit,
            maybe_cut: number.unit.is_empty() && number.negative,
            exponent: number.exponent,
        })
    }

    /// A number whose unit is a word of its own.
    pub(super) fn read_split(number: &str, unit: &str) -> Option<PrintedTime> {
        matches!(unit, "ns" | "us" | "ms" | "s")
            .then(|| literal(number))
            .flatten()
            .filter(|number| number.unit.is_empty())
            .and_then(|_| PrintedTime::read(&format!("{number}{unit}")))
    }

    /// The time when its unit is taken to be worth `nanos` nanoseconds.
    pub(super) fn in_unit_of(self, nanos: f64) -> Timing {
        let size = self.value.abs();
        if self.exponent {
            // 999.5 to 1000: from 1000 on the next unit is used.
            return Timing {
                nanos: (self.value - 0.25) * nanos,
                half_width: 0.25 * nanos,
            };
        }
        // Nanoseconds are printed as integers, the others with three significant digits.
        let half = if nanos <= 1.0 || size == 0.0 {
            0.5
        } else {
            0.5 * 10f64.powf(size.log10().floor() - 2.0)
        };
        Timing {
            nanos: self.value * nanos,
            half_width: half * nanos,
        }
    }
}

/// A size: `2.5MiB`, `768KiB`, `512B`. `None` when it is no whole number of bytes.
///
/// Sizes too are printed with three significant digits: 1.875 MiB reads `1.88MiB` and is returned
/// as the nearest byte; the caller knows that each line halves the one before.
pub(super) fn size(word: &str) -> Option<Bytes> {
    let number = literal(word)?;
    let unit = match number.unit {
        "GiB" => GIB,
        "MiB" => MIB,
        "KiB" => KIB,
        "B" => 1,
        _ => return None,
    };
    let bytes = (number.value * unit as f64).round();
    if number.negative || !(1.0..1e15).contains(&bytes) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked just above
    Some(Bytes(bytes as u64))
}

/// A rate in bytes per second: `22M/s`, `744K/s`, and cut ones.
pub(super) fn rate(word: &str) -> Option<f64> {
    let number = literal(word)?;
    let unit = match number.unit {
        "G/s" | "G/" | "GB/s" => 1e9,
        "M/s" | "M/" | "MB/s" => 1e6,
        "K/s" | "K/" | "kB/s" | "KB/s" => 1e3,
        "B/s" | "B/" => 1.0,
        _ => return None,
    };
    (!number.negative && number.value > 0.0).then_some(number.value * unit)
}

/// Whether a word is the unit of a rate, standing alone.
pub(super) fn is_rate_unit(word: &str) -> bool {
    matches!(word, "B/s" | "K/s" | "M/s" | "G/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_fields_keep_what_they_say() {
        let cut = PrintedTime::read("-22205n").unwrap();
        assert_eq!((cut.value, cut.unit), (-22205.0, TimeUnit::Nano));
        let lost = PrintedTime::read("-412331").unwrap();
        assert_eq!((lost.unit, lost.maybe_cut), (TimeUnit::Lost, true));
        let rounded = PrintedTime::read("1e+03u").unwrap();
        assert_eq!(rounded.in_unit_of(1e3).nanos, 999_750.0);
        assert_eq!(rate("1e+03K/"), Some(1e6));
        assert_eq!(rate("1.641G/"), Some(1.641e9));
    }

    #[test]
    fn three_significant_digits_give_the_rounding() {
        for (word, nanos, half) in [
            ("868us", 1e3, 500.0),
            ("1.1ms", 1e6, 5_000.0),
            ("28ms", 1e6, 50_000.0),
            ("57ns", 1.0, 0.5),
        ] {
            let width = PrintedTime::read(word)
                .unwrap()
                .in_unit_of(nanos)
                .half_width;
            assert!((width - half).abs() < 1e-6, "{word}: {width}");
        }
    }

    #[test]
    fn words_of_the_neighbourhood_are_no_numbers() {
        for word in [
            "12", "-5", "ms", "", "-", ".5us", "1e5x", "12:03:52", "4MiB",
        ] {
            assert_eq!(PrintedTime::read(word), None, "{word}");
        }
        for word in ["4M", "4096", "-4MiB", "0B", "MiB", "9e+99MiB"] {
            assert_eq!(size(word), None, "{word}");
        }
        assert_eq!(rate("22M"), None);
        assert_eq!(rate("-22M/s"), None);
    }

    #[test]
    fn sizes_are_powers_of_two_and_rates_powers_of_ten() {
        assert_eq!(size("2.5MiB"), Some(Bytes::kib(2560)));
        assert_eq!(size("512B"), Some(Bytes(512)));
        assert_eq!(rate("5.91M/s"), Some(5.91e6));
        assert_eq!(rate("553K/s"), Some(553e3));
    }

    #[test]
    fn a_unit_may_stand_apart() {
        let time = PrintedTime::read_split("735", "us").unwrap();
        assert_eq!((time.value, time.unit), (735.0, TimeUnit::Micro));
        assert_eq!(PrintedTime::read_split("735us", "s"), None);
    }
}

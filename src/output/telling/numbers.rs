//! How times, sizes and rates are written.

use crate::units::Bytes;

/// Whether a line must not end between these two words: a number and its unit.
pub(in crate::output) fn belong_together(word: &str, next: &str) -> bool {
    const UNITS: [&str; 15] = [
        "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "us", "µs", "ms", "s", "kB/s",
        "MB/s",
    ];
    word.ends_with(|c: char| c.is_ascii_digit())
        && UNITS.contains(&next.trim_end_matches([',', ';', '.', ':', ')']))
}

/// A size as it is printed on the case, and exactly: `16.0 GB (16012804096 bytes)`.
pub(in crate::output) fn amount(size: Bytes) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1_000, "kB"),
    ];
    let exact = format!("{} bytes", size.get());
    match UNITS.into_iter().find(|(unit, _)| size.get() >= *unit) {
        None => exact,
        Some((unit, name)) => {
            let tenths = size.get() / (unit / 10);
            format!("{}.{} {name} ({exact})", tenths / 10, tenths % 10)
        }
    }
}

/// `1 read`, `2 reads`.
pub(in crate::output) fn times(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A time in the unit that suits it, three digits or so.
pub(in crate::output) fn short_time(micros: f64) -> String {
    match micros.abs() {
        m if m >= 10_000.0 => format!("{:.1} ms", micros / 1000.0),
        m if m >= 100.0 => format!("{micros:.0} µs"),
        _ => format!("{micros:.1} µs"),
    }
}

/// A rate in the units that sticks are sold in: powers of ten.
pub(in crate::output) fn rate(bytes_per_second: f64) -> String {
    // About as many digits as a measured rate is worth.
    let (value, unit, whole) = if bytes_per_second >= 1e6 {
        (bytes_per_second / 1e6, "MB/s", 100.0)
    } else {
        (bytes_per_second / 1e3, "kB/s", 10.0)
    };
    if value >= whole {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_as_on_the_case_and_exactly() {
        assert_eq!(amount(Bytes(16_012_804_096)), "16.0 GB (16012804096 bytes)");
        assert_eq!(amount(Bytes(999)), "999 bytes");
        assert_eq!(
            amount(Bytes(u64::MAX)),
            "18446744.0 TB (18446744073709551615 bytes)"
        );
    }

    #[test]
    fn times_have_about_three_digits() {
        assert_eq!(short_time(3.25), "3.2 µs");
        assert_eq!(short_time(251.7), "252 µs");
        assert_eq!(short_time(12_345.0), "12.3 ms");
        assert_eq!(short_time(-0.31), "-0.3 µs");
    }

    #[test]
    fn rates_are_in_the_units_that_sticks_are_sold_in() {
        assert_eq!(rate(3_490.0), "3.5 kB/s");
        assert_eq!(rate(34_900.0), "35 kB/s");
        assert_eq!(rate(744e3), "744 kB/s");
        assert_eq!(rate(6.58e6), "6.6 MB/s");
        assert_eq!(rate(150e6), "150 MB/s");
    }
}

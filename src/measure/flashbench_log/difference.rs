//! One line of an alignment scan: units restored, and the difference with its rounding.
//!
//! flashbench prints `diff = on - (pre + post) / 2` with its own three digits, which is finer than
//! what the rounded `pre`, `on` and `post` give; but the printed field may be cut, its micro sign
//! lost, or be absent. The recomputed difference then restores it, and overrules it when the two
//! contradict each other by more than the rounding.

use super::number::{PrintedTime, TimeUnit, Timing};

const NANO: f64 = 1.0;
const MICRO: f64 = 1e3;
const MILLI: f64 = 1e6;
const SECOND: f64 = 1e9;

/// A read of a few sectors does not take ten seconds: `735s` is 735 µs whose micro sign was lost.
const LONGEST_READ: f64 = 10.0 * SECOND;

/// The four fields of a line as printed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PrintedLine {
    pub pre: Option<PrintedTime>,
    pub on: Option<PrintedTime>,
    pub post: Option<PrintedTime>,
    pub diff: Option<PrintedTime>,
}

/// The four fields with units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReadLine {
    pub pre: Option<Timing>,
    pub on: Option<Timing>,
    pub post: Option<Timing>,
    pub difference: Option<Timing>,
}

impl PrintedLine {
    pub(super) fn read(&self) -> ReadLine {
        let reads = [self.pre, self.on, self.post];
        let level = level_of(&reads);
        let [pre, on, post] = reads.map(|time| time.map(|time| restore_read(time, level)));
        let recomputed = match (pre, on, post) {
            (Some(pre), Some(on), Some(post)) => Some(Timing {
                nanos: on.nanos - (pre.nanos + post.nanos) / 2.0,
                half_width: on.half_width + (pre.half_width + post.half_width) / 2.0,
            }),
            _ => None,
        };
        ReadLine {
            pre,
            on,
            post,
            difference: difference(self.diff, recomputed, level),
        }
    }
}

fn definite(time: PrintedTime) -> Option<f64> {
    let unit = match time.unit {
        TimeUnit::Nano => NANO,
        TimeUnit::Micro => MICRO,
        TimeUnit::Milli => MILLI,
        TimeUnit::SecondOrMicro | TimeUnit::Lost => return None,
    };
    Some(time.value * unit)
}

/// About how long the reads of this line took, from the fields whose unit is certain.
fn level_of(reads: &[Option<PrintedTime>; 3]) -> Option<f64> {
    let known: Vec<f64> = reads
        .iter()
        .filter_map(|time| time.and_then(definite))
        .filter(|nanos| *nanos > 0.0)
        .collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn restore_read(time: PrintedTime, level: Option<f64>) -> Timing {
    let candidates: &[f64] = match time.unit {
        TimeUnit::Nano => &[NANO],
        TimeUnit::Micro => &[MICRO],
        TimeUnit::Milli => &[MILLI],
        TimeUnit::SecondOrMicro => &[MICRO, SECOND],
        TimeUnit::Lost => &[MICRO, MILLI],
    };
    let distance = |unit: f64| match level {
        Some(level) => (time.value.abs() * unit / level).ln().abs(),
        None if unit == SECOND && time.value * SECOND > LONGEST_READ => f64::INFINITY,
        // Nothing to compare with: what is printed is meant.
        None => f64::from(u8::from(unit != SECOND)),
    };
    let unit = candidates
        .iter()
        .copied()
        .min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
        .unwrap_or(MICRO);
    time.in_unit_of(unit)
}

fn difference(
    printed: Option<PrintedTime>,
    recomputed: Option<Timing>,
    level: Option<f64>,
) -> Option<Timing> {
    let Some(printed) = printed else {
        return recomputed;
    };
    let readings: &[f64] = match printed.unit {
        TimeUnit::Nano => &[NANO],
        TimeUnit::Micro => &[MICRO],
        TimeUnit::Milli => &[MILLI],
        TimeUnit::SecondOrMicro => &[MICRO, SECOND],
        // Cut negatives are nanoseconds; behind the sixth digit one or two more may be missing.
        TimeUnit::Lost if printed.maybe_cut => &[NANO, 10.0, 100.0],
        TimeUnit::Lost => &[MICRO, MILLI],
    };
    let agrees = |reading: &Timing| match recomputed {
        // A little slack for the rounding of the bounds themselves.
        Some(own) => {
            (reading.nanos - own.nanos).abs() <= 1.02 * (own.half_width + reading.half_width) + 1.0
        }
        // Nothing to compare with: it cannot exceed the reads by far.
        None => level.is_none_or(|level| reading.nanos.abs() < 100.0 * level),
    };
    let mut agreeing = readings
        .iter()
        .map(|unit| printed.in_unit_of(*unit))
        .filter(agrees);
    agreeing.next().or(recomputed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pre: &str, on: &str, post: &str, diff: &str) -> ReadLine {
        PrintedLine {
            pre: PrintedTime::read(pre),
            on: PrintedTime::read(on),
            post: PrintedTime::read(post),
            diff: PrintedTime::read(diff),
        }
        .read()
    }

    fn nanos(pre: &str, on: &str, post: &str, diff: &str) -> f64 {
        line(pre, on, post, diff).difference.unwrap().nanos
    }

    #[test]
    fn the_printed_difference_is_finer_and_wins_within_the_rounding() {
        assert_eq!(nanos("1.06ms", "1.32ms", "1.1ms", "236us"), 236e3);
        assert_eq!(nanos("7.78ms", "7.75ms", "7.76ms", "-22205n"), -22205.0);
    }

    #[test]
    fn a_lost_micro_sign_is_restored() {
        assert_eq!(nanos("1.28ms", "1.62ms", "1.36ms", "308s"), 308e3);
        assert_eq!(nanos("735s", "1.08ms", "780s", "324s"), 324e3);
        assert_eq!(nanos("735s", "945s", "807s", "174s"), 174e3);
        let all_seconds = line("1.2s", "1.5s", "1.2s", "300ms");
        assert_eq!(all_seconds.difference.unwrap().nanos, 300e6);
    }

    #[test]
    fn a_cut_difference_is_restored_from_the_reads() {
        assert_eq!(nanos("986us", "1.01ms", "1.87ms", "-412331"), -412_331.0);
        assert_eq!(nanos("3.89ms", "2.63ms", "3.84ms", "-123456"), -1_234_560.0);
        assert_eq!(nanos("1.1ms", "1.1ms", "1e+03u", ""), 50_125.0);
    }

    #[test]
    fn a_missing_or_contradicting_difference_is_recomputed() {
        let recomputed = line("286us", "304us", "286us", "").difference.unwrap();
        assert_eq!((recomputed.nanos, recomputed.half_width), (18e3, 1e3));
        assert_eq!(nanos("286us", "304us", "286us", "180us"), 18e3);
        assert_eq!(
            line("286us", "", "286us", "18us").difference.unwrap().nanos,
            18e3
        );
        assert_eq!(line("", "", "", ""), ReadLine::default());
    }
}

//! Rates by request size, and the time of one request.

use super::Rate;
use super::page::WriteTime;
use super::stats::{median, trimmed_mean};
use crate::measure::throughput::Timed;
use crate::units::Bytes;

/// The time of one request of each size, by rising size: a trimmed mean, which a garbage collection
/// now and then does not move.
pub fn times(timed: &[Timed]) -> Vec<WriteTime> {
    let mut sizes: Vec<Bytes> = timed.iter().map(|t| t.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
        .into_iter()
        .map(|size| WriteTime {
            size,
            seconds: usual(&seconds_of(timed, size)),
        })
        .filter(|point| point.seconds > 0.0)
        .collect()
}

/// The seconds of all requests of one size.
pub fn seconds_of(timed: &[Timed], size: Bytes) -> Vec<f64> {
    timed
        .iter()
        .filter(|t| t.size == size)
        .map(|t| t.time.as_secs_f64())
        .collect()
}

/// From so few values none can be trimmed.
fn usual(seconds: &[f64]) -> f64 {
    if seconds.len() < 5 {
        median(seconds)
    } else {
        trimmed_mean(seconds)
    }
}

/// The same as rates. Whole bytes a second: finer is below what any clock here tells.
pub fn rates(times: &[WriteTime]) -> Vec<Rate> {
    times
        .iter()
        .map(|point| Rate {
            bytes: point.size,
            bytes_per_second: (point.size.get() as f64 / point.seconds).round(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_stall_in_nine_does_not_move_a_rate() {
        let mut timed: Vec<Timed> = (0..9)
            .map(|n| Timed {
                size: Bytes::kib(64),
                time: Duration::from_micros(if n == 4 { 900_000 } else { 4096 }),
            })
            .collect();
        timed.push(Timed {
            size: Bytes::kib(4),
            time: Duration::from_micros(1024),
        });
        let rates = rates(&times(&timed));
        assert_eq!(rates.len(), 2);
        assert_eq!(
            (rates[0].bytes, rates[0].bytes_per_second),
            (Bytes::kib(4), 4e6)
        );
        assert_eq!(rates[1].bytes_per_second, 16e6);
        assert_eq!(times(&[]), []);
    }
}

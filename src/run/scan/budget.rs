//! How much of a run's limits one stage may use.

use crate::measure::meter::WriteMeter;
use crate::units::Bytes;
use std::time::Duration;

/// The flash may program this many bytes for each that the host may write: a garbage collection
/// copies a whole unit for a write of a few KiB. With it, a limit of 1 GiB allows the hundred
/// collections that counting open units takes, of the largest units known (64 MiB).
pub(super) const PROGRAMMED_PER_WRITTEN: u64 = 8;

/// The limits of a whole run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub time: Duration,
    pub written: Bytes,
    pub programmed: Bytes,
}

/// Percent of what is left that a stage may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub time: u64,
    pub written: u64,
    pub programmed: u64,
}

impl Budget {
    /// The limits of a run that may write this much.
    pub fn new(time: Duration, written: Bytes) -> Budget {
        Budget {
            time,
            written,
            programmed: Bytes(written.get().saturating_mul(PROGRAMMED_PER_WRITTEN)),
        }
    }

    /// Limit the next stage to its share of what is left.
    pub fn limit(&self, meter: &mut WriteMeter<'_>, share: Share) {
        let cost = meter.cost();
        let (time, committed) = (cost.device_time, meter.committed());
        let left = self.time.saturating_sub(time);
        meter.set_limits(
            time + left.mul_f64(share.time as f64 / 100.0),
            part(committed, self.written, share.written),
            part(cost.bytes_programmed, self.programmed, share.programmed),
        );
    }
}

/// What is used, and a share of the rest.
fn part(used: Bytes, limit: Bytes, percent: u64) -> Bytes {
    let left = u128::from(limit.saturating_sub(used).get()) * u128::from(percent) / 100;
    // At most what is left, so it fits.
    Bytes(used.get() + u64::try_from(left).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_is_left_and_never_more() {
        let gib = Bytes::gib(1);
        assert_eq!(part(Bytes::ZERO, gib, 25), Bytes::mib(256));
        assert_eq!(part(Bytes::mib(512), gib, 50), Bytes::mib(768));
        assert_eq!(part(Bytes::mib(512), gib, 100), gib);
        // More than the limit was used: nothing is left.
        assert_eq!(part(Bytes::gib(2), gib, 50), Bytes::gib(2));
        assert_eq!(part(Bytes::ZERO, Bytes(u64::MAX), 100), Bytes(u64::MAX));
    }
}

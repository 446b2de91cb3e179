//! The virtual clock: it moves only by accesses and waits.

use std::time::Duration;

/// Time on the device, in nanoseconds since it was opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    now: u64,
    last_access_ended: u64,
    quantum: u64,
}

impl Clock {
    /// A clock at 0. With a `quantum`, accesses complete on its multiples.
    pub(super) fn new(quantum: Duration) -> Clock {
        Clock {
            quantum: whole(nanoseconds(quantum)),
            ..Clock::default()
        }
    }

    /// Now.
    pub(super) fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Now, in nanoseconds.
    pub(super) fn now_ns(&self) -> f64 {
        self.now as f64
    }

    /// Time since the end of the last access, in nanoseconds.
    pub(super) fn idle_ns(&self) -> f64 {
        (self.now - self.last_access_ended) as f64
    }

    /// Let time pass without an access.
    pub(super) fn wait(&mut self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.now = self.now.saturating_add(time);
    }

    /// An access of this many nanoseconds begins now: move to its end, rounded up to the quantum
    /// on the absolute clock (a USB host looks for completions once per microframe), and tell how
    /// long it took.
    pub(super) fn pass(&mut self, nanoseconds: f64) -> Duration {
        let start = self.now;
        let mut end = start.saturating_add(whole(nanoseconds));
        if self.quantum > 1 {
            end = end.div_ceil(self.quantum).saturating_mul(self.quantum);
        }
        self.now = end;
        self.last_access_ended = end;
        Duration::from_nanos(end - start)
    }
}

/// A duration as the model counts.
pub(super) fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// Rounded to whole nanoseconds; negative and not-a-number are 0, too large is the maximum.
fn whole(nanoseconds: f64) -> u64 {
    // A float-to-integer `as` saturates, which is exactly what is wanted here.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = nanoseconds.round() as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_fall_on_the_quantum_and_a_wait_shifts_the_phase() {
        let mut clock = Clock::new(Duration::from_micros(125));
        assert_eq!(clock.pass(860e3), Duration::from_micros(875));
        assert_eq!(clock.pass(860e3), Duration::from_micros(875));
        clock.wait(Duration::from_micros(100));
        assert_eq!(clock.pass(860e3), Duration::from_micros(900));
        assert_eq!(clock.now(), Duration::from_micros(2750));
    }

    #[test]
    fn without_a_quantum_times_are_exact_and_idle_time_is_counted() {
        let mut clock = Clock::new(Duration::ZERO);
        assert_eq!(clock.pass(1234.4), Duration::from_nanos(1234));
        clock.wait(Duration::from_nanos(6));
        assert!((clock.idle_ns() - 6.0).abs() < 1e-9);
        assert_eq!(clock.now(), Duration::from_nanos(1240));
    }
}

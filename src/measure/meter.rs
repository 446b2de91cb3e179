//! Every timed access goes through the meter: it counts, it keeps the limits, and it looks at what
//! was read only as far as is needed to tell written places from blank ones.

use crate::device::{AccessError, AlignedBuffer, ReadDevice};
use crate::units::Bytes;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What bounds a scan.
pub struct Limits<'a> {
    /// The longest device time: accesses and waits together.
    pub time: Duration,
    /// Set from outside (Ctrl-C): ends the scan before the next access.
    pub interrupt: &'a AtomicBool,
}

/// Why measuring ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time limit is used up.
    TimeLimit,
    /// Interrupted from outside.
    Interrupted,
    /// An access failed.
    Failed(AccessError),
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Device time: accesses and waits.
    pub device_time: Duration,
    /// Timed reads.
    pub reads: u64,
    /// Bytes of these.
    pub bytes_read: Bytes,
}

/// What a read returned, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but 00, or nothing but FF: what never-written places return.
    Blank,
    /// Anything else.
    Data,
}

/// A device with its limits and counters.
pub struct Meter<'a> {
    device: &'a mut dyn ReadDevice,
    limits: Limits<'a>,
    buffer: AlignedBuffer,
    start: Duration,
    reads: u64,
    bytes_read: u64,
    /// Mean of the random wait before each access is half of this.
    dither: Duration,
}

impl<'a> Meter<'a> {
    /// Start counting. `largest` is the largest request that will be asked for.
    pub fn new(device: &'a mut dyn ReadDevice, limits: Limits<'a>, largest: Bytes) -> Meter<'a> {
        let start = device.clock();
        let length = usize::try_from(largest.get()).unwrap_or(usize::MAX / 2);
        Meter {
            device,
            limits,
            buffer: AlignedBuffer::new(length),
            start,
            reads: 0,
            bytes_read: 0,
            dither: Duration::ZERO,
        }
    }

    /// The device's capacity.
    pub fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    /// Wait a random time below `dither` before every access from now on. Completions that are
    /// rounded to a clock tick of the bus then carry the fraction of the tick in their mean.
    pub fn set_dither(&mut self, dither: Duration) {
        self.dither = dither;
    }

    /// What was spent so far.
    pub fn cost(&self) -> Cost {
        Cost {
            device_time: self.device.clock().saturating_sub(self.start),
            reads: self.reads,
            bytes_read: Bytes(self.bytes_read),
        }
    }

    /// One timed read of `size` bytes at `at`.
    pub fn read(
        &mut self,
        at: Bytes,
        size: Bytes,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(Duration, Content), Stop> {
        if self.limits.interrupt.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        if self.device.clock().saturating_sub(self.start) >= self.limits.time {
            return Err(Stop::TimeLimit);
        }
        if !self.dither.is_zero() {
            self.device.wait(self.dither.mul_f64(rng.random::<f64>()));
        }
        let length = usize::try_from(size.get())
            .unwrap_or(usize::MAX)
            .min(self.buffer.len());
        let buffer = &mut self.buffer[..length];
        let time = self.device.read(at, buffer).map_err(Stop::Failed)?;
        self.reads += 1;
        self.bytes_read += size.get();
        Ok((time, content(&self.buffer[..length])))
    }
}

/// Blank or data.
fn content(bytes: &[u8]) -> Content {
    let first = bytes.first().copied().unwrap_or(0);
    if matches!(first, 0x00 | 0xff) && bytes.iter().all(|&b| b == first) {
        Content::Blank
    } else {
        Content::Data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_zeros_or_all_ones_are_blank() {
        assert_eq!(content(&[0; 64]), Content::Blank);
        assert_eq!(content(&[0xff; 64]), Content::Blank);
        assert_eq!(content(&[0x5a; 64]), Content::Data);
        let mut nearly = [0; 64];
        nearly[63] = 0xff;
        assert_eq!(content(&nearly), Content::Data);
    }
}

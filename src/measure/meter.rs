//! Every timed access goes through the meter: it counts, it keeps the limits, and it looks at what
//! was read only as far as is needed to tell written places from blank ones.
//!
//! A `Meter<dyn ReadDevice>` reads; only a [`WriteMeter`] writes: the signature of a stage shows
//! whether it can destroy anything.

use crate::device::{AccessError, AlignedBuffer, Device, ReadDevice};
use crate::units::{ByteRange, Bytes};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An access that takes longer ends the run: the stick hangs, throttles beyond use, or is being
/// reset. The kernel itself gives a SCSI command 30 s (`/sys/block/X/device/timeout`).
pub const LONGEST_ACCESS: Duration = Duration::from_secs(30);

/// What bounds a scan.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The longest device time: accesses and waits together.
    pub time: Duration,
    /// The most bytes that the host may write, those that a preserving device will put back
    /// included. Nothing is written unless the meter is a [`WriteMeter`].
    pub written: Bytes,
    /// The most bytes that the flash may program by estimate: what the host writes, and a whole
    /// unit for every garbage collection that was seen.
    pub programmed: Bytes,
    /// Set from outside (Ctrl-C): ends the scan before the next access.
    pub interrupt: &'a AtomicBool,
}

impl<'a> Limits<'a> {
    /// The limits of a scan that only reads.
    pub fn of_reading(time: Duration, interrupt: &'a AtomicBool) -> Limits<'a> {
        Limits {
            time,
            written: Bytes::ZERO,
            programmed: Bytes::ZERO,
            interrupt,
        }
    }
}

/// Why measuring ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time limit is used up.
    TimeLimit,
    /// The next write would pass the limit on written or programmed bytes.
    WriteLimit,
    /// Interrupted from outside.
    Interrupted,
    /// An access took longer than [`LONGEST_ACCESS`].
    Hung {
        /// Where.
        at: Bytes,
        /// How long.
        took: Duration,
    },
    /// An access failed.
    Failed(AccessError),
}

impl Stop {
    /// Whether nothing more may be asked of the device: it failed, hangs, or the user said stop.
    /// A limit that is used up ends a stage, not the run.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Stop::Interrupted | Stop::Hung { .. } | Stop::Failed(_)
        )
    }
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
    /// Timed writes.
    pub writes: u64,
    /// Bytes of these.
    pub bytes_written: Bytes,
    /// Bytes that the flash programmed, by estimate: those of the writes, and those of the garbage
    /// collections that a stage charged with [`Meter::charge`].
    pub bytes_programmed: Bytes,
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
pub struct Meter<'a, D: ReadDevice + ?Sized = dyn ReadDevice + 'a> {
    device: &'a mut D,
    limits: Limits<'a>,
    buffer: AlignedBuffer,
    start: Duration,
    cost: Cost,
    /// What a preserving device has to put back at the end.
    put_back: Bytes,
    /// Never more than the device claims.
    capacity: Bytes,
    /// Mean of the random wait before each access is half of this.
    dither: Duration,
}

/// A meter that can write.
pub type WriteMeter<'a> = Meter<'a, dyn Device + 'a>;

impl<'a, D: ReadDevice + ?Sized> Meter<'a, D> {
    /// Start counting. `largest` is the largest request that will be asked for.
    pub fn new(device: &'a mut D, limits: Limits<'a>, largest: Bytes) -> Meter<'a, D> {
        let start = device.clock();
        let capacity = device.capacity();
        let length = usize::try_from(largest.get()).unwrap_or(usize::MAX / 2);
        Meter {
            device,
            limits,
            buffer: AlignedBuffer::new(length),
            start,
            cost: Cost::default(),
            put_back: Bytes::ZERO,
            capacity,
            dither: Duration::ZERO,
        }
    }

    /// The device's capacity, as far as it is believed.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The device ends before it claims to: stages use nothing behind that.
    pub fn believe(&mut self, capacity: Bytes) {
        self.capacity = self.capacity.min(capacity);
    }

    /// The largest request that this meter was made for.
    pub fn largest(&self) -> Bytes {
        Bytes(self.buffer.len() as u64)
    }

    /// Wait a random time below `dither` before every read from now on. Completions that are
    /// rounded to a clock tick of the bus then carry the fraction of the tick in their mean.
    pub fn set_dither(&mut self, dither: Duration) {
        self.dither = dither;
    }

    /// What was spent so far.
    pub fn cost(&self) -> Cost {
        Cost {
            device_time: self.spent(),
            ..self.cost
        }
    }

    /// One timed read of `size` bytes at `at`.
    pub fn read(
        &mut self,
        at: Bytes,
        size: Bytes,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(Duration, Content), Stop> {
        self.check_limits()?;
        if !self.dither.is_zero() {
            self.device.wait(self.dither.mul_f64(rng.random::<f64>()));
        }
        let length = self.request(size);
        let buffer = &mut self.buffer[..length];
        let time = self.device.read(at, buffer).map_err(Stop::Failed)?;
        self.cost.reads += 1;
        self.cost.bytes_read = add(self.cost.bytes_read, Bytes(length as u64));
        not_hung(at, time)?;
        Ok((time, content(&self.buffer[..length])))
    }

    /// The bytes of the latest read, or of the latest write.
    pub fn latest(&self, size: Bytes) -> &[u8] {
        &self.buffer[..self.request(size)]
    }

    /// Let time pass on the device's clock, such as for a stick to work off what it put aside.
    pub fn wait(&mut self, time: Duration) -> Result<(), Stop> {
        self.check_limits()?;
        let left = self.limits.time.saturating_sub(self.spent());
        self.device.wait(time.min(left));
        Ok(())
    }

    fn spent(&self) -> Duration {
        self.device.clock().saturating_sub(self.start)
    }

    /// Between any two accesses: may there be another?
    fn check_limits(&self) -> Result<(), Stop> {
        if self.limits.interrupt.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        if self.spent() >= self.limits.time {
            return Err(Stop::TimeLimit);
        }
        Ok(())
    }

    fn request(&self, size: Bytes) -> usize {
        usize::try_from(size.get())
            .unwrap_or(usize::MAX)
            .min(self.buffer.len())
    }
}

impl<D: Device + ?Sized> Meter<'_, D> {
    /// Say which ranges the next writes go to, before they are timed: a preserving device saves
    /// them now, where that disturbs no measurement.
    ///
    /// # Errors
    /// [`Stop::WriteLimit`] when putting them back would pass the limit on written bytes.
    pub fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), Stop> {
        self.check_limits()?;
        let more = self.device.to_put_back(ranges);
        if add(self.committed(), more) > self.limits.written {
            return Err(Stop::WriteLimit);
        }
        self.device.announce(ranges).map_err(Stop::Failed)?;
        self.put_back = add(self.put_back, more);
        Ok(())
    }

    /// One timed synchronous write of `size` random bytes at `at`: no controller can compress or
    /// deduplicate them.
    pub fn write(
        &mut self,
        at: Bytes,
        size: Bytes,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Duration, Stop> {
        let length = self.request(size);
        rng.fill_bytes(&mut self.buffer[..length]);
        self.write_buffer(at, length)
    }

    /// The same with given bytes, such as those that stood there.
    pub fn write_bytes(&mut self, at: Bytes, bytes: &[u8]) -> Result<Duration, Stop> {
        let length = bytes.len().min(self.buffer.len());
        self.buffer[..length].copy_from_slice(&bytes[..length]);
        self.write_buffer(at, length)
    }

    fn write_buffer(&mut self, at: Bytes, length: usize) -> Result<Duration, Stop> {
        self.check_limits()?;
        let bytes = Bytes(length as u64);
        if add(self.committed(), bytes) > self.limits.written
            || add(self.cost.bytes_programmed, bytes) > self.limits.programmed
        {
            return Err(Stop::WriteLimit);
        }
        let time = self
            .device
            .write(at, &self.buffer[..length])
            .map_err(Stop::Failed)?;
        self.cost.writes += 1;
        self.cost.bytes_written = add(self.cost.bytes_written, bytes);
        self.cost.bytes_programmed = add(self.cost.bytes_programmed, bytes);
        not_hung(at, time)?;
        Ok(time)
    }

    /// Make all writes durable, and tell how long it took.
    pub fn flush(&mut self) -> Result<Duration, Stop> {
        self.check_limits()?;
        let time = self.device.flush().map_err(Stop::Failed)?;
        not_hung(Bytes::ZERO, time)?;
        Ok(time)
    }

    /// A garbage collection was seen: this much was copied inside the stick.
    pub fn charge(&mut self, copied: Bytes) {
        self.cost.bytes_programmed = add(self.cost.bytes_programmed, copied);
    }

    /// How many more bytes may be written before [`Stop::WriteLimit`].
    pub fn writable(&self) -> Bytes {
        self.limits.written.saturating_sub(self.committed()).min(
            self.limits
                .programmed
                .saturating_sub(self.cost.bytes_programmed),
        )
    }

    /// Written so far, and what a preserving device will have to put back.
    pub fn committed(&self) -> Bytes {
        add(self.cost.bytes_written, self.put_back)
    }

    /// Other limits from now on, for one stage of a run. All count from the start of the meter.
    pub fn set_limits(&mut self, time: Duration, written: Bytes, programmed: Bytes) {
        self.limits.time = time;
        self.limits.written = written;
        self.limits.programmed = programmed;
    }
}

/// Counters do not wrap.
fn add(a: Bytes, b: Bytes) -> Bytes {
    Bytes(a.get().saturating_add(b.get()))
}

fn not_hung(at: Bytes, took: Duration) -> Result<(), Stop> {
    if took > LONGEST_ACCESS {
        Err(Stop::Hung { at, took })
    } else {
        Ok(())
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

//! A device that fails on purpose.

use crate::device::{AccessError, Device, ReadDevice};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use std::time::Duration;

/// Something that goes wrong. Accesses (reads, writes, flushes) are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th access is an I/O error and does nothing.
    ErrorAt(u64),
    /// Every read or write that touches this range is an I/O error and does nothing.
    ErrorIn(ByteRange),
    /// The device is gone after n accesses.
    VanishAfter(u64),
    /// The n-th access takes this much longer, on the device's clock.
    Hang {
        /// Which.
        at: u64,
        /// How much longer.
        time: Duration,
    },
    /// Writes that touch this range report success and do nothing, at the time of a flush.
    LyingWrites(ByteRange),
}

/// A device with faults around the inner one.
#[derive(Clone, Debug)]
pub struct FaultInjector<D> {
    inner: D,
    faults: Vec<Fault>,
    accesses: u64,
}

impl<D: ReadDevice> FaultInjector<D> {
    /// `inner`, with these faults.
    pub fn new(inner: D, faults: Vec<Fault>) -> FaultInjector<D> {
        FaultInjector {
            inner,
            faults,
            accesses: 0,
        }
    }

    /// The device inside, without faults.
    pub fn into_inner(self) -> D {
        self.inner
    }

    /// How many accesses there were.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Count an access; how much longer it takes, or how it fails.
    fn begin(&mut self, range: ByteRange) -> Result<Duration, AccessError> {
        self.accesses += 1;
        let n = self.accesses;
        let at = range.from.get();
        let error = |at: u64| AccessError::Io {
            at,
            reason: "injected error".to_owned(),
        };
        let mut hang = Duration::ZERO;
        for fault in &self.faults {
            match fault {
                Fault::ErrorAt(k) if *k == n => return Err(error(at)),
                Fault::ErrorIn(bad) if bad.overlaps(range) => {
                    return Err(error(bad.from.max(range.from).get()));
                }
                Fault::VanishAfter(k) if n > *k => return Err(AccessError::Gone { at }),
                Fault::Hang { at: k, time } if *k == n => hang += *time,
                _ => {}
            }
        }
        Ok(hang)
    }

    /// Let the hang pass on the device's clock, and count it into the access.
    fn hang(&mut self, time: Duration, hang: Duration) -> Duration {
        if !hang.is_zero() {
            self.inner.wait(hang);
        }
        time + hang
    }
}

fn range_of(at: Bytes, length: usize) -> ByteRange {
    ByteRange {
        from: at,
        to: Bytes(at.get().saturating_add(length as u64)),
    }
}

impl<D: ReadDevice> ReadDevice for FaultInjector<D> {
    fn facts(&self) -> &Facts {
        self.inner.facts()
    }

    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let hang = self.begin(range_of(at, into.len()))?;
        let time = self.inner.read(at, into)?;
        Ok(self.hang(time, hang))
    }

    fn wait(&mut self, time: Duration) {
        self.inner.wait(time);
    }

    fn clock(&self) -> Duration {
        self.inner.clock()
    }
}

impl<D: Device> Device for FaultInjector<D> {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let range = range_of(at, data.len());
        let hang = self.begin(range)?;
        let lies = self
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::LyingWrites(r) if r.overlaps(range)));
        let time = if lies {
            self.inner.flush()?
        } else {
            self.inner.write(at, data)?
        };
        Ok(self.hang(time, hang))
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let hang = self.begin(range_of(Bytes::ZERO, 0))?;
        let time = self.inner.flush()?;
        Ok(self.hang(time, hang))
    }

    fn to_put_back(&self, ranges: &[ByteRange]) -> Bytes {
        self.inner.to_put_back(ranges)
    }

    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        self.inner.announce(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::AlignedBuffer;
    use crate::device::simulated::{Profile, SimulatedStick};

    fn with(faults: Vec<Fault>) -> FaultInjector<SimulatedStick> {
        let profile = Profile::builtin("3m").unwrap();
        FaultInjector::new(SimulatedStick::new(&profile, 1), faults)
    }

    fn read(device: &mut impl ReadDevice, at: u64) -> Result<Duration, AccessError> {
        device.read(Bytes(at), &mut AlignedBuffer::new(4096))
    }

    #[test]
    fn only_the_named_access_fails() {
        let mut device = with(vec![Fault::ErrorAt(2)]);
        assert!(read(&mut device, 0).is_ok());
        assert!(matches!(
            read(&mut device, 4096),
            Err(AccessError::Io { at: 4096, .. })
        ));
        assert!(read(&mut device, 4096).is_ok());
        assert_eq!(device.accesses(), 3);
    }

    #[test]
    fn every_access_to_a_bad_range_fails_where_the_range_begins() {
        let bad = range_of(Bytes(6144), 512);
        let mut device = with(vec![Fault::ErrorIn(bad)]);
        assert!(read(&mut device, 0).is_ok());
        let expected = AccessError::Io {
            at: 6144,
            reason: "injected error".to_owned(),
        };
        assert_eq!(read(&mut device, 4096), Err(expected.clone()));
        let data = AlignedBuffer::new(4096);
        assert_eq!(device.write(Bytes(4096), &data), Err(expected));
        assert!(read(&mut device, 8192).is_ok());
    }

    #[test]
    fn a_vanished_device_stays_away() {
        let mut device = with(vec![Fault::VanishAfter(1)]);
        assert!(read(&mut device, 0).is_ok());
        for _ in 0..3 {
            assert_eq!(read(&mut device, 0), Err(AccessError::Gone { at: 0 }));
        }
        assert_eq!(device.flush(), Err(AccessError::Gone { at: 0 }));
    }

    #[test]
    fn a_hang_takes_its_time_on_the_devices_clock() {
        let time = Duration::from_secs(30);
        let mut device = with(vec![Fault::Hang { at: 2, time }]);
        assert!(read(&mut device, 0).unwrap() < Duration::from_secs(1));
        let before = device.clock();
        let took = read(&mut device, 4096).unwrap();
        assert!(took > time);
        assert_eq!(device.clock() - before, took);
    }

    #[test]
    fn lying_writes_report_success_and_change_nothing() {
        let mut device = with(vec![Fault::LyingWrites(range_of(Bytes(4096), 4096))]);
        let mut before = AlignedBuffer::new(8192);
        device.read(Bytes(0), &mut before).unwrap();
        let mut ones = AlignedBuffer::new(4096);
        ones.fill(1);
        device.write(Bytes(0), &ones).unwrap();
        device.write(Bytes(4096), &ones).unwrap();
        let mut after = AlignedBuffer::new(8192);
        device.read(Bytes(0), &mut after).unwrap();
        assert!(after[..4096] == ones[..]);
        assert!(after[4096..] == before[4096..]);
    }
}

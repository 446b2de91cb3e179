//! A device that remembers every access.

use crate::device::{AccessError, Device, ReadDevice};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A flush; its range is empty.
    Flush,
    /// A wait; its range is empty.
    Wait,
}

/// One access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What was done.
    pub kind: AccessKind,
    /// Where; empty for flushes and waits.
    pub range: ByteRange,
    /// The device's clock when it began.
    pub began: Duration,
    /// How long it took, or why it failed.
    pub result: Result<Duration, AccessError>,
}

/// The record of a [`Recorder`]; clones show the same record, so a test keeps one while the device
/// is in use elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Record(Arc<Mutex<Vec<Access>>>);

impl Record {
    /// A copy of all accesses so far, in order.
    pub fn accesses(&self) -> Vec<Access> {
        self.with(|accesses| accesses.clone())
    }

    /// How many accesses of one kind there were.
    pub fn count(&self, kind: AccessKind) -> usize {
        self.with(|accesses| accesses.iter().filter(|a| a.kind == kind).count())
    }

    /// How many bytes were asked for by accesses of one kind.
    pub fn bytes(&self, kind: AccessKind) -> Bytes {
        self.with(|accesses| {
            let of_kind = accesses.iter().filter(|a| a.kind == kind);
            Bytes(of_kind.map(|a| a.range.length().get()).sum())
        })
    }

    /// Forget all.
    pub fn clear(&self) {
        self.with(Vec::clear);
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<Access>) -> T) -> T {
        // A list of plain values is whole even after a panic elsewhere.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A device that remembers every access to the inner one, failed ones included.
#[derive(Clone, Debug)]
pub struct Recorder<D> {
    inner: D,
    record: Record,
}

impl<D: ReadDevice> Recorder<D> {
    /// Record all accesses to `inner`.
    pub fn new(inner: D) -> Recorder<D> {
        Recorder {
            inner,
            record: Record::default(),
        }
    }

    /// The record; stays up to date.
    pub fn record(&self) -> Record {
        self.record.clone()
    }

    /// The device inside.
    pub fn into_inner(self) -> D {
        self.inner
    }

    fn note(
        &self,
        kind: AccessKind,
        at: Bytes,
        length: usize,
        began: Duration,
        result: &Result<Duration, AccessError>,
    ) {
        let to = Bytes(at.get().saturating_add(length as u64));
        let access = Access {
            kind,
            range: ByteRange { from: at, to },
            began,
            result: result.clone(),
        };
        self.record.with(|accesses| accesses.push(access));
    }
}

impl<D: ReadDevice> ReadDevice for Recorder<D> {
    fn facts(&self) -> &Facts {
        self.inner.facts()
    }

    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let began = self.inner.clock();
        let result = self.inner.read(at, into);
        self.note(AccessKind::Read, at, into.len(), began, &result);
        result
    }

    fn wait(&mut self, time: Duration) {
        let began = self.inner.clock();
        self.inner.wait(time);
        self.note(AccessKind::Wait, Bytes::ZERO, 0, began, &Ok(time));
    }

    fn clock(&self) -> Duration {
        self.inner.clock()
    }
}

impl<D: Device> Device for Recorder<D> {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let began = self.inner.clock();
        let result = self.inner.write(at, data);
        self.note(AccessKind::Write, at, data.len(), began, &result);
        result
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let began = self.inner.clock();
        let result = self.inner.flush();
        self.note(AccessKind::Flush, Bytes::ZERO, 0, began, &result);
        result
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

    #[test]
    fn every_access_is_in_the_record_even_a_refused_one() {
        let profile = Profile::builtin("3m").unwrap();
        let mut device = Recorder::new(SimulatedStick::new(&profile, 1));
        let record = device.record();
        let mut buffer = AlignedBuffer::new(1024);
        let time = device.read(Bytes(4096), &mut buffer).unwrap();
        device.wait(Duration::from_millis(1));
        let refused = device.write(Bytes(1), &buffer).unwrap_err();
        device.write(Bytes(8192), &buffer).unwrap();
        device.flush().unwrap();

        let accesses = record.accesses();
        let kinds: Vec<AccessKind> = accesses.iter().map(|a| a.kind).collect();
        use AccessKind::{Flush, Read, Wait, Write};
        assert_eq!(kinds, [Read, Wait, Write, Write, Flush]);
        assert_eq!(accesses[0].result, Ok(time));
        assert_eq!(accesses[0].range.to, Bytes(5120));
        assert_eq!(accesses[2].result, Err(refused));
        assert_eq!(accesses[2].began, time + Duration::from_millis(1));
        assert_eq!(record.bytes(Write), Bytes(2048));
        record.clear();
        assert_eq!(device.record().count(Read), 0);
    }
}

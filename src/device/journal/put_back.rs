//! Putting back what was saved.

use super::{Journal, LONGEST_ENTRY};
use crate::device::{AccessError, AlignedBuffer, Device};
use crate::units::Bytes;
use std::io;
use std::time::Duration;

/// What putting back took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Writes.
    pub writes: u64,
    /// Bytes of these.
    pub bytes: Bytes,
    /// Device time, that of reading all of it again included.
    pub time: Duration,
}

/// Why something was not put back. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum PutBackError {
    /// The journal cannot be read back.
    #[error("the journal cannot be read: {0}")]
    Journal(#[from] io::Error),
    /// The device fails.
    #[error("{0}")]
    Device(#[from] AccessError),
    /// The device took the bytes and returns others.
    #[error("what was written to byte {} does not read back", .0.get())]
    Differs(Bytes),
}

impl Journal {
    /// Write every saved place again, the last saved first, flush, and read all of it back.
    ///
    /// On a device that maps two places to one piece of flash, a later entry may hold what the tests
    /// themselves wrote; the earlier one, written behind it, holds the truth.
    ///
    /// # Errors
    /// The first failure; the other places are put back all the same, unless the device is gone. The
    /// journal keeps everything, and it can be tried again.
    pub fn put_back(&self, device: &mut dyn Device) -> Result<PutBack, PutBackError> {
        let mut done = PutBack::default();
        let mut failure = None;
        let length = usize::try_from(LONGEST_ENTRY.get()).unwrap_or(1 << 20);
        let mut saved = AlignedBuffer::new(length);
        let mut found = AlignedBuffer::new(length);
        let begun = device.clock();
        for entry in self.entries.iter().rev() {
            let length = usize::try_from(entry.range.length().get()).unwrap_or(0);
            let bytes = &mut saved[..length];
            let step = self
                .bytes(entry, bytes)
                .map_err(PutBackError::from)
                .and_then(|()| Ok(device.write(entry.range.from, bytes)?));
            match step {
                Ok(_) => {
                    done.writes += 1;
                    done.bytes.0 += length as u64;
                }
                Err(error @ PutBackError::Device(AccessError::Gone { .. })) => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        device.flush()?;
        for entry in &self.entries {
            let length = usize::try_from(entry.range.length().get()).unwrap_or(0);
            self.bytes(entry, &mut saved[..length])?;
            device.read(entry.range.from, &mut found[..length])?;
            if saved[..length] != found[..length] {
                return Err(PutBackError::Differs(entry.range.from));
            }
        }
        done.time = device.clock().saturating_sub(begun);
        Ok(done)
    }
}

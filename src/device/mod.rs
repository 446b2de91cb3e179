//! Where bytes and times come from.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//! ^^^^^^
//! ```
//!
//! The only folder that knows files, ioctls and `O_DIRECT`. Every access returns the time it took,
//! and waiting goes through the device as well: the stages to the right know no other clock, so a
//! simulated stick runs in virtual time. Reading and writing are two traits: a function that takes
//! a [`ReadDevice`] cannot destroy anything.

/// Implement [`ReadDevice`] for a type that adds rights or duties to the device in its field
/// `inner`, and reads as that does. Before the modules, since they use it.
macro_rules! reads_through_inner {
    ($outer:ty) => {
        impl crate::device::ReadDevice for $outer {
            fn facts(&self) -> &crate::topology::Facts {
                self.inner.facts()
            }

            fn capacity(&self) -> crate::units::Bytes {
                self.inner.capacity()
            }

            fn read(
                &mut self,
                at: crate::units::Bytes,
                into: &mut [u8],
            ) -> Result<std::time::Duration, crate::device::AccessError> {
                self.inner.read(at, into)
            }

            fn wait(&mut self, time: std::time::Duration) {
                self.inner.wait(time);
            }

            fn clock(&self) -> std::time::Duration {
                self.inner.clock()
            }
        }
    };
}

pub mod block;
pub mod image;
pub mod journal;
pub mod memory;
pub mod simulated;
pub mod sysfs;
pub mod wrappers;

mod buffer;
mod open_error;

pub use buffer::AlignedBuffer;
pub use open_error::{OpenError, OpenErrorKind, SMALLEST_DEVICE, permission_text};

use crate::topology::Facts;
use crate::units::{ByteRange, Bytes, LogicalBlock};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// A device that can be read.
pub trait ReadDevice {
    /// What the device says of itself.
    fn facts(&self) -> &Facts;

    /// The usable size.
    fn capacity(&self) -> Bytes;

    /// The unit of every offset and length.
    fn logical_block(&self) -> LogicalBlock {
        self.facts().logical_block
    }

    /// Read exactly `into.len()` bytes at `at` as one request, and tell how long it took.
    ///
    /// `at` and the length are multiples of the logical block, the range lies inside the capacity,
    /// and the buffer is aligned to 4096 bytes (an [`AlignedBuffer`] is).
    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError>;

    /// Let `time` pass on the device's clock.
    fn wait(&mut self, time: Duration);

    /// The device's clock: accesses and waits since it was opened. Virtual on a simulated stick.
    fn clock(&self) -> Duration;
}

/// A device that can be written.
pub trait Device: ReadDevice {
    /// Write `data` at `at` as one synchronous request, and tell how long it took.
    /// The same conditions as for [`ReadDevice::read`].
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError>;

    /// Make all writes durable, and tell how long it took.
    fn flush(&mut self) -> Result<Duration, AccessError>;

    /// How many bytes announcing these ranges will oblige the device to write again at the end.
    /// Nothing, unless it preserves its contents.
    fn to_put_back(&self, ranges: &[ByteRange]) -> Bytes {
        let _ = ranges;
        Bytes::ZERO
    }

    /// These ranges are about to be written. A device that preserves its contents saves them now,
    /// where that disturbs no timed access; for all others this does nothing.
    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        let _ = ranges;
        Ok(())
    }
}

impl<D: ReadDevice + ?Sized> ReadDevice for Box<D> {
    fn facts(&self) -> &Facts {
        (**self).facts()
    }
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        (**self).read(at, into)
    }
    fn wait(&mut self, time: Duration) {
        (**self).wait(time);
    }
    fn clock(&self) -> Duration {
        (**self).clock()
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        (**self).write(at, data)
    }
    fn flush(&mut self) -> Result<Duration, AccessError> {
        (**self).flush()
    }
    fn to_put_back(&self, ranges: &[ByteRange]) -> Bytes {
        (**self).to_put_back(ranges)
    }
    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        (**self).announce(ranges)
    }
}

/// Why an access failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessError {
    /// The medium could not deliver this place (EIO and the like).
    #[error("I/O error at byte {at}: {reason}")]
    Io {
        /// Where.
        at: u64,
        /// The system's words.
        reason: String,
    },
    /// The device was unplugged or its medium removed (ENXIO, ENODEV, ENOMEDIUM, a short read).
    #[error("the device went away at byte {at}")]
    Gone {
        /// Where.
        at: u64,
    },
    /// What was about to be overwritten could not be saved first, so it was not overwritten.
    #[error("cannot save what stands at byte {at} before it is overwritten: {reason}")]
    NotSaved {
        /// Where.
        at: u64,
        /// The system's words.
        reason: String,
    },
    /// Offset, length or buffer break the rules of [`ReadDevice::read`].
    #[error("access of {length} bytes at byte {at} is refused: {reason}")]
    Unaligned {
        /// Where.
        at: u64,
        /// How much.
        length: u64,
        /// Which rule is broken.
        reason: Cow<'static, str>,
    },
}

/// Check the conditions that every access must keep; shared by all devices.
pub(crate) fn check_access(
    at: Bytes,
    buffer: &[u8],
    capacity: Bytes,
    block: LogicalBlock,
) -> Result<(), AccessError> {
    let length = buffer.len() as u64;
    let unit = block.bytes().get();
    let refuse = |reason| {
        Err(AccessError::Unaligned {
            at: at.get(),
            length,
            reason: Cow::Borrowed(reason),
        })
    };
    if length == 0 {
        return refuse("no bytes asked for");
    }
    if !at.get().is_multiple_of(unit) {
        return refuse("the offset is no multiple of the logical block");
    }
    if !length.is_multiple_of(unit) {
        return refuse("the length is no multiple of the logical block");
    }
    match at.get().checked_add(length) {
        Some(end) if end <= capacity.get() => Ok(()),
        _ => refuse("it passes the end of the device"),
    }
}

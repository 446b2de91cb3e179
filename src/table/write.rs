//! The only way to the first byte: an image that passed its rehearsal and whose old content is saved
//! is written sector by sector, each made durable before the next, and read back. When that fails,
//! the old content is put back.

use super::backup::Backup;
use super::identity::Identity;
use super::image::{Extent, Part};
use super::prepare::Prepared;
use crate::device::{AccessError, AlignedBuffer, Device, ReadDevice};
use crate::units::{Bytes, LogicalBlock, Sectors};
use std::fmt;

/// A rehearsed image whose old content is saved. There is no other way to make one than
/// [`Prepared::back_up`].
#[derive(Debug)]
pub struct BackedUp {
    extents: Vec<Extent>,
}

impl Prepared {
    /// Hand the old content to `save`, which must have it on a disk (fsync) when it returns. Only
    /// its success gives what can be written.
    ///
    /// # Errors
    /// Those of `save`.
    pub fn back_up<E>(
        self,
        device: Identity,
        save: impl FnOnce(&str) -> Result<(), E>,
    ) -> Result<BackedUp, E> {
        let text = Backup::of(device, self.extents()).render();
        save(&text)?;
        Ok(BackedUp {
            extents: self.into_extents(),
        })
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Sectors written; those that held the right bytes already are not counted.
    pub sectors: Sectors,
    /// The part of them that are zeros over old signatures.
    pub wiped: Sectors,
}

/// Why the new table is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Somebody else wrote to the device after it was read.
    #[error(
        "byte {at} changed since the device was read, so somebody else writes to it; nothing was written",
        at = .at.get()
    )]
    Changed {
        /// The sector that changed.
        at: Bytes,
    },
    /// The device could not be read before the first write.
    #[error("{0}; nothing was written")]
    Unreadable(AccessError),
    /// Asked to stop.
    #[error("interrupted while writing; {undone}")]
    Interrupted {
        /// What became of the old content.
        undone: Undone,
    },
    /// A write or a flush failed.
    #[error("writing the {part} failed: {error}; {undone}")]
    Failed {
        /// What was being written.
        part: Part,
        /// Why.
        error: AccessError,
        /// What became of the old content.
        undone: Undone,
    },
    /// Reading back failed.
    #[error("reading the new table back failed: {error}; {undone}")]
    Unverified {
        /// Why.
        error: AccessError,
        /// What became of the old content.
        undone: Undone,
    },
    /// What was written is not what is read.
    #[error(
        "the device says that it wrote the {part} at byte {at}, and other bytes are read there; {undone}",
        at = .at.get()
    )]
    Lies {
        /// What was written there.
        part: Part,
        /// Where.
        at: Bytes,
        /// What became of the old content.
        undone: Undone,
    },
}

impl WriteError {
    /// What became of the old content; `None` when nothing was written.
    pub fn undone(&self) -> Option<&Undone> {
        match self {
            WriteError::Changed { .. } | WriteError::Unreadable(_) => None,
            WriteError::Interrupted { undone }
            | WriteError::Failed { undone, .. }
            | WriteError::Unverified { undone, .. }
            | WriteError::Lies { undone, .. } => Some(undone),
        }
    }
}

/// What became of the old content after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is back, and was read back.
    Restored,
    /// Putting it back failed as well.
    Failed(AccessError),
    /// The device takes it and holds something else.
    Lies {
        /// The first such place.
        at: Bytes,
    },
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undone::Restored => f.write_str("the old content is back, and was verified"),
            Undone::Failed(error) => {
                write!(f, "putting the old content back failed as well: {error}")
            }
            Undone::Lies { at } => write!(
                f,
                "putting the old content back failed as well: other bytes are read at byte {}",
                at.get()
            ),
        }
    }
}

impl BackedUp {
    /// Write the image in order, flush after each sector, read all of it back, and compare. On a
    /// failure the old content is put back, in the reverse order, so that every state on the way is
    /// one that the way there had. `stop` is asked before every sector.
    ///
    /// # Errors
    /// The new table is not there; the error tells whether the old one is.
    pub fn write(
        self,
        device: &mut dyn Device,
        stop: &dyn Fn() -> bool,
    ) -> Result<Written, WriteError> {
        let block = device.logical_block();
        for extent in &self.extents {
            let now = read(device, extent).map_err(WriteError::Unreadable)?;
            if now != extent.old {
                let at = extent.place(block);
                return Err(WriteError::Changed { at });
            }
        }
        let mut written = Written {
            sectors: Sectors(0),
            wiped: Sectors(0),
        };
        for (index, extent) in self.extents.iter().enumerate() {
            if extent.is_unchanged() {
                continue;
            }
            if stop() {
                let undone = undo(device, &self.extents[..index]);
                return Err(WriteError::Interrupted { undone });
            }
            if let Err(error) = put(device, extent.place(block), &extent.new) {
                return Err(WriteError::Failed {
                    part: extent.part,
                    error,
                    // The failed one too: it may have arrived in part.
                    undone: undo(device, &self.extents[..=index]),
                });
            }
            written.sectors.0 += 1;
            written.wiped.0 += u64::from(extent.part == Part::Wipe);
        }
        for extent in &self.extents {
            match read(device, extent) {
                Ok(now) if now == extent.new => {}
                Ok(_) => {
                    return Err(WriteError::Lies {
                        part: extent.part,
                        at: extent.place(block),
                        undone: undo(device, &self.extents),
                    });
                }
                Err(error) => {
                    let undone = undo(device, &self.extents);
                    return Err(WriteError::Unverified { error, undone });
                }
            }
        }
        Ok(written)
    }
}

/// Put the old content of these extents back, last one first, and read it back. A place that fails
/// does not keep the others from being restored.
fn undo(device: &mut dyn Device, extents: &[Extent]) -> Undone {
    let block = device.logical_block();
    let changed = || extents.iter().rev().filter(|extent| !extent.is_unchanged());
    let mut failed = None;
    for extent in changed() {
        if let Err(error) = put(device, extent.place(block), &extent.old) {
            let gone = matches!(error, AccessError::Gone { .. });
            failed.get_or_insert(error);
            if gone {
                break;
            }
        }
    }
    if let Some(error) = failed {
        return Undone::Failed(error);
    }
    for extent in changed() {
        match read(device, extent) {
            Ok(now) if now == extent.old => {}
            Ok(_) => {
                return Undone::Lies {
                    at: extent.place(block),
                };
            }
            Err(error) => return Undone::Failed(error),
        }
    }
    Undone::Restored
}

/// Write one sector and make it durable.
pub(super) fn put(device: &mut dyn Device, at: Bytes, data: &[u8]) -> Result<(), AccessError> {
    let mut buffer = AlignedBuffer::new(data.len());
    buffer.copy_from_slice(data);
    device.write(at, &buffer)?;
    device.flush()?;
    Ok(())
}

/// What the sector of an extent holds now.
fn read(device: &mut dyn Device, extent: &Extent) -> Result<Vec<u8>, AccessError> {
    let block = device.logical_block();
    read_sector(device, extent.place(block), block)
}

/// One sector past any cache of the host.
pub(super) fn read_sector<D: ReadDevice + ?Sized>(
    device: &mut D,
    at: Bytes,
    block: LogicalBlock,
) -> Result<Vec<u8>, AccessError> {
    let length = match block {
        LogicalBlock::B512 => 512,
        LogicalBlock::B4096 => 4096,
    };
    let mut buffer = AlignedBuffer::new(length);
    device.read(at, &mut buffer)?;
    Ok(buffer.to_vec())
}

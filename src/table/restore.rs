//! A backup back onto its device: every sector that the write touched gets its old bytes, last one
//! first, so that every state on the way is one that the write had too.

use super::backup::{Backup, Saved};
use super::identity::{Difference, Identity};
use super::image::Part;
use super::write::{put, read_sector};
use crate::device::{AccessError, Device, ReadDevice};
use crate::units::{Bytes, Lba, LogicalBlock, Sectors};

/// A backup that was compared with its device.
#[derive(Debug)]
pub struct Restoring {
    backup: Backup,
    /// For each sector of the backup, what the device holds now.
    states: Vec<State>,
}

/// What a sector holds before it is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The old bytes already.
    Old,
    /// What was written over them then.
    Replaced,
    /// Neither: it was changed since, or a write was cut in its middle.
    Other,
}

/// Why a backup cannot be put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// It was made of another device.
    #[error("the backup is of another device: {0}: name the device that it was made of")]
    OtherDevice(Difference),
    /// The device cannot be read.
    #[error("reading the device failed: {0}: try another port or reader")]
    Unreadable(AccessError),
    /// A write failed. What was written before it is restored.
    #[error(
        "putting the {part} back failed: {error}: run the same command again, in another port or reader"
    )]
    Failed {
        /// What had been written over it.
        part: Part,
        /// Why.
        error: AccessError,
    },
    /// What was written is not what is read.
    #[error(
        "the device says that it wrote byte {at}, and other bytes are read there: run the same command again, in another port or reader",
        at = .at.get()
    )]
    Lies {
        /// Where.
        at: Bytes,
    },
}

/// Compare a backup with the device. Nothing is written.
///
/// # Errors
/// A backup of another device; a device that cannot be read.
pub fn prepare(device: &mut dyn ReadDevice, backup: Backup) -> Result<Restoring, RestoreError> {
    let now = Identity::of(device.facts());
    if let Some(difference) = backup.device.difference(&now) {
        return Err(RestoreError::OtherDevice(difference));
    }
    let block = device.logical_block();
    let mut states = Vec::with_capacity(backup.sectors.len());
    for saved in &backup.sectors {
        let now =
            read_sector(device, place(saved.at, block), block).map_err(RestoreError::Unreadable)?;
        states.push(if now == saved.data {
            State::Old
        } else if saved.was_replaced_by(&now) {
            State::Replaced
        } else {
            State::Other
        });
    }
    Ok(Restoring { backup, states })
}

fn place(at: Lba, block: LogicalBlock) -> Bytes {
    at.to_bytes(block).unwrap_or(Bytes(u64::MAX))
}

impl Restoring {
    /// The backup.
    pub fn backup(&self) -> &Backup {
        &self.backup
    }

    /// How many sectors are in this state.
    pub fn count(&self, state: State) -> Sectors {
        let count = self.states.iter().filter(|it| **it == state).count();
        Sectors(count as u64)
    }

    /// Every sector with its state, in the order of restoring.
    pub fn sectors(&self) -> impl Iterator<Item = (&Saved, State)> {
        let states = self.states.iter().copied();
        self.backup.sectors.iter().zip(states).rev()
    }

    /// Put the old bytes back where others stand, each sector made durable before the next, and
    /// read all of them back. Gives the number of sectors written.
    ///
    /// # Errors
    /// What was restored before the failure stays restored: doing it again goes on from there.
    pub fn write(&self, device: &mut dyn Device) -> Result<Sectors, RestoreError> {
        let block = device.logical_block();
        let mut written = Sectors(0);
        for (saved, _) in self.sectors().filter(|(_, state)| *state != State::Old) {
            put(device, place(saved.at, block), &saved.data).map_err(|error| {
                RestoreError::Failed {
                    part: saved.part,
                    error,
                }
            })?;
            written.0 += 1;
        }
        for (saved, _) in self.sectors() {
            let at = place(saved.at, block);
            let now = read_sector(device, at, block).map_err(RestoreError::Unreadable)?;
            if now != saved.data {
                return Err(RestoreError::Lies { at });
            }
        }
        Ok(written)
    }
}

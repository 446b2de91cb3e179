//! Things that go wrong: bad places, a stick that is pulled, a power cut, a hang.

use super::clock::nanoseconds;
use super::profile::{Faults as Keys, PowerCut};
use crate::device::AccessError;
use crate::units::{ByteRange, Bytes};

/// The faults of one stick, and how far it is on the way to them.
#[derive(Clone, Debug)]
pub(super) struct Faults {
    keys: Keys,
    accesses: u64,
    written: u64,
    power_is_cut: bool,
}

impl Faults {
    /// Nothing has happened yet.
    pub(super) fn new(keys: &Keys) -> Faults {
        Faults {
            keys: keys.clone(),
            accesses: 0,
            written: 0,
            power_is_cut: false,
        }
    }

    /// An access begins: how many nanoseconds it hangs, or that the stick is gone.
    pub(super) fn access(&mut self, at: Bytes) -> Result<f64, AccessError> {
        self.accesses += 1;
        if self.is_gone() {
            return Err(AccessError::Gone { at: at.get() });
        }
        Ok(match self.keys.hang {
            Some(hang) if hang.at == self.accesses => nanoseconds(hang.time),
            _ => 0.0,
        })
    }

    /// Whether a range can be read.
    pub(super) fn check_read(&self, range: ByteRange) -> Result<(), AccessError> {
        check(
            &self.keys.unreadable,
            range,
            "the medium cannot be read here",
        )
    }

    /// Whether a range can be written.
    pub(super) fn check_write(&self, range: ByteRange) -> Result<(), AccessError> {
        check(
            &self.keys.unwritable,
            range,
            "the medium cannot be written here",
        )
    }

    /// Of a write of this many logical blocks, how many reach the flash before the power is cut.
    pub(super) fn surviving_blocks(&mut self, blocks: u64) -> u64 {
        let Some(limit) = self.keys.power_cut_after else {
            return blocks;
        };
        let surviving = limit.saturating_sub(self.written).min(blocks);
        self.written += blocks;
        self.power_is_cut |= surviving < blocks;
        surviving
    }

    /// Whether the host no longer finds the stick.
    pub(super) fn is_gone(&self) -> bool {
        let pulled = self.keys.vanish_after.is_some_and(|n| self.accesses > n);
        pulled || (self.power_is_cut && self.keys.power_cut == PowerCut::Gone)
    }

    /// Whether the stick was pulled or its power cut, seen by the host or not.
    pub(super) fn is_over(&self) -> bool {
        self.power_is_cut || self.is_gone()
    }

    /// Plugged in again: what was pulled or cut works once more and stays so.
    pub(super) fn replug(&mut self) {
        self.keys.vanish_after = None;
        self.keys.power_cut_after = None;
        self.power_is_cut = false;
    }
}

fn check(bad: &[ByteRange], range: ByteRange, reason: &str) -> Result<(), AccessError> {
    match bad.iter().find(|bad| bad.overlaps(range)) {
        None => Ok(()),
        Some(bad) => Err(AccessError::Io {
            at: bad.from.max(range.from).get(),
            reason: reason.to_owned(),
        }),
    }
}

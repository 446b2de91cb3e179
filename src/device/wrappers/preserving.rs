//! A device whose contents survive being written to: every place is saved before its first write.

use crate::device::journal::{Journal, LONGEST_ENTRY, PutBack, PutBackError};
use crate::device::{AccessError, AlignedBuffer, Device};
use crate::units::{ByteRange, Bytes};
use std::time::Duration;

/// A device around another one, with a journal of what stood where it was written.
///
/// Announced ranges are saved at once; a write to any other range saves it first. Nothing is put
/// back before [`Preserving::put_back`].
pub struct Preserving<'a> {
    inner: &'a mut dyn Device,
    journal: Journal,
    /// What is saved and on disk: sorted, disjoint, none touching.
    saved: Vec<ByteRange>,
    buffer: AlignedBuffer,
}

impl<'a> Preserving<'a> {
    /// `inner`, saving into an empty `journal`.
    pub fn new(inner: &'a mut dyn Device, journal: Journal) -> Preserving<'a> {
        let block = inner.logical_block().bytes().get();
        // One request as the kernel passes it on, in whole blocks.
        let request = inner.facts().max_request.unwrap_or(LONGEST_ENTRY);
        let length = (request.get().clamp(block, LONGEST_ENTRY.get()) / block * block).max(block);
        Preserving {
            inner,
            journal,
            saved: Vec::new(),
            buffer: AlignedBuffer::new(usize::try_from(length).unwrap_or(4096)),
        }
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Put everything back and read it again. On success the journal can go; give it to whoever
    /// removes or keeps it in any case.
    pub fn put_back(self) -> (Result<PutBack, PutBackError>, Journal) {
        let result = if self.journal.is_empty() {
            Ok(PutBack::default())
        } else {
            self.journal.put_back(self.inner)
        };
        (result, self.journal)
    }

    /// The parts of a range, in whole blocks, that are not saved yet.
    fn missing(&self, range: ByteRange) -> Vec<ByteRange> {
        let block = self.inner.logical_block().bytes().get();
        let to = range.to.get().div_ceil(block).saturating_mul(block);
        let to = to.min(self.inner.capacity().get() / block * block);
        let mut from = range.from.get() / block * block;
        let mut missing = Vec::new();
        let mut push = |from: u64, to: u64| {
            if from < to {
                let (from, to) = (Bytes(from), Bytes(to));
                missing.push(ByteRange { from, to });
            }
        };
        for saved in &self.saved {
            if saved.to.get() <= from {
                continue;
            }
            if saved.from.get() >= to {
                break;
            }
            push(from, saved.from.get().min(to));
            from = saved.to.get();
        }
        push(from, to);
        missing
    }

    /// Save these ranges, and come back when they are on disk.
    fn save(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        let before = self.journal.len();
        let saved_before = self.saved.clone();
        let result = self.try_save(ranges);
        if result.is_err() {
            // What is not known to be on disk is not relied on.
            self.journal.forget_from(before);
            self.saved = saved_before;
        }
        result
    }

    fn try_save(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        let mut any = false;
        for range in ranges {
            for missing in self.missing(*range) {
                self.save_piece(missing)?;
                insert(&mut self.saved, missing);
                any = true;
            }
        }
        if any {
            let at = ranges.first().map_or(0, |range| range.from.get());
            self.journal.sync().map_err(|error| not_saved(at, &error))?;
        }
        Ok(())
    }

    fn save_piece(&mut self, piece: ByteRange) -> Result<(), AccessError> {
        let mut at = piece.from.get();
        while at < piece.to.get() {
            let left = usize::try_from(piece.to.get() - at).unwrap_or(usize::MAX);
            let bytes = left.min(self.buffer.len());
            self.inner.read(Bytes(at), &mut self.buffer[..bytes])?;
            self.journal
                .append(Bytes(at), &self.buffer[..bytes])
                .map_err(|error| not_saved(at, &error))?;
            at += bytes as u64;
        }
        Ok(())
    }
}

fn not_saved(at: u64, error: &std::io::Error) -> AccessError {
    AccessError::NotSaved {
        at,
        reason: error.to_string(),
    }
}

/// Add a range that overlaps none, and join it with those that it touches.
fn insert(ranges: &mut Vec<ByteRange>, new: ByteRange) {
    let index = ranges.partition_point(|range| range.from < new.from);
    ranges.insert(index, new);
    if ranges
        .get(index + 1)
        .is_some_and(|next| next.from == new.to)
    {
        let next = ranges.remove(index + 1);
        ranges[index].to = next.to;
    }
    if index > 0 && ranges[index - 1].to == ranges[index].from {
        let this = ranges.remove(index);
        ranges[index - 1].to = this.to;
    }
}

reads_through_inner!(Preserving<'_>);

impl Device for Preserving<'_> {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let to = Bytes(at.get().saturating_add(data.len() as u64));
        self.save(&[ByteRange { from: at, to }])?;
        self.inner.write(at, data)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        self.inner.flush()
    }

    fn to_put_back(&self, ranges: &[ByteRange]) -> Bytes {
        let mut fresh: Vec<ByteRange> = Vec::new();
        for range in ranges {
            fresh.extend(self.missing(*range));
        }
        // Ranges of one announcement may overlap.
        fresh.sort_by_key(|range| range.from);
        let (mut total, mut end) = (0, 0);
        for range in fresh {
            total += range.to.get().saturating_sub(range.from.get().max(end));
            end = end.max(range.to.get());
        }
        Bytes(total)
    }

    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        self.save(ranges)?;
        self.inner.announce(ranges)
    }
}

#[cfg(test)]
mod tests;

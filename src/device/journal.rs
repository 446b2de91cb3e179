//! The journal of a preserving run: what stood at every place before it was overwritten, in a file
//! that survives the program and the power.
//!
//! The file begins with one line of JSON (schema `flashfit.journal/1`, what the device was), and is
//! only ever appended to. An entry is one line of JSON with place, length and SHA-256, the bytes
//! themselves, and a line break. The program writes to a place only after the entry of that place
//! is on disk, so an entry that a power cut tore belongs to a place that nobody touched.

mod file;
mod parse;
mod put_back;

pub use parse::JournalError;
pub use put_back::{PutBack, PutBackError};

use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use file::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// The schema of the file.
pub const SCHEMA: &str = "flashfit.journal/1";

/// The longest entry: bounds the memory of reading one back.
pub const LONGEST_ENTRY: Bytes = Bytes::mib(1);

/// The journal of one device.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    facts: Facts,
    /// In the order of saving; no two overlap.
    entries: Vec<Entry>,
    /// The end of the last whole entry.
    end: u64,
    /// All of it was put back.
    done: bool,
    /// The file goes on behind the last whole entry, with an entry that was never finished.
    torn: bool,
}

/// One saved place.
#[derive(Clone, Copy, Debug)]
struct Entry {
    range: ByteRange,
    /// Where its line begins in the store.
    begin: u64,
    /// Where its bytes lie in the store.
    offset: u64,
    sum: [u8; 32],
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    version: String,
    device: Facts,
}

/// The line before the bytes of an entry.
#[derive(Serialize, Deserialize)]
struct EntryHead {
    at: Bytes,
    length: Bytes,
    sha256: String,
}

/// The last line of a journal that is of no more use.
#[derive(Serialize, Deserialize)]
struct Tail {
    done: bool,
}

impl Journal {
    /// A new journal file. Its folder is made when it is missing.
    ///
    /// # Errors
    /// Whatever keeps the file from being made, a file of that name included: it may be the journal
    /// of a run that never ended.
    pub fn create(path: &Path, facts: &Facts) -> io::Result<Journal> {
        // A file without its first line is no journal, and would only be in the way.
        Journal::begin(Store::create(path)?, facts).inspect_err(|_| {
            let _ = std::fs::remove_file(path);
        })
    }

    /// A journal that lives as long as the program, for devices that do the same.
    ///
    /// # Errors
    /// None in practice; the signature is that of [`Journal::create`].
    pub fn in_memory(facts: &Facts) -> io::Result<Journal> {
        Journal::begin(Store::memory(), facts)
    }

    fn begin(store: Store, facts: &Facts) -> io::Result<Journal> {
        let mut journal = Journal {
            store,
            facts: facts.clone(),
            entries: Vec::new(),
            end: 0,
            done: false,
            torn: false,
        };
        let head = Head {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device: facts.clone(),
        };
        journal.end = journal.store.append(0, &[&line(&head)?])?;
        journal.sync()?;
        Ok(journal)
    }

    /// What the device was when the journal began.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The file, unless the journal is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.store.path()
    }

    /// How much there is to put back.
    pub fn size(&self) -> Bytes {
        Bytes(self.ranges().map(|range| range.length().get()).sum())
    }

    /// How many places were saved.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was saved.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether all of it was put back already.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the file ends in an entry that was never finished, and so never relied on.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// The saved places, in the order of saving.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = ByteRange> + '_ {
        self.entries.iter().map(|entry| entry.range)
    }

    /// Append what stands at `at`. It is relied on only after [`Journal::sync`].
    ///
    /// # Errors
    /// The file cannot be written, such as on a full disk; the journal is as before.
    pub(super) fn append(&mut self, at: Bytes, bytes: &[u8]) -> io::Result<()> {
        let sum: [u8; 32] = Sha256::digest(bytes).into();
        let length = Bytes(bytes.len() as u64);
        let head = line(&EntryHead {
            at,
            length,
            sha256: hex(&sum),
        })?;
        let end = self.store.append(self.end, &[&head, bytes, b"\n"])?;
        self.entries.push(Entry {
            range: ByteRange {
                from: at,
                to: Bytes(at.get() + length.get()),
            },
            begin: self.end,
            offset: self.end + head.len() as u64,
            sum,
        });
        self.end = end;
        Ok(())
    }

    /// Put all entries on the disk.
    ///
    /// # Errors
    /// They may not be there.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.store.sync()
    }

    /// Forget the entries from the n-th on: they could not be made durable.
    pub(super) fn forget_from(&mut self, n: usize) {
        if let Some(first) = self.entries.get(n) {
            self.end = first.begin;
            self.entries.truncate(n);
            self.store.cut(self.end);
        }
    }

    /// Everything was put back: write so into the file, which stays.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark_done(&mut self) -> io::Result<()> {
        self.end = self
            .store
            .append(self.end, &[&line(&Tail { done: true })?])?;
        self.done = true;
        self.sync()
    }

    /// Everything was put back: remove the file.
    ///
    /// # Errors
    /// The file cannot be removed; its name.
    pub fn remove(self) -> Result<(), (PathBuf, io::Error)> {
        self.store.remove()
    }

    /// The bytes of one entry, checked.
    fn bytes(&self, entry: &Entry, into: &mut [u8]) -> io::Result<()> {
        self.store.read(entry.offset, into)?;
        let sum: [u8; 32] = Sha256::digest(&*into).into();
        if sum == entry.sum {
            Ok(())
        } else {
            Err(io::Error::other(
                "the journal changed since it was written: a checksum is wrong",
            ))
        }
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(value).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

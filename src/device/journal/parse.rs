//! Reading a journal that an earlier run left behind. Nothing in it is trusted: any bytes at all
//! give a journal or an error, with bounded memory.

use super::file::Store;
use super::{Entry, EntryHead, Head, Journal, LONGEST_ENTRY, SCHEMA, Tail};
use crate::units::{ByteRange, Bytes};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// The longest line: the first one holds a path.
const LONGEST_LINE: usize = 16 << 10;

/// More entries than any run makes: 16 GiB in the smallest pieces, twice over.
const MOST_ENTRIES: usize = 1 << 23;

/// Why a file is no journal. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// Not what the first line should be.
    #[error("it is no journal: its first line is not of schema {SCHEMA}")]
    NoJournal,
    /// Another version.
    #[error("schema '{0}' is not known, this version reads {SCHEMA}")]
    UnknownSchema(String),
    /// Something in the middle is not what was written.
    #[error("it is damaged at byte {0}: what follows cannot be relied on")]
    Damaged(u64),
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

impl Journal {
    /// The journal that an earlier run left in a file.
    ///
    /// # Errors
    /// A file that cannot be read, is no journal, or is damaged before its end. An unfinished last
    /// entry is no damage.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        parse(Store::open(path)?)
    }
}

pub(super) fn parse(store: Store) -> Result<Journal, JournalError> {
    let size = store.size()?;
    let (first, mut at) = line(&store, 0, size)?.ok_or(JournalError::NoJournal)?;
    let schema: Schema = serde_json::from_slice(&first).map_err(|_| JournalError::NoJournal)?;
    if schema.schema != SCHEMA {
        let shown = schema.schema.chars().filter(|c| !c.is_control());
        return Err(JournalError::UnknownSchema(shown.take(80).collect()));
    }
    let head: Head = serde_json::from_slice(&first).map_err(|_| JournalError::NoJournal)?;
    let mut journal = Journal {
        store,
        facts: head.device,
        entries: Vec::new(),
        end: at,
        done: false,
        torn: false,
    };
    let mut bytes = Vec::new();
    while at < size {
        let Some((text, behind)) = line(&journal.store, at, size)? else {
            journal.torn = true;
            break;
        };
        if serde_json::from_slice::<Tail>(&text).is_ok_and(|tail| tail.done) {
            journal.done = true;
            at = behind;
            journal.end = at;
            continue;
        }
        let Some((range, sum)) = entry(&text) else {
            journal.torn = true;
            break;
        };
        let end = behind + range.length().get() + 1;
        if end > size {
            journal.torn = true;
            break;
        }
        // At most the longest entry, so it fits.
        bytes.resize(usize::try_from(range.length().get()).unwrap_or(0), 0);
        journal.store.read(behind, &mut bytes)?;
        let now: [u8; 32] = Sha256::digest(&bytes).into();
        if now != sum {
            if end == size {
                journal.torn = true;
                break;
            }
            return Err(JournalError::Damaged(at));
        }
        if journal.entries.len() == MOST_ENTRIES {
            return Err(JournalError::Damaged(at));
        }
        journal.entries.push(Entry {
            range,
            begin: at,
            offset: behind,
            sum,
        });
        at = end;
        journal.end = at;
    }
    Ok(journal)
}

fn entry(text: &[u8]) -> Option<(ByteRange, [u8; 32])> {
    let head: EntryHead = serde_json::from_slice(text).ok()?;
    let to = head.at.checked_add(head.length)?;
    let plausible = head.length != Bytes::ZERO && head.length <= LONGEST_ENTRY;
    let range = ByteRange { from: head.at, to };
    Some((range, unhex(&head.sha256)?)).filter(|_| plausible)
}

/// The line that begins at `at`, without its end, and the place behind it; `None` when it does not
/// end in time.
fn line(store: &Store, at: u64, size: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let most = (size - at).min(LONGEST_LINE as u64);
    let mut text = vec![0; usize::try_from(most).unwrap_or(LONGEST_LINE)];
    store.read(at, &mut text)?;
    let Some(length) = text.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    text.truncate(length);
    Ok(Some((text, at + length as u64 + 1)))
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

//! Every access of a run as one line of JSON, so that the run can be looked at again anywhere.
//!
//! The first line says what was scanned and how (schema `flashfit.samples/1`), the last one how it
//! ended. The bytes that were read are not kept, only whether they were blank, or the same as an
//! earlier write of this run.

use super::super::{AccessError, Device, ReadDevice};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::time::Duration;

/// The schema of the file.
pub const SCHEMA: &str = "flashfit.samples/1";

/// The first line. `options` and `notes` are the runner's; the device does not look at them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// [`SCHEMA`].
    pub schema: String,
    /// The flashfit that ran.
    pub version: String,
    /// What the device said of itself.
    pub device: Facts,
    /// Its usable size.
    pub capacity: Bytes,
    /// How it was scanned.
    pub options: serde_json::Value,
}

/// One line between the first and the last. Times in nanoseconds; `clock` is the device's clock
/// when the access was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The clock when the run began.
    Begin {
        /// See [`Line`].
        clock: u64,
    },
    /// A read.
    Read {
        /// Where.
        at: Bytes,
        /// How much.
        length: Bytes,
        /// See [`Line`].
        clock: u64,
        /// What came back, or why nothing did.
        #[serde(flatten)]
        end: ReadEnd,
    },
    /// A write.
    Write {
        /// Where.
        at: Bytes,
        /// How much.
        length: Bytes,
        /// See [`Line`].
        clock: u64,
        /// How it ended.
        #[serde(flatten)]
        end: End,
    },
    /// A flush.
    Flush {
        /// See [`Line`].
        clock: u64,
        /// How it ended.
        #[serde(flatten)]
        end: End,
    },
    /// A wait.
    Wait {
        /// How long was asked for.
        asked: u64,
        /// See [`Line`].
        clock: u64,
    },
    /// How much a preserving device would have to put back after some announcement.
    PutBack {
        /// How much.
        bytes: Bytes,
    },
    /// Ranges were announced.
    Announce {
        /// See [`Line`].
        clock: u64,
        /// Why that failed, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<AccessError>,
    },
    /// The run is over: the runner's words on how.
    Ended(serde_json::Value),
}

/// How an access ended: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How long it took, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AccessError>,
}

/// How a read ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadEnd {
    /// How long it took, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AccessError>,
    /// All bytes are this one, 0 or 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<u8>,
    /// The bytes are those of this write, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u64>,
    /// The first block is one that was read elsewhere: there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<Bytes>,
}

/// A clock or a time as a number.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes of at most this length are recognised when they are read back: those that test what the
/// device keeps are one block or page.
const LONGEST_REMEMBERED: usize = 64 << 10;

/// More blocks than any scan reads within its first minutes; a bound on memory (24 MiB).
const MOST_SEEN: usize = 1 << 20;

/// A digest of a block, for equality within one run only; `None` when all its bytes are alike.
fn digest(block: &[u8]) -> Option<u64> {
    let first = block.first()?;
    if block.iter().all(|byte| byte == first) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    block.hash(&mut hasher);
    Some(hasher.finish())
}

/// A device that tells every access to a file.
pub struct SampleRecorder<'a, D: ?Sized> {
    inner: &'a mut D,
    /// Also written to when the device only answers a question, which does not change it.
    out: RefCell<Out>,
    /// Digest of a write, to its number.
    written: HashMap<[u8; 32], u64>,
    writes: u64,
    /// Digest of a block that was read, to its place; nothing when it stands at two places.
    seen: HashMap<u64, Option<u64>>,
}

/// The file of a run whose accesses are all told.
pub struct SampleLog(Out);

impl SampleLog {
    /// Write the last line.
    ///
    /// # Errors
    /// The first failure to write any line: the file is not complete.
    pub fn end(self, words: serde_json::Value) -> io::Result<()> {
        let mut out = self.0;
        out.line(&Line::Ended(words));
        match out.failure {
            Some(error) => Err(error),
            None => out.file.flush(),
        }
    }
}

/// The file, and the first failure to write to it: a device cannot fail for that.
struct Out {
    file: Box<dyn Write>,
    failure: Option<io::Error>,
}

impl Out {
    fn line(&mut self, line: &impl Serialize) {
        if self.failure.is_some() {
            return;
        }
        let result = serde_json::to_vec(line)
            .map_err(io::Error::other)
            .and_then(|mut text| {
                text.push(b'\n');
                self.file.write_all(&text)
            });
        self.failure = result.err();
    }
}

impl<'a, D: ReadDevice + ?Sized> SampleRecorder<'a, D> {
    /// Tell all accesses to `inner` to `file`, which is best buffered: it is written to between
    /// accesses.
    pub fn new(inner: &'a mut D, file: Box<dyn Write>, options: serde_json::Value) -> Self {
        let mut out = Out {
            file,
            failure: None,
        };
        out.line(&Head {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device: inner.facts().clone(),
            capacity: inner.capacity(),
            options,
        });
        out.line(&Line::Begin {
            clock: nanoseconds(inner.clock()),
        });
        SampleRecorder {
            inner,
            out: RefCell::new(out),
            written: HashMap::new(),
            writes: 0,
            seen: HashMap::new(),
        }
    }

    /// Where else the first block of a short read was read; remembers all its blocks.
    fn like(&mut self, at: Bytes, bytes: &[u8]) -> Option<Bytes> {
        let block = self.inner.logical_block().bytes();
        let length = usize::try_from(block.get()).unwrap_or(4096);
        let found = bytes
            .get(..length)
            .filter(|_| bytes.len() <= LONGEST_REMEMBERED)
            .and_then(|first| *self.seen.get(&digest(first)?)?)
            .filter(|place| *place != at.get());
        if found.is_none() && self.seen.len() < MOST_SEEN {
            for (place, block) in (at.get()..).step_by(length).zip(bytes.chunks(length)) {
                if let Some(sum) = digest(block) {
                    self.seen
                        .entry(sum)
                        .and_modify(|other| *other = other.filter(|other| *other == place))
                        .or_insert(Some(place));
                }
            }
        }
        found.map(Bytes)
    }

    /// No more accesses: gives the file, for its last line.
    pub fn into_log(self) -> SampleLog {
        SampleLog(self.out.into_inner())
    }

    fn clock_now(&self) -> u64 {
        nanoseconds(self.inner.clock())
    }

    fn tell(&self, line: &Line) {
        self.out.borrow_mut().line(line);
    }
}

fn end_of(result: &Result<Duration, AccessError>) -> End {
    End {
        took: result.as_ref().ok().map(|time| nanoseconds(*time)),
        error: result.as_ref().err().cloned(),
    }
}

/// The one byte that all are, when it is 00 or FF.
fn blank(bytes: &[u8]) -> Option<u8> {
    let first = *bytes.first()?;
    (matches!(first, 0x00 | 0xff) && bytes.iter().all(|byte| *byte == first)).then_some(first)
}

impl<D: ReadDevice + ?Sized> ReadDevice for SampleRecorder<'_, D> {
    fn facts(&self) -> &Facts {
        self.inner.facts()
    }

    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let result = self.inner.read(at, into);
        let blank = result.as_ref().ok().and_then(|_| blank(into));
        let known = result.is_ok()
            && blank.is_none()
            && !self.written.is_empty()
            && into.len() <= LONGEST_REMEMBERED;
        let same_as = known
            .then(|| <[u8; 32]>::from(Sha256::digest(&*into)))
            .and_then(|sum| self.written.get(&sum).copied());
        let like = match (&result, blank, same_as) {
            (Ok(_), None, None) => self.like(at, into),
            _ => None,
        };
        let end = end_of(&result);
        self.tell(&Line::Read {
            at,
            length: Bytes(into.len() as u64),
            clock: self.clock_now(),
            end: ReadEnd {
                took: end.took,
                error: end.error,
                blank,
                same_as,
                like,
            },
        });
        result
    }

    fn wait(&mut self, time: Duration) {
        self.inner.wait(time);
        self.tell(&Line::Wait {
            asked: nanoseconds(time),
            clock: self.clock_now(),
        });
    }

    fn clock(&self) -> Duration {
        self.inner.clock()
    }
}

impl<D: Device + ?Sized> Device for SampleRecorder<'_, D> {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let result = self.inner.write(at, data);
        if data.len() <= LONGEST_REMEMBERED {
            let sum = Sha256::digest(data).into();
            self.written.entry(sum).or_insert(self.writes);
        }
        self.writes += 1;
        self.tell(&Line::Write {
            at,
            length: Bytes(data.len() as u64),
            clock: self.clock_now(),
            end: end_of(&result),
        });
        result
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let result = self.inner.flush();
        self.tell(&Line::Flush {
            clock: self.clock_now(),
            end: end_of(&result),
        });
        result
    }

    fn to_put_back(&self, ranges: &[ByteRange]) -> Bytes {
        let bytes = self.inner.to_put_back(ranges);
        self.tell(&Line::PutBack { bytes });
        bytes
    }

    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        let result = self.inner.announce(ranges);
        self.tell(&Line::Announce {
            clock: self.clock_now(),
            error: result.as_ref().err().cloned(),
        });
        result
    }
}

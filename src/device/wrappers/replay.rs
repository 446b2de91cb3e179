//! A device made of the accesses of an earlier run: it answers what was answered then, as long as
//! it is asked the same.

use super::super::{AccessError, Device, ReadDevice};
use super::samples::{End, Head, Line, ReadEnd, SCHEMA, nanoseconds};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use serde::Deserialize;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Why a file of samples cannot be used. Each is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplesError {
    /// Another version of the schema.
    #[error("schema '{0}' is not known, this version reads {SCHEMA}")]
    UnknownSchema(String),
    /// A line that is none.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The run did not end, or the file was cut off.
    #[error("it is cut off: its last line is missing")]
    CutOff,
}

/// A run that is answered again.
#[derive(Debug)]
pub struct Replay {
    head: Head,
    lines: Vec<Line>,
    ended: serde_json::Value,
    /// How many lines were answered.
    next: Cell<usize>,
    clock: Cell<u64>,
    writes: u64,
    /// Those writes whose bytes are read back.
    kept: HashMap<u64, Vec<u8>>,
    wanted: HashSet<u64>,
    /// The first line where the present run differs.
    diverged: Cell<Option<usize>>,
    /// Set when the last line was answered, if the run was interrupted then.
    interrupted: Arc<AtomicBool>,
    interrupt_at_end: bool,
}

/// Whether a text is a file of samples, of whatever version.
pub fn is_samples(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or(text);
    serde_json::from_slice::<Schema>(first)
        .is_ok_and(|head| head.schema.starts_with("flashfit.samples/"))
}

impl Replay {
    /// From the text of a file.
    ///
    /// # Errors
    /// Whatever is no complete file of this schema.
    pub fn parse(text: &[u8]) -> Result<Replay, SamplesError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let mut texts = text.split(|byte| *byte == b'\n').enumerate();
        let problem = |line: usize, error: serde_json::Error| SamplesError::Line {
            line: line + 1,
            problem: error.to_string(),
        };
        let (_, first) = texts.next().unwrap_or((0, text));
        let schema: Schema = serde_json::from_slice(first).map_err(|error| problem(0, error))?;
        if schema.schema != SCHEMA {
            let shown = schema.schema.chars().filter(|c| !c.is_control());
            return Err(SamplesError::UnknownSchema(shown.take(80).collect()));
        }
        let head: Head = serde_json::from_slice(first).map_err(|error| problem(0, error))?;
        let mut lines = Vec::new();
        let mut wanted = HashSet::new();
        let mut ended = None;
        for (number, text) in texts {
            if ended.is_some() {
                return Err(SamplesError::Line {
                    line: number + 1,
                    problem: "it stands behind the end of the run".to_owned(),
                });
            }
            let line: Line =
                serde_json::from_slice(text).map_err(|error| problem(number, error))?;
            match line {
                Line::Ended(words) => ended = Some(words),
                line => {
                    if let Line::Read {
                        end:
                            ReadEnd {
                                same_as: Some(n), ..
                            },
                        ..
                    } = &line
                    {
                        wanted.insert(*n);
                    }
                    lines.push(line);
                }
            }
        }
        let ended = ended.ok_or(SamplesError::CutOff)?;
        let Some(Line::Begin { clock }) = lines.first().cloned() else {
            return Err(SamplesError::Line {
                line: 2,
                problem: "it does not begin the run".to_owned(),
            });
        };
        Ok(Replay {
            head,
            lines,
            ended,
            next: Cell::new(1),
            clock: Cell::new(clock),
            writes: 0,
            kept: HashMap::new(),
            wanted,
            diverged: Cell::new(None),
            interrupted: Arc::new(AtomicBool::new(false)),
            interrupt_at_end: false,
        })
    }

    /// The first line.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The words of the last line.
    pub fn ended(&self) -> &serde_json::Value {
        &self.ended
    }

    /// The run was interrupted behind its last access. The flag is set when that was answered.
    pub fn interrupt_at_end(&mut self) -> Arc<AtomicBool> {
        self.interrupt_at_end = true;
        self.see_end();
        Arc::clone(&self.interrupted)
    }

    /// The line of the file, counted from 1, from which on the present run is another one; `None`
    /// when every line was asked for, and nothing else.
    pub fn difference(&self) -> Option<usize> {
        let unread = (self.next.get() < self.lines.len()).then_some(self.next.get());
        self.diverged.get().or(unread).map(|index| index + 2)
    }

    fn see_end(&self) {
        if self.interrupt_at_end && self.next.get() == self.lines.len() {
            self.interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Take the next line if it is the one that is asked for.
    fn take<T>(&self, wanted: impl FnOnce(&Line) -> Option<(Option<u64>, T)>) -> Option<T> {
        if self.diverged.get().is_some() {
            return None;
        }
        let index = self.next.get();
        let Some((clock, found)) = self.lines.get(index).and_then(wanted) else {
            self.diverged.set(Some(index));
            return None;
        };
        self.next.set(index + 1);
        if let Some(clock) = clock {
            self.clock.set(clock);
        }
        self.see_end();
        Some(found)
    }
}

/// Bytes that stand nowhere else, as if there were files.
fn pattern(at: Bytes, into: &mut [u8]) {
    for (word, to) in (at.get() / 8..).zip(into.chunks_mut(8)) {
        // Odd multiplier: a permutation of the places; the last byte is never that of a blank.
        let bytes = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        to.copy_from_slice(&bytes[..to.len()]);
        if let Some(last) = to.last_mut() {
            *last = *last % 0x7f + 1;
        }
    }
}

/// The answer to an access that was not made then.
fn another_run(at: Bytes) -> AccessError {
    AccessError::Io {
        at: at.get(),
        reason: "the recorded run did something else here".to_owned(),
    }
}

fn answer(at: Bytes, end: Option<End>) -> Result<Duration, AccessError> {
    match end {
        Some(End {
            error: Some(error), ..
        }) => Err(error),
        Some(End {
            took: Some(took), ..
        }) => Ok(Duration::from_nanos(took)),
        Some(End {
            took: None,
            error: None,
        })
        | None => Err(another_run(at)),
    }
}

impl ReadDevice for Replay {
    fn facts(&self) -> &Facts {
        &self.head.device
    }

    fn capacity(&self) -> Bytes {
        self.head.capacity
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let asked = (at, Bytes(into.len() as u64));
        let end = self.take(|line| match line {
            Line::Read {
                at,
                length,
                clock,
                end,
            } if (*at, *length) == asked => Some((Some(*clock), end.clone())),
            _ => None,
        });
        let Some(end) = end else {
            return Err(another_run(at));
        };
        let written = end.same_as.and_then(|n| self.kept.get(&n));
        match (end.blank, written) {
            (Some(byte), _) => into.fill(byte),
            (None, Some(bytes)) if bytes.len() == into.len() => into.copy_from_slice(bytes),
            // Neither blank nor known: a pattern of the place.
            (None, _) => pattern(end.like.unwrap_or(at), into),
        }
        let end = End {
            took: end.took,
            error: end.error,
        };
        answer(at, Some(end))
    }

    fn wait(&mut self, time: Duration) {
        let time = nanoseconds(time);
        self.take(|line| match line {
            Line::Wait { asked, clock } if *asked == time => Some((Some(*clock), ())),
            _ => None,
        });
    }

    fn clock(&self) -> Duration {
        Duration::from_nanos(self.clock.get())
    }
}

impl Device for Replay {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let asked = (at, Bytes(data.len() as u64));
        if self.wanted.contains(&self.writes) {
            self.kept.insert(self.writes, data.to_vec());
        }
        self.writes += 1;
        let end = self.take(|line| match line {
            Line::Write {
                at,
                length,
                clock,
                end,
            } if (*at, *length) == asked => Some((Some(*clock), end.clone())),
            _ => None,
        });
        answer(at, end)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let end = self.take(|line| match line {
            Line::Flush { clock, end } => Some((Some(*clock), end.clone())),
            _ => None,
        });
        answer(Bytes::ZERO, end)
    }

    fn to_put_back(&self, _ranges: &[ByteRange]) -> Bytes {
        self.take(|line| match line {
            Line::PutBack { bytes } => Some((None, *bytes)),
            _ => None,
        })
        .unwrap_or(Bytes::ZERO)
    }

    fn announce(&mut self, ranges: &[ByteRange]) -> Result<(), AccessError> {
        let at = ranges.first().map_or(Bytes::ZERO, |range| range.from);
        let error = self.take(|line| match line {
            Line::Announce { clock, error } => Some((Some(*clock), error.clone())),
            _ => None,
        });
        match error {
            None => Err(another_run(at)),
            Some(None) => Ok(()),
            Some(Some(error)) => Err(error),
        }
    }
}

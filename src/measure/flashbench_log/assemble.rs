//! Words in, runs out. Line ends mean little here: logs are pasted with all lines run together, and
//! mail programs break lines in the middle.

use super::command::{self, Command, Mode, Value};
use super::difference::PrintedLine;
use super::loops::Loop;
use super::number::{self, PrintedTime};
use super::words::{Token, Words};
use super::{AlignLine, AlignScan, FindFatLine, FindFatRun, Log, MOST_LINES, OpenAuRun, RateLine};
use super::{Request, Run};
use crate::units::{Bytes, GIB, KIB, MIB};

/// flashbench's defaults.
const DEFAULT_BLOCKSIZE: u64 = 16 * KIB;
const DEFAULT_ERASESIZE: u64 = 4 * MIB;
const DEFAULT_COUNT: u64 = 8;
const DEFAULT_OPEN_AU_NR: u64 = 2;

/// Rates in one line: `--fat-nr` beyond this is no FAT-area test.
const MOST_COLUMNS: usize = 4096;
/// Capacities worth mentioning: any flash medium from 64 MiB to 64 TiB, in sectors.
const CAPACITIES: std::ops::RangeInclusive<u64> = 64 * MIB..=64 * 1024 * GIB;

pub(super) fn assemble(text: &[u8]) -> Log {
    let mut assembler = Assembler::default();
    let mut words = Words::new(text);
    while let Some(token) = words.next() {
        match token {
            Token::Word(word) => assembler.word(word),
            Token::LineEnd => assembler.line_end(),
        }
    }
    assembler.finish_line();
    assembler.log
}

/// The result line being read.
#[derive(Debug, Default)]
enum Open {
    #[default]
    None,
    /// Behind `align`, before its number.
    AlignKeyword,
    Align {
        align: Bytes,
        printed: PrintedLine,
        /// The keyword whose value comes next.
        awaiting: Option<Column>,
        /// A bare number that may be followed by its unit.
        number: Option<String>,
    },
    Rates {
        size: Bytes,
        rates: Vec<f64>,
        number: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Pre,
    On,
    Post,
    Diff,
}

#[derive(Debug, Default)]
struct Assembler {
    log: Log,
    lines: usize,
    open: Open,
    /// The last command line.
    command: Option<Command>,
    reading_command: bool,
    /// Tables since the command line.
    tables: usize,
    /// The last run takes further lines.
    grows: bool,
    looping: Option<Loop>,
    reading_loop: bool,
    line: Line,
}

/// What the current line of text has shown so far, for lines of other tools.
#[derive(Debug, Default)]
struct Line {
    words: usize,
    names_device: bool,
    capacity_seen: bool,
}

impl Assembler {
    fn word(&mut self, word: &str) {
        let first = self.line.words == 0;
        self.line.words += 1;
        self.note_capacity(word);
        if self.reading_loop {
            let call = Command::is_call(word);
            self.reading_loop = !call && self.looping.as_mut().is_some_and(|l| l.accept(word));
            if !call {
                return;
            }
        }
        if Command::is_call(word) {
            self.finish_line();
            self.command = Some(Command::default());
            self.reading_command = true;
            self.tables = 0;
            self.grows = false;
            return;
        }
        let is_value =
            self.reading_command && self.command.as_ref().is_some_and(Command::awaits_value);
        if !is_value && self.start_line(word) {
            self.reading_command = false;
            return;
        }
        if self.reading_command {
            // A command goes on behind a line end only with a further option.
            if !first || command::is_option(word) {
                if let Some(command) = &mut self.command {
                    command.accept(word);
                }
                return;
            }
            self.reading_command = false;
        }
        if self.continue_line(word) {
            return;
        }
        match word {
            "for" => {
                self.looping = Some(Loop::default());
                self.reading_loop = true;
            }
            "Terminated" | "^C" | "Killed" | "Interrupted" | "Interrupt" => {
                self.finish_line();
                self.break_off();
            }
            _ => {}
        }
    }

    fn line_end(&mut self) {
        self.line = Line::default();
        self.reading_loop = false;
    }

    /// A word that starts a result line: `align`, or a size that is followed by rates.
    fn start_line(&mut self, word: &str) -> bool {
        if word == "align" {
            self.finish_line();
            self.open = Open::AlignKeyword;
            return true;
        }
        if matches!(self.open, Open::AlignKeyword) {
            let align = word.parse().ok().filter(|align| *align != 0);
            self.open = align.map_or(Open::None, |align| Open::Align {
                align: Bytes(align),
                printed: PrintedLine::default(),
                awaiting: None,
                number: None,
            });
            return align.is_some();
        }
        if let Some(size) = number::size(word) {
            self.finish_line();
            self.open = Open::Rates {
                size,
                rates: Vec::new(),
                number: None,
            };
            return true;
        }
        false
    }

    /// A word inside a result line.
    fn continue_line(&mut self, word: &str) -> bool {
        match &mut self.open {
            Open::None | Open::AlignKeyword => false,
            Open::Align {
                printed,
                awaiting,
                number,
                ..
            } => {
                let keyword = match word {
                    "pre" => Some(Column::Pre),
                    "on" => Some(Column::On),
                    "post" => Some(Column::Post),
                    "diff" => Some(Column::Diff),
                    _ => None,
                };
                if keyword.is_some() {
                    *awaiting = keyword;
                    *number = None;
                    return true;
                }
                let Some(column) = *awaiting else {
                    // Line numbers and table rules stand between the lines; anything else is
                    // another tool's, and the line is over.
                    if word.bytes().any(|b| b.is_ascii_alphabetic()) {
                        self.finish_line();
                        return false;
                    }
                    return true;
                };
                let time = PrintedTime::read(word).or_else(|| {
                    let number = number.take()?;
                    PrintedTime::read_split(&number, word)
                });
                match time {
                    Some(time) => {
                        let slot = match column {
                            Column::Pre => &mut printed.pre,
                            Column::On => &mut printed.on,
                            Column::Post => &mut printed.post,
                            Column::Diff => &mut printed.diff,
                        };
                        *slot = Some(time);
                        *awaiting = None;
                    }
                    None if word
                        .bytes()
                        .all(|b| b.is_ascii_digit() || b"-.+e".contains(&b)) =>
                    {
                        *number = Some(word.to_owned());
                    }
                    None => {
                        self.finish_line();
                        return false;
                    }
                }
                true
            }
            Open::Rates { rates, number, .. } => {
                let rate = number::rate(word).or_else(|| {
                    let number = number.take()?;
                    number::is_rate_unit(word)
                        .then(|| number::rate(&format!("{number}{word}")))
                        .flatten()
                });
                if let Some(rate) = rate {
                    if rates.len() < MOST_COLUMNS {
                        rates.push(rate);
                    }
                    return true;
                }
                if word
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b".-".contains(&b))
                {
                    *number = Some(word.to_owned());
                    return true;
                }
                self.finish_line();
                false
            }
        }
    }

    fn finish_line(&mut self) {
        if self.lines >= MOST_LINES {
            self.log.cut_short = true;
            self.open = Open::None;
            return;
        }
        match std::mem::take(&mut self.open) {
            Open::None | Open::AlignKeyword => {}
            Open::Align { align, printed, .. } => {
                let read = printed.read();
                if let Some(difference) = read.difference {
                    self.push_align(AlignLine {
                        align,
                        pre: read.pre,
                        on: read.on,
                        post: read.post,
                        difference,
                    });
                }
            }
            Open::Rates { size, rates, .. } => {
                if !rates.is_empty() {
                    self.push_rates(size, rates);
                }
            }
        }
    }

    fn push_align(&mut self, line: AlignLine) {
        self.lines += 1;
        if self.grows
            && let Some(Run::Align(scan)) = self.log.runs.last_mut()
            && scan
                .lines
                .last()
                .is_some_and(|last| line.align < last.align)
        {
            scan.lines.push(line);
            return;
        }
        let request = self.next_table(Mode::Align);
        self.log.runs.push(Run::Align(AlignScan {
            request: request.unwrap_or_default(),
            lines: vec![line],
        }));
    }

    fn push_rates(&mut self, size: Bytes, rates: Vec<f64>) {
        self.lines += 1;
        let growing = if self.grows {
            self.log.runs.last_mut()
        } else {
            None
        };
        match growing {
            Some(Run::OpenAu(run)) if rates.len() == 1 => {
                if let Some(size) = run.lines.last().and_then(|last| below(last.size, size)) {
                    run.lines.push(RateLine {
                        size,
                        bytes_per_second: rates[0],
                    });
                    return;
                }
            }
            // A last line that was cut off has fewer columns.
            Some(Run::FindFat(run)) => {
                if let Some(last) = run.lines.last()
                    && rates.len() <= last.bytes_per_second.len()
                    && let Some(size) = below(last.size, size)
                {
                    run.lines.push(FindFatLine {
                        size,
                        bytes_per_second: rates,
                    });
                    return;
                }
            }
            _ => {}
        }
        let find_fat = rates.len() > 1
            || self
                .command
                .as_ref()
                .is_some_and(|command| command.mode == Some(Mode::FindFat));
        let run = if find_fat {
            let request = self.next_table(Mode::FindFat);
            let random = request.is_some().then(|| self.is_random());
            Run::FindFat(FindFatRun {
                request: request.unwrap_or_default(),
                random,
                broken_off: false,
                lines: vec![FindFatLine {
                    size,
                    bytes_per_second: rates,
                }],
            })
        } else {
            let table = self.tables;
            let request = self.next_table(Mode::OpenAu);
            let known = request.is_some();
            Run::OpenAu(OpenAuRun {
                request: request.unwrap_or_default(),
                nr: known.then(|| self.open_au_nr(table)).flatten(),
                random: known.then(|| self.is_random()),
                broken_off: false,
                lines: vec![RateLine {
                    size,
                    bytes_per_second: rates[0],
                }],
            })
        };
        self.log.runs.push(run);
    }

    /// Start a table: what the command line asked for, when it stands for tables of this mode.
    fn next_table(&mut self, mode: Mode) -> Option<Request> {
        let table = self.tables;
        self.tables += 1;
        self.grows = true;
        let command = self.command.as_ref()?;
        if command.mode.is_some_and(|asked| asked != mode) {
            return None;
        }
        let bytes = |value, default| self.number(value, table, default).map(Bytes);
        Some(Request {
            has_command: table == 0,
            device: command.device.clone(),
            blocksize: bytes(&command.blocksize, Some(DEFAULT_BLOCKSIZE)),
            erasesize: bytes(&command.erasesize, Some(DEFAULT_ERASESIZE)),
            count: self.number(&command.count, table, Some(DEFAULT_COUNT)),
            offset: bytes(&command.offset, None),
        })
    }

    fn open_au_nr(&self, table: usize) -> Option<u64> {
        let command = self.command.as_ref()?;
        self.number(&command.open_au_nr, table, Some(DEFAULT_OPEN_AU_NR))
    }

    fn is_random(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.random)
    }

    fn number(&self, value: &Option<Value>, table: usize, default: Option<u64>) -> Option<u64> {
        match value {
            None => default,
            Some(Value::Known(number)) => Some(*number),
            Some(Value::Variable(name)) => self
                .looping
                .as_ref()
                .filter(|looping| looping.variable == *name)
                .and_then(|looping| looping.value(table)),
            Some(Value::Unknown) => None,
        }
    }

    fn break_off(&mut self) {
        if !self.grows {
            return;
        }
        match self.log.runs.last_mut() {
            Some(Run::OpenAu(run)) => run.broken_off = true,
            Some(Run::FindFat(run)) => run.broken_off = true,
            Some(Run::Align(_)) | None => {}
        }
    }

    /// `Disk /dev/sdc: 31.9 GB, 31914983424 bytes`, in any language: the first number of a line that
    /// names a device and can be a capacity in bytes.
    fn note_capacity(&mut self, word: &str) {
        if word.starts_with("/dev/") && word.ends_with(':') {
            self.line.names_device = true;
        } else if self.line.names_device
            && !self.line.capacity_seen
            && let Ok(number) = word.parse::<u64>()
            && CAPACITIES.contains(&number)
            && number % 512 == 0
        {
            self.line.capacity_seen = true;
            if self.log.capacities.len() < 16 && !self.log.capacities.contains(&Bytes(number)) {
                self.log.capacities.push(Bytes(number));
            }
        }
    }
}

/// `size` when it continues a table whose last line has `last`: every line halves the one before,
/// which also restores sizes that three digits cannot hold (1.875 MiB printed as `1.88MiB`).
fn below(last: Bytes, size: Bytes) -> Option<Bytes> {
    if size >= last {
        return None;
    }
    let half = last.get() / 2;
    Some(if size.get().abs_diff(half) * 200 <= half {
        Bytes(half)
    } else {
        size
    })
}

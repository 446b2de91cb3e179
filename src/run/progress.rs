//! How far a scan is, on stderr, and what stops it.

use super::scan;
use super::tell;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Who watches a run: what stops it, where it tells how far it is, and what it has to say besides.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set by Ctrl-C: ends the run before the next access.
    pub interrupted: &'a AtomicBool,
    /// Where the progress line goes.
    pub lines: &'a Lines,
    /// Takes what is said on the way: whole lines, of which the last one ends too.
    pub say: &'a dyn Fn(&str),
}

impl<'a> Watch<'a> {
    /// Somebody who watches this one run on stderr.
    pub fn alone(interrupted: &'a AtomicBool) -> Watch<'a> {
        Watch {
            interrupted,
            lines: &Lines::Alone,
            say: &tell,
        }
    }

    /// Whether the run is to end.
    pub fn is_stopped(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Where progress lines go.
pub enum Lines {
    /// The one line is redrawn on a terminal; elsewhere a line says that the scan begins.
    Alone,
    /// One of several lines on a terminal. Whoever shows several tells of their beginning.
    Among(MultiProgress),
}

/// A line that tells how far a scan is. On a terminal it is redrawn between batches of accesses,
/// never while one is timed; elsewhere one line is printed at the start, so that nobody waits for
/// minutes before a silent program.
pub struct Progress {
    bar: ProgressBar,
    limit: Duration,
    /// The stage that is running, and the device time when it began.
    stage: (usize, Duration),
    /// Whether each stage is told on a line of its own: a person looks, but nothing can be redrawn.
    told: bool,
}

/// What stages take on a stick of 1 ms a read and 20 ms a write in turns, for the estimate of what
/// is left: measured on the simulated Corsair Voyager, in seconds.
const USUAL: &[(&str, f64)] = &[
    ("size", 3.0),
    ("noise", 0.5),
    ("boundaries", 3.0),
    ("page", 2.0),
    ("rates", 1.0),
    ("fresh", 0.0),
    ("page writes", 5.0),
    ("open units", 55.0),
    ("zones", 15.0),
    ("stalls", 0.0),
];

impl Progress {
    /// Begin a scan. `quick` says that it will be over before anybody can read: a simulated stick
    /// keeps its own clock.
    pub fn begin(lines: &Lines, device: &str, limit: Duration, quick: bool) -> Progress {
        if let Lines::Among(others) = lines {
            let bar = others.add(ProgressBar::no_length());
            return Progress::on(bar, &format!("{}: ", device.escape_debug()), limit);
        }
        let watched = std::io::stderr().is_terminal();
        let terminal = watched && !console::is_dumb();
        if !terminal && !quick {
            tell(&format!(
                "scanning {}, at most {} s; Ctrl-C reports what is known by then\n",
                device.escape_debug(),
                limit.as_secs_f64()
            ));
        }
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Progress {
            told: watched && !terminal && !quick,
            ..Progress::on(ProgressBar::with_draw_target(None, target), "", limit)
        }
    }

    /// `prefix` tells the line from others.
    fn on(bar: ProgressBar, prefix: &str, limit: Duration) -> Progress {
        if let Ok(style) = ProgressStyle::with_template("{prefix}{wide_msg}") {
            bar.set_style(style);
        }
        // Draws already, so it comes behind the style.
        bar.set_prefix(prefix.to_owned());
        // Setting the message draws it.
        bar.set_message("starting");
        Progress {
            bar,
            limit,
            stage: (0, Duration::ZERO),
            told: false,
        }
    }

    /// Between two batches.
    pub fn show(&mut self, now: &scan::Progress) {
        if self.stage.0 != now.number {
            self.stage = (now.number, now.cost.device_time);
            if self.told {
                tell(&format!("  {}/{} {}\n", now.number, now.of, now.stage));
            }
        }
        self.bar.set_message(line(now, self.stage.1, self.limit));
    }

    /// What is not measuring but takes its time.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// The scan is over: the line goes.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

fn line(now: &scan::Progress, began: Duration, limit: Duration) -> String {
    let separator = if now.standing.is_empty() { "" } else { ": " };
    let written = if now.cost.writes == 0 {
        String::new()
    } else {
        format!(", {} KiB written", now.cost.bytes_written.get() / 1024)
    };
    // What matters most stands in front: a narrow terminal cuts the end off.
    format!(
        "{}/{} {}{separator}{}; about {:.0} s left; {} KiB read{written}, {:.1} s of at most {} s",
        now.number,
        now.of,
        now.stage,
        now.standing,
        left(now, began, limit),
        now.cost.bytes_read.get() / 1024,
        now.cost.device_time.as_secs_f64(),
        limit.as_secs_f64()
    )
}

/// Seconds, by what the stages usually take: the rest of this one and all that follow.
fn left(now: &scan::Progress, began: Duration, limit: Duration) -> f64 {
    let usual = |stage: &str| {
        let known = USUAL.iter().find(|(name, _)| *name == stage);
        known.map_or(5.0, |(_, seconds)| *seconds)
    };
    let here = now.cost.device_time.saturating_sub(began).as_secs_f64();
    let rest: f64 = now.following.iter().map(|stage| usual(stage)).sum();
    let most = limit.saturating_sub(now.cost.device_time).as_secs_f64();
    ((usual(now.stage) - here).max(0.0) + rest).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::meter::Cost;
    use crate::units::Bytes;

    #[test]
    fn the_line_tells_stage_bytes_and_what_is_left() {
        let now = scan::Progress {
            number: 2,
            of: 3,
            stage: "noise",
            following: &["boundaries"],
            standing: String::new(),
            cost: Cost {
                device_time: Duration::from_millis(1500),
                bytes_read: Bytes::kib(64),
                writes: 1,
                bytes_written: Bytes::kib(4),
                ..Cost::default()
            },
        };
        let text = line(&now, Duration::from_millis(1500), Duration::from_secs(300));
        assert_eq!(
            text,
            "2/3 noise; about 4 s left; 64 KiB read, 4 KiB written, 1.5 s of at most 300 s"
        );
        // Never more than the limit allows.
        let left = left(&now, Duration::ZERO, Duration::from_secs(2));
        assert!((left - 0.5).abs() < 1e-9, "{left}");
    }
}

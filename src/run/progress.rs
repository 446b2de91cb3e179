//! How far a scan is, on stderr.

use super::scan;
use super::tell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A line that tells how far a scan is. On a terminal it is redrawn between batches of reads, never
/// while reads are timed; elsewhere one line is printed at the start, so that nobody waits for
/// minutes before a silent program.
pub struct Progress {
    bar: ProgressBar,
    limit: Duration,
    noise_reads: Option<u64>,
}

impl Progress {
    /// Begin a scan. `quick` says that it will be over before anybody can read: a simulated stick
    /// keeps its own clock.
    pub fn begin(device: &str, limit: Duration, quick: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
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
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        // Setting the message draws it.
        bar.set_message("1/2 noise: how much read times scatter");
        Progress {
            bar,
            limit,
            noise_reads: None,
        }
    }

    /// Between two batches. The first call ends the noise stage.
    pub fn show(&mut self, now: &scan::Progress) {
        self.noise_reads.get_or_insert(now.cost.reads);
        let separator = if now.standing.is_empty() { "" } else { ": " };
        self.bar.set_message(format!(
            "2/2 boundaries{separator}{}; {} reads, {} KiB, {:.1} s of at most {} s",
            now.standing,
            now.cost.reads,
            now.cost.bytes_read.get() / 1024,
            now.cost.device_time.as_secs_f64(),
            self.limit.as_secs_f64()
        ));
    }

    /// The scan is over: the line goes. Gives the number of reads of the first stage.
    pub fn end(self) -> u64 {
        self.bar.finish_and_clear();
        self.noise_reads.unwrap_or(u64::MAX)
    }
}

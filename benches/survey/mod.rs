//! How often the erase block is told rightly, and at what cost, over all built-in sticks with a
//! visible erase block: shared by the benchmark that prints it and the test that holds it.

// Each program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use flashfit::device::simulated::{Profile, SimulatedStick, builtin_names};
use flashfit::geometry::Verdict;
use flashfit::run::scan::{Options, scan};
use flashfit::units::Bytes;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The built-in sticks with a visible erase block.
pub fn visible() -> Vec<(String, Profile)> {
    builtin_names()
        .into_iter()
        .map(|name| (name.to_string(), Profile::builtin(name).unwrap()))
        .filter(|(_, profile)| truth(profile).is_some())
        .collect()
}

/// Scan one stick as so many specimens, with noise such that the step is so many standard deviations
/// of a read.
pub fn survey(profile: &Profile, sigma: f64, seeds: u64) -> Row {
    let mut row = Row::default();
    for seed in 1..=seeds {
        let stick = profile
            .clone()
            .with_step_over_sigma(sigma)
            .with_individual(seed);
        row.add(profile, &stick, seed);
    }
    row
}

/// CPU time of this process: the first number of its schedstat, in nanoseconds. Elapsed time would
/// count whatever else the machine does.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(
        text.split(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0),
    )
}

/// Size and phase of a stick with a visible erase block.
fn truth(profile: &Profile) -> Option<(Bytes, Bytes)> {
    let expected = profile.expected.erase_block.as_ref()?;
    if expected.by_reads.is_some() {
        return None;
    }
    Some((expected.bytes?, expected.phase))
}

/// The head of the table.
pub const HEAD: &str = "stick                right  confirmed  likely  untold  wrong  wrong confirmed  reads  (p90)  noise stage  device s  cpu us/read";

/// What came of the scans of one stick, or of all.
#[derive(Default)]
pub struct Row {
    /// Scans.
    pub runs: usize,
    /// Right and confirmed.
    pub confirmed: usize,
    /// Right and likely.
    pub likely: usize,
    /// Wrong, confirmed or likely.
    pub wrong: usize,
    /// Wrong and confirmed.
    pub wrong_confirmed: usize,
    /// Reads from the first triple of the search to the verdict, for each scan.
    pub reads: Vec<u64>,
    /// The most reads of a noise stage.
    pub noise_reads: u64,
    /// Device time of each scan.
    pub device: Vec<Duration>,
    /// CPU time of all.
    pub cpu: Duration,
}

impl Row {
    fn add(&mut self, profile: &Profile, stick: &Profile, seed: u64) {
        let mut device = SimulatedStick::new(stick, seed);
        let before = cpu_time();
        let options = Options {
            time_limit: Duration::from_secs(300),
            seed,
            in_use: false,
        };
        let result = scan(&mut device, options, &AtomicBool::new(false), &mut |_| {});
        self.cpu += cpu_time().saturating_sub(before);
        let found = &result.geometry.erase_block;
        let right = found.bytes.zip(found.phase_bytes) == truth(profile);
        self.runs += 1;
        match (found.verdict, right) {
            (Verdict::Confirmed, true) => self.confirmed += 1,
            (Verdict::Likely, true) => self.likely += 1,
            (Verdict::Confirmed, false) => {
                self.wrong += 1;
                self.wrong_confirmed += 1;
            }
            (Verdict::Likely, false) => self.wrong += 1,
            _ => {}
        }
        self.reads
            .push(result.search_reads.saturating_sub(result.noise_reads));
        self.noise_reads = self.noise_reads.max(result.noise_reads);
        self.device.push(result.cost.device_time);
    }

    /// Add another row.
    pub fn append(&mut self, other: Row) {
        self.runs += other.runs;
        self.confirmed += other.confirmed;
        self.likely += other.likely;
        self.wrong += other.wrong;
        self.wrong_confirmed += other.wrong_confirmed;
        self.reads.extend(other.reads);
        self.noise_reads = self.noise_reads.max(other.noise_reads);
        self.device.extend(other.device);
        self.cpu += other.cpu;
    }

    /// The row as text.
    pub fn text(&mut self, name: &str) -> String {
        self.reads.sort_unstable();
        self.device.sort_unstable();
        let right = self.confirmed + self.likely;
        let all_reads = self.reads.iter().sum::<u64>() + self.noise_reads * self.runs as u64;
        format!(
            "{name:20} {:4.0} %  {:9}  {:6}  {:6}  {:5}  {:15}  {:5}  {:5}  {:11}  {:8.2}  {:11.0}",
            100.0 * right as f64 / self.runs as f64,
            self.confirmed,
            self.likely,
            self.runs - right - self.wrong,
            self.wrong,
            self.wrong_confirmed,
            self.reads[self.reads.len() / 2],
            self.reads[self.reads.len() * 9 / 10],
            self.noise_reads,
            self.device[self.device.len() / 2].as_secs_f64(),
            1e6 * self.cpu.as_secs_f64() / all_reads as f64,
        )
    }
}

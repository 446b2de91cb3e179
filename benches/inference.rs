//! How often the erase block is told rightly, and at what cost, over all built-in sticks with a
//! visible erase block. `cargo bench --bench inference` prints the table; `-- --seeds 5` is shorter.
//! Everything is in virtual device time, so the numbers do not depend on the machine (the CPU
//! column does).

use flashfit::device::ReadDevice;
use flashfit::device::simulated::{Profile, SimulatedStick, builtin_names};
use flashfit::geometry::Verdict;
use flashfit::run::scan::{Options, Scanned, scan};
use flashfit::units::Bytes;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        words
            .iter()
            .position(|w| w == name)
            .and_then(|n| words.get(n + 1))
    };
    let seeds: u64 = value("--seeds").and_then(|w| w.parse().ok()).unwrap_or(20);
    let only = value("--only");
    let mut out = std::io::stdout().lock();
    let sigmas: Vec<f64> = value("--sigma").map_or(vec![3.0, 2.0, 1.0], |w| {
        w.split(',').filter_map(|s| s.parse().ok()).collect()
    });
    for sigma in sigmas {
        let mut all = Row::default();
        let _ = writeln!(out, "step of {sigma} sigma, {seeds} seeds each");
        let _ = writeln!(out, "{HEAD}");
        for name in builtin_names() {
            if only.is_some_and(|o| o != name) {
                continue;
            }
            let profile = Profile::builtin(name).expect("built-in profiles parse");
            if truth(&profile).is_none() {
                continue;
            }
            let mut row = Row::default();
            for seed in 1..=seeds {
                let stick = profile
                    .clone()
                    .with_step_over_sigma(sigma)
                    .with_individual(seed);
                row.add(&profile, &stick, seed);
            }
            let _ = writeln!(out, "{}", row.text(name));
            all.append(row);
        }
        let _ = writeln!(out, "{}\n", all.text("all"));
    }
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
    Some((expected.bytes?, expected.phase))
}

const HEAD: &str = "stick                right  confirmed  likely  untold  wrong  wrong confirmed  reads  (p90)  noise stage  device s  cpu us/read";

#[derive(Default)]
struct Row {
    runs: usize,
    confirmed: usize,
    likely: usize,
    wrong: usize,
    wrong_confirmed: usize,
    reads: Vec<u64>,
    noise_reads: u64,
    device: Vec<Duration>,
    cpu: Duration,
}

impl Row {
    fn add(&mut self, profile: &Profile, stick: &Profile, seed: u64) {
        let mut device = SimulatedStick::new(stick, seed);
        let before = cpu_time();
        let result = run(&mut device, seed);
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
            .push(result.cost.reads.saturating_sub(result.noise_reads));
        self.noise_reads = self.noise_reads.max(result.noise_reads);
        self.device.push(result.cost.device_time);
    }

    fn append(&mut self, other: Row) {
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

    fn text(&mut self, name: &str) -> String {
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

fn run(device: &mut dyn ReadDevice, seed: u64) -> Scanned {
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed,
        in_use: false,
    };
    scan(device, options, &AtomicBool::new(false), &mut |_| {})
}

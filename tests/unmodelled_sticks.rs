//! Scans of sticks that follow a few lines of arithmetic, not the simulated flash model: what the
//! inference says must not depend on how the simulator was written.

use flashfit::device::{AccessError, ReadDevice};
use flashfit::geometry::{EraseBlock, Verdict};
use flashfit::run::scan::{Options, Scanned, scan};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time of a read in µs: base, and for each `(period, phase, cost)` its cost when the read crosses.
#[derive(Clone)]
struct Toy {
    facts: Facts,
    base: f64,
    sigma: f64,
    lattices: Vec<(u64, u64, f64)>,
    miss: f64,
    clock: Duration,
    rng: Xoshiro256PlusPlus,
}

impl Toy {
    fn new(capacity: u64, sigma: f64, lattices: &[(u64, u64, f64)], seed: u64) -> Toy {
        Toy {
            facts: Facts::bare(
                "toy",
                Transport::Unknown,
                Some(Bytes(capacity)),
                LogicalBlock::B512,
            ),
            base: 900.0,
            sigma,
            lattices: lattices.to_vec(),
            miss: 0.1,
            clock: Duration::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xabc),
        }
    }

    fn gauss(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.rng.random(), self.rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

impl ReadDevice for Toy {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn capacity(&self) -> Bytes {
        self.facts.capacity.unwrap()
    }
    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        into.fill(0x5a);
        let (a, b) = (at.get(), at.get() + into.len() as u64);
        // The largest cost of all lattices that have a member strictly inside.
        let mut cost = 0.0f64;
        for &(period, phase, c) in &self.lattices {
            let member = (b - 1).saturating_sub(phase) / period * period + phase;
            let missing =
                (member.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 24) as f64;
            if member > a && member < b && missing >= self.miss {
                cost = cost.max(c);
            }
        }
        let mut micros = self.base + cost + self.sigma * self.gauss();
        if self.rng.random::<f64>() < 0.03 {
            micros += 10.0 * self.sigma;
        }
        let time = Duration::from_secs_f64(micros.max(1.0) * 1e-6);
        self.clock += time;
        Ok(time)
    }
    fn wait(&mut self, time: Duration) {
        self.clock += time;
    }
    fn clock(&self) -> Duration {
        self.clock
    }
}

fn run(toy: &mut Toy, seed: u64) -> Scanned {
    let options = Options {
        time_limit: Duration::from_secs(300),
        seed,
        in_use: false,
    };
    scan(toy, options, &AtomicBool::new(false), &mut |_| {})
}

#[test]
#[ignore]
fn survey() {
    const M: u64 = 1 << 20;
    let cases: Vec<(&str, u64, Vec<(u64, u64, f64)>, u64, u64)> = vec![
        (
            "8M",
            16_012_804_096,
            vec![(8 * M, 0, 1.5), (16384, 0, 0.5)],
            8 * M,
            0,
        ),
        (
            "8M/4M",
            31_914_983_424,
            vec![(8 * M, 0, 1.0), (4 * M, 0, 0.6)],
            8 * M,
            0,
        ),
        ("4M", 8_019_509_248, vec![(4 * M, 0, 1.0)], 4 * M, 0),
        ("12M", 32_010_928_128, vec![(12 * M, 0, 1.0)], 12 * M, 0),
        (
            "12M@4",
            32_010_928_128,
            vec![(12 * M, 4 * M, 1.0)],
            12 * M,
            4 * M,
        ),
        (
            "12M/4M@4",
            32_010_928_128,
            vec![(12 * M, 4 * M, 1.0), (4 * M, 0, 0.5)],
            12 * M,
            4 * M,
        ),
        ("6M", 15_931_539_456, vec![(6 * M, 0, 1.0)], 6 * M, 0),
        ("3M", 15_931_539_456, vec![(3 * M, 0, 1.0)], 3 * M, 0),
        (
            "1.5M",
            4_009_754_624,
            vec![(3 * M / 2, 0, 1.0)],
            3 * M / 2,
            0,
        ),
        ("24M", 64_023_257_088, vec![(24 * M, 0, 1.0)], 24 * M, 0),
        ("64M", 512_110_190_592, vec![(64 * M, 0, 1.0)], 64 * M, 0),
        ("512K", 1_016_070_144, vec![(M / 2, 0, 1.0)], M / 2, 0),
        (
            "8M@3",
            16_012_804_096,
            vec![(8 * M, 3 * M, 1.0)],
            8 * M,
            3 * M,
        ),
        ("10M", 16_012_804_096, vec![(10 * M, 0, 1.0)], 10 * M, 0),
        (
            "768K",
            4_009_754_624,
            vec![(3 * M / 4, 0, 1.0)],
            3 * M / 4,
            0,
        ),
        ("2M 2TB", 2_000_398_934_016, vec![(2 * M, 0, 1.0)], 2 * M, 0),
        ("11M", 16_012_804_096, vec![(11 * M, 0, 1.0)], 0, 0),
        (
            "16/8/4",
            64_023_257_088,
            vec![(16 * M, 0, 1.0), (8 * M, 0, 0.7), (4 * M, 0, 0.4)],
            16 * M,
            0,
        ),
        ("none", 16_012_804_096, vec![], 0, 0),
        ("128K 500MB", 512_000_000, vec![(M / 8, 0, 1.0)], M / 8, 0),
    ];
    for snr in std::env::var("SNR")
        .unwrap_or("10,3,2,1".into())
        .split(",")
        .map(|s| s.parse::<f64>().unwrap())
    {
        for (name, capacity, lattices, unit, phase) in &cases {
            let scaled: Vec<_> = lattices
                .iter()
                .map(|&(p, f, c)| (p, f, c * snr * 30.0))
                .collect();
            let (mut confirmed, mut likely, mut wrong, mut wrong_confirmed) = (0, 0, 0, 0);
            let (mut reads, mut noise) = (Vec::new(), 0);
            let mut wrongs = Vec::new();
            let start = std::time::Instant::now();
            let mut device = Duration::ZERO;
            for seed in 0..20 {
                let result = run(&mut Toy::new(*capacity, 30.0, &scaled, seed), seed);
                let EraseBlock {
                    verdict,
                    bytes,
                    phase_bytes,
                    ..
                } = result.geometry.erase_block;
                let right = verdict.is_told()
                    && bytes == Some(Bytes(*unit))
                    && phase_bytes == Some(Bytes(*phase));
                if right && verdict == Verdict::Confirmed {
                    confirmed += 1
                }
                if right && verdict == Verdict::Likely {
                    likely += 1
                }
                if verdict.is_told() && !right {
                    wrong += 1;
                    wrong_confirmed += i32::from(verdict == Verdict::Confirmed);
                    wrongs.push((bytes.unwrap().to_string(), phase_bytes.unwrap().to_string()));
                }
                device += result.cost.device_time;
                noise = result.noise_reads;
                reads.push(result.cost.reads - result.noise_reads);
            }
            reads.sort();
            let cpu = start.elapsed().as_secs_f64() / device.as_secs_f64();
            println!(
                "{snr:4} {name:10} confirmed {confirmed:2} likely {likely:2} wrong {wrong:2} ({wrong_confirmed}) reads {:5} {:5} noise {noise} cpu {:.1}% {wrongs:?}",
                reads[10],
                reads[18],
                cpu * 100.0
            );
        }
    }
}

#[test]
#[ignore]
fn trace() {
    const M: u64 = 1 << 20;
    let which = std::env::var("CASE").unwrap_or_default();
    let lattices: Vec<(u64, u64, f64)> = match which.as_str() {
        "84" => vec![(8 * M, 0, 300.0), (4 * M, 0, 180.0)],
        "124" => vec![(12 * M, 4 * M, 300.0), (4 * M, 0, 150.0)],
        "1684" => vec![(16 * M, 0, 90.0), (8 * M, 0, 63.0), (4 * M, 0, 36.0)],
        _ => vec![(8 * M, 0, 300.0), (16384, 0, 150.0)],
    };
    for seed in 0..10 {
        eprintln!("=== seed {seed}");
        let mut toy = Toy::new(32_010_928_128, 30.0, &lattices, seed);
        let options = Options {
            time_limit: Duration::from_secs(300),
            seed,
            in_use: false,
        };
        let mut last = 0;
        let r = scan(&mut toy, options, &AtomicBool::new(false), &mut |p| {
            if p.cost.reads > last {
                println!("{} {} {}", p.cost.reads, p.stage, p.standing);
                last = p.cost.reads
            }
        });
        println!("{:#?}", r.geometry.erase_block);
    }
}

//! A card on paper, and flashbench's procedure on it: places, minimum over rounds, wrapping,
//! three-digit printing into seven bytes. For logs whose truth is known.
#![allow(dead_code)] // each test file uses its part

use flashfit::units::Bytes;

/// xorshift64*: the same numbers on every machine.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Evenly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal (sum of twelve).
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A card: what a read costs, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Card {
    pub capacity: u64,
    /// 0: no boundaries visible.
    pub erase_block: u64,
    pub phase: u64,
    pub sub_unit: Option<u64>,
    pub base: f64,
    /// Cost of crossing the erase block, the sub-unit.
    pub unit_cost: f64,
    pub sub_cost: f64,
    /// Page sizes and what crossing them costs.
    pub pages: Vec<(u64, f64)>,
    /// Scatter of a single read.
    pub noise: f64,
    /// Scatter between places, as a share of the crossing cost.
    pub place_scatter: f64,
    /// Factor on the crossing costs of lines from 256 MiB on.
    pub far: f64,
    /// Share of places that read much slower, always.
    pub outliers: f64,
}

impl Card {
    /// Time of one read, without noise.
    fn read(&self, from: i128, length: i128, far: bool) -> f64 {
        let crosses = |size: u64, phase: u64| {
            size != 0 && {
                let (size, phase) = (i128::from(size), i128::from(phase));
                (from + length - 1 - phase).div_euclid(size) > (from - phase).div_euclid(size)
            }
        };
        let mut crossing = 0.0;
        if crosses(self.erase_block, self.phase) {
            crossing += self.unit_cost;
        }
        if let Some(sub) = self.sub_unit
            && crosses(sub, self.phase % sub)
        {
            crossing += self.sub_cost;
        }
        for (size, cost) in &self.pages {
            if crosses(*size, 0) {
                crossing += cost;
            }
        }
        if crossing > 0.0 {
            let place = u64::try_from(from.rem_euclid(1 << 60)).unwrap() >> 12;
            crossing *= 1.0 + self.place_scatter * Random::new(place ^ self.capacity).normal();
            if far {
                crossing *= self.far;
            }
        }
        self.base + crossing + length as f64 * 0.02
    }

    /// `flashbench -a`: its lines.
    pub fn align_scan(&self, blocksize: u64, count: u32, random: &mut Random) -> String {
        let mut spacing = 2 * blocksize;
        while spacing < self.capacity.div_ceil(7) {
            spacing *= 2;
        }
        let mut text = String::new();
        let mut align = spacing;
        while align >= 2 * blocksize {
            let mut sums = [0.0; 3];
            for place in 0..7u64 {
                let at = i128::from(align) + i128::from(place) * i128::from(spacing);
                let (size, capacity) = (i128::from(blocksize), i128::from(self.capacity));
                for (kind, from) in [at - size, at - size / 2, at].into_iter().enumerate() {
                    let from = from.rem_euclid(capacity);
                    let clean = self.read(from, size, align >= 256 << 20);
                    let fastest = (0..count)
                        .map(|_| clean + self.noise * random.normal().abs())
                        .fold(f64::INFINITY, f64::min);
                    let key = u64::try_from(from).unwrap().wrapping_mul(31) ^ 77;
                    let slow = Random::new(key).chance(self.outliers);
                    sums[kind] += fastest + if slow { self.base } else { 0.0 };
                }
            }
            let [pre, on, post] = sums.map(|sum| (sum / 7.0).trunc());
            text.push_str(&format!(
                "align {align}\tpre {}\ton {}\tpost {}\tdiff {}\n",
                format_ns(pre),
                format_ns(on),
                format_ns(post),
                format_ns((on - (pre + post) / 2.0).trunc()),
            ));
            align /= 2;
        }
        text
    }
}

/// A C string in a buffer of eight bytes.
fn seven(text: &str) -> String {
    let mut end = text.len().min(7);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// `%.3g`.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let mut exponent = value.abs().log10().floor();
    let rounded = format!("{:.2}", value / 10f64.powf(exponent));
    let mut mantissa: f64 = rounded.parse().unwrap();
    if mantissa.abs() >= 10.0 {
        mantissa /= 10.0;
        exponent += 1.0;
    }
    if exponent >= 3.0 {
        let digits = format!("{mantissa:.2}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e+{exponent:02}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let decimals = (2.0 - exponent).max(0.0) as usize;
    let text = format!("{:.decimals$}", mantissa * 10f64.powf(exponent));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Times as flashbench prints them: negative ones always in nanoseconds.
pub fn format_ns(nanos: f64) -> String {
    seven(&if nanos < 1e3 {
        format!("{nanos:.0}ns")
    } else if nanos < 1e6 {
        format!("{}µs", three_digits(nanos / 1e3))
    } else if nanos < 1e9 {
        format!("{}ms", three_digits(nanos / 1e6))
    } else {
        format!("{}s", three_digits(nanos / 1e9))
    })
}

/// Rates as flashbench prints them.
pub fn format_rate(rate: f64) -> String {
    seven(&if rate < 1e3 {
        format!("{}B/s", three_digits(rate))
    } else if rate < 1e6 {
        format!("{}K/s", three_digits(rate / 1e3))
    } else if rate < 1e9 {
        format!("{}M/s", three_digits(rate / 1e6))
    } else {
        format!("{}G/s", three_digits(rate / 1e9))
    })
}

/// Sizes as flashbench prints them.
pub fn format_size(size: u64) -> String {
    let size = size as f64;
    if size < 1024.0 {
        format!("{}B", three_digits(size))
    } else if size < 1024.0 * 1024.0 {
        format!("{}KiB", three_digits(size / 1024.0))
    } else {
        format!("{}MiB", three_digits(size / 1024.0 / 1024.0))
    }
}

/// How a card writes.
#[derive(Clone, Debug)]
pub struct Writer {
    pub unit: u64,
    /// Open units; `None`: no limit.
    pub limit: Option<u32>,
    /// Command time and time per byte, in seconds.
    pub command: f64,
    pub per_byte: f64,
    pub page: u64,
    /// Garbage collection of one unit, in seconds.
    pub collection: f64,
    /// Rate kept per further open unit.
    pub graceful: f64,
    /// Factor beyond the limit instead of garbage collections.
    pub soft: Option<f64>,
    pub scatter: f64,
}

impl Writer {
    /// `flashbench --open-au`: its lines.
    pub fn open_au(&self, open: u32, smallest: u64, random: &mut Random) -> String {
        let mut text = String::new();
        let mut size = self.unit;
        let mut first = true;
        while size >= smallest {
            let mut time = self.command + self.per_byte * size.max(self.page) as f64;
            time /= self.graceful.powf(f64::from(open) - 1.0);
            if self.limit.is_some_and(|limit| open > limit) && size < self.unit {
                match self.soft {
                    Some(factor) => time /= factor,
                    None => time += self.collection * random.between(0.85, 1.1),
                }
            }
            time *= (self.scatter * random.normal()).exp();
            // What the run before left behind.
            if first && random.chance(0.5) {
                time *= random.between(1.2, 3.0);
            }
            first = false;
            text.push_str(&format!(
                "{}\t{}\n",
                format_size(size),
                format_rate(size as f64 / time)
            ));
            size /= 2;
        }
        text
    }
}

/// Outcomes of many tries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub right: u32,
    pub abstained: u32,
    pub wrong: u32,
    /// The sub-unit was told for the unit: its boundaries are there.
    pub part: u32,
}

impl Tally {
    pub fn count(&mut self, truth: Option<u64>, part: Option<u64>, told: Option<Bytes>) {
        match (truth, told) {
            (_, Some(Bytes(told))) if part == Some(told) => self.part += 1,
            (Some(truth), Some(Bytes(told))) if truth == told => self.right += 1,
            (None, None) => self.right += 1,
            (Some(_), None) => self.abstained += 1,
            _ => self.wrong += 1,
        }
    }

    pub fn all(self) -> u32 {
        self.right + self.abstained + self.wrong + self.part
    }
}

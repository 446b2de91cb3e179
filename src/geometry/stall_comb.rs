//! The erase block from the stalls of a long write in order, for sticks whose reads show nothing.
//!
//! A stick that opens (or erases) a unit for a write stalls once a unit. [`Comb`] looks for a size and
//! phase whose boundaries explain the stalls; a second stretch, begun at an odd place, must agree
//! before anything is told. What is found is the unit that the stick opens, which is the erase block or
//! a part of it. The same series tells the rate of long writes, and where a fast cache is full.

use super::evidence::chance_of_hits;
use super::stats::{log_sum_exp, mad_sigma, median};
use super::{EraseBlock, Source, Verdict, Warning, capacity};
use crate::measure::stall::ChunkTime;
use crate::topology::Facts;
use crate::units::{Alignment, Bytes};
use statrs::function::beta::ln_beta;

/// A chunk stalls when its time lies so many deviations above the median of those around it (on the
/// logarithm; six deviations of a normal distribution happen twice in 10^9).
const STALL: f64 = 6.0;

/// The window of that median: wide enough to hold some stalls, narrow enough to follow a drift.
const WINDOW: usize = 101;

/// So many chunks are judged by the same window.
const NEIGHBOURS: usize = 16;

/// Times are not thought to be steadier than this share: USB rounds to 125 us, 3 % of a 64 KiB write.
const LEAST_SPREAD: f64 = 0.03;

/// Odd factors of sizes considered, with prior weights as in the search by reads.
const ODD_FACTORS: [(u64, f64); 5] = [(1, 0.55), (3, 0.33), (5, 0.06), (7, 0.02), (9, 0.04)];

/// Phases and sizes are multiples of this.
const GRAIN: Bytes = Bytes::kib(512);

/// The largest size considered.
const LARGEST: Bytes = Bytes::mib(64);

/// All other phases of a size together, relative to phase 0.
const OTHER_PHASES: f64 = 0.15;

/// The prior of "stalls have nothing to do with places".
const NOTHING: f64 = 0.2;

/// Prior of the share of boundaries that stall: Beta(4, 1), four in five on average.
const AT_BOUNDARIES: (f64, f64) = (4.0, 1.0);
/// Where more than one in so many of the other chunks stalls, all stalls may have another reason: a
/// cache that is written back now and then. A stick's own work stalls one in thirty.
const CROWDED: u64 = 10;

/// Prior of the share of other chunks that stall: Beta(1, 20).
const ELSEWHERE: (f64, f64) = (1.0, 20.0);

/// Boundaries that a told size must have met in the first stretch, and in the second.
const FEWEST_BOUNDARIES: u64 = 6;
/// The fewest boundaries of the second stretch, for the same reason.
pub const SECOND_BOUNDARIES: u64 = 6;

/// The share of boundaries at which the write stalled.
const LEAST_SHARE: f64 = 0.7;

/// A size and phase this probable is told.
const TOLD: f64 = 0.99;

/// The second stretch agrees when chance does so less than once in a thousand.
const AGREES: f64 = 1e-3;

/// Writes become slower for good by this factor when a fast cache is full.
const CACHE_FULL: f64 = 1.5;

/// So many chunks on either side of that moment.
const FEWEST_EITHER_SIDE: usize = 64;

/// The most probable size and phase of a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tooth {
    /// Size and phase.
    pub grid: Alignment,
    /// Its probability.
    pub probability: f64,
    /// Boundaries in the stretch.
    pub boundaries: u64,
    /// Boundaries at which it stalled.
    pub stalls: u64,
}

/// What a stretch shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comb {
    /// The best size and phase, whether or not it is convincing.
    pub best: Option<Tooth>,
    /// The second best size.
    pub runner_up: Option<Bytes>,
    /// Stalls in all.
    pub stalls: u64,
    /// Chunks in all.
    pub chunks: u64,
}

impl Comb {
    /// Look at a stretch of chunks of one size.
    pub fn of(series: &[ChunkTime], chunk: Bytes, facts: &Facts, device: Bytes) -> Comb {
        let stalled = stalled(series);
        let all = series.len() as u64;
        let stalls = stalled.iter().filter(|s| **s).count() as u64;
        let mut comb = Comb {
            best: None,
            runner_up: None,
            stalls,
            chunks: all,
        };
        let (Some(first), Some(last)) = (series.first(), series.last()) else {
            return comb;
        };
        let length = last.at.get() + chunk.get() - first.at.get();
        let mut scored: Vec<(f64, Alignment, u64, u64)> = Vec::new();
        for (grid, prior) in hypotheses(length, facts, device) {
            let (boundaries, hits) = hits(series, &stalled, chunk, grid);
            if boundaries >= 2 {
                let fit = fit(all, stalls, boundaries, hits);
                scored.push((prior.ln() + fit, grid, boundaries, hits));
            }
        }
        let mut logs: Vec<f64> = scored.iter().map(|s| s.0).collect();
        logs.push(NOTHING.ln());
        let total = log_sum_exp(&logs);
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        comb.best = scored
            .first()
            .map(|&(log, grid, boundaries, stalls)| Tooth {
                grid,
                probability: (log - total).exp(),
                boundaries,
                stalls,
            });
        comb.runner_up = comb.best.and_then(|best| {
            let other = |s: &&(f64, Alignment, u64, u64)| s.1.grain() != best.grid.grain();
            scored.iter().find(other).map(|s| s.1.grain())
        });
        comb
    }

    /// The size and phase that is probable enough for a second stretch.
    pub fn candidate(&self) -> Option<Tooth> {
        self.best.filter(|best| {
            best.probability >= TOLD
                && best.boundaries >= FEWEST_BOUNDARIES
                && best.stalls as f64 >= LEAST_SHARE * best.boundaries as f64
        })
    }
}

/// Sizes that a stretch of this length could tell, with their phases and prior weights, which sum to
/// what [`NOTHING`] leaves.
fn hypotheses(length: u64, facts: &Facts, device: Bytes) -> Vec<(Alignment, f64)> {
    let mut all = Vec::new();
    for (odd, share) in ODD_FACTORS {
        let sizes = (0..).map(|k| Bytes((GRAIN.get() * odd) << k));
        for size in sizes.take_while(|s| *s <= LARGEST && s.get() <= length / FEWEST_BOUNDARIES) {
            let phases = size.get() / GRAIN.get();
            let weight = share
                * capacity::capacity_weight(size, device)
                * capacity::reported_weight(size, &facts.reported);
            for n in 0..phases {
                let of_phase = if n == 0 {
                    1.0
                } else {
                    OTHER_PHASES / (phases - 1) as f64
                };
                if let Some(grid) = Alignment::new(size, Bytes(n * GRAIN.get())) {
                    all.push((grid, weight * of_phase));
                }
            }
        }
    }
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut all {
        *weight *= (1.0 - NOTHING) / total;
    }
    all
}

/// How many chunks hold a boundary, and how many of these stalled.
fn hits(series: &[ChunkTime], stalled: &[bool], chunk: Bytes, grid: Alignment) -> (u64, u64) {
    let (mut boundaries, mut hits) = (0, 0);
    let Some(first) = series.first() else {
        return (0, 0);
    };
    let mut next = grid.up(first.at);
    while let Some(boundary) = next {
        let index = (boundary.get() - first.at.get()) / chunk.get();
        let Some(stalled) = usize::try_from(index).ok().and_then(|i| stalled.get(i)) else {
            break;
        };
        boundaries += 1;
        hits += u64::from(*stalled);
        next = boundary.checked_add(grid.grain());
    }
    (boundaries, hits)
}

/// ln of how much better "boundaries stall at one rate, the rest at another" explains the stalls than
/// "all stall at one rate", the rates integrated out (beta-binomial).
fn fit(all: u64, stalls: u64, boundaries: u64, hits: u64) -> f64 {
    let marginal = |(a, b): (f64, f64), n: u64, k: u64| {
        ln_beta(a + k as f64, b + (n - k) as f64) - ln_beta(a, b)
    };
    marginal(AT_BOUNDARIES, boundaries, hits) + marginal(ELSEWHERE, all - boundaries, stalls - hits)
        - marginal(ELSEWHERE, all, stalls)
}

/// Which chunks stalled. Neighbours share a window.
fn stalled(series: &[ChunkTime]) -> Vec<bool> {
    let logs = logarithms(series);
    let mut stalled = Vec::with_capacity(logs.len());
    for (n, neighbours) in logs.chunks(NEIGHBOURS).enumerate() {
        let middle = n * NEIGHBOURS + NEIGHBOURS / 2;
        let last = logs.len().saturating_sub(WINDOW);
        let from = middle.saturating_sub(WINDOW / 2).min(last);
        let window = &logs[from..logs.len().min(from + WINDOW)];
        let limit = median(window) + STALL * mad_sigma(window).max(LEAST_SPREAD);
        stalled.extend(neighbours.iter().map(|log| *log > limit));
    }
    stalled
}

fn logarithms(series: &[ChunkTime]) -> Vec<f64> {
    let log = |chunk: &ChunkTime| chunk.time.as_secs_f64().max(1e-9).ln();
    series.iter().map(log).collect()
}

/// Whether a second stretch stalls where the first one says.
pub fn agrees(second: &[ChunkTime], chunk: Bytes, tooth: Tooth) -> bool {
    let stalled = stalled(second);
    let (boundaries, hits) = hits(second, &stalled, chunk, tooth.grid);
    let stalls = stalled.iter().filter(|s| **s).count() as u64;
    boundaries >= SECOND_BOUNDARIES - 1
        && hits as f64 >= LEAST_SHARE * boundaries as f64
        && chance_of_hits(second.len() as u64, stalls, boundaries, hits) < AGREES
}

/// The verdict on the erase block. `second` is the stretch that was written to confirm, if there was
/// one; without it nothing is told.
pub fn verdict(first: &Comb, second: Option<bool>) -> EraseBlock {
    let (stalls, chunks) = (first.stalls, first.chunks);
    let Some(tooth) = first.candidate() else {
        return EraseBlock {
            verdict: Verdict::NotVisible,
            evidence: vec![format!(
                "a write of {chunks} chunks in order stalled {stalls} times, at no regular places"
            )],
            ..EraseBlock::default()
        };
    };
    let size = tooth.grid.grain();
    let mut evidence = vec![format!(
        "a write in order stalled at {} of {} multiples of {} and {} times elsewhere ({chunks} chunks, probability of size and phase {:.4})",
        tooth.stalls,
        tooth.boundaries,
        tooth.grid,
        stalls - tooth.stalls,
        tooth.probability
    )];
    let crowded = (stalls - tooth.stalls) * CROWDED > chunks;
    let agrees = second == Some(true) && !crowded;
    evidence.push(
        match second {
            _ if crowded => "so many stalls lie elsewhere that these may have another reason, too",
            Some(true) => "a second stretch, begun between two of them, stalled there again",
            Some(false) => "a second stretch did not stall there: it was no property of the places",
            None => "there was no room for a second stretch to confirm it",
        }
        .to_owned(),
    );
    EraseBlock {
        verdict: if agrees {
            // What is opened at once may be a part of what is erased at once.
            Verdict::Likely
        } else {
            Verdict::NotVisible
        },
        bytes: agrees.then_some(size),
        phase_bytes: agrees.then_some(tooth.grid.phase()),
        confidence: if agrees {
            (tooth.probability * 1e4).floor() / 1e4
        } else {
            0.0
        },
        source: if agrees {
            Source::Measured
        } else {
            Source::Assumed
        },
        runner_up_bytes: first.runner_up,
        evidence,
        ..EraseBlock::default()
    }
}

/// The moment at which a fast cache was full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheEnd {
    /// After so much was written.
    pub after: Bytes,
    /// Writes take so many times as long from then on.
    pub slower: f64,
}

impl CacheEnd {
    /// What the reader should know.
    pub fn warning(&self) -> Warning {
        Warning::new(
            "slc_cache",
            format!(
                "after {} written in one go, writes became {:.1} times slower: a fast cache was full, and rates measured in short writes are those of the cache",
                self.after, self.slower
            ),
        )
    }
}

/// Where the level of a series rises once and for good: the split with the largest difference between
/// the mean logarithms (stalls clipped), when both sides are long and steady enough.
pub fn cache_end(series: &[ChunkTime]) -> Option<CacheEnd> {
    if series.len() < 2 * FEWEST_EITHER_SIDE {
        return None;
    }
    let logs = logarithms(series);
    let stalled = stalled(series);
    let centre = median(&logs);
    let value = |i: usize| if stalled[i] { centre } else { logs[i] };
    let total: f64 = (0..logs.len()).map(value).sum();
    let mut left = 0.0;
    let mut best = (0.0, 0);
    for i in 0..logs.len() {
        if i >= FEWEST_EITHER_SIDE && logs.len() - i >= FEWEST_EITHER_SIDE {
            let (a, b) = (i as f64, (logs.len() - i) as f64);
            let rise = (total - left) / b - left / a;
            // The gain in squares of the split.
            let gain = rise.max(0.0).powi(2) * a * b / (a + b);
            if gain > best.0 {
                best = (gain, i);
            }
        }
        left += value(i);
    }
    let split = best.1;
    if split == 0 {
        return None;
    }
    let (before, after) = (&logs[..split], &logs[split..]);
    let rise = median(after) - median(before);
    let scatter = mad_sigma(before).max(mad_sigma(after)).max(LEAST_SPREAD);
    (rise >= CACHE_FULL.ln() && rise >= 3.0 * scatter).then(|| CacheEnd {
        after: series[split].at.saturating_sub(series[0].at),
        slower: rise.exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Transport;
    use crate::units::LogicalBlock;
    use std::time::Duration;

    const CHUNK: Bytes = Bytes::kib(64);
    const DEVICE: Bytes = Bytes(16_012_804_096);

    fn facts() -> Facts {
        Facts::bare("x", Transport::Usb, Some(DEVICE), LogicalBlock::B512)
    }

    /// Chunks of about 3 ms from `from` on; `stalls` tells of each place whether it takes 20 ms.
    fn series(from: Bytes, length: Bytes, stalls: impl Fn(u64, u64) -> bool) -> Vec<ChunkTime> {
        (0..length.get() / CHUNK.get())
            .map(|n| {
                let at = from.get() + n * CHUNK.get();
                let micros = if stalls(at, n) {
                    20_000
                } else {
                    3000 + n * 7919 % 120
                };
                ChunkTime {
                    at: Bytes(at),
                    time: Duration::from_micros(micros),
                }
            })
            .collect()
    }

    fn boundary(size: u64, phase: u64) -> impl Fn(u64, u64) -> bool {
        move |at, _| (at + CHUNK.get() - 1 - phase) / size > (at.wrapping_sub(phase + 1)) / size
    }

    fn look(series: &[ChunkTime]) -> Comb {
        Comb::of(series, CHUNK, &facts(), DEVICE)
    }

    #[test]
    fn stalls_at_every_boundary_tell_size_and_phase() {
        let mib = 1 << 20;
        for (size, phase) in [(4, 0), (8, 0), (6, 0), (8, 2), (12, 4)] {
            let (size, phase) = (size * mib, phase * mib);
            let first = series(Bytes::mib(1000), Bytes::mib(128), boundary(size, phase));
            let tooth = look(&first).candidate().unwrap();
            assert_eq!(
                tooth.grid,
                Alignment::new(Bytes(size), Bytes(phase)).unwrap()
            );
            let second = series(Bytes::mib(5001), Bytes(6 * size), boundary(size, phase));
            assert!(agrees(&second, CHUNK, tooth));
            let found = verdict(&look(&first), Some(true));
            assert_eq!(found.verdict, Verdict::Likely);
            assert_eq!(found.phase_bytes, Some(Bytes(phase)));
        }
    }

    #[test]
    fn stalls_by_count_or_at_random_tell_nothing() {
        let none = look(&series(Bytes::mib(1000), Bytes::mib(128), |_, _| false));
        assert_eq!(none.candidate(), None);
        let random = look(&series(Bytes::mib(1000), Bytes::mib(128), |_, n| {
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58 == 0
        }));
        assert!(random.stalls > 10);
        assert_eq!(random.candidate(), None);
        // Every 4 MiB written, wherever they go: the second stretch begins at an odd place.
        let first = series(Bytes::mib(1000), Bytes::mib(128), |_, n| n % 64 == 0);
        let tooth = look(&first).candidate().unwrap();
        let second = series(Bytes::kib(5_000_128), Bytes::mib(24), |_, n| n % 64 == 0);
        assert!(!agrees(&second, CHUNK, tooth));
        assert_eq!(
            verdict(&look(&first), Some(false)).verdict,
            Verdict::NotVisible
        );
        assert_eq!(verdict(&look(&first), None).bytes, None);
    }

    #[test]
    fn the_end_of_a_fast_cache_is_found_and_stalls_are_none() {
        let mut fast = series(Bytes::ZERO, Bytes::mib(64), |_, n| n % 64 == 0);
        assert_eq!(cache_end(&fast), None);
        for chunk in &mut fast[400..] {
            chunk.time *= 3;
        }
        let end = cache_end(&fast).unwrap();
        assert_eq!(end.after, Bytes::mib(25));
        assert!((end.slower - 3.0).abs() < 0.2, "{end:?}");
        assert_eq!(end.warning().code, "slc_cache");
        assert_eq!(cache_end(&fast[..100]), None);
    }
}

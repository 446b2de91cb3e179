//! Write times by size, and of writes that lie on a grid against writes that lie between: what the
//! page is read off.

use super::in_order::InOrder;
use super::meter::Stop;
use super::throughput::Timed;
use crate::units::Bytes;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use std::time::Duration;

/// Sizes of the ladder, from one below the smallest page to those at which the rate no longer grows.
const LADDER: [Bytes; 11] = [
    Bytes(512),
    Bytes::kib(1),
    Bytes::kib(2),
    Bytes::kib(4),
    Bytes::kib(8),
    Bytes::kib(16),
    Bytes::kib(32),
    Bytes::kib(64),
    Bytes::kib(128),
    Bytes::kib(256),
    Bytes::kib(512),
];

/// Runs begin at a multiple of this at least: no page is larger.
const RUN_GRAIN: Bytes = Bytes::kib(64);

/// The most writes in a run.
const RUN_WRITES: u64 = 15;

/// A run of small writes ends within this.
const RUN_LENGTH: Bytes = Bytes::kib(128);

/// Scored writes of one size: 30 for the small ones, fewer where they cost much; 10 still give a
/// trimmed mean good to a third of the scatter, and large writes scatter little.
fn scored(size: Bytes) -> u64 {
    match size.get() >> 10 {
        0..=8 => 30,
        9..=16 => 24,
        17..=32 => 16,
        33..=64 => 12,
        65..=128 => 10,
        _ => 4,
    }
}

/// The sizes of the ladder for this device, at most `largest`. Where that is no power of two, three
/// quarters of the next one stand in for it, so that sizes above a page of 64 KiB exist.
pub fn ladder_sizes(block: Bytes, largest: Bytes) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = LADDER
        .into_iter()
        .filter(|size| *size >= block && *size <= largest)
        .collect();
    if let Some(last) = sizes.last().copied() {
        let between = Bytes(last.get() / 2 * 3);
        if last <= Bytes::kib(64) && between <= largest && between.is_multiple_of(block) {
            sizes.push(between);
        }
    }
    sizes
}

/// The bytes that [`ladder`] needs at most.
pub fn ladder_bytes(sizes: &[Bytes]) -> Bytes {
    let of = |size: &Bytes| {
        let run = run_writes(*size);
        let (runs, grain) = (scored(*size).div_ceil(run), grain(*size).get());
        // Up to a grain is lost before each run.
        runs * (run * size.get() + grain)
    };
    Bytes(sizes.iter().map(of).sum::<u64>() + 2 * RUN_LENGTH.get())
}

fn run_writes(size: Bytes) -> u64 {
    (RUN_LENGTH.get() / size.get()).clamp(1, RUN_WRITES)
}

/// Runs of small sizes must begin on the grid of the largest page; large ones on their own, as far as
/// that is a page's.
fn grain(size: Bytes) -> Bytes {
    // 96 KiB and the like begin at their even part.
    let even = 1u64 << size.get().trailing_zeros().min(40);
    Bytes(even.clamp(RUN_GRAIN.get(), RUN_LENGTH.get()))
}

/// Writes of every size in runs of one size, the runs in random order. What was measured before a
/// stop, or before the stretch came to its end, is kept.
///
/// # Errors
/// Whatever stops the writes.
pub fn ladder(
    pen: &mut InOrder<'_, '_>,
    sizes: &[Bytes],
    rng: &mut Xoshiro256PlusPlus,
    kept: &mut Vec<Timed>,
) -> Result<(), Stop> {
    let mut runs: Vec<Bytes> = Vec::new();
    for &size in sizes {
        let count = scored(size).div_ceil(run_writes(size));
        runs.extend((0..count).map(|_| size));
    }
    runs.shuffle(rng);
    for size in runs {
        if !pen.go_to(grain(size), Bytes::ZERO)? {
            return Ok(());
        }
        for _ in 0..run_writes(size) {
            match pen.write(size)? {
                Some(time) => kept.push(Timed { size, time }),
                None => return Ok(()),
            }
        }
    }
    Ok(())
}

/// The largest size that is shifted: one above the largest page.
pub const LARGEST_SHIFTED: Bytes = Bytes::kib(128);

/// Times of writes of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// On multiples of the size.
    pub aligned: Vec<Duration>,
    /// Half of the size behind them.
    pub shifted: Vec<Duration>,
}

/// Writes in a run of [`shifts`].
const SHIFT_RUN: u64 = 4;

/// The bytes that [`shifts`] needs at most.
pub fn shift_bytes(size: Bytes, count: usize) -> Bytes {
    // Before each of the two runs of a turn lies a filler of at most the size.
    let turns = (count as u64).div_ceil(SHIFT_RUN);
    Bytes(turns * 2 * (SHIFT_RUN + 1) * size.get())
}

/// `count` writes of a size on its multiples and as many half of it behind, in turns of four.
///
/// # Errors
/// Whatever stops the writes.
pub fn shifts(
    pen: &mut InOrder<'_, '_>,
    size: Bytes,
    count: usize,
    rng: &mut Xoshiro256PlusPlus,
    kept: &mut Shifts,
) -> Result<(), Stop> {
    let half = Bytes(size.get() / 2);
    let turns = (count as u64).div_ceil(SHIFT_RUN);
    for _ in 0..turns {
        let first = rng.random::<bool>();
        for shifted in [first, !first] {
            let offset = if shifted { half } else { Bytes::ZERO };
            if !pen.go_to(size, offset)? {
                return Ok(());
            }
            for _ in 0..SHIFT_RUN {
                let Some(time) = pen.write(size)? else {
                    return Ok(());
                };
                if shifted {
                    kept.shifted.push(time);
                } else {
                    kept.aligned.push(time);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_has_two_sizes_from_the_largest_page_on() {
        let usb2 = ladder_sizes(Bytes(512), Bytes::kib(120));
        assert_eq!(usb2[usb2.len() - 2..], [Bytes::kib(64), Bytes::kib(96)]);
        let all = ladder_sizes(Bytes::kib(4), Bytes::kib(512));
        assert_eq!((all[0], all.len()), (Bytes::kib(4), 8));
        assert!(
            ladder_bytes(&all) < Bytes::mib(12),
            "{}",
            ladder_bytes(&all)
        );
        assert!(ladder_bytes(&usb2) < Bytes::mib(7));
    }
}

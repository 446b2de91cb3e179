//! One open-AU run: how many units were open, and whether they were too many.

use crate::geometry::open_au::{self, Halving, LARGEST_JUDGED, RatePoint, SMALLEST_JUDGED};
use crate::measure::flashbench_log::OpenAuRun;
use crate::units::Bytes;

/// A run with everything that is needed.
pub(super) struct Trialled {
    pub open: u32,
    pub unit: Bytes,
    pub points: Vec<RatePoint>,
    pub halving: Halving,
    /// The probability that they were too many.
    pub slow: f64,
}

/// The size of the units that a run wrote: what was asked for, unless the lines contradict it.
fn unit(run: &OpenAuRun) -> Option<Bytes> {
    let first = run.lines.first()?.size;
    Some(match run.request.erasesize {
        Some(asked) if asked >= first => asked,
        _ => first,
    })
}

/// Units of tests in which every second line is slow by half and more: the garbage collection of one
/// line is paid by the next, because two units lie in one erase block.
pub(super) fn units_too_small(runs: &[&OpenAuRun]) -> Vec<Bytes> {
    const TWICE: f64 = 1.8;
    const FEWEST: usize = 4;
    let mut units: Vec<Bytes> = runs
        .iter()
        .filter(|run| run.random == Some(false))
        .filter(|run| {
            let rates: Vec<f64> = run
                .lines
                .iter()
                .filter(|line| line.size >= SMALLEST_JUDGED)
                .map(|line| line.bytes_per_second)
                .collect();
            let up: Vec<bool> = rates
                .windows(2)
                .map(|pair| pair[1] > TWICE * pair[0])
                .collect();
            let down: Vec<bool> = rates
                .windows(2)
                .map(|pair| pair[0] > TWICE * pair[1])
                .collect();
            let alternates = |even: &[bool], odd: &[bool]| {
                (0..even.len()).all(|i| if i % 2 == 0 { even[i] } else { odd[i] })
            };
            rates.len() >= FEWEST && (alternates(&up, &down) || alternates(&down, &up))
        })
        .filter_map(|run| unit(run))
        .collect();
    units.sort_unstable();
    units.dedup();
    units
}

/// Judge a run. `None`: the number of units is not known, or there are too few lines.
pub(super) fn trialled(run: &OpenAuRun) -> Option<Trialled> {
    let open = u32::try_from(run.nr?).ok().filter(|open| *open > 0)?;
    let unit = unit(run)?;
    let points: Vec<RatePoint> = run
        .lines
        .iter()
        .map(|line| RatePoint {
            size: line.size,
            bytes_per_second: line.bytes_per_second,
        })
        .collect();
    let halving = judged_halving(&points, unit)?;
    let slow = open_au::slow_probability(halving).max(hidden_cliff(&points));
    Some(Trialled {
        open,
        unit,
        points,
        halving,
        slow,
    })
}

/// The halving between 1 MiB and 64 KiB. Runs that were broken off before are judged by what they
/// have, but never by the first line, which writes whole units.
fn judged_halving(points: &[RatePoint], unit: Bytes) -> Option<Halving> {
    let quarter = Bytes(unit.get() / 4);
    let top = LARGEST_JUDGED.min(quarter.max(SMALLEST_JUDGED));
    let mut best = open_au::halving(points, top, SMALLEST_JUDGED);
    for larger in [quarter, Bytes(unit.get() / 2)] {
        if best.is_none_or(|known| known.halvings < 2.0) {
            best = open_au::halving(points, larger.max(top), SMALLEST_JUDGED).or(best);
        }
    }
    best
}

/// A slow link hides the upper end of a cliff: then the halving shows between 256 and 32 KiB, at
/// every single step.
fn hidden_cliff(points: &[RatePoint]) -> f64 {
    const EVERY_STEP: f64 = 0.72;
    let (largest, smallest) = (Bytes::kib(256), Bytes::kib(32));
    let inside: Vec<&RatePoint> = points
        .iter()
        .filter(|point| point.size <= largest && point.size >= smallest)
        .collect();
    let falls = inside.len() >= 4
        && inside
            .windows(2)
            .all(|pair| pair[1].bytes_per_second <= EVERY_STEP * pair[0].bytes_per_second);
    match open_au::halving(points, largest, smallest) {
        Some(halving) if falls => open_au::slow_probability(halving),
        _ => 0.0,
    }
}

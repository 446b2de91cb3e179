//! Scans that can be compared line by line, combined into one profile.
//!
//! Repeated scans read the same places: their mean is better known, but deviations of single places
//! stay. Scans with other block sizes are other profiles.

use super::fit::Point;
use super::places::Places;
use super::robust::{deviation, median};
use crate::measure::flashbench_log::{AlignLine, AlignScan};
use crate::units::Bytes;

/// Places per line since March 2011, and before.
const PLACES: u32 = 7;
const PLACES_OF_OLD: u32 = 32;
/// Share of a uniform error's half width that is its standard deviation: 1 / sqrt(3).
const UNIFORM: f64 = 0.577_350_269;
/// With a top line from here on, the two top lines are left out: in 28 and 22 of 43 public runs they
/// are off the plateau by more than 10 %.
const LONG_LADDER: Bytes = Bytes::mib(64);

/// All profiles of a device, and what is open about how their reads were placed.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    pub profiles: Vec<Profile>,
    /// Probabilities of the scenarios; they add up to one.
    pub scenarios: Vec<f64>,
}

/// Comparable scans.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Combined lines, by falling alignment, in microseconds. Without the two top lines.
    pub points: Vec<Point>,
    /// The same of each scan that is no copy of another.
    pub scans: Vec<Vec<Point>>,
    /// How long a read takes, in microseconds.
    pub base: f64,
    /// Where the reads lie, in each scenario.
    pub places: Vec<Places>,
    /// The lines are of `odd * 2^k` only; `None` for a ladder of several odd factors.
    pub odd: Option<u64>,
}

/// Combine scans into profiles.
pub(super) fn profiles(scans: &[&AlignScan], capacity: Option<Bytes>) -> Profiles {
    let mut groups: Vec<Vec<&AlignScan>> = Vec::new();
    for scan in scans {
        if scan.lines.len() < 2 {
            continue;
        }
        let same = groups.iter_mut().find(|group| comparable(group[0], scan));
        match same {
            // The same table pasted twice is no repetition.
            Some(group) if group.iter().any(|known| known.lines == scan.lines) => {}
            Some(group) => group.push(scan),
            None => groups.push(vec![scan]),
        }
    }
    let scenarios = scenarios(&groups, capacity);
    Profiles {
        profiles: groups
            .iter()
            .filter_map(|group| combine(group, &scenarios))
            .collect(),
        scenarios: scenarios
            .iter()
            .map(|scenario| scenario.probability)
            .collect(),
    }
}

/// What may be the case.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scenario {
    probability: f64,
    /// `None`: nothing wraps, or it does not matter.
    capacity: Option<Bytes>,
    interleaved: Spacing,
}

/// How private versions that interleave lines of 2^k and 3 * 2^k space their places; they differ, and
/// none is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// By the top line.
    Top,
    /// By the largest power of two.
    Power,
    /// By multiples of each line.
    Own,
}

fn scenarios(groups: &[Vec<&AlignScan>], capacity: Option<Bytes>) -> Vec<Scenario> {
    let tops = || {
        groups
            .iter()
            .flatten()
            .filter_map(|scan| scan.lines.first())
    };
    let capacities = match capacity {
        Some(capacity) => vec![(1.0, Some(capacity))],
        None => tops()
            .map(|line| line.align)
            .max()
            .map_or(vec![(1.0, None)], unknown_capacity),
    };
    let interleaved = groups
        .iter()
        .flatten()
        .any(|scan| single_factor(scan).is_none());
    let spacings: &[Spacing] = if interleaved {
        &[Spacing::Top, Spacing::Power, Spacing::Own]
    } else {
        &[Spacing::Top]
    };
    capacities
        .iter()
        .flat_map(|(probability, capacity)| {
            spacings.iter().map(move |interleaved| Scenario {
                probability: probability / spacings.len() as f64,
                capacity: *capacity,
                interleaved: *interleaved,
            })
        })
        .collect()
}

/// The odd factor that all lines of a scan share.
fn single_factor(scan: &AlignScan) -> Option<u64> {
    let first = odd_part(scan.lines.first()?.align);
    scan.lines
        .iter()
        .all(|line| odd_part(line.align) == first)
        .then_some(first)
}

fn odd_part(bytes: Bytes) -> u64 {
    bytes.get() >> bytes.get().trailing_zeros().min(63)
}

fn comparable(a: &AlignScan, b: &AlignScan) -> bool {
    let blocksize = |scan: &AlignScan| scan.request.blocksize.filter(|_| scan.request.has_command);
    let sizes = match (blocksize(a), blocksize(b)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    sizes && odd_part(a.lines[0].align) == odd_part(b.lines[0].align)
}

fn micros(line: &AlignLine) -> Point {
    Point {
        align: line.align,
        value: line.difference.nanos / 1e3,
        error: UNIFORM * line.difference.half_width / 1e3,
    }
}

fn combine(group: &[&AlignScan], scenarios: &[Scenario]) -> Option<Profile> {
    let all = || group.iter().flat_map(|scan| scan.lines.iter());
    let reads: Vec<f64> = all()
        .filter_map(|line| Some(f64::midpoint(line.pre?.nanos, line.post?.nanos) / 1e3))
        .collect();
    let differences: Vec<f64> = all()
        .map(|line| (line.difference.nanos / 1e3).abs())
        .collect();
    // Without reads: differences are about a third of a read.
    let base = median(&reads).or_else(|| Some(3.0 * median(&differences)?))?;
    let top = all().map(|line| line.align).max()?;
    let mut aligns: Vec<Bytes> = all().map(|line| line.align).collect();
    aligns.sort_unstable_by(|a, b| b.cmp(a));
    aligns.dedup();
    let keep = |align: Bytes| top < LONG_LADDER || align.get() < top.get() / 2;
    let complete = group.iter().any(|scan| scan.request.has_command);

    let repetition = repetition_error(group);
    let points = aligns
        .iter()
        .copied()
        .filter(|align| keep(*align))
        .filter_map(|align| {
            let same: Vec<Point> = all().filter(|l| l.align == align).map(micros).collect();
            let values: Vec<f64> = same.iter().map(|point| point.value).collect();
            let rounding = same.iter().map(|p| p.error.powi(2)).sum::<f64>() / same.len() as f64;
            Some(Point {
                align,
                value: median(&values)?,
                error: ((rounding + repetition.powi(2)) / same.len() as f64).sqrt(),
            })
        })
        .collect();
    let scans = group
        .iter()
        .map(|scan| {
            scan.lines
                .iter()
                .map(micros)
                .filter(|point| keep(point.align))
                .collect()
        })
        .collect();
    let odds: Vec<u64> = aligns.iter().copied().map(odd_part).collect();
    let odd = odds.iter().all(|odd| *odd == odds[0]).then_some(odds[0]);
    Some(Profile {
        points,
        scans,
        base: base.max(f64::MIN_POSITIVE),
        places: scenarios
            .iter()
            .map(|scenario| places(group, top, complete, odd, *scenario))
            .collect(),
        odd,
    })
}

/// How much the same line differs between repeated scans; 0 when nothing is repeated.
pub(super) fn repetition_error(group: &[&AlignScan]) -> f64 {
    if group.len() < 2 {
        return 0.0;
    }
    let mut away = Vec::new();
    for line in &group[0].lines {
        let values: Vec<f64> = group
            .iter()
            .filter_map(|scan| scan.lines.iter().find(|other| other.align == line.align))
            .map(|line| line.difference.nanos / 1e3)
            .collect();
        let n = values.len() as f64;
        if n >= 2.0 {
            let mean = values.iter().sum::<f64>() / n;
            away.extend(values.iter().map(|v| (v - mean) * (n / (n - 1.0)).sqrt()));
        }
    }
    deviation(&away).unwrap_or(0.0)
}

fn places(
    group: &[&AlignScan],
    top: Bytes,
    complete: bool,
    odd: Option<u64>,
    scenario: Scenario,
) -> Places {
    let aligns = || {
        group
            .iter()
            .flat_map(|scan| scan.lines.iter().map(|line| line.align))
    };
    let smallest = aligns().min().unwrap_or(top);
    let blocksize = group
        .iter()
        .find_map(|scan| scan.request.blocksize.filter(|_| scan.request.has_command))
        .unwrap_or(Bytes(smallest.get() / 2))
        .min(Bytes(smallest.get() / 2))
        .max(Bytes(2));
    let with = |spacing, count, capacity| Places {
        spacing,
        count,
        capacity,
        blocksize,
    };
    if odd.is_none() {
        let power = aligns()
            .filter(|align| odd_part(*align) == 1)
            .max()
            .unwrap_or(top);
        return match scenario.interleaved {
            Spacing::Top => with(top, PLACES, None),
            Spacing::Power => with(power, PLACES, None),
            Spacing::Own => with(Bytes::ZERO, 1, None),
        };
    }
    let Some(capacity) = scenario.capacity else {
        return with(top, PLACES, None);
    };
    // The smallest odd * 2^k that is at least a seventh of the capacity.
    let seventh = capacity.get().div_ceil(u64::from(PLACES));
    let mut spacing = odd_part(top);
    while spacing < seventh {
        match spacing.checked_mul(2) {
            Some(double) => spacing = double,
            None => break,
        }
    }
    let share = capacity.get() / top.get().max(1);
    if complete && (16..=32).contains(&share) {
        with(top, PLACES_OF_OLD, Some(capacity))
    } else if complete && top.get() != spacing {
        // Neither version: a partition, or another device's capacity.
        with(top, PLACES, None)
    } else {
        with(Bytes(spacing), PLACES, Some(capacity))
    }
}

/// The capacity lies between 3.5 and 7 times the top alignment. How many places wrap is open, and what
/// remains of the capacity beyond whole units: nothing, or capacities that stand for the other
/// cases. Sizes are taken to be spread evenly in their logarithm.
fn unknown_capacity(top: Bytes) -> Vec<(f64, Option<Bytes>)> {
    /// Whole in every unit, off by a third, off by half of some power of two.
    const WHOLE: f64 = 0.5;
    const THIRDS: f64 = 0.2;
    const HALVES: f64 = 0.3;
    /// Quarters of the top alignment that stand for three, two, one wrapped place, with the share of
    /// all capacities that wrap.
    const WRAPS: [(u64, f64); 3] = [(15, 0.25), (18, 0.41), (22, 0.34)];
    const HALF_UNITS: [Bytes; 4] = [Bytes::mib(2), Bytes::mib(4), Bytes::mib(8), Bytes::mib(16)];
    let mut cases = vec![(WHOLE, None)];
    let largest = top.get() / 64;
    let halves: Vec<u64> = HALF_UNITS
        .iter()
        .map(|half| half.get())
        .filter(|half| *half <= largest)
        .collect();
    for (quarters, share) in WRAPS {
        let Some(near) = (top.get() / 4).checked_mul(quarters) else {
            continue;
        };
        // 1 and 2 modulo 3 of a large power-of-two unit.
        let unit = largest.max(1);
        for residue in [1, 2] {
            let units = near / unit / 3 * 3 + residue;
            cases.push((THIRDS * share / 2.0, Some(Bytes(units * unit))));
        }
        for half in &halves {
            let capacity = Bytes(near / (2 * half) * 2 * half + half);
            cases.push((HALVES * share / halves.len() as f64, Some(capacity)));
        }
    }
    let total: f64 = cases.iter().map(|(weight, _)| weight).sum();
    cases
        .iter()
        .map(|(weight, capacity)| (weight / total, *capacity))
        .collect()
}

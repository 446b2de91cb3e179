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

/// Comparable scans.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Combined lines, by falling alignment, in microseconds. Without the two top lines.
    pub points: Vec<Point>,
    /// The same of each scan that is no copy of another.
    pub scans: Vec<Vec<Point>>,
    /// How long a read takes, in microseconds.
    pub base: f64,
    /// Where the reads lie; several when that is not known, with weights that add up to one.
    pub places: Vec<(f64, Places)>,
    /// The lines are of `odd * 2^k` only; `None` for a ladder of several odd factors.
    pub odd: Option<u64>,
}

/// Combine scans into profiles.
pub(super) fn profiles(scans: &[&AlignScan], capacity: Option<Bytes>) -> Vec<Profile> {
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
    groups
        .iter()
        .filter_map(|group| combine(group, capacity))
        .collect()
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

fn combine(group: &[&AlignScan], capacity: Option<Bytes>) -> Option<Profile> {
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
    let usable = |align: Bytes| top < LONG_LADDER || align.get() < top.get() / 2;
    let complete = group.iter().any(|scan| scan.request.has_command);
    let keep = |align: Bytes| !complete || usable(align);

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
        places: places(group, top, complete, odd, capacity),
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
    capacity: Option<Bytes>,
) -> Vec<(f64, Places)> {
    let smallest = group
        .iter()
        .flat_map(|scan| scan.lines.iter().map(|line| line.align))
        .min()
        .unwrap_or(top);
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
        // A private version with interleaved lines: what it used as spacing is not known, nor how
        // it wrapped.
        let power = group
            .iter()
            .flat_map(|scan| scan.lines.iter().map(|line| line.align))
            .filter(|align| odd_part(*align) == 1)
            .max()
            .unwrap_or(top);
        return vec![
            (0.5, with(top, PLACES, None)),
            (0.5, with(power, PLACES, None)),
        ];
    }
    let Some(capacity) = capacity else {
        return unknown_capacity(top, with);
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
    let of_old = complete && (16..=32).contains(&share);
    if of_old {
        vec![(1.0, with(top, PLACES_OF_OLD, Some(capacity)))]
    } else if complete && top.get() != spacing {
        // Neither version: a partition, or another device's capacity.
        vec![(1.0, with(top, PLACES, None))]
    } else {
        vec![(1.0, with(Bytes(spacing), PLACES, Some(capacity)))]
    }
}

/// The capacity lies between 3.5 and 7 times the top alignment. How many places wrap, and to which
/// residue of an odd unit, is open: no wrapping, or capacities that stand for the cases. Capacities
/// are taken to be spread evenly in their logarithm.
fn unknown_capacity(
    top: Bytes,
    with: impl Fn(Bytes, u32, Option<Bytes>) -> Places,
) -> Vec<(f64, Places)> {
    let mut variants = vec![(0.45, with(top, PLACES, None))];
    // Residues 1 and 2 modulo 3 of a whole number of power-of-two units.
    let unit = (top.get() / 64).max(1);
    for (quarters, weight) in [(15u64, 0.19), (18, 0.32), (22, 0.26)] {
        let Some(near) = (top.get() / 4).checked_mul(quarters) else {
            continue;
        };
        let units = near / unit;
        for residue in [1, 2] {
            let units = units - units % 3 + residue;
            // A power of two times an odd number of units keeps 2^k grids whole.
            variants.push((
                0.55 * weight / 0.77 / 2.0,
                with(top, PLACES, Some(Bytes(units * unit))),
            ));
        }
    }
    variants
}

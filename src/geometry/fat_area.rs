//! Special zones near the start of a device, where the FAT of the shipped file system lies.
//!
//! The rates of each of the first blocks are compared with the level that most of the device has.
//! Two kinds are known: one faster block at 4 MiB (SanDisk cards, whose shipped FAT ends at 8 MiB),
//! and two or three slower blocks at the very start.

mod discoveries;
pub mod scan;

use crate::geometry::{Zone, ZoneKind};
use crate::units::Bytes;

/// A block is special when its rate is off the common level by more than this, either way. Blocks 0
/// and 1 of many cards are 5 to 30 % slower, which is no zone.
pub const SPECIAL: f64 = 1.5;
/// At this share of the sizes, and in the mean.
const MOST_SIZES: f64 = 0.6;
/// Sizes below the page say how small writes are handled, not where a zone is.
pub const SMALLEST_JUDGED: Bytes = Bytes::kib(16);
/// A single block further inside is the state that earlier writes left, not a zone.
const LONE_BLOCK_STARTS: Bytes = Bytes::mib(4);
/// A zone of several blocks starts no later.
const ZONE_STARTS: Bytes = Bytes::mib(16);

/// Columns within this factor of each other have one level.
const SAME_LEVEL: f64 = 1.25;

/// The rates of the first blocks at one request size.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The request size.
    pub size: Bytes,
    /// Bytes per second in block 0, 1, 2 …; the same number of blocks in every row.
    pub bytes_per_second: Vec<f64>,
}

/// What the rows say.
#[derive(Clone, Debug, PartialEq)]
pub struct Zones {
    /// The zones, by address.
    pub zones: Vec<Zone>,
    /// Blocks that are off the common level but are no zone.
    pub odd_blocks: Vec<usize>,
    /// The probability that the division into special and ordinary is right.
    pub confidence: f64,
    /// The mean rate of each block relative to the common level.
    pub levels: Vec<f64>,
}

/// Find zones in blocks of `step` bytes. `None`: too few blocks or sizes to tell a common level.
pub fn zones(rows: &[Row], step: Bytes) -> Option<Zones> {
    let blocks = rows.first()?.bytes_per_second.len();
    let judged: Vec<&Row> = rows
        .iter()
        .filter(|row| {
            row.size >= SMALLEST_JUDGED
                && row.bytes_per_second.len() == blocks
                && row.bytes_per_second.iter().all(|rate| *rate > 0.0)
        })
        .collect();
    if blocks < 3 || judged.len() < 2 {
        return None;
    }
    let common = common_blocks(&judged, blocks)?;
    let ratios = |row: &Row| -> Vec<f64> {
        let level = mean(common.iter().map(|block| row.bytes_per_second[*block].ln()));
        row.bytes_per_second
            .iter()
            .map(|rate| rate.ln() - level)
            .collect()
    };
    let table: Vec<Vec<f64>> = judged.iter().map(|row| ratios(row)).collect();
    let threshold = SPECIAL.ln();
    let mut special = vec![false; blocks];
    let mut levels = vec![1.0; blocks];
    let mut sides = vec![1.0; blocks];
    for block in 0..blocks {
        let column: Vec<f64> = table.iter().map(|row| row[block]).collect();
        let off = column
            .iter()
            .filter(|ratio| ratio.abs() > threshold)
            .count();
        let level = mean(column.iter().copied());
        let spread = mean(column.iter().map(|ratio| (ratio - level).powi(2))).sqrt();
        let error = (spread / (column.len() as f64).sqrt()).max(0.01);
        special[block] = off as f64 >= MOST_SIZES * column.len() as f64 && level.abs() >= threshold;
        levels[block] = level.exp();
        // Logistic approximation of the normal distribution.
        sides[block] = 1.0 / (1.0 + (-1.7 * (level.abs() - threshold).abs() / error).exp());
    }
    let confidence = confidence(&sides, &special, step);
    let every: Vec<Vec<f64>> = rows
        .iter()
        .filter(|row| row.bytes_per_second.len() == blocks)
        .map(ratios)
        .collect();
    let mut zones = Vec::new();
    let mut odd_blocks = Vec::new();
    let mut block = 0;
    while block < blocks {
        if !special[block] {
            block += 1;
            continue;
        }
        let first = block;
        let faster = levels[first] > 1.0;
        while block < blocks && special[block] && (levels[block] > 1.0) == faster {
            block += 1;
        }
        let from = Bytes(step.get().saturating_mul(first as u64));
        let latest = if block - first == 1 {
            LONE_BLOCK_STARTS
        } else {
            ZONE_STARTS
        };
        if from > latest || block == blocks {
            odd_blocks.extend(first..block);
            continue;
        }
        zones.push(Zone {
            from_bytes: from,
            to_bytes: Bytes(step.get().saturating_mul(block as u64)),
            kind: kind(&every, first..block),
        });
    }
    Some(Zones {
        zones,
        odd_blocks,
        confidence,
        levels,
    })
}

/// The probability that every block that matters is on its side of the threshold. A block further
/// inside matters only next to one that is, or may be, special.
fn confidence(sides: &[f64], special: &[bool], step: Bytes) -> f64 {
    const DOUBTFUL: f64 = 0.9;
    let may_be = |block: usize| special[block] || sides[block] < DOUBTFUL;
    (0..sides.len())
        .filter(|block| {
            step.get().saturating_mul(*block as u64) <= LONE_BLOCK_STARTS.get()
                || (*block > 0 && may_be(block - 1))
                || (block + 1 < sides.len() && may_be(block + 1))
        })
        .map(|block| sides[block])
        .product()
}

/// The blocks that show the common level: those like the last one, which is nearest to the rest of
/// the device, unless it is alone; then the largest group.
fn common_blocks(rows: &[&Row], blocks: usize) -> Option<Vec<usize>> {
    let levels: Vec<f64> = (0..blocks)
        .map(|block| mean(rows.iter().map(|row| row.bytes_per_second[block].ln())))
        .collect();
    let like = |level: f64| -> Vec<usize> {
        (0..blocks)
            .filter(|block| (levels[*block] - level).abs() <= SAME_LEVEL.ln())
            .collect()
    };
    let last = like(levels[blocks - 1]);
    if last.len() >= 2 && last.len() * 3 >= blocks {
        return Some(last);
    }
    let largest = levels
        .iter()
        .map(|level| like(*level))
        .max_by_key(Vec::len)?;
    (largest.len() >= 2).then_some(largest)
}

/// Faster or slower at all sizes that differ, else different.
fn kind(rows: &[Vec<f64>], blocks: std::ops::Range<usize>) -> ZoneKind {
    let threshold = SPECIAL.ln();
    let (mut faster, mut slower) = (false, false);
    for row in rows {
        let ratio = mean(row[blocks.clone()].iter().copied());
        faster |= ratio > threshold;
        slower |= ratio < -threshold;
    }
    match (faster, slower) {
        (true, false) => ZoneKind::Faster,
        (false, true) => ZoneKind::Slower,
        _ => ZoneKind::Different,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[f64], sizes: u64) -> Vec<Row> {
        (0..sizes)
            .map(|k| Row {
                size: Bytes((4 << 20) >> k),
                bytes_per_second: columns.to_vec(),
            })
            .collect()
    }

    fn found(columns: &[f64]) -> Vec<(u64, u64, ZoneKind)> {
        zones(&rows(columns, 9), Bytes::mib(4))
            .unwrap()
            .zones
            .iter()
            .map(|z| (z.from_bytes.get() >> 20, z.to_bytes.get() >> 20, z.kind))
            .collect()
    }

    #[test]
    fn the_two_known_kinds_are_found() {
        let fast_second = [4.4, 8.3, 4.4, 4.45, 4.4, 4.42, 4.4, 4.38];
        assert_eq!(found(&fast_second), [(4, 8, ZoneKind::Faster)]);
        let slow_prefix = [0.4, 0.4, 0.41, 2.0, 2.0, 2.0, 2.0, 1.9];
        assert_eq!(found(&slow_prefix), [(0, 12, ZoneKind::Slower)]);
    }

    #[test]
    fn small_deficits_and_lone_blocks_inside_are_no_zones() {
        assert_eq!(found(&[3.8, 4.9, 5.1, 5.0, 5.0, 5.1, 5.0, 5.0]), []);
        assert_eq!(found(&[5.0, 5.0, 5.0, 10.0, 5.0, 5.0, 5.0, 5.0]), []);
        assert_eq!(found(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 1.0]), []);
    }

    #[test]
    fn a_zone_behind_ordinary_blocks_is_measured_against_the_rest() {
        let sandisk = [17.7, 18.5, 7.5, 7.4, 7.6, 7.2, 18.4];
        let zones = zones(&rows(&sandisk, 8), Bytes::mib(2)).unwrap().zones;
        assert_eq!(zones.len(), 1);
        assert_eq!(
            (zones[0].from_bytes, zones[0].to_bytes),
            (Bytes::mib(4), Bytes::mib(12))
        );
    }

    #[test]
    fn slower_for_large_and_faster_for_small_writes_is_different() {
        let mut rows = rows(&[2.6, 2.7, 4.4, 4.4, 4.4, 4.4], 9);
        rows.push(Row {
            size: Bytes::kib(4),
            bytes_per_second: vec![0.86, 0.89, 0.18, 0.19, 0.2, 0.19],
        });
        let zones = zones(&rows, Bytes::mib(4)).unwrap().zones;
        assert_eq!(zones[0].kind, ZoneKind::Different);
        assert_eq!(zones[0].to_bytes, Bytes::mib(8));
    }

    #[test]
    fn too_little_to_compare_gives_no_answer() {
        assert_eq!(zones(&rows(&[1.0, 2.0], 9), Bytes::mib(4)), None);
        assert_eq!(zones(&rows(&[1.0, 2.0, 4.0, 8.0], 9), Bytes::mib(4)), None);
        assert_eq!(zones(&[], Bytes::mib(4)), None);
    }
}

//! The FAT area from find-fat runs.

use super::robust::median;
use crate::geometry::fat_area::{self, Row, Zones};
use crate::geometry::{FatArea, Verdict};
use crate::measure::flashbench_log::FindFatRun;
use crate::units::Bytes;

/// Told from here on.
const LIKELY: f64 = 0.9;
const CONFIRMED: f64 = 0.99;

/// Infer the special zones.
pub(super) fn infer(runs: &[&FindFatRun]) -> FatArea {
    let mut distinct: Vec<&FindFatRun> = Vec::new();
    for run in runs {
        if distinct.iter().all(|known| known.lines != run.lines) {
            distinct.push(run);
        }
    }
    // Runs with blocks of one size are repetitions of each other; the size with most runs counts.
    let step = |run: &FindFatRun| {
        let first = run.lines.first().map(|line| line.size);
        run.request
            .erasesize
            .filter(|asked| first.is_some_and(|first| *asked >= first))
            .or(first)
    };
    let Some(size) = distinct
        .iter()
        .filter_map(|run| step(run))
        .max_by_key(|size| {
            distinct
                .iter()
                .filter(|run| step(run) == Some(*size))
                .count()
        })
    else {
        return FatArea::default();
    };
    let group: Vec<&FindFatRun> = distinct
        .into_iter()
        .filter(|run| step(run) == Some(size))
        .collect();
    let single: Vec<Option<Zones>> = group
        .iter()
        .map(|run| fat_area::zones(&rows(&[run]), size))
        .collect();
    let Some(mut zones) = fat_area::zones(&rows(&group), size) else {
        return FatArea {
            verdict: Verdict::NotVisible,
            evidence: vec![
                "too few blocks or sizes in the find-fat run to tell a common level".to_owned(),
            ],
            ..FatArea::default()
        };
    };
    let agreeing = single
        .iter()
        .flatten()
        .filter(|own| {
            own.zones.len() == zones.zones.len()
                && own
                    .zones
                    .iter()
                    .zip(&zones.zones)
                    .all(|(a, b)| (a.from_bytes, a.to_bytes) == (b.from_bytes, b.to_bytes))
        })
        .count();
    let doubtful = agreeing < 2 && withdraw_lone_slow_block(&mut zones, size);
    let verdict = if doubtful || zones.confidence < LIKELY {
        Verdict::NotVisible
    } else if zones.confidence >= CONFIRMED && agreeing >= 2 {
        Verdict::Confirmed
    } else {
        Verdict::Likely
    };
    let told = verdict.is_told();
    FatArea {
        verdict,
        evidence: evidence(&zones, size, group.len(), agreeing),
        confidence: zones.confidence,
        zones: if told { zones.zones } else { Vec::new() },
    }
}

/// Block 1 alone is known to be faster where the FAT ends (SanDisk); slower alone it is rather the state
/// that earlier writes left, unless the test was repeated.
fn withdraw_lone_slow_block(zones: &mut Zones, step: Bytes) -> bool {
    let slow = zones.levels.get(1).is_some_and(|level| *level < 1.0);
    let before = zones.zones.len();
    zones
        .zones
        .retain(|zone| !(slow && zone.from_bytes == step && zone.to_bytes.get() == 2 * step.get()));
    let withdrawn = zones.zones.len() < before;
    if withdrawn {
        zones.odd_blocks.insert(0, 1);
    }
    withdrawn
}

/// One table: for each size and block the median over the runs. The first line of a run carries the
/// clean-up of what was written before and is left out when others remain.
fn rows(runs: &[&FindFatRun]) -> Vec<Row> {
    let mut sizes: Vec<Bytes> = runs
        .iter()
        .flat_map(|run| {
            let skip = usize::from(run.lines.len() > 3);
            run.lines.iter().skip(skip).map(|line| line.size)
        })
        .collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let blocks = runs
        .iter()
        .flat_map(|run| run.lines.iter().map(|line| line.bytes_per_second.len()))
        .max()
        .unwrap_or(0);
    sizes
        .into_iter()
        .filter_map(|size| {
            let same: Vec<&[f64]> = runs
                .iter()
                .flat_map(|run| &run.lines)
                .filter(|line| line.size == size && line.bytes_per_second.len() == blocks)
                .map(|line| line.bytes_per_second.as_slice())
                .collect();
            let bytes_per_second = (0..blocks)
                .map(|block| median(&same.iter().map(|rates| rates[block]).collect::<Vec<_>>()))
                .collect::<Option<Vec<f64>>>()?;
            Some(Row {
                size,
                bytes_per_second,
            })
        })
        .collect()
}

fn evidence(zones: &Zones, step: Bytes, runs: usize, agreeing: usize) -> Vec<String> {
    let level = |block: usize| zones.levels.get(block).copied().unwrap_or(1.0);
    let block_of = |at: Bytes| usize::try_from(at.get() / step.get().max(1)).unwrap_or(usize::MAX);
    let mut all: Vec<String> = zones
        .zones
        .iter()
        .map(|zone| {
            let levels: Vec<String> = (block_of(zone.from_bytes)..block_of(zone.to_bytes))
                .map(|block| format!("{:.2}", level(block)))
                .collect();
            format!(
                "writes between {} and {} run at {} of the common rate (from 16 KiB up)",
                zone.from_bytes,
                zone.to_bytes,
                levels.join(", ")
            )
        })
        .collect();
    if all.is_empty() {
        let off = (0..zones.levels.len())
            .max_by(|a, b| level(*a).ln().abs().total_cmp(&level(*b).ln().abs()))
            .unwrap_or(0);
        all.push(format!(
            "no zone: the block furthest off the common rate is number {off} with {:.2}, a zone differs by more than {} at most sizes",
            level(off),
            fat_area::SPECIAL
        ));
    }
    if !zones.odd_blocks.is_empty() {
        all.push(format!(
            "blocks {:?} differ too, but lie alone or far inside: the state that earlier writes left",
            zones.odd_blocks
        ));
    }
    all.push(format!("{agreeing} of {runs} runs show the same"));
    all
}

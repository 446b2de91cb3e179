//! Whether the first megabytes are special.

use super::Ground;
use crate::geometry::fat_area::scan::{Bar, FEWEST_REFERENCES, Search};
use crate::geometry::{FatArea, Rate};
use crate::measure::fat_area::{self, Sites};
use crate::measure::meter::{Stop, WriteMeter};
use crate::plan::alignment;
use crate::units::{ByteRange, Bytes};
use std::time::Duration;

/// Zones may be smaller than the erase block: 4 MiB under 8 MiB boundaries are known.
const LARGEST_STEP: Bytes = Bytes::mib(2);
/// The search goes no further from the start than so many steps.
const MOST_STEPS: usize = 40;
/// References that it may use.
const REFERENCES: usize = 8;
/// The size of a write where the page is not told.
const USUAL_PAGE: Bytes = Bytes::kib(16);
/// A step has room for so many writes at least.
const PIECES: u64 = 32;

/// What was found, and the picture of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The zones.
    pub fat_area: FatArea,
    /// Speed along the first megabytes.
    pub bars: Vec<Bar>,
}

/// Test it. Where the start of the device may not be written, nothing is tested.
pub fn run(meter: &mut WriteMeter<'_>, ground: &mut Ground<'_>) -> (Found, Option<Stop>) {
    let Some(sites) = sites(meter, ground) else {
        let mut found = Found::default();
        let reason = "not tested: tests may not write to the start of the device";
        found.fat_area.evidence.push(reason.to_owned());
        return (found, None);
    };
    let mut search = Search::new(step_of(&sites), sites.steps.len(), sites.references.len());
    let progress = &mut *ground.progress;
    progress("until the last test is forgotten", meter.cost());
    let spare = sites.references.last().copied().unwrap_or(sites.data);
    let limit = &ground.geometry.open_au.linear;
    let open = limit.at_most.or(limit.at_least).unwrap_or(MOST_KNOWN);
    // Whatever counts as open after four times as many changes from unit to unit is open; a stick
    // that keeps a single unit open forgets the others with the first.
    let visits = if open < 2 { 2 } else { 4 * open as usize + 8 };
    // What counts is the visit: the smaller the write, the fewer bytes it costs.
    let block = ground.facts.logical_block.bytes();
    let small = Bytes(sites.size.get() / SMALL / block.get() * block.get()).max(block);
    let mut stop = fat_area::forget(meter, [sites.data, spare], small, visits, ground.rng).err();
    let usual = usual(&ground.geometry.throughput.write, sites.size);
    if let Some(usual) = usual.filter(|_| stop.is_none()) {
        stop = fat_area::settle(meter, spare, sites.size, usual, ground.rng).err();
    }
    if stop.is_none() {
        stop = fat_area::run(
            meter,
            &mut search,
            &sites,
            ground.rng,
            &mut |meter, inquiry| {
                progress(&inquiry.standing(), meter.cost());
            },
        )
        .err();
    }
    let found = Found {
        fat_area: search.finish(stop.is_none()),
        bars: search.bars(),
    };
    (found, stop)
}

/// What a write of this size took before the tests that left something behind.
fn usual(rates: &[Rate], size: Bytes) -> Option<Duration> {
    let rate = rates.iter().find(|rate| rate.bytes == size)?;
    Duration::try_from_secs_f64(size.get() as f64 / rate.bytes_per_second).ok()
}

/// Writes that only make a stick forget are so many times smaller than those that are timed.
const SMALL: u64 = 16;
/// Units that may be open when the limit is not known.
const MOST_KNOWN: u32 = 16;

fn step_of(sites: &Sites) -> Bytes {
    sites
        .steps
        .first()
        .map_or(Bytes::ZERO, |step| step.length())
}

fn sites(meter: &WriteMeter<'_>, ground: &mut Ground<'_>) -> Option<Sites> {
    let found = &ground.geometry.erase_block;
    let told = found.bytes.filter(|_| found.verdict.is_told());
    let unit = told.unwrap_or(alignment(ground.geometry, ground.facts).alignment.grain());
    let phase = found
        .phase_bytes
        .filter(|_| told.is_some())
        .unwrap_or(Bytes::ZERO);
    let block = ground.facts.logical_block.bytes();
    let step = unit.min(LARGEST_STEP);
    let page = &ground.geometry.page;
    let size = page
        .bytes
        .filter(|_| page.verdict.is_told())
        .unwrap_or(USUAL_PAGE)
        .min(Bytes(step.get() / PIECES))
        .min(meter.largest());
    let size = Bytes(size.get() / block.get() * block.get()).max(block);
    let steps: Vec<ByteRange> = (0..MOST_STEPS as u64)
        .map(|n| ByteRange {
            from: Bytes(n * step.get()),
            to: Bytes((n + 1) * step.get()),
        })
        // Not into the references.
        .take_while(|range| range.to.get() <= meter.capacity().get() / 4)
        .take_while(|range| ground.territory.contains(*range))
        .collect();
    let middle = Bytes(meter.capacity().get() / 2);
    let units = ground
        .territory
        .units(unit, phase, 3, REFERENCES + 1, middle);
    let units: Vec<ByteRange> = units
        .into_iter()
        .filter(|range| range.from >= middle)
        .collect();
    let (data, references) = units.split_first()?;
    if steps.len() < FEWEST_REFERENCES || references.len() < FEWEST_REFERENCES {
        return None;
    }
    for range in units.iter().chain(&steps) {
        ground.territory.take(*range);
    }
    Some(Sites {
        references: references
            .iter()
            .map(|range| ByteRange {
                from: range.from,
                to: Bytes(range.from.get() + step.get()),
            })
            .collect(),
        data: *data,
        steps,
        size,
        unit,
    })
}

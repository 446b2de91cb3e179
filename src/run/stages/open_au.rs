//! How many allocation units stay open.

use super::Ground;
use crate::geometry::open_au::Pair;
use crate::geometry::open_au::scan::{self, FEWEST, Found, MOST, SPARES, Setup};
use crate::measure::meter::{Stop, WriteMeter};
use crate::measure::open_au::Lanes;
use crate::plan::alignment;
use crate::units::{ByteRange, Bytes};

/// The size of a write where the page is not told: a page of most sticks of the last fifteen years,
/// or a whole number of smaller ones.
const USUAL_PAGE: Bytes = Bytes::kib(16);
/// A unit is written in at least so many pieces, so that no test fills it.
const PIECES: u64 = 64;
/// Units stand so many of their size apart, as far as there is room: half, a third or a quarter of
/// the true unit then still lies in a true unit of its own.
const APART: [u64; 6] = [12, 8, 6, 4, 3, 2];

/// Test it.
pub fn run(meter: &mut WriteMeter<'_>, ground: &mut Ground<'_>) -> (Found, Option<Stop>) {
    let found = &ground.geometry.erase_block;
    let told = found.bytes.filter(|_| found.verdict.is_told());
    let fallback = alignment(ground.geometry, ground.facts);
    let unit = told.unwrap_or(fallback.alignment.grain());
    let phase = found
        .phase_bytes
        .filter(|_| told.is_some())
        .unwrap_or(Bytes::ZERO);
    let block = ground.facts.logical_block.bytes();
    let page = &ground.geometry.page;
    let size = page
        .bytes
        .filter(|_| page.verdict.is_told())
        .unwrap_or(USUAL_PAGE)
        .min(Bytes(unit.get() / PIECES))
        .min(meter.largest());
    let size = Bytes(size.get() / block.get() * block.get()).max(block);
    // Two levels of splitting: into the sub-unit or halves, and that into halves.
    let parts = parts(unit, found.sub_unit_bytes.filter(|_| told.is_some()), block);
    let wanted = MOST + SPARES + parts.len();
    // Zones are looked for at the start: not there.
    let from = Bytes(meter.capacity().get() / 4);
    let ranges = APART
        .iter()
        .map(|apart| ground.territory.units(unit, phase, *apart, wanted, from))
        .reduce(|best, next| {
            if best.len() >= wanted || best.len() >= next.len() {
                best
            } else {
                next
            }
        })
        .unwrap_or_default();
    if ranges.len() < FEWEST + SPARES + parts.len() {
        let reason = "not tested: there is no room for enough units where tests may write";
        let mut found = Found::default();
        found.open_aus.linear.evidence.push(reason.to_owned());
        found.open_aus.random.count.evidence.push(reason.to_owned());
        return (found, None);
    }
    for range in &ranges {
        ground.territory.take(*range);
    }
    let (split, whole) = ranges.split_at(parts.len());
    let most = whole.len().saturating_sub(SPARES).min(MOST);
    let mut lanes: Vec<ByteRange> = whole.to_vec();
    let mut pairs = Vec::new();
    for ((whole, part), range) in parts.iter().zip(split) {
        pairs.push(Pair {
            first: lanes.len(),
            second: lanes.len() + 1,
            whole: *whole,
            part: *part,
        });
        let second = Bytes(range.from.get() + part.get());
        lanes.extend([
            ByteRange {
                from: range.from,
                to: second,
            },
            ByteRange {
                from: second,
                to: Bytes(second.get() + part.get()),
            },
        ]);
    }
    let setup = Setup {
        most,
        spares: (most..whole.len()).collect(),
        pairs,
        size,
        largest: meter
            .largest()
            .min(ground.facts.max_request.unwrap_or(meter.largest()))
            .min(Bytes(unit.get() / 4)),
        unit: told,
    };
    let mut lanes = Lanes::new(meter, ground.rng, ground.progress, &lanes, unit);
    scan::scan(&mut lanes, &setup)
}

/// How the unit may be made of smaller ones, as whole and part: the sub-unit that the reads showed,
/// else half, and half of that. Parts are whole logical blocks.
fn parts(unit: Bytes, sub_unit: Option<Bytes>, block: Bytes) -> Vec<(Bytes, Bytes)> {
    let half = |size: Bytes| Bytes(size.get() / 2);
    let first = sub_unit.unwrap_or(half(unit));
    [(unit, first), (first, half(first))]
        .into_iter()
        .filter(|(_, part)| part.is_multiple_of(block))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_split_at_its_sub_unit_and_that_in_halves() {
        let block = Bytes(512);
        assert_eq!(
            parts(Bytes::mib(12), Some(Bytes::mib(4)), block),
            [
                (Bytes::mib(12), Bytes::mib(4)),
                (Bytes::mib(4), Bytes::mib(2))
            ]
        );
        assert_eq!(
            parts(Bytes::mib(8), None, block),
            [
                (Bytes::mib(8), Bytes::mib(4)),
                (Bytes::mib(4), Bytes::mib(2))
            ]
        );
        assert_eq!(parts(Bytes(512), None, block), []);
    }
}

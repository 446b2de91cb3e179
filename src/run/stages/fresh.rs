//! The erase block of a stick that was never written: places are written before they are read.

use super::Ground;
use crate::geometry::erase_block::{Found, Search, Setup, blank_share};
use crate::measure::meter::{Content, Stop, WriteMeter};
use crate::measure::noise::Single;
use crate::measure::{base_read_size, fresh};
use rand::RngExt;

/// More places than this came back blank: then a scan by reads alone has too little to work with.
const MOSTLY_BLANK: f64 = 0.5;

/// Search again for the erase block where reads alone did not tell it and most places are blank
/// (`singles` are the reads of the noise stage). `None` when that is not the case.
///
/// Each place costs three writes of a few KiB. On a stick that keeps few units open every one of them
/// may cost a garbage collection, so only one read size is tried.
pub fn run(
    meter: &mut WriteMeter<'_>,
    ground: &mut Ground<'_>,
    singles: &[Single],
) -> (Option<Found>, Option<Stop>) {
    let told = ground.geometry.erase_block.verdict.is_told();
    let blank = blank_share(singles);
    if told || blank <= MOSTLY_BLANK {
        return (None, None);
    }
    // Where the search reads, nothing is blank any more.
    let singles: Vec<Single> = singles
        .iter()
        .map(|single| Single {
            content: Content::Data,
            ..*single
        })
        .collect();
    let mut search = Search::new(Setup {
        facts: ground.facts,
        capacity: meter.capacity(),
        singles: &singles,
        read_sizes: vec![base_read_size(ground.facts.logical_block)],
        seed: ground.rng.random(),
        may_confirm: true,
        within: Some(ground.territory.free()),
    });
    let stop = fresh::run(meter, &mut search, ground.rng, ground.progress).err();
    let mut found = search.finish(stop.as_ref());
    found.erase_block.evidence.insert(
        0,
        format!(
            "{:.0} % of the places came back blank, so each place was written before it was read",
            100.0 * blank
        ),
    );
    (Some(found), stop)
}

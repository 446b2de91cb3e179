//! What reads alone tell beside the erase block: the page, and rates by request size.

use crate::device::ReadDevice;
use crate::geometry::erase_block::leave_blank_out;
use crate::geometry::page::profile::Profile;
use crate::geometry::throughput::{rates, times};
use crate::geometry::{EraseBlock, Page, Rate};
use crate::measure::meter::{Cost, Meter, Stop};
use crate::measure::noise::Single;
use crate::measure::{alignment, throughput};
use crate::topology::Facts;
use crate::units::Bytes;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// The longest request of these stages; the meter must be made for it.
pub fn largest_request(facts: &Facts) -> Bytes {
    let sizes = throughput::request_sizes(facts);
    sizes.into_iter().max().unwrap_or(Bytes::ZERO)
}

/// The read part of the page. `erase_block` as far as it is told.
pub fn page<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    facts: &Facts,
    singles: &[Single],
    erase_block: &EraseBlock,
    rng: &mut Xoshiro256PlusPlus,
    progress: &mut dyn FnMut(&str, Cost),
) -> (Page, Option<Stop>) {
    let mut profile = Profile::new(
        meter.capacity(),
        facts.logical_block,
        erase_block,
        leave_blank_out(singles),
        rng.random(),
    );
    let stop = alignment::run(meter, &mut profile, rng, &mut |meter, inquiry| {
        progress(&inquiry.standing(), meter.cost());
    })
    .err();
    (profile.finish(), stop)
}

/// Read rates by request size.
pub fn read_rates<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    facts: &Facts,
    rng: &mut Xoshiro256PlusPlus,
) -> (Vec<Rate>, Option<Stop>) {
    let mut timed = Vec::new();
    let sizes = throughput::request_sizes(facts);
    let stop = throughput::reads(meter, &sizes, rng, &mut timed).err();
    (rates(&times(&timed)), stop)
}

//! A scan of a stick that was never written: each batch of places is written before it is read.
//!
//! Never-written places have no flash behind them, so crossing a boundary there costs nothing. A
//! few KiB around every place are enough: the controller then has to look both sides up.

use super::alignment;
use super::alignment::{Batch, Inquiry, Triple};
use super::meter::{Cost, Stop, WriteMeter};
use crate::units::{ByteRange, Bytes};
use rand::rngs::Xoshiro256PlusPlus;
use std::time::Duration;

/// Written ranges begin and end at multiples of this, the usual unit of a mapping table: a write of
/// half of it would have the controller read the rest first.
pub const MAP_UNIT: Bytes = Bytes::kib(4);

/// A write that takes so many times the usual one made the controller copy something.
const COLLECTION: u32 = 8;

/// How much a stick copies in a second while it tidies up: about what cheap sticks write.
const COPY_RATE: u64 = 20 << 20;

/// As [`alignment::run`], but every batch is written first, both sides of each of its places.
/// `progress` is told how the inquiry stands and what was spent.
///
/// # Errors
/// The stop reason when measuring ended before the inquiry did.
pub fn run(
    meter: &mut WriteMeter<'_>,
    inquiry: &mut dyn Inquiry,
    rng: &mut Xoshiro256PlusPlus,
    progress: &mut dyn FnMut(&str, Cost),
) -> Result<(), Stop> {
    let mut usual = Vec::new();
    while let Some(batch) = inquiry.next() {
        write_batch(meter, &batch, rng, &mut usual)?;
        let triples: Vec<Triple> = alignment::read_batch(meter, &batch, rng)?;
        inquiry.observe(&triples);
        progress(&inquiry.standing(), meter.cost());
    }
    Ok(())
}

/// In the order of the device: places that share a unit are written while it is open.
fn write_batch(
    meter: &mut WriteMeter<'_>,
    batch: &Batch,
    rng: &mut Xoshiro256PlusPlus,
    usual: &mut Vec<Duration>,
) -> Result<(), Stop> {
    let ranges = ranges(batch);
    meter.announce(&ranges)?;
    let largest = meter.largest();
    for range in ranges.into_iter().flat_map(|range| pieces(range, largest)) {
        let time = meter.write(range.from, range.length(), rng)?;
        // The lower quartile: at a stick that tidies up at every second write the middle is one.
        usual.push(time);
        usual.sort();
        let quick = usual[usual.len() / 4];
        if time > quick * COLLECTION {
            let seconds = (time - quick).as_secs_f64();
            // Below 30 s, or the meter would have stopped.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            meter.charge(Bytes((seconds * COPY_RATE as f64) as u64));
        }
    }
    Ok(())
}

/// No request is longer than the meter's buffer.
fn pieces(range: ByteRange, largest: Bytes) -> impl Iterator<Item = ByteRange> {
    let step = largest.get().max(1);
    (0..range.length().get().div_ceil(step)).map(move |n| ByteRange {
        from: Bytes(range.from.get() + n * step),
        to: Bytes((range.from.get() + (n + 1) * step).min(range.to.get())),
    })
}

/// What has to be written for a batch: sorted, overlapping ones joined.
fn ranges(batch: &Batch) -> Vec<ByteRange> {
    let half = batch.read_size.get() / 2;
    let unit = MAP_UNIT.get();
    let mut all: Vec<ByteRange> = batch
        .sites
        .iter()
        .flat_map(|site| {
            let (at, wing) = (site.at.get(), site.wing.get());
            [at - wing, at, at + wing].map(|middle| ByteRange {
                from: Bytes((middle - half) / unit * unit),
                to: Bytes((middle + half).div_ceil(unit) * unit),
            })
        })
        .collect();
    all.sort_by_key(|range| range.from);
    let mut joined: Vec<ByteRange> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if range.from <= last.to => last.to = last.to.max(range.to),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::alignment::Site;

    #[test]
    fn both_sides_of_every_place_are_written_in_the_order_of_the_device() {
        let batch = Batch {
            sites: vec![
                Site {
                    at: Bytes::mib(8),
                    wing: Bytes::kib(256),
                },
                Site {
                    at: Bytes::mib(2),
                    wing: Bytes::kib(4),
                },
            ],
            read_size: Bytes::kib(1),
        };
        let kib = |from, to| ByteRange {
            from: Bytes::kib(from),
            to: Bytes::kib(to),
        };
        assert_eq!(
            ranges(&batch),
            [
                kib(2040, 2056),
                kib(7932, 7940),
                kib(8188, 8196),
                kib(8444, 8452)
            ]
        );
    }
}

//! Whether a device is as large as it claims.
//!
//! A counterfeit stick reports more than it has. Behind its real end it either loses what is
//! written, or ignores the upper address bits and begins again at 0. Three things show it:
//! - tags at distances of powers of two from one place, and at the very end, read back when other
//!   data went through the caches in between (the idea of f3probe, <https://fight-flash-fraud.readthedocs.io>);
//! - places far out that read like places near the start, of which one tag then proves that they
//!   are the same flash: this finds a wrap at any size;
//! - once the claim is refuted, bisection for the real end.
//!
//! All tagged places get back what stood there.

mod alias;

use super::meter::{Stop, WriteMeter};
use crate::units::{ByteRange, Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt};
use std::time::Duration;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealSize {
    /// Nothing refutes the claim.
    AsClaimed {
        /// How many places were tagged.
        tags: usize,
    },
    /// It ends here, if not before.
    Less {
        /// The first byte that is not there.
        end: Bytes,
        /// What lies behind the end.
        behind: Behind,
    },
    /// It was not found out.
    NotTested,
}

/// What happens to a write behind the real end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// It is lost.
    Lost,
    /// It overwrites something near the start.
    Wraps,
}

/// The first tag. Behind the boot sectors and tables that every system reads again and again.
const BASE: Bytes = Bytes::mib(1);

/// The smallest distance of a tag from the base: no device that anybody sells is smaller.
const NEAREST: u64 = 16 << 20;

/// Tags span this factor at most: a claim of 2 TB is tested from 512 MiB on.
const SPAN: u64 = 4096;

/// The accuracy of the real end.
const GRAIN: u64 = 1 << 20;

/// Other data between writing and reading back: more than the RAM of such controllers holds
/// (some hundred KiB).
const THROUGH_THE_CACHE: u64 = 4 << 20;

/// Find out. `rng` makes the tags. With the reason why it ended early, if it did: a claim that was
/// refuted by then stays so, with an end that is too low rather than too high, and tagged places may
/// still hold their tags.
pub fn real_size(
    meter: &mut WriteMeter<'_>,
    block: LogicalBlock,
    rng: &mut Xoshiro256PlusPlus,
) -> (RealSize, Option<Stop>) {
    let mut found = RealSize::NotTested;
    let stop = find(meter, block, rng, &mut found).err();
    (found, stop)
}

fn find(
    meter: &mut WriteMeter<'_>,
    block: LogicalBlock,
    rng: &mut Xoshiro256PlusPlus,
    found: &mut RealSize,
) -> Result<(), Stop> {
    let claimed = meter.capacity();
    let size = tag_size(block);
    if claimed.get() < 2 * NEAREST || meter.largest() < size {
        return Ok(());
    }
    let mut tags = Tags::new(places(claimed, size), size);
    tags.write(meter, rng)?;
    wash(meter, claimed, rng)?;
    let kept = tags.read(meter, rng)?;
    match Refuted::of(&tags.places, &kept) {
        None => {
            *found = match alias::find(meter, block, rng)? {
                None => RealSize::AsClaimed { tags: kept.len() },
                Some(end) => RealSize::Less {
                    end,
                    behind: Behind::Wraps,
                },
            };
        }
        Some(refuted) => refuted.end(meter, &mut tags, &kept, rng, found)?,
    }
    tags.put_back(meter)
}

/// One page of the usual size: smaller ones are merged with what stands around them.
fn tag_size(block: LogicalBlock) -> Bytes {
    block.bytes().max(Bytes(4096))
}

/// The base, the powers of two behind it, the end: ascending.
fn places(claimed: Bytes, size: Bytes) -> Vec<Bytes> {
    let mut places = vec![BASE];
    let mut distance = NEAREST.max((claimed.get() / SPAN).next_power_of_two());
    while BASE.get() + distance + size.get() <= claimed.get() {
        places.push(Bytes(BASE.get() + distance));
        match distance.checked_mul(2) {
            Some(next) => distance = next,
            None => break,
        }
    }
    let last = (claimed.get() - size.get()) / size.get() * size.get();
    if places.last().is_none_or(|place| place.get() < last) {
        places.push(Bytes(last));
    }
    places
}

/// Tagged places, and what stood there.
struct Tags {
    places: Vec<Bytes>,
    size: Bytes,
    tags: Vec<Vec<u8>>,
    /// Place and content, in the order of tagging.
    before: Vec<(Bytes, Vec<u8>)>,
}

impl Tags {
    fn new(places: Vec<Bytes>, size: Bytes) -> Tags {
        Tags {
            places,
            size,
            tags: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Keep what stands everywhere, then tag in ascending order.
    fn write(
        &mut self,
        meter: &mut WriteMeter<'_>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), Stop> {
        let ranges: Vec<ByteRange> = self.places.iter().map(|&at| range(at, self.size)).collect();
        meter.announce(&ranges)?;
        for &at in &self.places {
            meter.read(at, self.size, rng)?;
            self.before.push((at, meter.latest(self.size).to_vec()));
        }
        for &at in &self.places {
            let tag = tag(self.size, rng);
            meter.write_bytes(at, &tag)?;
            self.tags.push(tag);
        }
        meter.flush()?;
        Ok(())
    }

    /// Which tag stands at each place now; `None` when none does.
    fn read(
        &self,
        meter: &mut WriteMeter<'_>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Vec<Option<usize>>, Stop> {
        let mut found = Vec::new();
        for &at in &self.places {
            meter.read(at, self.size, rng)?;
            let now = meter.latest(self.size);
            found.push(self.tags.iter().position(|tag| tag == now));
        }
        Ok(found)
    }

    /// Tag one more place and see whether it keeps the tag.
    fn holds(
        &mut self,
        meter: &mut WriteMeter<'_>,
        at: Bytes,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<bool, Stop> {
        meter.announce(&[range(at, self.size)])?;
        meter.read(at, self.size, rng)?;
        self.before.push((at, meter.latest(self.size).to_vec()));
        let tag = tag(self.size, rng);
        meter.write_bytes(at, &tag)?;
        meter.flush()?;
        wash(meter, at, rng)?;
        meter.read(at, self.size, rng)?;
        Ok(meter.latest(self.size) == tag)
    }

    /// The last tagged first: two places may be the same flash.
    fn put_back(&self, meter: &mut WriteMeter<'_>) -> Result<(), Stop> {
        for (at, bytes) in self.before.iter().rev() {
            meter.write_bytes(*at, bytes)?;
        }
        meter.flush()?;
        Ok(())
    }
}

/// How the tags refute the claim.
#[derive(Debug, PartialEq, Eq)]
enum Refuted {
    /// These two places are the same flash.
    Wraps { low: Bytes, high: Bytes },
    /// The first place keeps its tag, the second does not.
    Lost { low: Bytes, high: Bytes },
}

impl Refuted {
    /// What the tags say; `kept[n]` is the tag that place n holds now.
    fn of(places: &[Bytes], kept: &[Option<usize>]) -> Option<Refuted> {
        let overwritten = (0..kept.len()).find_map(|n| Some((n, kept[n].filter(|m| *m > n)?)));
        if let Some((low, high)) = overwritten {
            return Some(Refuted::Wraps {
                low: places[low],
                high: places[high],
            });
        }
        Refuted::lost(places, kept)
    }

    fn lost(places: &[Bytes], kept: &[Option<usize>]) -> Option<Refuted> {
        let first = kept.iter().position(Option::is_none)?;
        Some(Refuted::Lost {
            low: first.checked_sub(1).map_or(Bytes::ZERO, |n| places[n]),
            high: places[first],
        })
    }

    /// Where the device really ends. `found` is right at any time, if not exact.
    fn end(
        self,
        meter: &mut WriteMeter<'_>,
        tags: &mut Tags,
        kept: &[Option<usize>],
        rng: &mut Xoshiro256PlusPlus,
        found: &mut RealSize,
    ) -> Result<(), Stop> {
        match self {
            Refuted::Wraps { low, high } => {
                *found = RealSize::Less {
                    end: low,
                    behind: Behind::Wraps,
                };
                let end = alias::period(meter, low, high, tags.size, rng)?;
                // Some lose a part of what they do not wrap.
                let below = tags.places.iter().filter(|at| **at < end).count();
                if let Some(Refuted::Lost { low, high }) =
                    Refuted::lost(&tags.places[..below], &kept[..below])
                {
                    return bisect(meter, low, high, tags, rng, found);
                }
                *found = RealSize::Less {
                    end,
                    behind: Behind::Wraps,
                };
                Ok(())
            }
            Refuted::Lost { low, high } => bisect(meter, low, high, tags, rng, found),
        }
    }
}

/// Find the first byte that is not there, rounded down to the grain.
fn bisect(
    meter: &mut WriteMeter<'_>,
    low: Bytes,
    high: Bytes,
    tags: &mut Tags,
    rng: &mut Xoshiro256PlusPlus,
    found: &mut RealSize,
) -> Result<(), Stop> {
    // In grains: what lies below `good` is there, what lies below `bad` is not all.
    let mut good = low.get() / GRAIN;
    let mut bad = high.get().div_ceil(GRAIN) + 1;
    loop {
        *found = RealSize::Less {
            end: Bytes(good.max(1) * GRAIN),
            behind: Behind::Lost,
        };
        if bad <= good + 1 {
            return Ok(());
        }
        let middle = good + (bad - good) / 2;
        // The last page of the grain before: the end may lie in the middle of one.
        let at = Bytes(middle * GRAIN - tags.size.get());
        if tags.holds(meter, at, rng)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
}

/// Other data through the device's caches: reads all over the part below `end`.
fn wash(meter: &mut WriteMeter<'_>, end: Bytes, rng: &mut Xoshiro256PlusPlus) -> Result<(), Stop> {
    let request = meter.largest().min(Bytes::mib(1));
    let slots = (end.get() / request.get()).max(1);
    let mut washed = 0;
    while washed < THROUGH_THE_CACHE {
        let at = Bytes(rng.random_range(0..slots) * request.get());
        meter.read(at, request, rng)?;
        washed += request.get();
    }
    meter.wait(Duration::from_millis(1))
}

fn range(at: Bytes, size: Bytes) -> ByteRange {
    ByteRange {
        from: at,
        to: Bytes(at.get() + size.get()),
    }
}

fn tag(size: Bytes, rng: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut tag = vec![0; usize::try_from(size.get()).unwrap_or(4096)];
    rng.fill_bytes(&mut tag);
    tag
}

#[cfg(test)]
mod tests;

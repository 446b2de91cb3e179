//! Places far out that are the same flash as places near the start.

use super::super::meter::{Stop, WriteMeter};
use super::{range, tag, tag_size, wash};
use crate::units::{Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Single reads far out, at most: about 2 s of a slow stick.
const READS: u64 = 2000;

/// Bounds of the stretch near the start that is read in whole: 2 MiB take 0.1 s of a slow stick,
/// 32 MiB take 1 s to 2 s.
const SHORTEST: u64 = 2 << 20;
const LONGEST: u64 = 32 << 20;

/// Where the stretch begins: behind tables and the first file allocation table, whose copies look
/// like one another.
const START: Bytes = Bytes::mib(4);

/// Suspicions that are tested by writing, at most. Copies of files look like aliases too.
const SUSPICIONS: usize = 4;

/// The size at which the addresses begin again, if they do and the content lets it be seen.
///
/// A stretch near the start is read whole, then single places in steps of its length: of every
/// stretch of that length one place is read, so whatever the size of a wrap, one of them lands in
/// the stretch. Nothing is written but to prove a suspicion.
pub(super) fn find(
    meter: &mut WriteMeter<'_>,
    block: LogicalBlock,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Option<Bytes>, Stop> {
    let claimed = meter.capacity();
    let step = meter.largest().min(Bytes::mib(1));
    let stretch = (claimed.get() / READS).clamp(SHORTEST, LONGEST) / step.get() * step.get();
    if claimed.get() < START.get() + 4 * stretch || stretch == 0 {
        return Ok(None);
    }
    let unit = block.bytes().get();
    let known = read_stretch(meter, stretch, step, unit, rng)?;
    if known.is_empty() {
        return Ok(None);
    }
    let size = tag_size(block);
    let mut suspicions = 0;
    let mut at = START.get() + stretch;
    for _ in 0..READS {
        if at + size.get() > claimed.get() || suspicions == SUSPICIONS {
            break;
        }
        meter.read(Bytes(at), size, rng)?;
        let first = meter.latest(block.bytes());
        if let Some(&low) = digest(first).and_then(|sum| known.get(&sum)) {
            suspicions += 1;
            if is_same(meter, Bytes(low), Bytes(at), size, rng)? {
                return Ok(Some(Bytes(at - low)));
            }
        }
        at += stretch;
    }
    Ok(None)
}

/// The smallest distance at which the addresses begin again, when those of two places do: it
/// divides their distance.
pub(super) fn period(
    meter: &mut WriteMeter<'_>,
    low: Bytes,
    high: Bytes,
    size: Bytes,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Bytes, Stop> {
    let mut period = high.get() - low.get();
    // Tags span a factor of a few thousand, and their distances are sums and differences of powers
    // of two: the number of periods between two of them has few other prime factors.
    for prime in [2, 3, 5, 7, 11, 13] {
        while period.is_multiple_of(prime * size.get()) {
            let middle = Bytes(low.get() + period / prime);
            if !is_same(meter, low, middle, size, rng)? {
                break;
            }
            period /= prime;
        }
    }
    Ok(Bytes(period))
}

/// Digest of every block of the stretch, to its place; those that occur twice tell nothing.
fn read_stretch(
    meter: &mut WriteMeter<'_>,
    stretch: u64,
    step: Bytes,
    unit: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<HashMap<u64, u64>, Stop> {
    let mut known = HashMap::new();
    let mut twice = Vec::new();
    let mut at = START.get();
    while at < START.get() + stretch {
        meter.read(Bytes(at), step, rng)?;
        let length = usize::try_from(unit).unwrap_or(4096);
        for (place, bytes) in (at..)
            .step_by(length)
            .zip(meter.latest(step).chunks(length))
        {
            if let Some(sum) = digest(bytes)
                && known.insert(sum, place).is_some()
            {
                twice.push(sum);
            }
        }
        at += step.get();
    }
    for sum in twice {
        known.remove(&sum);
    }
    Ok(known)
}

/// `None` for bytes that are all alike: they look the same everywhere.
fn digest(bytes: &[u8]) -> Option<u64> {
    let first = bytes.first()?;
    if bytes.iter().all(|byte| byte == first) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}

/// Whether a tag that is written to one place is read from the other. Puts back what stood there.
fn is_same(
    meter: &mut WriteMeter<'_>,
    low: Bytes,
    high: Bytes,
    size: Bytes,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<bool, Stop> {
    meter.announce(&[range(low, size)])?;
    meter.read(low, size, rng)?;
    let before = meter.latest(size).to_vec();
    let tag = tag(size, rng);
    meter.write_bytes(low, &tag)?;
    meter.flush()?;
    wash(meter, low, rng)?;
    meter.read(high, size, rng)?;
    let same = meter.latest(size) == tag;
    meter.write_bytes(low, &before)?;
    meter.flush()?;
    Ok(same)
}

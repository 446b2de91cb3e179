//! The stalls of a long write in order: the erase block where reads show nothing, the rate of long
//! writes, and the end of a fast cache.

use super::{Ground, stretch};
use crate::geometry::stall_comb::{Comb, SECOND_BOUNDARIES, Tooth, agrees, cache_end, verdict};
use crate::geometry::{EraseBlock, Warning};
use crate::measure::in_order::InOrder;
use crate::measure::meter::{Stop, WriteMeter};
use crate::measure::stall::{CHUNK, ChunkTime, chunks};
use crate::units::{ByteRange, Bytes};

/// The longest first stretch: 128 MiB hold eight boundaries of 16 MiB, twice that of 32 MiB.
const LONGEST: Bytes = Bytes::mib(256);

/// Nobody can tell anything from less than this.
const SHORTEST: Bytes = Bytes::mib(16);

/// After so much without a single stall no more is written.
const GIVE_UP: Bytes = Bytes::mib(64);

/// Looked at after so many chunks, and then after a quarter more each: few looks, and no more than a
/// quarter is written in vain.
const CHUNKS_PER_LOOK: usize = 256;

/// What the stalls tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// The erase block as far as the stalls tell it.
    pub erase_block: EraseBlock,
    /// The rate of the whole stretch, stalls included.
    pub bytes_per_second: Option<f64>,
    /// A fast cache that came to its end.
    pub warning: Option<Warning>,
}

/// Write up to 256 MiB in order, at most half of what may still be written, and where that tells a
/// size and phase a second stretch as an independent test. `None` when reads told the erase block, or
/// there is no room.
pub fn run(meter: &mut WriteMeter<'_>, ground: &mut Ground<'_>) -> (Option<Stalls>, Option<Stop>) {
    if ground.geometry.erase_block.verdict.is_told() {
        return (None, None);
    }
    let chunk = chunk_size(ground, meter.largest());
    let budget = Bytes(meter.writable().get() / 2 / chunk.get() * chunk.get()).min(LONGEST);
    let capacity = meter.capacity();
    let lengths = std::iter::successors(Some(budget), |length| Some(Bytes(length.get() / 2)));
    let stretch = lengths
        .take_while(|length| *length >= SHORTEST)
        .find_map(|length| stretch::take(ground, length, capacity));
    let Some(stretch) = stretch else {
        return (None, None);
    };
    let mut series = Vec::new();
    let mut comb = Comb::of(&series, chunk, ground.facts, capacity);
    let mut stop = first_stretch(meter, ground, stretch, chunk, &mut series, &mut comb).err();
    let mut second = None;
    if stop.is_none()
        && let Some(tooth) = comb.candidate()
    {
        match second_stretch(meter, ground, tooth, chunk) {
            Ok(answer) => second = answer,
            Err(early) => stop = Some(early),
        }
    }
    let seconds: f64 = series
        .iter()
        .map(|c: &ChunkTime| c.time.as_secs_f64())
        .sum();
    let bytes = series.len() as f64 * chunk.get() as f64;
    let stalls = Stalls {
        erase_block: verdict(&comb, second),
        bytes_per_second: (seconds > 0.0).then(|| (bytes / seconds).round()),
        warning: cache_end(&series).map(|end| end.warning()),
    };
    (Some(stalls), stop)
}

/// The largest power of two up to [`CHUNK`] that is one request.
fn chunk_size(ground: &Ground<'_>, largest: Bytes) -> Bytes {
    let largest = ground.facts.max_request.map_or(largest, |m| m.min(largest));
    let mut chunk = CHUNK;
    while chunk > largest && chunk > ground.facts.logical_block.bytes() {
        chunk = Bytes(chunk.get() / 2);
    }
    chunk
}

fn first_stretch(
    meter: &mut WriteMeter<'_>,
    ground: &mut Ground<'_>,
    stretch: ByteRange,
    chunk: Bytes,
    series: &mut Vec<ChunkTime>,
    comb: &mut Comb,
) -> Result<(), Stop> {
    let capacity = meter.capacity();
    let mut pen = InOrder::begin(meter, stretch, ground.rng)?;
    loop {
        let before = series.len();
        let more = CHUNKS_PER_LOOK.max(before / 4) as u64;
        let end = chunks(&mut pen, chunk, more, series);
        *comb = Comb::of(series, chunk, ground.facts, capacity);
        end?;
        let written = Bytes(series.len() as u64 * chunk.get());
        (ground.progress)(&format!("{} stalls in {written}", comb.stalls), pen.cost());
        let hopeless = comb.stalls == 0 && written >= GIVE_UP;
        if series.len() == before || comb.candidate().is_some() || hopeless {
            return Ok(());
        }
    }
}

/// Whether another stretch stalls at the same places. It begins a third of the size behind one, so
/// that stalls that come after so many bytes, wherever they are written, fall elsewhere. `None`
/// without room.
fn second_stretch(
    meter: &mut WriteMeter<'_>,
    ground: &mut Ground<'_>,
    tooth: Tooth,
    chunk: Bytes,
) -> Result<Option<bool>, Stop> {
    let unit = tooth.grid.grain();
    let room = Bytes((SECOND_BOUNDARIES + 2) * unit.get());
    if room > meter.writable() {
        return Ok(None);
    }
    let Some(stretch) = stretch::take(ground, room, meter.capacity()) else {
        return Ok(None);
    };
    let odd = Bytes(unit.get() / 3 / chunk.get() * chunk.get());
    let from = tooth.grid.up(stretch.from).unwrap_or(stretch.from);
    let from = Bytes(from.get() + odd.get());
    let count = SECOND_BOUNDARIES * unit.get() / chunk.get();
    let mut series = Vec::new();
    let mut pen = InOrder::begin(
        meter,
        ByteRange {
            from,
            to: stretch.to,
        },
        ground.rng,
    )?;
    chunks(&mut pen, chunk, count, &mut series)?;
    Ok(Some(agrees(&series, chunk, tooth)))
}

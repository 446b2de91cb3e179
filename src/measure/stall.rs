//! A long write in order, chunk by chunk: where it stalls, the stick opened or closed something.

use super::in_order::InOrder;
use super::meter::Stop;
use crate::units::Bytes;
use std::time::Duration;

/// The size of a chunk. Boundaries are located to within one; smaller ones would take longer for the
/// same stretch, as each write has a fixed cost.
pub const CHUNK: Bytes = Bytes::kib(64);

/// One chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkTime {
    /// Its first byte.
    pub at: Bytes,
    /// How long it took.
    pub time: Duration,
}

/// Write on for so many chunks.
///
/// # Errors
/// Whatever stops the writes; what was measured before is kept.
pub fn chunks(
    pen: &mut InOrder<'_, '_>,
    chunk: Bytes,
    count: u64,
    kept: &mut Vec<ChunkTime>,
) -> Result<(), Stop> {
    if !pen.go_to(chunk, Bytes::ZERO)? {
        return Ok(());
    }
    for _ in 0..count {
        let at = pen.at();
        match pen.write(chunk)? {
            Some(time) => kept.push(ChunkTime { at, time }),
            None => break,
        }
    }
    Ok(())
}

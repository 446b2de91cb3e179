//! Reads of several sizes at random places: how fast the device delivers, by request size.

use super::meter::{Content, Meter, Stop};
use crate::device::ReadDevice;
use crate::topology::Facts;
use crate::units::Bytes;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use std::time::Duration;

/// The sizes that people choose between for `dd bs=`, for cluster sizes and for read-ahead.
const SIZES: [Bytes; 7] = [
    Bytes::kib(4),
    Bytes::kib(8),
    Bytes::kib(16),
    Bytes::kib(32),
    Bytes::kib(64),
    Bytes::kib(128),
    Bytes::kib(512),
];

/// Reads of each size. A trimmed mean of nine is good to about a third of the scatter of one.
const ROUNDS: usize = 9;

/// A place that comes back blank is given up for another so often: never-written places answer
/// without reading any flash.
const BLANK_TRIES: usize = 3;

/// Places are multiples of this, so that no request crosses more boundaries than its size makes it.
const CELL: Bytes = Bytes::mib(1);

/// One access of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// How much.
    pub size: Bytes,
    /// How long it took.
    pub time: Duration,
}

/// The request sizes that this device takes in one piece. Where the kernel's limit is no power of
/// two (120 KiB on USB 2, `usb-storage` allows 240 sectors), the limit itself is the last one.
pub fn request_sizes(facts: &Facts) -> Vec<Bytes> {
    let block = facts.logical_block.bytes();
    let fits = |size: Bytes| facts.max_request.is_none_or(|most| size <= most);
    let mut sizes: Vec<Bytes> = SIZES
        .into_iter()
        .filter(|size| *size >= block && fits(*size))
        .collect();
    let last = facts
        .max_request
        .map(|most| Bytes(most.get() / block.get() * block.get()));
    match (last, sizes.last()) {
        (Some(last), Some(largest)) if last > *largest && last < Bytes(2 * largest.get()) => {
            sizes.push(last);
        }
        (Some(last), None) if last > Bytes::ZERO => sizes.push(last),
        _ => {}
    }
    sizes
}

/// Read each size at random places, the sizes in random order, so that a drift meets all alike.
pub fn reads<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    sizes: &[Bytes],
    rng: &mut Xoshiro256PlusPlus,
    kept: &mut Vec<Timed>,
) -> Result<(), Stop> {
    let cells = meter.capacity().get() / CELL.get();
    if cells == 0 {
        return Ok(());
    }
    let mut order = sizes.to_vec();
    for _ in 0..ROUNDS {
        order.shuffle(rng);
        for &size in &order {
            let mut timed = None;
            for _ in 0..BLANK_TRIES {
                let at = Bytes(rng.random_range(0..cells) * CELL.get());
                let (time, content) = meter.read(at, size, rng)?;
                timed = Some(Timed { size, time });
                if content == Content::Data {
                    break;
                }
            }
            kept.extend(timed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Transport;
    use crate::units::LogicalBlock;

    fn sizes(most: Option<Bytes>, block: LogicalBlock) -> Vec<u64> {
        let mut facts = Facts::bare("x", Transport::Usb, Some(Bytes::gib(1)), block);
        facts.max_request = most;
        request_sizes(&facts)
            .iter()
            .map(|s| s.get() / 1024)
            .collect()
    }

    #[test]
    fn no_request_is_longer_than_the_kernel_passes_on_in_one_piece() {
        let usual = [4, 8, 16, 32, 64];
        assert_eq!(
            sizes(Some(Bytes::kib(120)), LogicalBlock::B512),
            [&usual[..], &[120]].concat()
        );
        assert_eq!(sizes(Some(Bytes::kib(64)), LogicalBlock::B4096), usual);
        assert_eq!(
            sizes(None, LogicalBlock::B512),
            [&usual[..], &[128, 512]].concat()
        );
        assert_eq!(sizes(Some(Bytes::kib(2)), LogicalBlock::B512), [2]);
    }
}

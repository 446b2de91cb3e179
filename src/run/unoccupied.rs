//! Where write tests may write without touching a partition.

use crate::device::{AlignedBuffer, ReadDevice};
use crate::measure::territory::Territory;
use crate::table::read::mbr::Mbr;
use crate::units::{ByteRange, Bytes};

/// Write tests need this share of the device: units far apart from one another, forty and more.
const ENOUGH: u64 = 4;

/// What lies outside the partitions, if that is at least a quarter of the device; else all of it:
/// everything that is written is saved first and put back in either case.
pub fn territory(device: &mut dyn ReadDevice) -> Territory {
    let capacity = device.capacity();
    let whole = Territory::whole(capacity);
    let Some(partitions) = partitions(device) else {
        return whole;
    };
    let mut free = whole.clone();
    for partition in partitions {
        free.take(partition);
    }
    if free.size().get() >= capacity.get() / ENOUGH {
        free
    } else {
        whole
    }
}

/// The partitions of an MBR; `None` when there is no table that can be read so.
fn partitions(device: &mut dyn ReadDevice) -> Option<Vec<ByteRange>> {
    let block = device.logical_block();
    let mut sector = AlignedBuffer::new(usize::try_from(block.bytes().get()).ok()?);
    device.read(Bytes::ZERO, &mut sector).ok()?;
    let mbr = Mbr::parse(&sector)?;
    if mbr.is_protective() || !mbr.is_plausible() {
        return None;
    }
    let used: Vec<ByteRange> = mbr
        .used()
        .filter_map(|(_, entry)| {
            Some(ByteRange {
                from: entry.first.to_bytes(block)?,
                to: entry.first.checked_add(entry.sectors)?.to_bytes(block)?,
            })
        })
        .collect();
    (!used.is_empty()).then_some(used)
}

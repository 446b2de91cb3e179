//! A few bytes of a device that only gives whole logical blocks.

use crate::device::{AccessError, AlignedBuffer, ReadDevice};
use crate::units::{ByteRange, Bytes};

/// The longest piece that is read at once: bounds the memory whatever a table claims.
const LONGEST: u64 = 256 << 10;

/// The bytes of `[at, at + length)` that exist: shorter at the end of the device, empty behind it.
/// At most 256 KiB.
pub(super) fn read(
    device: &mut dyn ReadDevice,
    at: Bytes,
    length: Bytes,
) -> Result<Vec<u8>, AccessError> {
    let capacity = device.capacity();
    let to = at
        .checked_add(Bytes(length.get().min(LONGEST)))
        .map_or(capacity, |to| to.min(capacity));
    if at >= to {
        return Ok(Vec::new());
    }
    let blocks = blocks(device, ByteRange { from: at, to });
    let length = |range: ByteRange| usize::try_from(range.length().get()).unwrap_or(0);
    let mut buffer = AlignedBuffer::new(length(blocks));
    device.read(blocks.from, &mut buffer)?;
    let skip = length(ByteRange {
        from: blocks.from,
        to: at,
    });
    let take = length(ByteRange { from: at, to });
    Ok(buffer.iter().skip(skip).take(take).copied().collect())
}

/// The whole logical blocks around a range, inside the device.
pub(super) fn blocks(device: &dyn ReadDevice, range: ByteRange) -> ByteRange {
    let unit = device.logical_block().bytes().get();
    let whole = device.capacity().get() / unit * unit;
    ByteRange {
        from: Bytes((range.from.get() / unit * unit).min(whole)),
        to: Bytes(
            range
                .to
                .get()
                .div_ceil(unit)
                .saturating_mul(unit)
                .min(whole),
        ),
    }
}

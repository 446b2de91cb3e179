//! The copies of a GPT on a device, for one sector size.

use super::crc::crc32;
use super::gpt::{GptCopy, GptEntry, GptFault, GptHeader};
use super::window;
use crate::device::{AccessError, ReadDevice};
use crate::units::{Bytes, Lba, LogicalBlock};

/// Every copy of a GPT that a device carries for one sector size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpt {
    /// The sectors that its numbers count.
    pub sector: LogicalBlock,
    /// The copy in sector 1.
    pub primary: Option<GptCopy>,
    /// The copy in the last sector of the device.
    pub last: Option<GptCopy>,
    /// The copy in the sector that the primary names, when that is not the last one.
    pub elsewhere: Option<GptCopy>,
}

impl Gpt {
    /// The copy that counts: the first sound one, in the order in which the kernel looks
    /// (`find_valid_gpt` in block/partitions/efi.c).
    pub fn sound(&self) -> Option<&GptCopy> {
        [&self.primary, &self.elsewhere, &self.last]
            .into_iter()
            .flatten()
            .find(|copy| copy.is_sound())
    }
}

/// The copies for `sector`; `None` when there is none at all.
pub(super) fn gpt(
    device: &mut dyn ReadDevice,
    sector: LogicalBlock,
) -> Result<Option<Gpt>, AccessError> {
    let size = sector.bytes();
    let last = Lba((device.capacity().get() / size.get()).saturating_sub(1));
    let primary = copy(device, Lba(1), size)?;
    let at_end = if last > Lba(1) {
        copy(device, last, size)?
    } else {
        None
    };
    let elsewhere = match &primary {
        Some(primary)
            if primary.header.alternate_lba != last && primary.header.alternate_lba > Lba(1) =>
        {
            copy(device, primary.header.alternate_lba, size)?
        }
        _ => None,
    };
    let found = Gpt {
        sector,
        primary,
        last: at_end,
        elsewhere,
    };
    let any = found.primary.is_some() || found.last.is_some() || found.elsewhere.is_some();
    Ok(any.then_some(found))
}

/// The copy whose header lies in sector `at`.
fn copy(
    device: &mut dyn ReadDevice,
    at: Lba,
    sector: Bytes,
) -> Result<Option<GptCopy>, AccessError> {
    let Some(place) = at.get().checked_mul(sector.get()) else {
        return Ok(None);
    };
    let bytes = window::read(device, Bytes(place), sector)?;
    let Some((header, fault)) = GptHeader::parse(&bytes, sector) else {
        return Ok(None);
    };
    let fault = fault.or((header.my_lba != at).then_some(GptFault::Misplaced {
        found: at,
        said: header.my_lba,
    }));
    let (entries, array_fault) = entries(device, &header, sector)?;
    Ok(Some(GptCopy {
        at,
        header,
        entries,
        fault: fault.or(array_fault),
    }))
}

/// The used entries, and whether they are those that the header signed.
fn entries(
    device: &mut dyn ReadDevice,
    header: &GptHeader,
    sector: Bytes,
) -> Result<(Vec<GptEntry>, Option<GptFault>), AccessError> {
    let Some(size) = header.array_bytes() else {
        return Ok((Vec::new(), None));
    };
    let from = header.array_lba.get().checked_mul(sector.get());
    let end = from.and_then(|from| from.checked_add(size.get()));
    let (Some(from), Some(end)) = (from, end) else {
        return Ok((Vec::new(), Some(GptFault::ArrayOutside)));
    };
    if end > device.capacity().get() {
        return Ok((Vec::new(), Some(GptFault::ArrayOutside)));
    }
    let mut bytes = Vec::new();
    let mut at = from;
    while at < end {
        let piece = window::read(device, Bytes(at), Bytes(end - at))?;
        if piece.is_empty() {
            return Ok((Vec::new(), Some(GptFault::ArrayOutside)));
        }
        at += piece.len() as u64;
        bytes.extend(piece);
    }
    let fault = (crc32(&bytes) != header.array_crc).then_some(GptFault::ArrayCrc);
    Ok((GptEntry::parse_all(&bytes, header.entry), fault))
}

//! The identifier that a device bears now.

use super::read::mbr::Mbr;
use super::write::read_sector;
use crate::device::{AccessError, ReadDevice};
use crate::plan::{DiskId, Guid};
use crate::units::{Bytes, Lba};

/// CRC-32 of Ethernet and zlib, as the UEFI specification wants it.
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Bytes of a GPT header (UEFI specification, table 5-5).
const HEADER: usize = 92;

/// The identifier of the table on the device; `None` without a table, and when it is zero, which
/// means "not initialised".
///
/// # Errors
/// The device fails.
pub fn disk_id(device: &mut dyn ReadDevice) -> Result<Option<DiskId>, AccessError> {
    let block = device.logical_block();
    let unit = block.bytes().get();
    let Some(last) = (device.capacity().get() / unit).checked_sub(1) else {
        return Ok(None);
    };
    let place = |at: Lba| at.to_bytes(block).unwrap_or(Bytes(u64::MAX));
    let first = read_sector(device, Bytes::ZERO, block)?;
    let Some(mbr) = Mbr::parse(&first).filter(|mbr| mbr.is_table(false)) else {
        return Ok(None);
    };
    if !mbr.is_protective() {
        let id = mbr.disk_signature;
        return Ok((id != 0).then_some(DiskId::Mbr(id)));
    }
    // The second copy tells it when the first is damaged.
    for at in [Lba(1), Lba(last)] {
        let sector = read_sector(device, place(at), block)?;
        if let Some(guid) = guid_of_header(&sector) {
            return Ok((!guid.is_nil()).then_some(DiskId::Gpt(guid)));
        }
    }
    Ok(None)
}

/// The disk GUID of a header whose checksum holds.
fn guid_of_header(sector: &[u8]) -> Option<Guid> {
    let mut header: [u8; HEADER] = sector.get(..HEADER)?.try_into().ok()?;
    if header[..8] != *b"EFI PART" {
        return None;
    }
    let [a, b, c, d] = [header[16], header[17], header[18], header[19]];
    header[16..20].fill(0);
    if CRC.checksum(&header) != u32::from_le_bytes([a, b, c, d]) {
        return None;
    }
    let guid: [u8; 16] = header[56..72].try_into().ok()?;
    Some(Guid::from_disk(guid))
}

//! A GUID partition table from a layout: both copies and the protective MBR.
//!
//! The `gpt` crate packs the bytes. What it does not do is done here: it leaves sector 0 alone, it
//! packs entries whose numbers have gaps (a layout numbers without), it lets partitions overlap and
//! pass the end (a layout is checked before), it cuts names in the middle of a character (checked
//! before too), and it can neither lower the number of entries below 128 nor choose the usable
//! sectors: for that its headers are changed afterwards.

use super::image::Part;
use super::overlay::Overlay;
use super::prepare::PrepareError;
use crate::plan::layout::Partition;
use crate::plan::{DiskId, Guid, Layout, PartitionType};
use crate::units::{Bytes, Lba, LogicalBlock};
use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use gpt::mbr::ProtectiveMBR;
use gpt::partition_types::{OperatingSystem, Type};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Bytes of one entry (UEFI specification, section 5.3.3).
const ENTRY: u64 = 128;

/// Entries that UEFI wants room for: 16 KiB (UEFI specification, section 5.3).
const USUAL_ENTRIES: u64 = 128;

/// Bytes of a header (UEFI specification, table 5-5).
const HEADER: usize = 92;

/// Fields of the header (UEFI specification, table 5-5).
const CHECKSUM: usize = 16;
const FIRST_USABLE: usize = 40;
const LAST_USABLE: usize = 48;
const ENTRIES_AT: usize = 72;
const ENTRY_COUNT: usize = 80;
const ENTRIES_CHECKSUM: usize = 88;

/// CRC-32 as the UEFI specification wants it: the one of Ethernet and zlib.
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Which sectors the parts of a table take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many entries each copy has.
    pub entries: u64,
    /// The first sector of the first copy's entries.
    pub primary_entries: Lba,
    /// The first sector of the second copy's entries.
    pub backup_entries: Lba,
    /// The header of the second copy: the last sector.
    pub backup_header: Lba,
    /// Sectors of the entries of either copy.
    pub length: u64,
}

impl Shape {
    /// The shape for a layout: 128 entries, or as many as fit in front of a range that is to be
    /// kept out of, such as a boot loader at 8 KiB.
    pub(super) fn of(layout: &Layout) -> Result<Shape, PrepareError> {
        let unit = layout.logical_block.bytes().get();
        let first = Bytes(2 * unit);
        let all = Bytes(first.get() + USUAL_ENTRIES * ENTRY);
        let room_end = layout
            .keep_out
            .iter()
            .map(|kept| kept.range.from)
            .filter(|from| *from >= first && *from < all)
            .min()
            .unwrap_or(all);
        // Whole sectors, so that the sector of the loader is not shared.
        let length = (room_end.get() - first.get()) / unit;
        let entries = length * unit / ENTRY;
        let end = layout.capacity.get();
        match end.checked_sub(1 + length) {
            Some(backup) if entries >= layout.partitions.len() as u64 => Ok(Shape {
                entries,
                primary_entries: Lba(2),
                backup_entries: Lba(backup),
                backup_header: Lba(end - 1),
                length,
            }),
            _ => Err(PrepareError::NoRoomForEntries {
                partitions: layout.partitions.len(),
                entries,
            }),
        }
    }
}

impl Shape {
    /// What a sector of the table belongs to.
    pub(super) fn part_of(self, at: Lba) -> Part {
        match at {
            Lba(0) => Part::ProtectiveMbr,
            Lba(1) => Part::PrimaryHeader,
            at if at == self.backup_header => Part::BackupHeader,
            at if at >= self.backup_entries => Part::BackupEntries,
            _ => Part::PrimaryEntries,
        }
    }
}

/// Write the table of this layout into the overlay.
pub(super) fn render(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<Shape, PrepareError> {
    let DiskId::Gpt(disk_guid) = layout.disk_id else {
        return Err(PrepareError::crate_failed(
            "the identifier is none of a GPT",
        ));
    };
    let shape = Shape::of(layout)?;
    let mut partitions = BTreeMap::new();
    for (number, partition) in (1..).zip(&layout.partitions) {
        partitions.insert(number, entry(partition)?);
    }
    let block = match layout.logical_block {
        LogicalBlock::B512 => LogicalBlockSize::Lb512,
        LogicalBlock::B4096 => LogicalBlockSize::Lb4096,
    };
    let packed = GptConfig::new()
        .writable(true)
        .logical_block_size(block)
        .create_from_device(&mut *overlay, Some(uuid(disk_guid)))
        .and_then(|mut disk| {
            disk.update_partitions(partitions)?;
            disk.write_inplace()
        });
    packed.map_err(|error| PrepareError::of_crate(overlay, &error))?;
    reshape(overlay, layout, shape)?;
    protect(overlay, layout)?;
    Ok(shape)
}

fn uuid(guid: Guid) -> Uuid {
    Uuid::from_bytes(guid.bytes())
}

fn entry(partition: &Partition) -> Result<gpt::partition::Partition, PrepareError> {
    let (PartitionType::Gpt(kind), Some(id)) = (partition.kind, partition.uuid) else {
        return Err(PrepareError::crate_failed("an entry of an MBR in a GPT"));
    };
    Ok(gpt::partition::Partition {
        part_type_guid: Type {
            guid: uuid(kind),
            os: OperatingSystem::None,
        },
        part_guid: uuid(id),
        first_lba: partition.first.get(),
        last_lba: partition.last().get(),
        flags: partition.attributes,
        name: partition.name.clone(),
    })
}

/// Give both copies the shape and the usable sectors of the layout, where the crate chose others.
fn reshape(overlay: &mut Overlay<'_>, layout: &Layout, shape: Shape) -> Result<(), PrepareError> {
    let unit = layout.logical_block.bytes().get();
    let usual = USUAL_ENTRIES * ENTRY / unit;
    let mut entries = Vec::new();
    for index in 0..shape.length {
        entries.extend(overlay.sector(Lba(shape.primary_entries.get() + index))?);
    }
    let headers = [
        (Lba(1), shape.primary_entries),
        (shape.backup_header, shape.backup_entries),
    ];
    if shape.length != usual {
        // What the crate wrote beyond the shorter entries belongs to somebody else.
        let behind = Lba(shape.primary_entries.get() + shape.length);
        overlay.forget(behind, shape.backup_header);
        for (index, sector) in (0..).zip(entries.chunks(usize::try_from(unit).unwrap_or(512))) {
            overlay.put(Lba(shape.backup_entries.get() + index), sector);
        }
    }
    for (at, entries_at) in headers {
        let mut header = overlay.sector(at)?;
        put(
            &mut header,
            FIRST_USABLE,
            &layout.first_usable.get().to_le_bytes(),
        );
        put(
            &mut header,
            LAST_USABLE,
            &layout.last_usable.get().to_le_bytes(),
        );
        put(&mut header, ENTRIES_AT, &entries_at.get().to_le_bytes());
        // At most 128.
        let count = u32::try_from(shape.entries).unwrap_or(0);
        put(&mut header, ENTRY_COUNT, &count.to_le_bytes());
        put(
            &mut header,
            ENTRIES_CHECKSUM,
            &CRC.checksum(&entries).to_le_bytes(),
        );
        put(&mut header, CHECKSUM, &[0; 4]);
        let sum = CRC.checksum(&header[..HEADER]);
        put(&mut header, CHECKSUM, &sum.to_le_bytes());
        overlay.put(at, &header);
    }
    Ok(())
}

fn put(header: &mut [u8], at: usize, bytes: &[u8]) {
    header[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Sector 0: one entry of type EE over the whole disk, so that what only knows an MBR keeps off
/// (UEFI specification, section 5.2.3). Boot code and disk signature are zero, as there.
fn protect(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<(), PrepareError> {
    let behind = layout.capacity.get().saturating_sub(1);
    let protective = ProtectiveMBR::with_lb_size(u32::try_from(behind).unwrap_or(u32::MAX));
    overlay.put(Lba(0), &protective.to_bytes());
    Ok(())
}

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
use super::read::crc::crc32;
use super::read::gpt::HEADER_LENGTH;
use crate::plan::gpt_shape::{GptShape, STANDARD_ENTRIES};
use crate::plan::layout::Partition;
use crate::plan::{DiskId, Guid, Layout, PartitionType};
use crate::units::{Lba, LogicalBlock};
use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use gpt::mbr::ProtectiveMBR;
use gpt::partition_types::{OperatingSystem, Type};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Fields of the header (UEFI specification, table 5-5).
const SUM: usize = 16;
const FIRST_USABLE: usize = 40;
const LAST_USABLE: usize = 48;
const ARRAY: usize = 72;
const ENTRIES: usize = 80;
const ARRAY_SUM: usize = 88;

/// What a sector of the table belongs to.
pub(super) fn part_of(at: Lba, shape: GptShape, layout: &Layout) -> Part {
    match at {
        Lba(0) => Part::ProtectiveMbr,
        Lba(1) => Part::PrimaryHeader,
        at if at == last_sector(layout) => Part::BackupHeader,
        at if at >= shape.backup_array_lba => Part::BackupEntries,
        _ => Part::PrimaryEntries,
    }
}

fn last_sector(layout: &Layout) -> Lba {
    Lba(layout.capacity.get().saturating_sub(1))
}

/// Write the table of this layout into the overlay.
pub(super) fn render(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<GptShape, PrepareError> {
    let DiskId::Gpt(disk_guid) = layout.disk_id else {
        return Err(PrepareError::crate_failed(
            "the identifier is none of a GPT",
        ));
    };
    let Some(shape) = layout.gpt else {
        return Err(PrepareError::crate_failed("no place for its entries"));
    };
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
fn reshape(
    overlay: &mut Overlay<'_>,
    layout: &Layout,
    shape: GptShape,
) -> Result<(), PrepareError> {
    let block = layout.logical_block;
    let length = shape.array_sectors(block).get();
    let mut entries = Vec::new();
    for index in 0..length {
        entries.push(overlay.sector(Lba(shape.array_lba.get() + index))?);
    }
    if shape.entries != STANDARD_ENTRIES {
        // What the crate wrote behind the shorter entries belongs to somebody else.
        let behind = Lba(shape.array_lba.get() + length);
        overlay.forget(behind, last_sector(layout));
        for (at, sector) in (shape.backup_array_lba.get()..).zip(&entries) {
            overlay.put(Lba(at), sector);
        }
    }
    let sum = crc32(&entries.concat());
    let headers = [
        (Lba(1), shape.array_lba),
        (last_sector(layout), shape.backup_array_lba),
    ];
    for (at, array) in headers {
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
        put(&mut header, ARRAY, &array.get().to_le_bytes());
        put(&mut header, ENTRIES, &shape.entries.to_le_bytes());
        put(&mut header, ARRAY_SUM, &sum.to_le_bytes());
        put(&mut header, SUM, &[0; 4]);
        let sum = crc32(&header[..HEADER_LENGTH]);
        put(&mut header, SUM, &sum.to_le_bytes());
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

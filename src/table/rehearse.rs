//! The proof before the first byte: the changed device, which exists only in the overlay, is read
//! back with the parsers that read any device, and must be the layout and nothing else.

use super::gpt::Shape;
use super::image::{Extent, Part};
use super::overlay::Overlay;
use super::prepare::PrepareError;
use super::read::mbr::{Chs, Mbr, MbrEntry, PROTECTIVE};
use super::read::signatures;
use super::wipe::{Fate, Old, things};
use crate::plan::layout::Partition;
use crate::plan::{DiskId, Guid, Layout, PartitionType};
use crate::units::{ByteRange, Bytes, Lba, Sectors};
use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use gpt::header::Header;

/// Compare an MBR in the overlay with the layout.
pub(super) fn mbr(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<(), PrepareError> {
    let sector = overlay.sector(Lba(0))?;
    let mbr = Mbr::parse(&sector).ok_or(differs("the MBR has no signature"))?;
    if DiskId::Mbr(mbr.disk_signature) != layout.disk_id {
        return Err(differs("the disk identifier"));
    }
    for (index, entry) in mbr.entries.iter().enumerate() {
        let same = match layout.partitions.get(index) {
            Some(partition) => *entry == mbr_entry(partition),
            None => *entry == MbrEntry::default(),
        };
        if !same {
            return Err(differs(&format!("MBR entry {}", index + 1)));
        }
    }
    if sector[..440]
        .iter()
        .chain(&sector[512..])
        .any(|byte| *byte != 0)
    {
        return Err(differs("there is more than a table in the MBR"));
    }
    Ok(())
}

fn mbr_entry(partition: &Partition) -> MbrEntry {
    MbrEntry {
        status: if partition.bootable { 0x80 } else { 0 },
        chs_first: Chs::of(partition.first),
        kind: match partition.kind {
            PartitionType::Mbr(code) => code,
            PartitionType::Gpt(_) => 0,
        },
        chs_last: Chs::of(partition.last()),
        first: partition.first,
        sectors: partition.sectors,
    }
}

/// Compare both copies of a GPT in the overlay, and the sector in front of them, with the layout.
pub(super) fn gpt(
    overlay: &mut Overlay<'_>,
    layout: &Layout,
    shape: Shape,
) -> Result<(), PrepareError> {
    protective(overlay, layout)?;
    let block = match layout.logical_block {
        crate::units::LogicalBlock::B512 => LogicalBlockSize::Lb512,
        crate::units::LogicalBlock::B4096 => LogicalBlockSize::Lb4096,
    };
    // Opening checks all four checksums.
    let disk = GptConfig::new()
        .logical_block_size(block)
        .only_valid_headers(true)
        .open_from_device(&mut *overlay);
    let disk = disk.map_err(|error| differs(&format!("the table does not open: {error}")))?;
    let read = |result: Result<&Header, _>| result.cloned().map_err(|_| differs("a header"));
    let primary = read(disk.primary_header())?;
    let backup = read(disk.backup_header())?;
    let at_one = (Lba(1), shape.backup_header, shape.primary_entries);
    let at_end = (shape.backup_header, Lba(1), shape.backup_entries);
    if !header_is(&primary, layout, shape, at_one) || !header_is(&backup, layout, shape, at_end) {
        return Err(differs("a field of a header"));
    }
    let entries = disk.partitions();
    if entries.len() != layout.partitions.len() {
        return Err(differs("the number of partitions"));
    }
    for (number, partition) in (1u32..).zip(&layout.partitions) {
        if !entries
            .get(&number)
            .is_some_and(|entry| entry_is(entry, partition))
        {
            return Err(differs(&format!("GPT entry {number}")));
        }
    }
    drop(disk);
    // The crate reads one copy of the entries only.
    for index in 0..shape.length {
        let first = overlay.sector(Lba(shape.primary_entries.get() + index))?;
        if overlay.sector(Lba(shape.backup_entries.get() + index))? != first {
            return Err(differs("the second copy of the entries"));
        }
    }
    Ok(())
}

fn header_is(
    header: &Header,
    layout: &Layout,
    shape: Shape,
    (here, there, entries): (Lba, Lba, Lba),
) -> bool {
    DiskId::Gpt(Guid::from_u128(header.disk_guid.as_u128())) == layout.disk_id
        && header.header_size_le == 92
        && header.current_lba == here.get()
        && header.backup_lba == there.get()
        && header.part_start == entries.get()
        && header.first_usable == layout.first_usable.get()
        && header.last_usable == layout.last_usable.get()
        && u64::from(header.num_parts) == shape.entries
        && header.part_size == 128
}

fn entry_is(entry: &gpt::partition::Partition, partition: &Partition) -> bool {
    let guid = |id: uuid::Uuid| Guid::from_u128(id.as_u128());
    PartitionType::Gpt(guid(entry.part_type_guid.guid)) == partition.kind
        && Some(guid(entry.part_guid)) == partition.uuid
        && entry.first_lba == partition.first.get()
        && entry.last_lba == partition.last().get()
        && entry.flags == partition.attributes
        && entry.name == partition.name
}

/// The sector in front of a GPT: one entry of type EE from sector 1 over all that 32 bits reach.
fn protective(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<(), PrepareError> {
    let sector = overlay.sector(Lba(0))?;
    let mbr = Mbr::parse(&sector).ok_or(differs("the protective MBR has no signature"))?;
    let [first, rest @ ..] = mbr.entries;
    let length = layout.capacity.get().saturating_sub(1).min(u32::MAX.into());
    let guards = first.kind == PROTECTIVE
        && first.status == 0
        && first.first == Lba(1)
        && first.sectors == Sectors(length);
    if !guards || rest != [MbrEntry::default(); 3] {
        return Err(differs("the protective MBR"));
    }
    if sector[..446]
        .iter()
        .chain(&sector[512..])
        .any(|byte| *byte != 0)
    {
        return Err(differs("there is more than an entry in the protective MBR"));
    }
    Ok(())
}

/// Nothing old may be found any more, apart from what is kept on purpose.
pub(super) fn nothing_stale(
    overlay: &mut Overlay<'_>,
    layout: &Layout,
    old: &[Old],
    extents: &[Extent],
) -> Result<(), PrepareError> {
    let unit = layout.logical_block.bytes().get();
    let found = signatures(overlay, &things(layout))?;
    for signature in found {
        let sector = Lba(signature.at.get() / unit);
        let of_new_table = extents
            .iter()
            .any(|extent| extent.at == sector && extent.part != Part::Wipe);
        let kept = old
            .iter()
            .any(|old| old.fate == Fate::Kept && old.signature == signature);
        if !of_new_table && !kept {
            return Err(PrepareError::Leftover {
                name: signature.name,
                at: signature.at,
            });
        }
    }
    Ok(())
}

/// No sector that is written may lie in a range that is to be kept out of, and none of the table in
/// a partition.
pub(super) fn nothing_in_the_way(layout: &Layout, extents: &[Extent]) -> Result<(), PrepareError> {
    let unit = layout.logical_block.bytes().get();
    for extent in extents {
        let from = extent.place(layout.logical_block);
        let sector = ByteRange {
            from,
            to: Bytes(from.get().saturating_add(unit)),
        };
        if let Some(kept) = layout.keep_out.iter().find(|k| k.range.overlaps(sector)) {
            return Err(PrepareError::KeepOut {
                range: kept.range,
                part: extent.part,
                at: from,
            });
        }
        let in_partition = |p: &Partition| layout.byte_range(p).overlaps(sector);
        if extent.part != Part::Wipe && layout.partitions.iter().any(in_partition) {
            return Err(differs("a partition lies over the table"));
        }
    }
    Ok(())
}

fn differs(what: &str) -> PrepareError {
    PrepareError::Rehearsal(what.to_owned())
}

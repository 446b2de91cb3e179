//! The proof before the first byte: the changed device, which exists only in the overlay, is read
//! back with the parsers that read any device, and must be the layout and nothing else.

use super::image::{Extent, Part};
use super::overlay::Overlay;
use super::prepare::PrepareError;
use super::read::contents::{Gpt, SectorZero, TableFound};
use super::read::gpt::{GptEntry, GptHeader};
use super::read::mbr::{Chs, Mbr, MbrEntry, PROTECTIVE};
use super::read::{contents, signatures};
use super::wipe::{Fate, Old, things};
use crate::plan::gpt_shape::ENTRY_BYTES;
use crate::plan::layout::Partition;
use crate::plan::{DiskId, Layout, PartitionType, TableKind};
use crate::units::{ByteRange, Bytes, Lba, Sectors};

/// Read the changed device as any other, and compare what is found with the layout.
pub(super) fn reads_back(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<(), PrepareError> {
    let found = contents(overlay)?;
    let table = TableFound {
        kind: layout.table,
        disk_id: Some(layout.disk_id),
        sector: layout.logical_block,
    };
    if found.table != Some(table) {
        return Err(differs("the kind of table, or the disk identifier,"));
    }
    let SectorZero::Table {
        mbr,
        boot_sector: false,
    } = found.sector_zero
    else {
        return Err(differs("sector 0"));
    };
    if found.filesystem.is_some() {
        return Err(differs("a file system over the whole device"));
    }
    let sector = overlay.sector(Lba(0))?;
    // Boot code, and the part of a large sector behind the record.
    if sector[..440]
        .iter()
        .chain(&sector[512..])
        .any(|byte| *byte != 0)
    {
        return Err(differs("there is more than a table in sector 0, which"));
    }
    match (layout.table, found.gpts.as_slice()) {
        (TableKind::Mbr, []) => mbr_is(&mbr, layout),
        (TableKind::Gpt, [gpt]) => gpt_is(gpt, &mbr, layout),
        _ => Err(differs("the number of tables")),
    }
}

fn mbr_is(mbr: &Mbr, layout: &Layout) -> Result<(), PrepareError> {
    for (index, entry) in mbr.entries.iter().enumerate() {
        let wanted = layout
            .partitions
            .get(index)
            .map_or_else(MbrEntry::default, mbr_entry);
        if *entry != wanted {
            return Err(differs(&format!("MBR entry {}", index + 1)));
        }
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

/// Both copies, and the sector in front of them: one entry of type EE from sector 1 over all that
/// 32 bits reach, and no disk signature.
fn gpt_is(gpt: &Gpt, mbr: &Mbr, layout: &Layout) -> Result<(), PrepareError> {
    let [first, rest @ ..] = mbr.entries;
    let length = layout.capacity.get().saturating_sub(1).min(u32::MAX.into());
    let guards = first.kind == PROTECTIVE
        && first.status == 0
        && first.first == Lba(1)
        && first.sectors == Sectors(length);
    if !guards || rest != [MbrEntry::default(); 3] || mbr.disk_signature != 0 {
        return Err(differs("the protective MBR"));
    }
    let (Some(primary), Some(last), None) = (&gpt.primary, &gpt.last, &gpt.elsewhere) else {
        return Err(differs("the number of copies of the GPT"));
    };
    let end = Lba(layout.capacity.get().saturating_sub(1));
    for (copy, here, there) in [(primary, Lba(1), end), (last, end, Lba(1))] {
        if let Some(fault) = copy.fault {
            return Err(differs(&format!("a copy of the GPT ({fault})")));
        }
        if !header_is(&copy.header, layout, here, there) {
            return Err(differs("a field of a GPT header"));
        }
        let entries: Option<Vec<GptEntry>> = layout
            .partitions
            .iter()
            .enumerate()
            .map(gpt_entry)
            .collect();
        if Some(&copy.entries) != entries.as_ref() {
            return Err(differs("an entry of the GPT"));
        }
    }
    Ok(())
}

fn header_is(header: &GptHeader, layout: &Layout, here: Lba, there: Lba) -> bool {
    let Some(shape) = layout.gpt else {
        return false;
    };
    let array = if here == Lba(1) {
        shape.array_lba
    } else {
        shape.backup_array_lba
    };
    DiskId::Gpt(header.disk) == layout.disk_id
        && (header.my_lba, header.alternate_lba, header.array_lba) == (here, there, array)
        && header.first_usable == layout.first_usable
        && header.last_usable == layout.last_usable
        && (header.entries, header.entry) == (shape.entries, ENTRY_BYTES)
}

/// `None` for a partition that no GPT holds.
fn gpt_entry((index, partition): (usize, &Partition)) -> Option<GptEntry> {
    let PartitionType::Gpt(kind) = partition.kind else {
        return None;
    };
    Some(GptEntry {
        number: index + 1,
        kind,
        uuid: partition.uuid?,
        first: partition.first,
        last: partition.last(),
        attributes: partition.attributes,
        name: partition.name.clone(),
    })
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

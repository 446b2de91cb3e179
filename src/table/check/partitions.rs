//! Do the partitions fit the device, the table and each other?

use super::super::read::contents::{Contents, PartitionFound};
use super::Finding;
use crate::plan::TableKind;
use crate::units::{ByteRange, Bytes};

pub(super) fn findings(contents: &Contents, out: &mut Vec<Finding>) {
    let room = room(contents);
    for partition in &contents.partitions {
        bounds(partition, contents, room, out);
        inside(partition, contents, out);
    }
    overlaps(&contents.partitions, out);
    if contents.broken_chain {
        out.push(Finding::inconsistent(
            "broken_chain",
            "the chain of logical partitions does not end as it should: some of them may be missing",
        ));
    }
}

/// Where the table ends, and what it leaves for partitions.
#[derive(Clone, Copy)]
struct Room {
    /// The first byte behind the table in front.
    table_end: Bytes,
    usable: ByteRange,
}

fn room(contents: &Contents) -> Room {
    let of_gpt = contents
        .table
        .filter(|table| table.kind == TableKind::Gpt)
        .and_then(|table| {
            let gpt = contents
                .gpts
                .iter()
                .find(|gpt| gpt.sector == table.sector)?;
            let header = gpt.sound()?.header;
            let unit = table.sector.bytes().get();
            let bytes = |sector: u64| Bytes(sector.saturating_mul(unit));
            Some(Room {
                // Protective MBR and header; entries that were moved are not held against it.
                table_end: bytes(2),
                usable: ByteRange {
                    from: bytes(header.first_usable.get()),
                    to: bytes(header.last_usable.get().saturating_add(1)),
                },
            })
        });
    let block = contents.logical_block.bytes();
    of_gpt.unwrap_or(Room {
        table_end: block,
        usable: ByteRange {
            from: block,
            to: contents.capacity,
        },
    })
}

fn bounds(partition: &PartitionFound, contents: &Contents, room: Room, out: &mut Vec<Finding>) {
    let number = partition.number;
    let ByteRange { from, to } = partition.range;
    if from >= to {
        out.push(Finding::inconsistent(
            "empty_partition",
            format!("partition {number} ends before it begins"),
        ));
    } else if to > contents.capacity {
        out.push(Finding::inconsistent(
            "past_the_end",
            format!(
                "partition {number} ends {} behind the end of the device: the table was made for a larger one, or the device shows less than it has",
                to.saturating_sub(contents.capacity)
            ),
        ));
    } else if from < room.table_end {
        out.push(Finding::inconsistent(
            "over_the_table",
            format!("partition {number} lies over the partition table itself"),
        ));
    } else if from < room.usable.from || to > room.usable.to {
        out.push(Finding::inconsistent(
            "outside_usable",
            format!(
                "partition {number} lies outside the sectors that its table leaves for partitions"
            ),
        ));
    }
}

fn inside(partition: &PartitionFound, contents: &Contents, out: &mut Vec<Finding>) {
    let number = partition.number;
    let size = partition.range.length();
    if let Some(found) = partition.filesystem
        && found.total > size
    {
        out.push(Finding::inconsistent(
            "file_system_too_large",
            format!(
                "the {} in partition {number} believes to have {}, and the partition has {size}",
                found.kind.name(),
                found.total
            ),
        ));
    }
    if !partition.chs_agrees {
        out.push(Finding::note(
            "chs_differs",
            format!(
                "partition {number}: cylinder, head and sector in its entry are not those of its first sector; old firmware may go by them"
            ),
        ));
    }
    let sectors = partition.range.from.get() / contents.logical_block.bytes().get();
    // In logical partitions some count from the link in front of them.
    let counts = number <= 4 || partition.uuid.is_some();
    if let Some(hidden) = partition.hidden_sectors
        && counts
        && hidden != sectors
    {
        out.push(Finding::note(
            "hidden_sectors_differ",
            format!(
                "partition {number}: its boot sector notes {hidden} sectors in front of it, and it starts at sector {sectors}; loaders may go by that"
            ),
        ));
    }
}

/// Neighbours in order of their places are enough to find one overlap for every partition that has
/// any: compare each with the one that reaches farthest so far.
fn overlaps(partitions: &[PartitionFound], out: &mut Vec<Finding>) {
    let mut sorted: Vec<&PartitionFound> = partitions
        .iter()
        .filter(|partition| !partition.is_container)
        .filter(|partition| partition.range.from < partition.range.to)
        .collect();
    sorted.sort_by_key(|partition| (partition.range.from, partition.range.to));
    let mut farthest: Option<&PartitionFound> = None;
    for partition in sorted {
        if let Some(before) = farthest
            && before.range.overlaps(partition.range)
        {
            out.push(Finding::inconsistent(
                "overlap",
                format!(
                    "partitions {} and {} overlap: what is written to one destroys the other",
                    before.number, partition.number
                ),
            ));
        }
        if farthest.is_none_or(|before| before.range.to < partition.range.to) {
            farthest = Some(partition);
        }
    }
}

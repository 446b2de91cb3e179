//! MBR or GPT?

use super::error::PlanError;
use super::ids::DiskId;
use super::intent::{PartitionIntent, TableChoice};
use super::table_room::{most_partitions, table_room};
use super::types::TableKind;
use crate::units::{ByteRange, Bytes, LogicalBlock, Sectors};

/// What the decision rests on.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    /// What was asked for.
    pub choice: TableChoice,
    /// The partitions.
    pub partitions: &'a [PartitionIntent],
    /// The identifier to keep or to set, if one is named.
    pub disk_id: Option<DiskId>,
    /// The unit of the table.
    pub logical_block: LogicalBlock,
    /// The whole medium.
    pub capacity: Sectors,
    /// Whether some partition can only be served beyond the sectors of an MBR.
    pub beyond_mbr: bool,
    /// Whether the last sectors may not be used, so that a second copy there is worthless.
    pub capped: bool,
    /// Ranges that nothing may touch, the table included.
    pub keep_out: &'a [ByteRange],
}

/// The table, and why it is this one.
///
/// Errors: more partitions than the table holds, or keep-out ranges over its own sectors.
pub fn table_kind(about: &Circumstances<'_>) -> Result<(TableKind, String), PlanError> {
    let (kind, reason) = match about.choice {
        TableChoice::Kind(kind) => (kind, "asked for".to_owned()),
        TableChoice::Auto => choose(about),
    };
    let count = about.partitions.len();
    let most = most_partitions(kind);
    if count > most {
        return Err(PlanError::TooMany {
            table: kind,
            most,
            count,
            way_out: match kind {
                TableKind::Mbr => "use --table gpt, or fewer partitions",
                TableKind::Gpt => "use fewer partitions",
            },
        });
    }
    match clash(kind, about) {
        None => Ok((kind, reason)),
        Some((range, owned)) => Err(PlanError::KeepOutOverTable {
            range,
            owned,
            table: kind,
            way_out: way_out(kind, range, owned, about),
        }),
    }
}

fn choose(about: &Circumstances<'_>) -> (TableKind, String) {
    use TableKind::{Gpt, Mbr};
    let because = |kind, text: &str| (kind, text.to_owned());
    if about.beyond_mbr {
        return because(Gpt, "the layout reaches beyond what an MBR can address");
    }
    if about.partitions.len() > most_partitions(Mbr) {
        return because(Gpt, "more than four partitions");
    }
    if clash(Gpt, about).is_some() && clash(Mbr, about).is_none() {
        return because(Mbr, "a keep-out range covers sectors that a GPT needs");
    }
    if let Some(id) = about.disk_id {
        return (id.kind(), format!("the disk identifier {id} belongs to it"));
    }
    if about.capped {
        return because(
            Mbr,
            "the last sectors, where a GPT has its second copy, lie beyond the largest size",
        );
    }
    if about
        .partitions
        .iter()
        .all(|p| p.filesystem.is_linux_only())
    {
        return because(
            Gpt,
            "only Linux reads these file systems, and a GPT has names, checksums and a second copy",
        );
    }
    because(
        Mbr,
        "cameras, consoles, small boards and old readers know only an MBR",
    )
}

/// The first keep-out range that covers sectors of the table, with those sectors.
fn clash(kind: TableKind, about: &Circumstances<'_>) -> Option<(ByteRange, ByteRange)> {
    let owned = owned_ranges(kind, about);
    about.keep_out.iter().find_map(|range| {
        owned
            .iter()
            .find(|owned| owned.overlaps(*range))
            .map(|owned| (*range, *owned))
    })
}

/// The sectors of the table itself: the MBR's sector 0, or both copies of the GPT.
fn owned_ranges(kind: TableKind, about: &Circumstances<'_>) -> Vec<ByteRange> {
    let block = about.logical_block.bytes().get();
    let bytes = |sectors: u64| Bytes(sectors.saturating_mul(block));
    let range = |from, to| ByteRange {
        from: bytes(from),
        to: bytes(to),
    };
    let room = table_room(kind, about.logical_block, about.capacity);
    match (kind, room) {
        (TableKind::Gpt, Some(room)) => vec![
            range(0, room.first.get()),
            range(room.end.get(), about.capacity.get()),
        ],
        _ => vec![range(0, 1)],
    }
}

fn way_out(
    kind: TableKind,
    range: ByteRange,
    owned: ByteRange,
    about: &Circumstances<'_>,
) -> String {
    if kind == TableKind::Gpt && clash(TableKind::Mbr, about).is_none() {
        return "use --table mbr".to_owned();
    }
    if range.from < owned.to && owned.to < range.to {
        return format!("begin the range at {}B", owned.to.get());
    }
    format!("end the range at {}B", owned.from.get())
}

//! MBR or GPT?

use super::boot::{Board, TableWish};
use super::error::PlanError;
use super::gpt_shape::GptShape;
use super::ids::DiskId;
use super::intent::{PartitionIntent, TableChoice};
use super::table_room::most_partitions;
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
    /// The board that boots from it.
    pub board: Board,
    /// What a GPT would look like; `None` when the medium or the board has no room for one.
    pub shape: Option<GptShape>,
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
    refused_by_board(kind, about)?;
    let count = about.partitions.len();
    let most = match about.shape.filter(|_| kind == TableKind::Gpt) {
        Some(shape) => usize::try_from(shape.entries).unwrap_or(usize::MAX),
        None => most_partitions(kind),
    };
    if count > most {
        return Err(PlanError::TooMany {
            table: kind,
            most,
            count,
            way_out: match kind {
                TableKind::Mbr if is_mbr_only(about.board) => "use fewer partitions",
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
    let wishes = about.board.wishes();
    if let TableWish::MbrOnly(why) = wishes.table {
        return (Mbr, format!("{}: {why}", wishes.name));
    }
    if about.beyond_mbr {
        return because(Gpt, "the layout reaches beyond what an MBR can address");
    }
    if about.partitions.len() > most_partitions(Mbr) {
        return because(Gpt, "more than four partitions");
    }
    match wishes.table {
        TableWish::Mbr(why) => return (Mbr, format!("{}: {why}", wishes.name)),
        TableWish::Gpt(why) if clash(Gpt, about).is_none() => {
            return (Gpt, format!("{}: {why}", wishes.name));
        }
        _ => {}
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
    let first = ByteRange {
        from: Bytes::ZERO,
        to: bytes(1),
    };
    match (kind, about.shape) {
        (TableKind::Gpt, Some(shape)) => shape.owned(about.logical_block, about.capacity).to_vec(),
        _ => vec![first],
    }
}

/// Whether the board takes nothing but an MBR.
fn is_mbr_only(board: Board) -> bool {
    matches!(board.wishes().table, TableWish::MbrOnly(_))
}

/// A GPT on a board that has no place for one or does not read it.
fn refused_by_board(kind: TableKind, about: &Circumstances<'_>) -> Result<(), PlanError> {
    let wishes = about.board.wishes();
    let why = match (kind, wishes.table) {
        (TableKind::Mbr, _) => return Ok(()),
        (TableKind::Gpt, TableWish::MbrOnly(why)) => why,
        (TableKind::Gpt, _) if about.board.gpt_entries(about.logical_block).is_none() => {
            "with these sectors its loader lies where the entries of a GPT begin"
        }
        (TableKind::Gpt, _) => return Ok(()),
    };
    Err(PlanError::BoardRefusesTable {
        board: wishes.name,
        table: kind,
        why,
        way_out: match about.board {
            Board::RaspberryPi => {
                "use --table mbr, or --boot raspberry-pi-4 for a later one that reads a GPT"
            }
            _ => {
                "use --table mbr, or put the loader elsewhere (eMMC boot area, SPI flash) and leave out --boot"
            }
        },
    })
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
    if owned.from <= range.from {
        // All of it is the table's.
        return "leave it out".to_owned();
    }
    format!("end the range at {}B", owned.from.get())
}

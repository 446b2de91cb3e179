//! Why the rest of the medium is empty: every sector outside the partitions gets a reason.

use super::alignment::AlignmentChoice;
use super::types::TableKind;
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock, Sectors};
use std::fmt;
use std::str::FromStr;

/// Sectors that no partition covers, half-open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first sector.
    pub from: Lba,
    /// The first sector behind it.
    pub to: Lba,
    /// What kind of gap.
    pub kind: GapKind,
    /// For people.
    pub reason: String,
}

/// What kind of gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapKind {
    /// The table, and what is left in front of the first place of the grid.
    Table,
    /// Between the end of one partition and the next place where one may start.
    Rounding,
    /// A range that nothing may touch.
    KeepOut,
    /// Room for which no partition was asked.
    Unused,
    /// What is left behind the last place of the grid, and the second copy of a GPT.
    Tail,
    /// Left free on request.
    Reserved,
    /// Beyond the size that may be used.
    BeyondMaxSize,
}

impl GapKind {
    const ALL: [GapKind; 7] = [
        GapKind::Table,
        GapKind::Rounding,
        GapKind::KeepOut,
        GapKind::Unused,
        GapKind::Tail,
        GapKind::Reserved,
        GapKind::BeyondMaxSize,
    ];

    /// The word used in files.
    pub const fn word(self) -> &'static str {
        match self {
            GapKind::Table => "table",
            GapKind::Rounding => "rounding",
            GapKind::KeepOut => "keep_out",
            GapKind::Unused => "unused",
            GapKind::Tail => "tail",
            GapKind::Reserved => "reserved",
            GapKind::BeyondMaxSize => "beyond_max_size",
        }
    }
}

impl fmt::Display for GapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for GapKind {
    type Err = String;
    fn from_str(text: &str) -> Result<GapKind, String> {
        GapKind::ALL
            .into_iter()
            .find(|kind| kind.word() == text)
            .ok_or_else(|| format!("'{text}' is no kind of gap"))
    }
}

/// Everything that leaves sectors empty.
pub(super) struct Boundaries<'a> {
    pub table: TableKind,
    pub logical_block: LogicalBlock,
    pub capacity: Sectors,
    pub alignment: &'a AlignmentChoice,
    /// The first sector behind the room that the table leaves.
    pub table_end: Lba,
    /// Occupied sectors in order, half-open.
    pub partitions: &'a [(Lba, Lba)],
    /// First sectors of partitions that do not start where the grid alone would let them.
    pub moved: &'a [Lba],
    pub keep_out: &'a [(ByteRange, &'a str)],
    /// Where `--reserve-end` begins.
    pub reserved_from: Option<Bytes>,
    /// Where `--max-size` ends.
    pub max_size: Option<Bytes>,
}

/// The gaps, in order.
pub(super) fn gaps(b: &Boundaries<'_>) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut cursor = Lba(0);
    let end = Lba(b.capacity.get());
    for &(from, to) in b.partitions.iter().chain(std::iter::once(&(end, end))) {
        if cursor < from {
            explain(b, cursor, from, &mut gaps);
        }
        cursor = cursor.max(to);
    }
    gaps
}

/// Cut `[from, to)` where its reason changes.
fn explain(b: &Boundaries<'_>, from: Lba, to: Lba, gaps: &mut Vec<Gap>) {
    let mut cuts = vec![from, to, b.table_end];
    for (range, _) in b.keep_out {
        cuts.extend([sector_down(b, range.from), sector_up(b, range.to)]);
    }
    cuts.extend(b.reserved_from.map(|place| sector_up(b, place)));
    cuts.extend(b.max_size.map(|place| sector_down(b, place)));
    cuts.retain(|cut| (from..=to).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();
    for pair in cuts.windows(2) {
        let &[from, to] = pair else { continue };
        let (kind, reason) = reason(b, from, to);
        match gaps.last_mut() {
            Some(last) if last.to == from && last.kind == kind && last.reason == reason => {
                last.to = to;
            }
            _ => gaps.push(Gap {
                from,
                to,
                kind,
                reason,
            }),
        }
    }
}

fn reason(b: &Boundaries<'_>, from: Lba, to: Lba) -> (GapKind, String) {
    let inside =
        |range: &ByteRange| sector_down(b, range.from) <= from && to <= sector_up(b, range.to);
    if let Some((_, owner)) = b.keep_out.iter().find(|(range, _)| inside(range)) {
        return (GapKind::KeepOut, format!("keep-out: {owner}"));
    }
    if from >= b.table_end {
        return (GapKind::Tail, tail(b));
    }
    if b.max_size
        .is_some_and(|place| from >= sector_down(b, place))
    {
        return (
            GapKind::BeyondMaxSize,
            "beyond the size that may be used".to_owned(),
        );
    }
    if b.reserved_from
        .is_some_and(|place| from >= sector_up(b, place))
    {
        return (
            GapKind::Reserved,
            "reserved at the end on request".to_owned(),
        );
    }
    if b.partitions.first().is_none_or(|first| to <= first.0) {
        let place = b.alignment.alignment;
        return (GapKind::Table, format!("table and alignment to {place}"));
    }
    if b.moved.contains(&to) {
        return (
            GapKind::Rounding,
            format!(
                "the file system behind it starts here, so that its data lies on the grid of {}",
                b.alignment.ends()
            ),
        );
    }
    let behind_all = b.partitions.last().is_some_and(|last| last.1 <= from);
    if has_room(b, from, to) {
        return (GapKind::Unused, "no partition asked for it".to_owned());
    }
    if behind_all {
        (GapKind::Tail, tail(b))
    } else {
        (
            GapKind::Rounding,
            format!("rounding to the grid of {}", b.alignment.alignment),
        )
    }
}

fn tail(b: &Boundaries<'_>) -> String {
    match b.table {
        TableKind::Gpt => "backup GPT and grid tail".to_owned(),
        TableKind::Mbr => "grid tail".to_owned(),
    }
}

/// Whether a partition of one unit would fit.
fn has_room(b: &Boundaries<'_>, from: Lba, to: Lba) -> bool {
    let (Some(from), Some(to)) = (from.to_bytes(b.logical_block), to.to_bytes(b.logical_block))
    else {
        return false;
    };
    let start = b.alignment.alignment.up(from);
    let end = b.alignment.ends().down(to);
    matches!((start, end), (Some(start), Some(end)) if start < end)
}

fn sector_down(b: &Boundaries<'_>, place: Bytes) -> Lba {
    Lba(place.get() / b.logical_block.bytes().get())
}

fn sector_up(b: &Boundaries<'_>, place: Bytes) -> Lba {
    Lba(place.get().div_ceil(b.logical_block.bytes().get()))
}

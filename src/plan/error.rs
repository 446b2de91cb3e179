//! Why no layout could be made: one line each, with what to do next.

use super::filesystem::FitError;
use super::ids::DiskId;
use super::intent::IntentError;
use super::layout::LayoutFault;
use super::types::{FileSystem, TableKind};
use crate::units::{Alignment, ByteRange, Bytes};

/// Why no layout could be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The source does not tell a size, and a layout needs one.
    #[error("the capacity is not known: give it with --capacity")]
    CapacityUnknown,
    /// An erase block of zero bytes.
    #[error("an erase block of 0 bytes is none: give its size, such as --erase-block 4MiB")]
    ZeroEraseBlock,
    /// No start could lie on a boundary.
    #[error(
        "the phase of {phase} is no multiple of the physical block of {physical}, so no partition can start on a boundary: check --phase"
    )]
    PhaseOffBlock {
        /// The phase.
        phase: Bytes,
        /// The unit that the device writes without reading first.
        physical: Bytes,
    },
    /// An alignment that the device cannot address.
    #[error(
        "the alignment of {align} is no multiple of the physical block of {physical}: choose one that is, such as {nearest}"
    )]
    AlignOffBlock {
        /// The alignment asked for.
        align: Bytes,
        /// The unit that the device writes without reading first.
        physical: Bytes,
        /// The next multiple above it.
        nearest: Bytes,
    },
    /// An alignment or an erase block without a common grid below 2^64.
    #[error("no grid fits both {a} and {b}: choose another size")]
    NoCommonGrid {
        /// One size.
        a: Bytes,
        /// The other.
        b: Bytes,
    },
    /// A part of the intent that is wrong on any device.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The medium has no place for any partition.
    #[error(
        "the medium of {capacity} has no room for a partition on a grid of {alignment}: {way_out}"
    )]
    NoRoom {
        /// The size of the medium.
        capacity: Bytes,
        /// The grid.
        alignment: Alignment,
        /// What to do.
        way_out: &'static str,
    },
    /// An option leaves no place for any partition, where the medium itself has some.
    #[error(
        "{option} leaves no room for a partition on the medium of {capacity} with a grid of {alignment}: make it {change}"
    )]
    OptionLeavesNoRoom {
        /// The option.
        option: &'static str,
        /// What would help: "smaller" or "larger".
        change: &'static str,
        /// The size of the medium.
        capacity: Bytes,
        /// The grid.
        alignment: Alignment,
    },
    /// One partition does not fit.
    #[error(
        "partition {number} needs {need} and the largest free piece of the grid is {free}: make it smaller, or use 'rest'"
    )]
    DoesNotFit {
        /// Its number, counted from 1.
        number: usize,
        /// Its size after rounding.
        need: Bytes,
        /// The largest piece that is left for it.
        free: Bytes,
    },
    /// MBR entries count sectors in 32 bits.
    #[error(
        "an MBR cannot address {end} of this medium, its limit is {limit}: {instead}cap the layout with --max-size {limit_option}"
    )]
    BeyondMbr {
        /// Where the layout would end.
        end: Bytes,
        /// The last byte that 32-bit sector numbers reach.
        limit: Bytes,
        /// The limit in a form that `--max-size` accepts.
        limit_option: String,
        /// What could be done instead, when the board has a choice.
        instead: &'static str,
    },
    /// More partitions than the table holds.
    #[error("{table} holds {most} partitions and {count} were asked for: {way_out}")]
    TooMany {
        /// The table.
        table: TableKind,
        /// How many it holds.
        most: usize,
        /// How many were asked for.
        count: usize,
        /// What to do.
        way_out: &'static str,
    },
    /// A board that cannot boot from this table.
    #[error("{board} cannot boot from {article} {table}: {why}; {way_out}", article = article(*.table))]
    BoardRefusesTable {
        /// Its name.
        board: &'static str,
        /// The table asked for.
        table: TableKind,
        /// Why.
        why: &'static str,
        /// What to do.
        way_out: &'static str,
    },
    /// A board that wants another first partition.
    #[error(
        "{board} boots from a first partition of {wanted}, and {found} was asked for: begin with --partition {example}:fat32:BOOT"
    )]
    BoardWantsFirst {
        /// Its name.
        board: &'static str,
        /// What it wants.
        wanted: &'static str,
        /// What the first partition would be.
        found: FileSystem,
        /// A size that FAT32 can have with the sectors of this medium.
        example: &'static str,
    },
    /// A keep-out range covers sectors that the table itself needs.
    #[error(
        "keep-out {from}-{to} covers bytes {table_from} to {table_to}, which the {table} table itself needs: {way_out}",
        from = .range.from, to = .range.to,
        table_from = .owned.from.get(), table_to = .owned.to.get()
    )]
    KeepOutOverTable {
        /// The range to keep out of.
        range: ByteRange,
        /// The sectors of the table.
        owned: ByteRange,
        /// The table.
        table: TableKind,
        /// What to do.
        way_out: String,
    },
    /// A keep-out range that the medium does not have.
    #[error("keep-out {from}-{to} ends beyond the medium of {capacity}: check the range", from = .range.from, to = .range.to)]
    KeepOutBeyondEnd {
        /// The range.
        range: ByteRange,
        /// The size of the medium.
        capacity: Bytes,
    },
    /// The identifier belongs to the other table.
    #[error(
        "disk identifier {id} belongs to {article} {id_kind} table and the plan makes {table}: use --table {word}, or --disk-id random",
        article = article(.id.kind()), id_kind = .id.kind(), word = .id.kind().word()
    )]
    WrongDiskId {
        /// The identifier.
        id: DiskId,
        /// The table of the plan.
        table: TableKind,
    },
    /// A file system cannot have the size of its partition, or cannot be brought onto the grid.
    #[error("partition {number}: {error}")]
    FileSystem {
        /// Its number, counted from 1.
        number: usize,
        /// What is wrong.
        error: FitError,
    },
    /// The finished layout breaks its own rules: a fault of flashfit, found before anything is
    /// written.
    #[error("the layout contradicts itself ({0}): please report this with the command line")]
    Inconsistent(LayoutFault),
}

/// The article in front of the name of a table, as it is spoken.
const fn article(table: TableKind) -> &'static str {
    match table {
        TableKind::Mbr => "an",
        TableKind::Gpt => "a",
    }
}

//! From the fields of a layout file to a layout. Nothing is taken on trust here; what the numbers
//! say of each other is checked by the layout itself.

use super::{Entry, File, Free, Grid, Kept, LayoutFileError};
use crate::plan::alignment::AlignmentChoice;
use crate::plan::filesystem::Format;
use crate::plan::gpt_shape::{GptShape, STANDARD_ENTRIES};
use crate::plan::layout::{
    AlignedBy, Gap, GapKind, KeptOut, Layout, LayoutFault, Partition, Warning,
};
use crate::plan::table_room::table_room;
use crate::plan::{DiskId, Guid, PartitionType, TableKind};
use crate::units::{Alignment, ByteRange, Bytes, Lba, LogicalBlock, Sectors};
use std::fmt::Display;
use std::str::FromStr;

impl File {
    pub(super) fn into_layout(self) -> Result<Layout, LayoutFileError> {
        let table: TableKind = field("table", &self.table)?;
        let block = self.logical_block_size;
        // The last part of a capacity that is no whole sector does not count.
        let capacity = Sectors(self.capacity_bytes.get() / block.bytes().get());
        if self.capacity_sectors.is_some_and(|given| given != capacity) {
            return Err(wrong(
                "capacity_sectors",
                "it is not capacity_bytes divided by logical_block_size",
            ));
        }
        let gpt = match self.gpt {
            Some(shape) => Some(GptShape {
                entries: shape.entries,
                array_lba: shape.array_lba,
                backup_array_lba: shape.backup_array_lba,
            }),
            None if table == TableKind::Gpt => GptShape::new(STANDARD_ENTRIES, block, capacity),
            None => None,
        };
        let room = gpt
            .map(|shape| shape.room(block))
            .or_else(|| table_room(table, block, capacity))
            .ok_or(LayoutFault::NoRoom(capacity))?;
        let partitions = self
            .partitions
            .into_iter()
            .enumerate()
            .map(|(index, entry)| entry.into_partition(index + 1))
            .collect::<Result<Vec<_>, _>>()?;
        let gaps = if self.gaps.is_empty() {
            unexplained(&partitions, capacity)
        } else {
            self.gaps
                .into_iter()
                .map(Free::into_gap)
                .collect::<Result<Vec<_>, _>>()?
        };
        Ok(Layout {
            table,
            table_reason: self.table_reason,
            disk_id: field::<DiskId>("disk_id", &self.disk_id)?,
            logical_block: block,
            capacity,
            alignment: self.alignment.into_choice()?,
            gpt,
            first_usable: self.first_usable_lba.unwrap_or(room.first),
            last_usable: self
                .last_usable_lba
                .unwrap_or(Lba(room.end.get().saturating_sub(1))),
            partitions,
            keep_out: self
                .keep_out
                .into_iter()
                .map(Kept::into_kept)
                .collect::<Result<Vec<_>, _>>()?,
            gaps,
            notes: self.notes,
            warnings: self
                .warnings
                .into_iter()
                .map(|note| Warning {
                    code: note.code,
                    text: note.text,
                })
                .collect(),
            mkfs: self.mkfs,
            advice: self.advice,
        })
    }
}

impl Grid {
    fn into_choice(self) -> Result<AlignmentChoice, LayoutFileError> {
        let alignment = Alignment::new(self.bytes, self.phase_bytes)
            .ok_or_else(|| wrong("alignment.bytes", "it is zero"))?;
        if self.phase_bytes >= self.bytes {
            return Err(wrong("alignment.phase_bytes", "it is not below bytes"));
        }
        // Sectors are the smallest thing that a stick can erase.
        let sector = LogicalBlock::B512.bytes();
        if self
            .erase_block_bytes
            .is_some_and(|size| size == Bytes::ZERO || !size.is_multiple_of(sector))
        {
            return Err(wrong(
                "alignment.erase_block_bytes",
                "it is no whole number of sectors",
            ));
        }
        if self.fallback && self.erase_block_bytes.is_some() {
            return Err(wrong(
                "alignment.fallback",
                "a grid that is a precaution rests on no erase block",
            ));
        }
        Ok(AlignmentChoice {
            alignment,
            unit: self.size_unit_bytes.unwrap_or(self.bytes),
            erase_block: self.erase_block_bytes,
            reason: self.reason,
            fallback: self.fallback,
        })
    }
}

impl Entry {
    fn into_partition(self, number: usize) -> Result<Partition, LayoutFileError> {
        if self.number != 0 && self.number != number {
            return Err(wrong(
                "partitions.number",
                "partitions are not numbered in order",
            ));
        }
        let aligned_by = match self.aligned_by.as_str() {
            "start" => AlignedBy::Start,
            "data_area" => AlignedBy::DataArea {
                reason: self.aligned_by_reason.unwrap_or_default(),
            },
            other => {
                return Err(wrong(
                    "partitions.aligned_by",
                    format!("'{other}' is neither start nor data_area"),
                ));
            }
        };
        if aligned_by != AlignedBy::Start && self.format.is_none() {
            return Err(wrong(
                "partitions.format",
                "the partition is aligned by its data area, and the file does not tell where that is",
            ));
        }
        Ok(Partition {
            first: self.first_lba,
            sectors: self.sectors,
            kind: field::<PartitionType>("partitions.type", &self.kind)?,
            name: self.name,
            uuid: self
                .uuid
                .map(|uuid| field::<Guid>("partitions.uuid", &uuid))
                .transpose()?,
            filesystem: field("partitions.filesystem", &self.filesystem)?,
            label: self.label,
            format: self.format.map(Format::from),
            alternative: self.alternative,
            aligned_by,
            bootable: self.bootable,
            attributes: self.attributes,
        })
    }
}

impl Kept {
    fn into_kept(self) -> Result<KeptOut, LayoutFileError> {
        if self.from_bytes >= self.to_bytes {
            return Err(wrong("keep_out", "a range is empty"));
        }
        Ok(KeptOut {
            range: ByteRange {
                from: self.from_bytes,
                to: self.to_bytes,
            },
            reason: self.reason,
        })
    }
}

impl Free {
    fn into_gap(self) -> Result<Gap, LayoutFileError> {
        Ok(Gap {
            from: self.first_lba,
            to: self
                .first_lba
                .checked_add(self.sectors)
                .ok_or_else(|| wrong("gaps", "a gap ends beyond 2^64"))?,
            kind: field::<GapKind>("gaps.kind", &self.kind)?,
            reason: self.reason,
        })
    }
}

/// The gaps of a file that lists none.
fn unexplained(partitions: &[Partition], capacity: Sectors) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut cursor = Lba(0);
    let end = Lba(capacity.get());
    let edges = partitions.iter().map(|p| (p.first, p.end()));
    for (from, to) in edges.chain(std::iter::once((end, end))) {
        if cursor < from {
            gaps.push(Gap {
                from: cursor,
                to: from,
                kind: if cursor == Lba(0) {
                    GapKind::Table
                } else {
                    GapKind::Unused
                },
                reason: "not explained in the layout file".to_owned(),
            });
        }
        cursor = cursor.max(to);
    }
    gaps
}

fn field<T>(name: &'static str, text: &str) -> Result<T, LayoutFileError>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| wrong(name, error))
}

fn wrong(field: &'static str, problem: impl Display) -> LayoutFileError {
    LayoutFileError::Field {
        field,
        problem: problem.to_string(),
    }
}

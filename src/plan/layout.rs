//! The result: a table with its partitions, every sector accounted for.

pub use super::gaps::{Gap, GapKind};

use super::alignment::AlignmentChoice;
use super::filesystem::advice::Advice;
use super::filesystem::command::{mkfs, partition_node};
use super::filesystem::{Format, Inside, follows};
use super::gpt_shape::GptShape;
use super::guid::Guid;
use super::ids::DiskId;
use super::label::{LabelError, check_gpt_name};
use super::table_room::{TableRoom, most_partitions, table_room};
use super::types::{FileSystem, PartitionType, TableKind};
use crate::units::{Alignment, ByteRange, Bytes, Lba, LogicalBlock, Sectors};
use std::collections::HashSet;

/// A table to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Which table.
    pub table: TableKind,
    /// Why this one.
    pub table_reason: String,
    /// The identifier of the disk; of the same kind as the table.
    pub disk_id: DiskId,
    /// The unit of every sector number below.
    pub logical_block: LogicalBlock,
    /// The whole medium.
    pub capacity: Sectors,
    /// The grid.
    pub alignment: AlignmentChoice,
    /// How the copies of a GPT lie; `None` with an MBR.
    pub gpt: Option<GptShape>,
    /// The first sector that the table leaves for partitions.
    pub first_usable: Lba,
    /// The last one (inclusive, as tables and tools write it).
    pub last_usable: Lba,
    /// In the order in which they lie on the medium, numbered from 1.
    pub partitions: Vec<Partition>,
    /// Ranges that nothing touches.
    pub keep_out: Vec<KeptOut>,
    /// What no partition covers, and why. Together with the partitions it covers every sector
    /// exactly once.
    pub gaps: Vec<Gap>,
    /// What was rounded or decided, for people.
    pub notes: Vec<String>,
    /// What may surprise.
    pub warnings: Vec<Warning>,
    /// The commands that make the file systems, for a shell.
    pub mkfs: Vec<String>,
    /// Which file systems suit the stick; `None` when nothing is known of it.
    pub advice: Option<Advice>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Its first sector.
    pub first: Lba,
    /// Its size.
    pub sectors: Sectors,
    /// The type in its entry.
    pub kind: PartitionType,
    /// The name in its GPT entry; empty on an MBR.
    pub name: String,
    /// The identifier in its GPT entry; `None` on an MBR, where the kernel makes one from the disk
    /// identifier and the number.
    pub uuid: Option<Guid>,
    /// What will live in it.
    pub filesystem: FileSystem,
    /// The label of the file system.
    pub label: Option<String>,
    /// How the file system is made; `None` when there is none, or in a file that does not tell it.
    pub format: Option<Format>,
    /// Another layout of it that someone may want: the reason, and its command.
    pub alternative: Option<String>,
    /// What of it lies on the grid.
    pub aligned_by: AlignedBy,
    /// The MBR active flag. On a GPT always false, see `attributes`.
    pub bootable: bool,
    /// GPT attribute bits; 0 on an MBR.
    pub attributes: u64,
}

/// GPT attribute bit 2, "legacy BIOS bootable" (UEFI specification, table 5.8).
pub const LEGACY_BIOS_BOOTABLE: u64 = 1 << 2;

impl Partition {
    /// The first sector behind it; saturates, [`Layout::check`] refuses such a partition.
    pub fn end(&self) -> Lba {
        Lba(self.first.get().saturating_add(self.sectors.get()))
    }

    /// The last sector inside it, as tables and tools write it.
    pub fn last(&self) -> Lba {
        Lba(self.end().get().saturating_sub(1))
    }
}

/// What of a partition lies on the grid. Its end always does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlignedBy {
    /// Its first sector.
    Start,
    /// The data area of its file system, while the first sector on purpose does not.
    DataArea {
        /// Why.
        reason: String,
    },
}

/// A range that nothing touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOut {
    /// The range.
    pub range: ByteRange,
    /// Whose it is.
    pub reason: String,
}

/// Something that may surprise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A fixed word for programs.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}

/// Why a layout contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutFault {
    /// The medium holds nothing but the table.
    #[error("a medium of {0} sectors has no room for the table")]
    NoRoom(Sectors),
    /// No partition at all.
    #[error("it has no partitions")]
    Empty,
    /// More than the table holds.
    #[error("{0} partitions do not fit into an {1} table")]
    TooMany(usize, TableKind),
    /// The identifier is zero or belongs to the other table.
    #[error("disk identifier {0} does not belong to an {1} table")]
    DiskId(DiskId, TableKind),
    /// Usable sectors that the table does not leave.
    #[error("usable sectors {0} to {1} are not within the {2} to {3} that the table leaves")]
    Usable(Lba, Lba, Lba, Lba),
    /// The parts of a GPT lie where they cannot, or an MBR has some.
    #[error("{0} entries from sector {1} and again from {2} are no shape of the table")]
    Shape(u32, Lba, Lba),
    /// A GPT without the place of its parts.
    #[error("a GPT without the number and place of its entries")]
    NoShape,
    /// What is kept out lies over the table.
    #[error("the keep-out range {from}-{to} lies over the table itself", from = .0.from, to = .0.to)]
    KeepOutOverTable(ByteRange),
    /// The grid of the ends is not a divisor of that of the starts.
    #[error("sizes in units of {0} do not fit starts on {1}")]
    Grids(Bytes, Alignment),
    /// Nothing in it.
    #[error("partition {0} has no sectors")]
    NoSectors(usize),
    /// Outside the usable sectors.
    #[error(
        "partition {number} ({first} to {last}) is not inside the usable sectors {usable_first} to {usable_last}"
    )]
    Outside {
        /// Its number, counted from 1.
        number: usize,
        /// Its first sector.
        first: Lba,
        /// Its last sector.
        last: Lba,
        /// The first usable sector.
        usable_first: Lba,
        /// The last one.
        usable_last: Lba,
    },
    /// Two partitions share sectors, or are not in order.
    #[error("partition {0} does not begin behind partition {1}")]
    Order(usize, usize),
    /// A partition touches what is kept out.
    #[error("partition {0} touches the keep-out range {from}-{to}", from = .1.from, to = .1.to)]
    KeepOut(usize, ByteRange),
    /// A start that is not on the grid.
    #[error("partition {number} starts at sector {first}, which is not on the grid of {grid}")]
    StartOffGrid {
        /// Its number, counted from 1.
        number: usize,
        /// Its first sector.
        first: Lba,
        /// The grid.
        grid: Alignment,
    },
    /// An end that is not on the grid.
    #[error("partition {number} ends before sector {end}, which is not on the grid of {grid}")]
    EndOffGrid {
        /// Its number, counted from 1.
        number: usize,
        /// The first sector behind it.
        end: Lba,
        /// The grid.
        grid: Alignment,
    },
    /// Parameters of another file system, or of a data area elsewhere.
    #[error(
        "partition {0}: the parameters are not those of {1} on this partition and grid, with its data area where it is said to be"
    )]
    Parameters(usize, FileSystem),
    /// Commands that are not those of the parameters.
    #[error("command {0} under mkfs is not the one that its parameters lead to")]
    Commands(usize),
    /// A data area that is said to be on the grid and is not.
    #[error(
        "partition {number}: its data area at byte {data} is not on the grid of {grid}",
        data = .data.get()
    )]
    DataOffGrid {
        /// Its number, counted from 1.
        number: usize,
        /// Where it begins.
        data: Bytes,
        /// The grid.
        grid: Alignment,
    },
    /// A type of the other table.
    #[error("partition {0}: type {1} does not belong to an {2} table")]
    Type(usize, PartitionType, TableKind),
    /// A name, identifier or attribute that the table cannot hold, or a missing identifier.
    #[error("partition {0}: an {1} table cannot hold its {2}")]
    Field(usize, TableKind, &'static str),
    /// The name of a GPT entry is too long.
    #[error("partition {0}: {1}")]
    Name(usize, LabelError),
    /// Two partitions with one identifier, or one with that of the disk.
    #[error("partition {0} has an identifier that is already taken")]
    Uuid(usize),
    /// Gaps and partitions do not cover the medium exactly once.
    #[error("gaps and partitions do not cover the medium exactly once, look at sector {0}")]
    Tiling(Lba),
}

impl Layout {
    /// The capacity in bytes; saturates, such a medium does not exist.
    pub fn capacity_bytes(&self) -> Bytes {
        self.capacity
            .to_bytes(self.logical_block)
            .unwrap_or(Bytes(u64::MAX))
    }

    /// The sectors of a partition as bytes; saturates beyond 2^64.
    pub fn byte_range(&self, partition: &Partition) -> ByteRange {
        let bytes = |place: Lba| {
            place
                .to_bytes(self.logical_block)
                .unwrap_or(Bytes(u64::MAX))
        };
        ByteRange {
            from: bytes(partition.first),
            to: bytes(partition.end()),
        }
    }

    /// Check every number against every other, but not the commands: see [`Layout::check_commands`]. A layout made by [`super::layout()`] passes; one
    /// read from a file may not.
    pub fn check(&self) -> Result<(), LayoutFault> {
        self.check_table()?;
        for (index, partition) in self.partitions.iter().enumerate() {
            self.check_place(index, partition)?;
            self.check_entry(index + 1, partition)?;
        }
        self.check_identifiers()?;
        self.check_tiling()
    }

    /// The commands that make the file systems, with the names that the partitions of `disk` have.
    pub fn commands(&self, disk: &str) -> Vec<String> {
        (1..=self.partitions.len())
            .filter_map(|number| mkfs(self, number, disk))
            .map(|command| command.line())
            .collect()
    }

    /// Name the disk in the commands.
    pub fn name_disk(&mut self, disk: &str) {
        self.mkfs = self.commands(disk);
    }

    /// The commands are those of the parameters, all for one disk whose name is nothing but a name.
    /// An empty list stands for commands that are still to be made.
    ///
    /// # Errors
    /// The first command that is another.
    pub fn check_commands(&self) -> Result<(), LayoutFault> {
        let Some(first) = self.mkfs.first() else {
            return Ok(());
        };
        let number = (1..=self.partitions.len()).find(|number| mkfs(self, *number, "").is_some());
        let disk = number
            .and_then(|number| disk_of(first, number))
            .ok_or(LayoutFault::Commands(1))?;
        let derived = self.commands(&disk);
        let differs = |index: &usize| self.mkfs.get(*index) != derived.get(*index);
        match (0..self.mkfs.len().max(derived.len())).find(differs) {
            Some(index) => Err(LayoutFault::Commands(index + 1)),
            None => Ok(()),
        }
    }

    fn check_table(&self) -> Result<(), LayoutFault> {
        if self.capacity.to_bytes(self.logical_block).is_none() {
            return Err(LayoutFault::NoRoom(self.capacity));
        }
        let room = self.check_shape()?;
        let last = Lba(room.end.get() - 1);
        if self.first_usable < room.first
            || self.last_usable > last
            || self.first_usable > self.last_usable
        {
            return Err(LayoutFault::Usable(
                self.first_usable,
                self.last_usable,
                room.first,
                last,
            ));
        }
        let zero = match self.disk_id {
            DiskId::Mbr(id) => id == 0,
            DiskId::Gpt(guid) => guid.is_nil(),
        };
        if zero || self.disk_id.kind() != self.table {
            return Err(LayoutFault::DiskId(self.disk_id, self.table));
        }
        let starts = self.alignment.alignment;
        if !starts.grain().is_multiple_of(self.alignment.unit) {
            return Err(LayoutFault::Grids(self.alignment.unit, starts));
        }
        let most = self.gpt.map_or(most_partitions(self.table), |shape| {
            usize::try_from(shape.entries).unwrap_or(usize::MAX)
        });
        match self.partitions.len() {
            0 => Err(LayoutFault::Empty),
            count if count > most => Err(LayoutFault::TooMany(count, self.table)),
            _ => Ok(()),
        }
    }

    /// The room that the table leaves, and whether anything is kept out of its own sectors.
    fn check_shape(&self) -> Result<TableRoom, LayoutFault> {
        let (block, capacity) = (self.logical_block, self.capacity);
        let (room, owned) = match (self.table, self.gpt) {
            (TableKind::Mbr, None) => {
                let sector = ByteRange {
                    from: Bytes::ZERO,
                    to: block.bytes(),
                };
                (table_room(self.table, block, capacity), vec![sector])
            }
            (TableKind::Gpt, Some(shape)) => {
                if GptShape::new(shape.entries, block, capacity) != Some(shape) {
                    return Err(shape_fault(shape));
                }
                let owned = shape.owned(block, capacity).to_vec();
                (Some(shape.room(block)), owned)
            }
            (TableKind::Mbr, Some(shape)) => return Err(shape_fault(shape)),
            (TableKind::Gpt, None) => return Err(LayoutFault::NoShape),
        };
        let over = |kept: &&KeptOut| owned.iter().any(|owned| owned.overlaps(kept.range));
        match self.keep_out.iter().find(over) {
            Some(kept) => Err(LayoutFault::KeepOutOverTable(kept.range)),
            None => room.ok_or(LayoutFault::NoRoom(capacity)),
        }
    }

    fn check_place(&self, index: usize, partition: &Partition) -> Result<(), LayoutFault> {
        let number = index + 1;
        if partition.sectors.get() == 0 {
            return Err(LayoutFault::NoSectors(number));
        }
        if partition.first.checked_add(partition.sectors).is_none()
            || partition.first < self.first_usable
            || partition.last() > self.last_usable
        {
            return Err(LayoutFault::Outside {
                number,
                first: partition.first,
                last: partition.last(),
                usable_first: self.first_usable,
                usable_last: self.last_usable,
            });
        }
        if let Some(previous) = index.checked_sub(1).and_then(|i| self.partitions.get(i))
            && previous.end() > partition.first
        {
            return Err(LayoutFault::Order(number, index));
        }
        let bytes = self.byte_range(partition);
        if let Some(kept) = self.keep_out.iter().find(|k| k.range.overlaps(bytes)) {
            return Err(LayoutFault::KeepOut(number, kept.range));
        }
        let starts = self.alignment.alignment;
        if partition.aligned_by == AlignedBy::Start && !starts.contains(bytes.from) {
            return Err(LayoutFault::StartOffGrid {
                number,
                first: partition.first,
                grid: starts,
            });
        }
        let ends = self.alignment.ends();
        if let Some(format) = &partition.format {
            let ground = follows::Ground {
                block: self.logical_block,
                range: bytes,
                boundaries: ends,
            };
            if format.parameters.file_system() != partition.filesystem
                || !follows::follows(format, &ground)
            {
                return Err(LayoutFault::Parameters(number, partition.filesystem));
            }
        }
        if let Some(format) = &partition.format
            && !matches!(format.inside, Inside::StartOnly(_))
            && let Some(offset) = format.parameters.anchor(self.logical_block)
        {
            let data = Bytes(bytes.from.get().saturating_add(offset.get()));
            if !ends.contains(data) || data >= bytes.to {
                return Err(LayoutFault::DataOffGrid {
                    number,
                    data,
                    grid: ends,
                });
            }
        }
        if !ends.contains(bytes.to) {
            return Err(LayoutFault::EndOffGrid {
                number,
                end: partition.end(),
                grid: ends,
            });
        }
        Ok(())
    }

    fn check_entry(&self, number: usize, partition: &Partition) -> Result<(), LayoutFault> {
        let fault = |what| Err(LayoutFault::Field(number, self.table, what));
        match (self.table, partition.kind) {
            (TableKind::Mbr, PartitionType::Mbr(code)) if code != 0 => {
                if partition.uuid.is_some() {
                    return fault("identifier");
                }
                if !partition.name.is_empty() {
                    return fault("name");
                }
                if partition.attributes != 0 {
                    return fault("attributes");
                }
                Ok(())
            }
            (TableKind::Gpt, PartitionType::Gpt(guid)) if !guid.is_nil() => {
                if partition.uuid.is_none_or(Guid::is_nil) {
                    return fault("missing identifier");
                }
                if partition.bootable {
                    return fault("active flag (it has an attribute for that)");
                }
                if partition.name.chars().any(char::is_control) {
                    return fault("name with control characters");
                }
                check_gpt_name(&partition.name).map_err(|error| LayoutFault::Name(number, error))
            }
            _ => Err(LayoutFault::Type(number, partition.kind, self.table)),
        }
    }

    fn check_identifiers(&self) -> Result<(), LayoutFault> {
        let mut taken = HashSet::new();
        if let DiskId::Gpt(guid) = self.disk_id {
            taken.insert(guid);
        }
        for (index, partition) in self.partitions.iter().enumerate() {
            if let Some(uuid) = partition.uuid
                && !taken.insert(uuid)
            {
                return Err(LayoutFault::Uuid(index + 1));
            }
        }
        Ok(())
    }

    fn check_tiling(&self) -> Result<(), LayoutFault> {
        let mut pieces: Vec<(Lba, Lba)> = self
            .partitions
            .iter()
            .map(|p| (p.first, p.end()))
            .chain(self.gaps.iter().map(|gap| (gap.from, gap.to)))
            .collect();
        pieces.sort_unstable();
        let mut reached = Lba(0);
        for (from, to) in pieces {
            if from != reached || to <= from {
                return Err(LayoutFault::Tiling(reached));
            }
            reached = to;
        }
        if reached != Lba(self.capacity.get()) {
            return Err(LayoutFault::Tiling(reached));
        }
        Ok(())
    }
}

/// The disk that a command names, which ends with its partition `number`.
fn disk_of(command: &str, number: usize) -> Option<String> {
    let node = command.rsplit(' ').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !node.starts_with("/dev/") || !node.chars().all(plain) {
        return None;
    }
    ["-part", "p", ""]
        .iter()
        .filter_map(|between| node.strip_suffix(&format!("{between}{number}")))
        .find(|disk| partition_node(disk, number) == node)
        .map(str::to_owned)
}

fn shape_fault(shape: GptShape) -> LayoutFault {
    LayoutFault::Shape(shape.entries, shape.array_lba, shape.backup_array_lba)
}

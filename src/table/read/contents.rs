//! What is on a device: its table, its partitions, and what lies in them.

use super::bytes::stands;
use super::copies;
pub use super::copies::Gpt;
use super::fat::Fat;
use super::filesystem::{FileSystemFound, HEAD};
use super::gpt::GptCopy;
use super::logical::logical;
use super::mbr::Mbr;
use super::signatures::{Signature, SignatureKind, signatures};
use super::window;
use crate::device::{AccessError, ReadDevice};
use crate::plan::{DiskId, Guid, PartitionType, TableKind};
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock};

/// Everything that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The size of the device.
    pub capacity: Bytes,
    /// Its logical block.
    pub logical_block: LogicalBlock,
    /// The table that a system would use.
    pub table: Option<TableFound>,
    /// What sector 0 is.
    pub sector_zero: SectorZero,
    /// Copies of a GPT, first those that count in the device's own sectors.
    pub gpts: Vec<Gpt>,
    /// The file system that fills the whole device; one under a table is told as well.
    pub filesystem: Option<FileSystemFound>,
    /// The partitions of the table, in its order.
    pub partitions: Vec<PartitionFound>,
    /// Whether the chain of logical partitions is broken.
    pub broken_chain: bool,
    /// Every mark on the device itself, not those inside partitions.
    pub signatures: Vec<Signature>,
}

/// The table that a system would use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFound {
    /// Which one.
    pub kind: TableKind,
    /// The identifier of the disk; `None` when the table has none.
    pub disk_id: Option<DiskId>,
    /// The sectors that its numbers count.
    pub sector: LogicalBlock,
}

/// What sector 0 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorZero {
    /// Nothing that anyone would recognise.
    Nothing,
    /// A partition table. `boot_sector`: it is the boot sector of a file system as well.
    Table {
        /// The table.
        mbr: Mbr,
        /// Whether a boot sector shows under it.
        boot_sector: bool,
    },
    /// The boot sector of a file system. `contains_itself`: with an entry that says so too.
    BootSector {
        /// Whether an MBR entry lies over sector 0.
        contains_itself: bool,
    },
    /// Code that ends in `55 AA`, and no table.
    BootCode,
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFound {
    /// Its number in the table, from 1.
    pub number: usize,
    /// Where it lies, also when that is beyond the device.
    pub range: ByteRange,
    /// Its type.
    pub kind: PartitionType,
    /// Its name; empty on an MBR.
    pub name: String,
    /// Its identifier, of a GPT only.
    pub uuid: Option<Guid>,
    /// Whether it only contains other partitions.
    pub is_container: bool,
    /// The cylinder, head and sector in its MBR entry agree with its first sector.
    pub chs_agrees: bool,
    /// What is in it, when its insides are understood.
    pub filesystem: Option<FileSystemFound>,
    /// The name of what is in it.
    pub content: Option<&'static str>,
    /// Sectors in front of it, as the boot sector inside notes them; `None` when there is none.
    pub hidden_sectors: Option<u64>,
}

/// So many partitions are looked into; a hostile table names thousands.
const LOOKED_INTO: usize = 128;

/// Read all of it.
///
/// # Errors
/// The first read that fails.
pub fn contents(device: &mut dyn ReadDevice) -> Result<Contents, AccessError> {
    let head = window::read(device, Bytes::ZERO, HEAD)?;
    let Tables {
        sector_zero,
        gpts,
        table,
        mut partitions,
        broken_chain,
    } = tables(device, &head)?;
    for partition in partitions.iter_mut().take(LOOKED_INTO) {
        look_into(device, partition)?;
    }
    let capacity = device.capacity();
    let whole = ByteRange {
        from: Bytes::ZERO,
        to: capacity,
    };
    Ok(Contents {
        capacity,
        logical_block: device.logical_block(),
        table,
        sector_zero,
        gpts,
        filesystem: FileSystemFound::identify(&head),
        partitions,
        broken_chain,
        signatures: signatures(device, &[whole])?,
    })
}

/// Where the partitions of the table lie, without a look into them; none without a table.
///
/// # Errors
/// The first read that fails.
pub fn partition_ranges(device: &mut dyn ReadDevice) -> Result<Vec<ByteRange>, AccessError> {
    let head = window::read(device, Bytes::ZERO, HEAD)?;
    let found = tables(device, &head)?;
    Ok(found.partitions.iter().map(|found| found.range).collect())
}

/// What the tables of a device say.
struct Tables {
    sector_zero: SectorZero,
    gpts: Vec<Gpt>,
    table: Option<TableFound>,
    partitions: Vec<PartitionFound>,
    broken_chain: bool,
}

fn tables(device: &mut dyn ReadDevice, head: &[u8]) -> Result<Tables, AccessError> {
    let block = device.logical_block();
    let sector_zero = sector_zero(head);
    let mut gpts = Vec::new();
    for sector in [block, other(block)] {
        gpts.extend(copies::gpt(device, sector)?);
    }
    let mut partitions = Vec::new();
    let mut broken_chain = false;
    let table = match sector_zero {
        SectorZero::Table { mbr, .. } if !mbr.is_protective() => {
            broken_chain = !mbr_partitions(device, &mbr, &mut partitions)?;
            Some(TableFound {
                kind: TableKind::Mbr,
                disk_id: (mbr.disk_signature != 0).then_some(DiskId::Mbr(mbr.disk_signature)),
                sector: block,
            })
        }
        SectorZero::BootSector { .. } => None,
        SectorZero::Table { .. } | SectorZero::Nothing | SectorZero::BootCode => gpts
            .iter()
            .find_map(|gpt| gpt.sound().map(|copy| (gpt.sector, copy)))
            .map(|(sector, copy)| {
                partitions = gpt_partitions(copy, sector);
                TableFound {
                    kind: TableKind::Gpt,
                    disk_id: (!copy.header.disk.is_nil()).then_some(DiskId::Gpt(copy.header.disk)),
                    sector,
                }
            }),
    };
    Ok(Tables {
        sector_zero,
        gpts,
        table,
        partitions,
        broken_chain,
    })
}

const fn other(block: LogicalBlock) -> LogicalBlock {
    match block {
        LogicalBlock::B512 => LogicalBlock::B4096,
        LogicalBlock::B4096 => LogicalBlock::B512,
    }
}

fn sector_zero(head: &[u8]) -> SectorZero {
    let boot_sector =
        Fat::parse(head).is_some() || stands(head, 3, b"EXFAT   ") || stands(head, 3, b"NTFS    ");
    match Mbr::parse(head) {
        Some(mbr) if mbr.is_table(boot_sector) => SectorZero::Table { mbr, boot_sector },
        Some(mbr) if boot_sector => SectorZero::BootSector {
            contains_itself: mbr.is_plausible()
                && mbr.used().any(|(_, entry)| entry.contains_itself()),
        },
        None if boot_sector => SectorZero::BootSector {
            contains_itself: false,
        },
        Some(_) => SectorZero::BootCode,
        None => SectorZero::Nothing,
    }
}

/// Primary and logical partitions; `false` when the chain of the logical ones is broken.
fn mbr_partitions(
    device: &mut dyn ReadDevice,
    mbr: &Mbr,
    partitions: &mut Vec<PartitionFound>,
) -> Result<bool, AccessError> {
    let sector = device.logical_block().bytes();
    let mut chains_end = true;
    let mut inside = Vec::new();
    for (number, entry) in mbr.used() {
        let chs_agrees = entry.chs_agrees();
        partitions.push(PartitionFound {
            number,
            range: range(entry.first, entry.end(), sector),
            kind: PartitionType::Mbr(entry.kind),
            is_container: entry.is_extended(),
            chs_agrees,
            ..PartitionFound::blank()
        });
        if entry.is_extended() {
            let (logical, ends) = logical(device, entry, sector)?;
            chains_end &= ends;
            inside.extend(logical);
        }
    }
    for (index, logical) in inside.into_iter().enumerate() {
        partitions.push(PartitionFound {
            // Logical partitions are counted from 5 on, whatever the primary ones are.
            number: 5 + index,
            range: range(logical.entry.first, logical.entry.end(), sector),
            kind: PartitionType::Mbr(logical.entry.kind),
            ..PartitionFound::blank()
        });
    }
    Ok(chains_end)
}

fn gpt_partitions(copy: &GptCopy, sector: LogicalBlock) -> Vec<PartitionFound> {
    copy.entries
        .iter()
        .map(|entry| PartitionFound {
            number: entry.number,
            range: range(
                entry.first,
                Lba(entry.last.get().saturating_add(1)),
                sector.bytes(),
            ),
            kind: PartitionType::Gpt(entry.kind),
            name: entry.name.clone(),
            uuid: Some(entry.uuid),
            ..PartitionFound::blank()
        })
        .collect()
}

fn range(first: Lba, end: Lba, sector: Bytes) -> ByteRange {
    let bytes = |lba: Lba| Bytes(lba.get().saturating_mul(sector.get()));
    ByteRange {
        from: bytes(first),
        to: bytes(end),
    }
}

impl PartitionFound {
    fn blank() -> PartitionFound {
        PartitionFound {
            number: 0,
            range: ByteRange {
                from: Bytes::ZERO,
                to: Bytes::ZERO,
            },
            kind: PartitionType::Mbr(0),
            name: String::new(),
            uuid: None,
            is_container: false,
            chs_agrees: true,
            filesystem: None,
            content: None,
            hidden_sectors: None,
        }
    }
}

/// Name what lies in a partition.
fn look_into(
    device: &mut dyn ReadDevice,
    partition: &mut PartitionFound,
) -> Result<(), AccessError> {
    if partition.is_container || partition.range.from >= partition.range.to {
        return Ok(());
    }
    let length = HEAD.min(partition.range.length());
    let head = window::read(device, partition.range.from, length)?;
    partition.filesystem = FileSystemFound::identify(&head);
    partition.hidden_sectors = hidden_sectors(&head);
    partition.content = match partition.filesystem {
        Some(found) => Some(found.kind.name()),
        None => signatures(device, &[partition.range])?
            .iter()
            .find(|signature| signature.kind != SignatureKind::PartitionTable)
            .map(|signature| signature.name),
    };
    Ok(())
}

/// What a FAT or exFAT boot sector says of the sectors in front of it; 0 is "not noted".
fn hidden_sectors(head: &[u8]) -> Option<u64> {
    let noted = match super::exfat::ExFat::parse(head) {
        Some(fs) => fs.partition_offset,
        None => Fat::parse(head)?.hidden.into(),
    };
    (noted != 0).then_some(noted)
}

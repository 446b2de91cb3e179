//! The arrow: medium, grid and intent to a layout.

use super::alignment::{AlignmentChoice, alignment_override};
use super::boot::{FirstWish, TableWish, fat_fills_its_partition};
use super::error::PlanError;
use super::filesystem::{advice, standard};
use super::fitted::{Fitted, Setting, Trouble, place_fitted};
use super::gaps::{Boundaries, gaps};
use super::gpt_shape::GptShape;
use super::ids::IdSource;
use super::intent::{
    DiskIdChoice, Intent, IntentError, PartitionIntent, PartitionSize, TableChoice, is_zero,
};
use super::label::{LabelError, check_gpt_name, check_label, gpt_name};
use super::layout::{KeptOut, LEGACY_BIOS_BOOTABLE, Layout, Partition, Warning};
use super::medium::Medium;
use super::placement::{Field, Misfit, Want, free_pieces, merged, place};
use super::recipes::about_file_systems;
use super::remarks::{notes, warnings};
use super::table_kind::{Circumstances, table_kind};
use super::table_room::{MBR_SECTORS, TableRoom, table_room};
use super::types::{FileSystem, PartitionType, TableKind, type_for};
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock, MIB, Sectors, Size};

/// Nothing starts before 1 MiB: boot loaders live there by custom, and every partitioner of the
/// last decade leaves it free.
const EARLIEST: Bytes = Bytes(MIB);

/// Turn an intent into a layout.
///
/// `choice` is the grid of the geometry; `--align` in the intent overrides it. `entropy` feeds new
/// identifiers unless the intent names a seed. The result has passed [`Layout::check`].
///
/// Errors: whatever does not fit, see [`PlanError`].
pub fn layout(
    medium: &Medium,
    choice: &AlignmentChoice,
    intent: &Intent,
    entropy: [u8; 16],
) -> Result<Layout, PlanError> {
    let block = medium.logical_block;
    let choice = grid(medium, choice, intent)?;
    let partitions = wanted(medium, &choice, intent)?;
    let wishes = intent.boot.wishes();
    if let Some(first) = partitions.first()
        && let Some(wanted) = wishes.first.refuses(first.filesystem)
    {
        return Err(PlanError::BoardWantsFirst {
            board: wishes.name,
            wanted,
            found: first.filesystem,
            // FAT32 has at least 65525 clusters of one sector or more: 256 MiB do not hold them
            // where a sector has 4096 bytes.
            example: match block {
                LogicalBlock::B512 => "256MiB",
                LogicalBlock::B4096 => "512MiB",
            },
        });
    }
    let keep_out = keep_out(medium, intent)?;
    let blocked: Vec<ByteRange> = keep_out.iter().map(|kept| kept.range).collect();
    let limits = Limits::of(medium, intent)?;
    let ground = Ground {
        medium,
        choice: &choice,
        earliest: EARLIEST.max(wishes.first_start),
        blocked: merged(blocked.clone()),
        limits,
        align_given: intent.align.is_some(),
    };

    let wants = wants(&partitions, block)?;
    let beyond_mbr = ground.beyond_mbr(&wants);
    let mbr_only = matches!(wishes.table, TableWish::MbrOnly(_));
    let wants_mbr = match intent.table {
        TableChoice::Kind(kind) => kind == TableKind::Mbr,
        TableChoice::Auto => mbr_only,
    };
    if beyond_mbr && wants_mbr {
        let limit = mbr_limit(block);
        return Err(PlanError::BeyondMbr {
            end: ground.limits.end,
            limit,
            limit_option: format!("{}B", limit.get()),
            instead: if mbr_only { "" } else { "use --table gpt, or " },
        });
    }
    let named_id = match intent.disk_id {
        DiskIdChoice::Random => None,
        DiskIdChoice::Keep => medium.disk_id,
        DiskIdChoice::Given(id) => Some(id),
    };
    let possible = intent
        .boot
        .gpt_entries(block)
        .and_then(|entries| GptShape::new(entries, block, medium.sectors()));
    let (table, table_reason) = table_kind(&Circumstances {
        choice: intent.table,
        partitions: &partitions,
        disk_id: named_id,
        logical_block: block,
        capacity: medium.sectors(),
        beyond_mbr,
        capped: ground.limits.max_size.is_some(),
        board: intent.boot,
        shape: possible,
        keep_out: &blocked,
    })?;
    if let Some(id) = named_id.filter(|id| id.kind() != table) {
        return Err(PlanError::WrongDiskId { id, table });
    }

    let shape = match table {
        TableKind::Mbr => None,
        TableKind::Gpt => Some(possible.ok_or_else(|| ground.no_room())?),
    };
    let room = shape
        .map(|shape| shape.room(block))
        .or_else(|| table_room(table, block, medium.sectors()))
        .ok_or_else(|| ground.no_room())?;
    let filesystems: Vec<FileSystem> = partitions.iter().map(|p| p.filesystem).collect();
    let setting = Setting {
        block,
        grid: &choice,
        stick: &medium.stick,
        fat_area: intent.fat_area,
        fat_geometry: wishes.fat_geometry,
    };
    let fitted =
        place_fitted(&ground.field(room), &wants, &filesystems, &setting).map_err(|trouble| {
            match trouble {
                Trouble::Misfit(misfit) => ground.explain(misfit, room),
                Trouble::FileSystem(index, error) => PlanError::FileSystem {
                    number: index + 1,
                    error,
                },
            }
        })?;
    let ids = intent
        .id_seed
        .as_deref()
        .map_or_else(|| IdSource::from_entropy(entropy), IdSource::from_seed);
    let entries = partitions
        .iter()
        .zip(&fitted)
        .enumerate()
        .map(|(index, (partition, fitted))| entry(index + 1, partition, fitted, table, block, ids))
        .collect::<Result<Vec<_>, _>>()?;
    let entries = with_active_flag(entries, table, wishes.first);

    let occupied: Vec<(Lba, Lba)> = entries.iter().map(|p| (p.first, p.end())).collect();
    let moved: Vec<Lba> = entries
        .iter()
        .zip(&fitted)
        .filter(|(_, fitted)| fitted.moved)
        .map(|(entry, _)| entry.first)
        .collect();
    let named: Vec<(ByteRange, &str)> = keep_out
        .iter()
        .map(|kept| (kept.range, kept.reason.as_str()))
        .collect();
    let gaps = gaps(&Boundaries {
        table,
        logical_block: block,
        capacity: medium.sectors(),
        alignment: &choice,
        table_end: room.end,
        partitions: &occupied,
        moved: &moved,
        keep_out: &named,
        reserved_from: ground.limits.reserved_from,
        max_size: ground.limits.max_size,
    });
    let mut warnings = warnings(&partitions, table, shape, &choice, intent, medium);
    let unit = Sectors(choice.unit.get() / block.bytes().get());
    if let Some(first) = entries.first()
        && let Some((code, text)) = fat_fills_its_partition(intent.boot, first.sectors, unit)
    {
        warnings.push(Warning {
            code: code.to_owned(),
            text,
        });
    }
    let mut layout = Layout {
        table,
        table_reason,
        disk_id: named_id.unwrap_or_else(|| ids.disk(table)),
        logical_block: block,
        capacity: medium.sectors(),
        notes: notes(&partitions, &fitted, &choice, block),
        warnings,
        alignment: choice.clone(),
        gpt: shape,
        first_usable: room.first,
        last_usable: Lba(room.end.get() - 1),
        partitions: entries,
        keep_out,
        gaps,
        mkfs: Vec::new(),
        advice: None,
    };
    about_file_systems(&mut layout, medium, intent, &fitted, &setting);
    layout.check().map_err(PlanError::Inconsistent)?;
    Ok(layout)
}

/// The partitions asked for, or one over the whole device.
fn wanted(
    medium: &Medium,
    choice: &AlignmentChoice,
    intent: &Intent,
) -> Result<Vec<PartitionIntent>, PlanError> {
    if intent.partitions.is_empty() {
        let filesystem = match intent.purpose {
            _ if intent.boot.wishes().first != FirstWish::Any => FileSystem::Fat32,
            Some(purpose) => advice::file_system(purpose, medium.capacity, choice, &medium.stick),
            None => standard::file_system(medium.capacity),
        };
        return Ok(vec![PartitionIntent::new(PartitionSize::Rest, filesystem)]);
    }
    for partition in &intent.partitions {
        if let Some(label) = &partition.label {
            check_label(label, partition.filesystem).map_err(IntentError::Label)?;
        }
    }
    Ok(intent.partitions.clone())
}

fn wants(partitions: &[PartitionIntent], block: LogicalBlock) -> Result<Vec<Want>, IntentError> {
    partitions
        .iter()
        .enumerate()
        .map(|(index, partition)| match partition.size {
            PartitionSize::Exact(size) if is_zero(size) => {
                Err(IntentError::ZeroSize(format!("partition {}", index + 1)))
            }
            PartitionSize::Exact(size) => bytes(size, block, "a partition").map(Want::Exact),
            PartitionSize::Share(share) => Ok(Want::Share(share)),
            PartitionSize::Rest => Ok(Want::Rest),
        })
        .collect()
}

/// The grid of the geometry, or the one asked for. Whatever it is, the medium must be able to
/// address it.
fn grid(
    medium: &Medium,
    choice: &AlignmentChoice,
    intent: &Intent,
) -> Result<AlignmentChoice, PlanError> {
    let block = medium.logical_block;
    let physical = medium.physical_block;
    let phase = intent
        .phase
        .map(|phase| bytes(phase, block, "the phase"))
        .transpose()?;
    if let Some(align) = intent.align {
        let align = bytes(align, block, "the alignment")?;
        return alignment_override(choice, align, phase, physical);
    }
    let choice = match phase {
        None => choice.clone(),
        Some(phase) => AlignmentChoice {
            alignment: crate::units::Alignment::new(choice.alignment.grain(), phase)
                .unwrap_or(choice.alignment),
            reason: format!("{}; phase of {phase} asked for", choice.reason),
            ..choice.clone()
        },
    };
    let grid = choice.alignment;
    let logical = block.bytes();
    if !grid.phase().is_multiple_of(logical) {
        return Err(PlanError::PhaseOffBlock {
            phase: grid.phase(),
            physical,
        });
    }
    if !grid.grain().is_multiple_of(logical) || !choice.unit.is_multiple_of(logical) {
        return alignment_override(&choice, choice.unit, Some(grid.phase()), physical);
    }
    Ok(choice)
}

fn keep_out(medium: &Medium, intent: &Intent) -> Result<Vec<KeptOut>, PlanError> {
    let mut kept: Vec<(KeptOut, bool)> = Vec::new();
    for wish in &intent.keep_out {
        let range = ByteRange {
            from: bytes(wish.from, medium.logical_block, "a keep-out range")?,
            to: bytes(wish.to, medium.logical_block, "a keep-out range")?,
        };
        if range.from >= range.to {
            return Err(IntentError::EmptyKeepOut(shown(range)).into());
        }
        if range.to > medium.capacity {
            return Err(PlanError::KeepOutBeyondEnd {
                range,
                capacity: medium.capacity,
            });
        }
        let typed = wish.owner.is_none();
        if let Some((other, _)) = kept
            .iter()
            .find(|(other, other_typed)| typed && *other_typed && other.range.overlaps(range))
        {
            return Err(IntentError::OverlappingKeepOuts(shown(other.range), shown(range)).into());
        }
        let reason = wish.owner.clone().unwrap_or_else(|| "asked for".to_owned());
        kept.push((KeptOut { range, reason }, typed));
    }
    for loader in intent.boot.wishes().loaders {
        let range = loader.range();
        if range.to > medium.capacity {
            return Err(PlanError::KeepOutBeyondEnd {
                range,
                capacity: medium.capacity,
            });
        }
        let reason = loader.owner.to_owned();
        kept.push((KeptOut { range, reason }, false));
    }
    kept.sort_by_key(|(kept, _)| (kept.range.from, kept.range.to));
    Ok(kept.into_iter().map(|(kept, _)| kept).collect())
}

fn shown(range: ByteRange) -> String {
    format!("{}-{}", range.from, range.to)
}

/// Where the layout has to stop, whatever the table.
struct Limits {
    /// The first byte that may not be used.
    end: Bytes,
    reserved_from: Option<Bytes>,
    max_size: Option<Bytes>,
}

impl Limits {
    fn of(medium: &Medium, intent: &Intent) -> Result<Limits, PlanError> {
        let block = medium.logical_block;
        let reserved_from = intent
            .reserve_end
            .map(|size| bytes(size, block, "the reserve"))
            .transpose()?
            .map(|reserve| medium.capacity.saturating_sub(reserve));
        let max_size = intent
            .max_size
            .map(|size| bytes(size, block, "the largest size"))
            .transpose()?
            .filter(|size| *size < medium.capacity);
        let end = [reserved_from, max_size]
            .into_iter()
            .flatten()
            .fold(medium.capacity, Bytes::min);
        Ok(Limits {
            end,
            reserved_from,
            max_size,
        })
    }
}

/// What partitions are placed on, before the table is chosen.
struct Ground<'a> {
    medium: &'a Medium,
    choice: &'a AlignmentChoice,
    /// Nothing starts before it.
    earliest: Bytes,
    blocked: Vec<ByteRange>,
    limits: Limits,
    /// Whether the grid is that of `--align`.
    align_given: bool,
}

impl Ground<'_> {
    fn field(&self, room: TableRoom) -> Field {
        let block = self.medium.logical_block;
        let bytes = |place: Lba| place.to_bytes(block).unwrap_or(self.medium.capacity);
        Field {
            starts: self.choice.alignment,
            ends: self.choice.ends(),
            from: self.earliest.max(bytes(room.first)),
            to: self.limits.end.min(bytes(room.end)),
            blocked: self.blocked.clone(),
        }
    }

    /// Whether the wishes need sectors beyond those of an MBR. A medium of exactly 2^32 sectors
    /// does not: its last sector is lost to the grid anyway.
    fn beyond_mbr(&self, wants: &[Want]) -> bool {
        let block = self.medium.logical_block;
        let limit = mbr_limit(block);
        if self.limits.end.get() <= limit.get().saturating_add(block.bytes().get()) {
            return false;
        }
        let all_exact = wants.iter().all(|want| matches!(want, Want::Exact(_)));
        let fits = || {
            table_room(TableKind::Mbr, block, self.medium.sectors())
                .is_some_and(|room| place(&self.field(room), wants).is_ok())
        };
        !(all_exact && fits())
    }

    fn no_room(&self) -> PlanError {
        PlanError::NoRoom {
            capacity: self.medium.capacity,
            alignment: self.choice.alignment,
            way_out: if self.align_given {
                "choose a smaller --align"
            } else {
                "give a smaller grid with --align, at the price of shared erase blocks"
            },
        }
    }

    /// The option without which there would be room, else the medium.
    fn what_leaves_no_room(&self, room: TableRoom) -> PlanError {
        let block = self.medium.logical_block;
        let mut whole = self.field(room);
        whole.to = room.end.to_bytes(block).unwrap_or(self.medium.capacity);
        if free_pieces(&whole, whole.from, whole.to).is_empty() {
            return self.no_room();
        }
        let (option, change) = if self.limits.max_size == Some(self.limits.end) {
            ("--max-size", "larger")
        } else {
            ("--reserve-end", "smaller")
        };
        PlanError::OptionLeavesNoRoom {
            option,
            change,
            capacity: self.medium.capacity,
            alignment: self.choice.alignment,
        }
    }

    fn explain(&self, misfit: Misfit, room: TableRoom) -> PlanError {
        match misfit {
            Misfit::NoRoom => self.what_leaves_no_room(room),
            Misfit::TooLarge { index, need, free } => PlanError::DoesNotFit {
                number: index + 1,
                need,
                free,
            },
            Misfit::TwoRests(first, second) => IntentError::TwoRests(first + 1, second + 1).into(),
        }
    }
}

/// The active flag on the first partition, for a ROM that looks for it.
fn with_active_flag(
    mut entries: Vec<Partition>,
    table: TableKind,
    wish: FirstWish,
) -> Vec<Partition> {
    let wanted = wish == FirstWish::Fat { active: true } && table == TableKind::Mbr;
    if let Some(first) = entries.first_mut()
        && wanted
    {
        first.bootable = true;
    }
    entries
}

/// The first byte that an MBR cannot address.
fn mbr_limit(block: LogicalBlock) -> Bytes {
    Bytes(MBR_SECTORS.get() * block.bytes().get())
}

fn entry(
    number: usize,
    wish: &PartitionIntent,
    fitted: &Fitted,
    table: TableKind,
    block: LogicalBlock,
    ids: IdSource,
) -> Result<Partition, PlanError> {
    let place = fitted.place;
    // Grid and file systems keep to logical blocks, so nothing is cut off.
    let first = Lba(place.from.get() / block.bytes().get());
    let sectors = Sectors(place.length().get() / block.bytes().get());
    let kind = wish
        .type_override
        .unwrap_or_else(|| type_for(wish.filesystem, table, first, sectors));
    let fits = matches!(
        (table, kind),
        (TableKind::Mbr, PartitionType::Mbr(_)) | (TableKind::Gpt, PartitionType::Gpt(_))
    );
    if !fits {
        return Err(IntentError::WrongType {
            number,
            kind,
            table,
        }
        .into());
    }
    let gpt = table == TableKind::Gpt;
    let name = match (&wish.label, gpt) {
        (Some(label), true) => gpt_name(label),
        _ => String::new(),
    };
    check_gpt_name(&name).map_err(|error: LabelError| IntentError::Label(error))?;
    Ok(Partition {
        first,
        sectors,
        kind,
        name,
        uuid: gpt.then(|| ids.partition(number)),
        filesystem: wish.filesystem,
        label: wish.label.clone(),
        format: fitted.fit.format.clone(),
        alternative: None,
        aligned_by: fitted.fit.aligned_by.clone(),
        bootable: wish.bootable && !gpt,
        attributes: if wish.bootable && gpt {
            LEGACY_BIOS_BOOTABLE
        } else {
            0
        },
    })
}

fn bytes(size: Size, block: LogicalBlock, what: &'static str) -> Result<Bytes, IntentError> {
    size.in_bytes(block).ok_or(IntentError::TooLarge(what))
}

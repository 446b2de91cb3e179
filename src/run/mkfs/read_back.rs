//! Does the file system lie where it should?
//!
//! Pure: what was found on a medium against what the plan says.

use crate::plan::FileSystem;
use crate::plan::filesystem::{Inside, Parameters};
use crate::plan::layout::Layout;
use crate::table::read::Contents;
use crate::table::read::filesystem::{DataArea, FileSystemFound, FileSystemKind};
use crate::units::Bytes;
use std::fmt;

/// What was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its data lie on the grid, from this byte of the disk on.
    Aligned(Bytes),
    /// Its start lies on the grid; why not more.
    StartAligned(String),
    /// It has no places that could be read, such as swap space.
    Made,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Aligned(place) => {
                write!(f, "aligned inside too, from byte {} on", place.get())
            }
            Outcome::StartAligned(why) => write!(f, "made; {why}"),
            Outcome::Made => f.write_str("made"),
        }
    }
}

/// Judge partition `number` of a layout by what was found on the medium.
///
/// # Errors
/// In words: what is not as planned.
pub fn judge(layout: &Layout, number: usize, found: &Contents) -> Result<Outcome, String> {
    let partition = number
        .checked_sub(1)
        .and_then(|index| layout.partitions.get(index))
        .ok_or_else(|| "the layout does not have it".to_owned())?;
    let Some(format) = &partition.format else {
        return Ok(Outcome::Made);
    };
    let range = layout.byte_range(partition);
    let on_medium = found
        .partitions
        .iter()
        .find(|it| it.range == range)
        .ok_or_else(|| {
            format!(
                "the table on the medium has no partition at bytes {} to {}",
                range.from.get(),
                range.to.get()
            )
        })?;
    if partition.filesystem == FileSystem::Swap {
        return Ok(Outcome::Made);
    }
    let fs = on_medium
        .filesystem
        .ok_or_else(|| format!("no {} is there", partition.filesystem))?;
    if !same(partition.filesystem, fs.kind) {
        return Err(format!("{} is there instead", fs.kind.name()));
    }
    let boundaries = layout.alignment.ends();
    let data = data_of(&fs);
    let place = Bytes(range.from.get().saturating_add(data.get()));
    match &format.inside {
        Inside::StartOnly(why) => Ok(Outcome::StartAligned(why.clone())),
        Inside::OnGrid(_) | Inside::UnitsOnGrid if !boundaries.contains(place) => Err(format!(
            "its data begin at byte {} of the disk, which is not on the grid of {boundaries}",
            place.get()
        )),
        Inside::OnGrid(_) | Inside::UnitsOnGrid => {
            unit(&format.parameters, &fs)?;
            Ok(Outcome::Aligned(place))
        }
    }
}

fn same(planned: FileSystem, found: FileSystemKind) -> bool {
    matches!(
        (planned, found),
        (FileSystem::Fat16, FileSystemKind::Fat16)
            | (FileSystem::Fat32, FileSystemKind::Fat32)
            | (FileSystem::ExFat, FileSystemKind::ExFat)
            | (FileSystem::Ext4, FileSystemKind::Ext4)
            | (FileSystem::F2fs, FileSystemKind::F2fs)
            | (FileSystem::Btrfs, FileSystemKind::Btrfs)
            | (FileSystem::Xfs, FileSystemKind::Xfs)
            | (FileSystem::Ntfs, FileSystemKind::Ntfs)
    )
}

fn data_of(fs: &FileSystemFound) -> Bytes {
    match fs.data {
        DataArea::At { offset, .. } => offset,
        DataArea::FromStart => Bytes::ZERO,
    }
}

/// The unit in which the file system allocates is the one that it was told.
fn unit(parameters: &Parameters, fs: &FileSystemFound) -> Result<(), String> {
    let told = match parameters {
        Parameters::Ext4(ext4) => Bytes(ext4.stripe_blocks.saturating_mul(fs.block.get())),
        Parameters::Xfs(xfs) => xfs.stripe_unit,
        Parameters::F2fs(f2fs) => Bytes::mib(2 * f2fs.segments_per_section),
        _ => return Ok(()),
    };
    if told == Bytes::ZERO || fs.told_unit == Some(told) {
        return Ok(());
    }
    Err(format!(
        "it allocates in units of {} instead of {told}",
        fs.told_unit
            .map_or("its own choice".to_owned(), |unit| unit.to_string())
    ))
}

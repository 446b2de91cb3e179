//! Places and file systems together: each partition is placed on the grid, then its file system may
//! move the start, and where that takes too much from a size that was asked for, the partition gets
//! more.

use super::alignment::AlignmentChoice;
use super::filesystem::fat::FatGeometry;
use super::filesystem::{self, FatAreaChoice, Fit, FitError, Site, Stick};
use super::placement::{Field, Misfit, Want, place};
use super::types::FileSystem;
use crate::units::{ByteRange, Bytes, LogicalBlock};

/// What file systems are fitted to, beside the place.
pub(super) struct Setting<'a> {
    pub block: LogicalBlock,
    pub grid: &'a AlignmentChoice,
    pub stick: &'a Stick,
    pub fat_area: FatAreaChoice,
    /// What the board wants of the first FAT.
    pub fat_geometry: Option<FatGeometry>,
}

/// A partition with its file system.
pub(super) struct Fitted {
    /// Where it lies.
    pub place: ByteRange,
    /// Whether the file system moved the start off the place that the grid gave.
    pub moved: bool,
    pub fit: Fit,
    /// What lies in front of it ends here.
    pub floor: Bytes,
    /// From grid to grid, before the file system moved the start.
    pub range: ByteRange,
}

/// Why there is none. Partitions are counted from 0.
pub(super) enum Trouble {
    Misfit(Misfit),
    FileSystem(usize, FitError),
}

/// How often sizes may grow. One round is the rule: a start moves by less than one grain.
const ROUNDS: usize = 6;

/// Place the wishes in their order, each with its file system.
pub(super) fn place_fitted(
    field: &Field,
    wants: &[Want],
    filesystems: &[FileSystem],
    setting: &Setting<'_>,
) -> Result<Vec<Fitted>, Trouble> {
    let is_fat = |fs: &FileSystem| matches!(fs, FileSystem::Fat16 | FileSystem::Fat32);
    let first_fat = filesystems.iter().position(is_fat);
    let mut grown = wants.to_vec();
    for round in 0..ROUNDS {
        let places = place(field, &grown).map_err(Trouble::Misfit)?;
        let mut fitted = Vec::with_capacity(places.len());
        let mut settled = true;
        for (index, (range, fs)) in places.iter().zip(filesystems).enumerate() {
            let asked = match wants.get(index) {
                Some(Want::Exact(asked)) => Some(*asked),
                _ => None,
            };
            let floor = floor(field, &places, index);
            let mut site = setting.site(floor, *range);
            if first_fat != Some(index) {
                site.fat_geometry = None;
            }
            let lack = match filesystem::fit(*fs, &site) {
                Ok(fit) => {
                    let length = range.to.saturating_sub(fit.start);
                    let lack = asked.map_or(Bytes::ZERO, |asked| asked.saturating_sub(length));
                    fitted.push(Fitted {
                        place: ByteRange {
                            from: fit.start,
                            to: range.to,
                        },
                        moved: fit.start != range.from,
                        fit,
                        floor,
                        range: *range,
                    });
                    lack
                }
                // A size that was asked for is the least: with one more unit there is a place.
                Err(FitError::NoPlace { .. }) if asked.is_some() && round + 1 < ROUNDS => {
                    field.ends.grain()
                }
                Err(error) => return Err(Trouble::FileSystem(index, error)),
            };
            if lack > Bytes::ZERO
                && let Some(Want::Exact(size)) = grown.get_mut(index)
            {
                *size = Bytes(size.get().saturating_add(lack.get()));
                settled = false;
            }
        }
        if settled {
            return Ok(fitted);
        }
    }
    // Not reached by any file system, whose starts move by less than a period of its own.
    Err(Trouble::Misfit(Misfit::NoRoom))
}

impl Setting<'_> {
    pub(super) fn site(&self, floor: Bytes, range: ByteRange) -> Site<'_> {
        Site {
            block: self.block,
            floor,
            range,
            starts: self.grid.alignment,
            boundaries: self.grid.ends(),
            erase_block: self.grid.erase_block,
            stick: self.stick,
            fat_area: self.fat_area,
            fat_geometry: self.fat_geometry,
        }
    }
}

/// The end of what lies in front of a place: the field's own begin, a partition, a range kept out.
fn floor(field: &Field, places: &[ByteRange], index: usize) -> Bytes {
    let from = places.get(index).map_or(field.from, |place| place.from);
    places
        .iter()
        .take(index)
        .chain(&field.blocked)
        .map(|range| range.to)
        .filter(|end| *end <= from)
        .fold(field.from, Bytes::max)
}

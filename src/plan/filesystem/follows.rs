//! Are parameters from a file those that follow from partition and grid?
//!
//! The parameters become a command that writes to a disk, so what a file claims is held against the
//! same arithmetic that made it. What only the stick decides (page, clusters, logs, a special area)
//! is held within the limits that it has there.

use super::exfat;
use super::fat;
use super::{Format, Inside, Parameters, btrfs, f2fs, ntfs};
use crate::units::{Alignment, ByteRange, LogicalBlock, Sectors};

/// What parameters follow from.
pub struct Ground {
    /// The logical block.
    pub block: LogicalBlock,
    /// The partition.
    pub range: ByteRange,
    /// The erase-block grid.
    pub boundaries: Alignment,
}

/// Whether parameters, mount options and what is said of the data area follow from the ground.
pub fn follows(format: &Format, ground: &Ground) -> bool {
    if format.mount != format.parameters.mount() {
        return false;
    }
    let size = ground.range.length();
    let (unit, phase) = (ground.boundaries.grain(), ground.boundaries.phase());
    let made = match &format.parameters {
        Parameters::Fat(fat) => {
            let sectors = Sectors(size.get() / ground.block.bytes().get());
            fat::is_volume(fat, ground.block, sectors)
        }
        Parameters::ExFat(made) => exfat::is_volume(made, ground.block, size),
        Parameters::Ext4(ext4) => ext4.follows(unit),
        Parameters::F2fs(made) => made.follows(unit, phase, size),
        Parameters::Btrfs(made) => btrfs::follows(made, size),
        Parameters::Xfs(xfs) => xfs.follows(unit, size),
        Parameters::Ntfs(ntfs) => ntfs::is_cluster(ntfs.cluster),
        Parameters::Swap => true,
    };
    made && is_inside(format, ground)
}

/// Whether what is said of the inside is what these parameters lead to.
fn is_inside(format: &Format, ground: &Ground) -> bool {
    let (unit, phase) = (ground.boundaries.grain(), ground.boundaries.phase());
    let start_only = matches!(format.inside, Inside::StartOnly(_));
    let from_start = || format.inside == Inside::OnGrid(crate::units::Bytes::ZERO);
    match &format.parameters {
        Parameters::Fat(_) | Parameters::ExFat(_) => format
            .parameters
            .data_offset(ground.block)
            .is_some_and(|offset| format.inside == Inside::OnGrid(offset)),
        Parameters::Ext4(ext4) => match ext4.stripe_blocks {
            0 => start_only,
            _ => from_start(),
        },
        Parameters::Xfs(xfs) => match xfs.stripe_unit.get() {
            0 => start_only,
            _ => from_start(),
        },
        Parameters::F2fs(_) => f2fs::is_inside(unit, phase, &format.inside),
        Parameters::Btrfs(_) => start_only || format.inside == Inside::UnitsOnGrid,
        Parameters::Ntfs(_) => start_only,
        Parameters::Swap => from_start(),
    }
}

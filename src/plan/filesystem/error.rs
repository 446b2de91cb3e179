//! Why a file system does not fit a partition: its limit, and the ways out.

use crate::plan::types::FileSystem;
use crate::units::{Alignment, Bytes};

/// Why a file system does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The partition is larger than the file system can be.
    #[error("{fs} reaches up to {most} here and the partition has {size}: {way_out}")]
    TooLarge {
        /// The file system.
        fs: FileSystem,
        /// The size of the partition.
        size: Bytes,
        /// The largest size, rounded down.
        most: Bytes,
        /// What to do.
        way_out: &'static str,
    },
    /// The partition is too small for it.
    #[error("{fs} needs at least {least} here and the partition has {size}: {way_out}")]
    TooSmall {
        /// The file system.
        fs: FileSystem,
        /// The size of the partition.
        size: Bytes,
        /// The smallest size, rounded up.
        least: Bytes,
        /// What to do.
        way_out: &'static str,
    },
    /// No parameters of the mkfs tool put the data area on the grid.
    #[error(
        "no start and no parameters put the data area of {fs} on the grid of {grid} in a partition of {size}: make the partition larger, choose another grid with --align, or another file system"
    )]
    NoPlace {
        /// The file system.
        fs: FileSystem,
        /// The size of the partition.
        size: Bytes,
        /// The grid.
        grid: Alignment,
    },
    /// `--fat-area use`, and there is no such area.
    #[error(
        "partition and FAT of {fs} do not fit into a special area: {why}; use --fat-area auto, which takes the area only when it fits"
    )]
    NoArea {
        /// The file system.
        fs: FileSystem,
        /// What is missing.
        why: String,
    },
}

//! How is a file system made in this plan?
//!
//! Advice that promises what the command beside it does not do is worse than none: clusters, and
//! what lies in a special area, are read off the very parameters.

use crate::plan::filesystem::stick::Stick;
use crate::plan::filesystem::{Format, Parameters};
use crate::units::{ByteRange, Bytes, LogicalBlock, Sectors};

/// A file system as the plan makes it, or would make it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The logical block.
    pub block: LogicalBlock,
    /// Where its partition starts, and how it is made; `None` when it does not fit.
    pub format: Option<(Bytes, Format)>,
}

impl Made {
    /// Its cluster or block.
    pub(super) fn unit(&self) -> Option<Bytes> {
        let (_, format) = self.format.as_ref()?;
        Some(match &format.parameters {
            Parameters::Fat(fat) => fat.cluster,
            Parameters::ExFat(exfat) => exfat.cluster,
            Parameters::Ntfs(ntfs) => ntfs.cluster,
            // 4 KiB is what their tools are told or take by default.
            _ => Bytes::kib(4),
        })
    }

    /// What of it lies in a special area of the stick that takes small writes, in words.
    pub(super) fn in_zone(&self, stick: &Stick) -> Option<String> {
        let (start, format) = self.format.as_ref()?;
        let covers = |place: ByteRange| {
            let mut zones = stick.good_zones();
            zones.any(|zone| zone.from_bytes <= place.from && place.to <= zone.to_bytes)
        };
        let range = |from: Sectors, length: Sectors| {
            let from = start.checked_add(from.to_bytes(self.block)?)?;
            let to = from.checked_add(length.to_bytes(self.block)?)?;
            Some(ByteRange { from, to })
        };
        let words = match &format.parameters {
            Parameters::Fat(fat) => {
                let fats = fat.fat.get().saturating_mul(u64::from(fat.fats));
                covers(range(fat.reserved, Sectors(fats))?)
                    .then_some("its FAT goes into the special area of the stick")
            }
            Parameters::ExFat(exfat) => covers(range(exfat.fat_offset, exfat.fat)?)
                .then_some("its FAT goes into the special area of the stick"),
            Parameters::Ext4(ext4) => ext4.packed_meta.then_some(
                "its metadata goes to the front, into the special area of the stick, with packed_meta_blocks",
            ),
            // Two copies of the superblock of 4 KiB lie at the start, the rest of the metadata behind
            // them (F2FS documentation of the kernel, "on-disk layout").
            Parameters::F2fs(_) => covers(ByteRange {
                from: *start,
                to: start.checked_add(Bytes::mib(2))?,
            })
            .then_some("it keeps its metadata in front, where the special area of the stick is"),
            _ => None,
        };
        words.map(str::to_owned)
    }
}

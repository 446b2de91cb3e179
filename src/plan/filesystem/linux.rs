//! Which parameters for ext4 and XFS, whose units are counted from their start?
//!
//! Both spread their data over groups that begin on whole stripes from block 0. So the start of the
//! partition lies on the grid, and the stripe is the erase block; it need not be a power of two.

use super::{Fit, FitError, Inside, Parameters, Site};
use crate::plan::types::FileSystem;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The block of ext4 and XFS on anything larger than a floppy disk.
const BLOCK: Bytes = Bytes::kib(4);

/// Blocks in a group of ext4 with 4 KiB blocks (one bitmap block of 32768 bits): a stripe cannot be
/// larger.
const GROUP: u64 = 32768;

/// Below this mke2fs leaves out the journal ("too small for a journal", measured on 1.47).
const LEAST_EXT4: Bytes = Bytes::mib(8);

/// mkfs.xfs refuses less since xfsprogs 5.19 (`--unsupported`), and with 6.1 its log needs it.
const LEAST_XFS: Bytes = Bytes::mib(300);

/// Allocation groups of XFS: the default of mkfs.xfs on a single disk. Told a stripe it takes the
/// disk for an array and makes 8 or 16, each a place that is written on its own.
const GROUPS: u64 = 4;

/// ext4 (`mkfs.ext4 -b 4096 -E stride=,stripe_width=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext4 {
    /// The stride in blocks of 4 KiB; 0 leaves it out.
    pub stride_blocks: u64,
    /// The stripe in blocks of 4 KiB: one erase block; 0 leaves it out.
    pub stripe_blocks: u64,
    /// Whether bitmaps, inode tables and journal are put together at the front.
    pub packed_meta: bool,
}

/// XFS (`mkfs.xfs -d su=,sw=1,agcount= -l su=32k`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xfs {
    /// The stripe unit: one erase block; 0 leaves it out.
    #[serde(rename = "stripe_unit_bytes")]
    pub stripe_unit: Bytes,
    /// Allocation groups.
    pub groups: u64,
}

impl Ext4 {
    /// Whether it is what a grid of this unit leads to. The stride is a page, which only the stick
    /// tells: any part of the stripe.
    pub(super) fn follows(&self, unit: Bytes) -> bool {
        let stripe = stripe_blocks(unit).unwrap_or(0);
        let stride = self.stride_blocks;
        self.stripe_blocks == stripe
            && (stride == stripe || stride > 1 && stripe > 0 && stripe.is_multiple_of(stride))
    }
}

impl Xfs {
    /// Whether it is what a grid of this unit leads to in a partition of this size.
    pub(super) fn follows(&self, unit: Bytes, size: Bytes) -> bool {
        let unit = unit.is_multiple_of(BLOCK).then_some(unit);
        self.stripe_unit == unit.unwrap_or(Bytes::ZERO)
            && self.groups == allocation_groups(size, unit)
    }
}

/// The stripe of ext4 on a grid of this unit, in blocks.
fn stripe_blocks(unit: Bytes) -> Option<u64> {
    unit.is_multiple_of(BLOCK)
        .then(|| unit.get() / BLOCK.get())
        .filter(|blocks| *blocks <= GROUP && *blocks > 1)
}

/// The unit to count in: the erase block, or the grid when none is told.
fn unit(site: &Site<'_>) -> Option<Bytes> {
    let unit = site.boundaries.grain();
    unit.is_multiple_of(BLOCK).then_some(unit)
}

/// Why ext4 cannot be told a stripe.
fn no_stripe(unit: Bytes) -> String {
    if !unit.is_multiple_of(BLOCK) {
        return format!(
            "start aligned only: a stripe of {unit} is none that ext4 can count in its blocks of 4 KiB"
        );
    }
    match unit.get() / BLOCK.get() {
        ..=1 => "start aligned only: boundaries every 4 KiB are every block of ext4".to_owned(),
        _ => format!(
            "start aligned only: a stripe of {unit} is larger than a block group of ext4, which has 128 MiB"
        ),
    }
}

/// Fit ext4.
pub(super) fn ext4(site: &Site<'_>) -> Result<Fit, FitError> {
    if site.size() < LEAST_EXT4 {
        return Err(FitError::TooSmall {
            fs: FileSystem::Ext4,
            size: site.size(),
            least: LEAST_EXT4,
            way_out: "a smaller one has no room for a journal; make the partition larger, or use fat16",
        });
    }
    let stripe = stripe_blocks(site.boundaries.grain());
    // A page where it is told and divides the stripe, else the stripe itself: mke2fs objects to a
    // stripe that is no multiple of the stride.
    let page = site
        .stick
        .page
        .filter(|page| page.is_multiple_of(BLOCK))
        .map(|page| page.get() / BLOCK.get());
    let stride = stripe.map(|stripe| match page {
        Some(page) if page > 1 && stripe.is_multiple_of(page) => page,
        _ => stripe,
    });
    let packed = site.stick.good_zones().any(|zone| {
        // Only a zone that the front of the partition lies in.
        zone.from_bytes <= site.range.from && zone.to_bytes > site.range.from
    });
    let parameters = Parameters::Ext4(Ext4 {
        stride_blocks: stride.unwrap_or(0),
        stripe_blocks: stripe.unwrap_or(0),
        packed_meta: packed,
    });
    let inside = match stripe {
        Some(_) => Inside::OnGrid(Bytes::ZERO),
        None => Inside::StartOnly(no_stripe(site.boundaries.grain())),
    };
    let fit = Fit::at(site.range.from, parameters, inside).mounted("noatime");
    Ok(if packed {
        fit.note("packed_meta_blocks=1: bitmaps, inode tables and journal lie at the front, in the special area of the stick")
    } else {
        fit
    })
}

/// The most allocation groups, up to [`GROUPS`], of which the last has something in it. mkfs.xfs
/// (6.1) rounds a group up to whole stripes, so that of nine stripes three groups take all and the
/// fourth is empty, which it finds out after it has written.
fn allocation_groups(size: Bytes, unit: Option<Bytes>) -> u64 {
    let Some(unit) = unit else { return GROUPS };
    let stripes = size.get() / unit.get();
    (2..=GROUPS)
        .rev()
        .find(|groups| (groups - 1) * stripes.div_ceil(*groups) < stripes)
        .unwrap_or(2)
}

/// Fit XFS.
pub(super) fn xfs(site: &Site<'_>) -> Result<Fit, FitError> {
    let unit = unit(site);
    // Groups of fewer than two stripes hold little beside their own headers.
    let groups = unit.map_or(Bytes::ZERO, |unit| {
        Bytes(unit.get().saturating_mul(2 * GROUPS))
    });
    let least = LEAST_XFS.max(groups);
    if site.size() < least {
        return Err(FitError::TooSmall {
            fs: FileSystem::Xfs,
            size: site.size(),
            least,
            way_out: "use ext4, or make the partition larger",
        });
    }
    let parameters = Parameters::Xfs(Xfs {
        stripe_unit: unit.unwrap_or(Bytes::ZERO),
        groups: allocation_groups(site.size(), unit),
    });
    let inside = match unit {
        Some(_) => Inside::OnGrid(Bytes::ZERO),
        None => Inside::StartOnly(format!(
            "a stripe of {} is none that XFS can count in its blocks of 4 KiB",
            site.boundaries.grain()
        )),
    };
    Ok(Fit::at(site.range.from, parameters, inside).mounted("noatime"))
}

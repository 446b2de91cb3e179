//! The arrow: from a layout and a device to the sectors that change. Reads only.

use super::image::{Extent, Part, extents};
use super::overlay::Overlay;
use super::read::{Contents, contents};
use super::wipe::{Fate, Old, wipe};
use super::{gpt, mbr, rehearse};
use crate::device::{AccessError, ReadDevice};
use crate::plan::layout::LayoutFault;
use crate::plan::{Layout, PartitionType, TableKind};
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock, Sectors};

/// A table that passed its rehearsal: what would be written, and what it replaces.
#[derive(Clone, Debug)]
pub struct Prepared {
    layout: Layout,
    before: Contents,
    extents: Vec<Extent>,
    old: Vec<Old>,
}

/// Why a layout cannot be written to this device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// Made for a device of another size.
    #[error(
        "the layout is made for a device of {} bytes and this one has {}: make a layout for this device",
        .layout.get(), .device.get()
    )]
    OtherSize {
        /// The size in the layout.
        layout: Bytes,
        /// That of the device.
        device: Bytes,
    },
    /// Made for other sectors.
    #[error(
        "the layout counts in sectors of {layout} bytes and this device has {device}: make a layout for this device",
        layout = .layout.bytes().get(), device = .device.bytes().get()
    )]
    OtherBlock {
        /// The logical block of the layout.
        layout: LogicalBlock,
        /// That of the device.
        device: LogicalBlock,
    },
    /// The layout contradicts itself.
    #[error("the layout contradicts itself: {0}: make it anew")]
    Fault(#[from] LayoutFault),
    /// A type that announces another table.
    #[error(
        "partition {number} has the type {kind}, which announces another table inside: only primary partitions are written, choose another type or --table gpt"
    )]
    SpecialType {
        /// Its number, counted from 1.
        number: usize,
        /// The type.
        kind: PartitionType,
    },
    /// The table itself lies where nothing may.
    #[error(
        "the {part} at byte {at} lies in the keep-out range {from}-{to}: choose another table with --table, or another range",
        at = .at.get(), from = .range.from, to = .range.to
    )]
    KeepOut {
        /// The range.
        range: ByteRange,
        /// What lies there.
        part: Part,
        /// Where.
        at: Bytes,
    },
    /// The device failed while it was read.
    #[error("reading the present table failed: {0}: try another port or reader")]
    Access(#[from] AccessError),
    /// A table crate refused or the layout broke a rule of the format.
    #[error("the table cannot be made: {0}: please report this with the layout")]
    Table(String),
    /// What was rendered does not read back as the layout.
    #[error(
        "the rehearsal failed: {0} differs from the layout; nothing was written: please report this with the layout"
    )]
    Rehearsal(String),
    /// An old signature would survive.
    #[error(
        "{name} at byte {at} would still be found behind the new table; nothing was written: please report this with the layout",
        at = .at.get()
    )]
    Leftover {
        /// What.
        name: &'static str,
        /// Where.
        at: Bytes,
    },
}

impl PrepareError {
    pub(super) fn crate_failed(what: &str) -> PrepareError {
        PrepareError::Table(what.to_owned())
    }

    /// An error of a table crate: the device's own when that is behind it.
    pub(super) fn of_crate(
        overlay: &mut Overlay<'_>,
        error: &dyn std::error::Error,
    ) -> PrepareError {
        match overlay.take_trouble() {
            Some(trouble) => PrepareError::Access(trouble),
            None => PrepareError::Table(error.to_string()),
        }
    }
}

/// Render a layout for this device and rehearse it. Nothing is written.
///
/// # Errors
/// The layout is for another device, breaks its own rules, or cannot be read back as it is; the
/// device cannot be read.
pub fn prepare(device: &mut dyn ReadDevice, layout: &Layout) -> Result<Prepared, PrepareError> {
    check(device, layout)?;
    let before = contents(device)?;
    let mut overlay = Overlay::new(device);
    let shape = match layout.table {
        TableKind::Mbr => {
            mbr::render(&mut overlay, layout)?;
            None
        }
        TableKind::Gpt => Some(gpt::render(&mut overlay, layout)?),
    };
    let table: Vec<Lba> = overlay.changed().map(|(at, _)| at).collect();
    let old = wipe(&mut overlay, layout)?;
    rehearse::reads_back(&mut overlay, layout)?;
    let part_of = |at: Lba| match (table.binary_search(&at).is_ok(), shape) {
        (false, _) => Part::Wipe,
        (true, None) => Part::Mbr,
        (true, Some(shape)) => gpt::part_of(at, shape, layout),
    };
    let mut extents = extents(&mut overlay, part_of)?;
    // Zeros over zeros: a signature may own more sectors than it fills.
    extents.retain(|extent| extent.part != Part::Wipe || !extent.is_unchanged());
    rehearse::nothing_stale(&mut overlay, layout, &old, &extents)?;
    rehearse::nothing_in_the_way(layout, &extents)?;
    Ok(Prepared {
        layout: layout.clone(),
        before,
        extents,
        old,
    })
}

fn check(device: &dyn ReadDevice, layout: &Layout) -> Result<(), PrepareError> {
    let block = device.logical_block();
    if layout.logical_block != block {
        return Err(PrepareError::OtherBlock {
            layout: layout.logical_block,
            device: block,
        });
    }
    let sectors = Sectors(device.capacity().get() / block.bytes().get());
    if layout.capacity != sectors {
        return Err(PrepareError::OtherSize {
            layout: layout.capacity_bytes(),
            device: sectors.to_bytes(block).unwrap_or(device.capacity()),
        });
    }
    layout.check()?;
    Ok(())
}

impl Prepared {
    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Every sector that is written or looked at, in the order of writing.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// What the device holds before the write.
    pub fn before(&self) -> &Contents {
        &self.before
    }

    /// Every old signature, and what becomes of it.
    pub fn old(&self) -> &[Old] {
        &self.old
    }

    /// The old signatures of one fate.
    pub fn of_fate(&self, fate: Fate) -> impl Iterator<Item = &Old> {
        self.old.iter().filter(move |old| old.fate == fate)
    }

    pub(super) fn into_extents(self) -> Vec<Extent> {
        self.extents
    }
}

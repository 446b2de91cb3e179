//! What there is to partition.

use super::error::PlanError;
use super::ids::DiskId;
use crate::topology::Facts;
use crate::units::{Bytes, LogicalBlock, MIB, Sectors};

/// The medium: its size, its units and the identifier that it bears now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Usable size. A trailing part smaller than a logical block is not counted.
    pub capacity: Bytes,
    /// The unit that tables count in.
    pub logical_block: LogicalBlock,
    /// The unit that it writes without reading first; a multiple of the logical block.
    pub physical_block: Bytes,
    /// The identifier of the present table, for `--disk-id keep`.
    pub disk_id: Option<DiskId>,
}

impl Medium {
    /// From the facts of a device; the present identifier has to be added by who read the table.
    pub fn from_facts(facts: &Facts) -> Result<Medium, PlanError> {
        Ok(Medium {
            capacity: facts.usable_capacity().ok_or(PlanError::CapacityUnknown)?,
            logical_block: facts.logical_block,
            physical_block: physical_block(facts),
            disk_id: None,
        })
    }

    /// Whole logical blocks.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.capacity.get() / self.logical_block.bytes().get())
    }
}

/// The physical block when it is believable, else the logical block. Believable is a multiple of
/// the logical block up to 1 MiB: bridges are known to report nonsense, and every alignment that
/// flashfit falls back to is a multiple of 1 MiB.
pub fn physical_block(facts: &Facts) -> Bytes {
    let logical = facts.logical_block.bytes();
    facts
        .physical_block
        .filter(|block| block.is_multiple_of(logical) && (1..=MIB).contains(&block.get()))
        .unwrap_or(logical)
}

//! What there is to partition.

use super::error::PlanError;
use super::filesystem::Stick;
use super::ids::DiskId;
use crate::geometry::Geometry;
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock, MIB, Sectors};

/// The medium: its size, its units and the identifier that it bears now.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Usable size. A trailing part smaller than a logical block is not counted.
    pub capacity: Bytes,
    /// The unit that tables count in.
    pub logical_block: LogicalBlock,
    /// The unit that it writes without reading first; a multiple of the logical block.
    pub physical_block: Bytes,
    /// The identifier of the present table, for `--disk-id keep`.
    pub disk_id: Option<DiskId>,
    /// The name of the whole disk, when it is one that commands can be run on.
    pub disk: Option<String>,
    /// What of its inside matters to file systems.
    pub stick: Stick,
}

impl Medium {
    /// From the facts of a device; the present identifier has to be added by who read the table.
    pub fn from_facts(facts: &Facts) -> Result<Medium, PlanError> {
        Ok(Medium {
            capacity: facts.usable_capacity().ok_or(PlanError::CapacityUnknown)?,
            logical_block: facts.logical_block,
            physical_block: physical_block(facts),
            disk_id: None,
            disk: disk(facts),
            stick: Stick {
                card: facts.transport == Transport::Mmc,
                ..Stick::default()
            },
        })
    }

    /// The same medium with what was measured of its inside.
    pub fn with_geometry(self, geometry: &Geometry, facts: &Facts) -> Medium {
        Medium {
            stick: Stick::of(geometry, facts),
            ..self
        }
    }

    /// The name of the whole disk of these facts, when it is one that commands can be run on.
    pub fn disk_of(facts: &Facts) -> Option<String> {
        disk(facts)
    }

    /// Whole logical blocks.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.capacity.get() / self.logical_block.bytes().get())
    }
}

/// The name of a block device; images, logs and simulated sticks have partitions under no name.
fn disk(facts: &Facts) -> Option<String> {
    let nameless = matches!(
        facts.transport,
        Transport::Image | Transport::Simulated | Transport::Log
    );
    (!nameless && facts.path.starts_with("/dev/")).then(|| facts.path.clone())
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

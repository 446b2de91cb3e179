//! Everything that one run tells of one device: what `json` and `human` put into text.

use crate::geometry::erase_block::{ChartBar, StoppedBy};
use crate::geometry::{Geometry, Warning};
use crate::geometry::{fat_area, open_au};
use crate::plan::{AlignmentChoice, alignment};
use crate::topology::Facts;
use crate::units::Bytes;
use std::time::Duration;

/// A report on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The flashfit that made it.
    pub version: String,
    /// What the device says of itself.
    pub device: Facts,
    /// What was found.
    pub geometry: Geometry,
    /// What partitions will start on: always an answer.
    pub alignment: AlignmentChoice,
    /// What it cost.
    pub cost: Cost,
    /// What else the reader should know.
    pub warnings: Vec<Warning>,
    /// Cost of a read against boundary size, largest boundary first. Not saved: empty in a report
    /// that was read from a file.
    pub chart: Vec<ChartBar>,
    /// Speeds that write tests saw. Not saved either.
    pub speeds: Speeds,
}

/// Speeds to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speeds {
    /// Against open units, each written in order.
    pub linear: Vec<open_au::scan::Bar>,
    /// Against open units, written in any order.
    pub random: Vec<open_au::scan::Bar>,
    /// Along the first megabytes.
    pub start: Vec<fat_area::scan::Bar>,
}

/// What a report cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Time on the device's clock: accesses and waits.
    pub device_time: Duration,
    /// Time of the user.
    pub wall_time: Duration,
    /// Timed reads.
    pub reads: u64,
    /// Timed writes.
    pub writes: u64,
    /// Bytes of the reads.
    pub bytes_read: Bytes,
    /// Bytes of the writes.
    pub bytes_written: Bytes,
    /// What ended the measuring; `None` when nothing was measured.
    pub stopped_by: Option<StoppedBy>,
}

impl Report {
    /// A report on what was found now. The alignment follows from device and geometry.
    pub fn new(device: Facts, geometry: Geometry, cost: Cost) -> Report {
        let mut warnings = Vec::new();
        if let Some(quirk) = device.reported.optimal_io_quirk {
            warnings.push(Warning::new(
                "optimal_io_quirk",
                format!(
                    "the bridge reports an optimal I/O size of {} bytes, which fits no flash; it is ignored",
                    quirk.get()
                ),
            ));
        }
        Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            alignment: alignment(&geometry, &device),
            device,
            geometry,
            cost,
            warnings,
            chart: Vec::new(),
            speeds: Speeds::default(),
        }
    }

    /// Whether the erase block is told: confirmed or likely.
    pub fn is_told(&self) -> bool {
        self.geometry.erase_block.verdict.is_told()
    }
}

//! What a check found, as `check_text` and `check_json` put it into text.

use crate::plan::AlignmentChoice;
use crate::table::check::Checked;
use crate::table::read::contents::TableFound;
use crate::units::{Bytes, LogicalBlock};

/// A check of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The name that was given.
    pub path: String,
    /// The size of the device.
    pub capacity: Bytes,
    /// Its logical block.
    pub logical_block: LogicalBlock,
    /// The table, if there is one.
    pub table: Option<TableFound>,
    /// What the contents were judged by.
    pub choice: AlignmentChoice,
    /// What was found.
    pub checked: Checked,
}

impl CheckReport {
    /// The sectors that numbers are given in: those of the table, else those of the device.
    pub fn sector(&self) -> LogicalBlock {
        self.table.map_or(self.logical_block, |table| table.sector)
    }

    /// A place in sectors, when it is a whole number of them.
    pub fn sectors(&self, place: Bytes) -> Option<u64> {
        place.to_sectors(self.sector()).map(|sectors| sectors.get())
    }
}

//! What the tests of layouts share.

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use flashfit::plan::intent::Intent;
use flashfit::plan::intent::TableChoice;
use flashfit::plan::{AlignmentChoice, Layout, Medium, PlanError, TableKind, layout};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Alignment, Bytes, LogicalBlock};

/// Sixteen bytes of chance.
pub const ENTROPY: [u8; 16] = *b"sixteen bytes...";

/// Facts of a stick.
pub fn facts(capacity: u64, block: LogicalBlock) -> Facts {
    Facts::bare("test", Transport::Usb, Some(Bytes(capacity)), block)
}

/// A medium of 512-byte sectors.
pub fn medium(capacity: u64) -> Medium {
    Medium::from_facts(&facts(capacity, LogicalBlock::B512)).unwrap()
}

/// A grid without phase.
pub fn grid(grain: Bytes) -> AlignmentChoice {
    AlignmentChoice {
        alignment: Alignment::new(grain, Bytes::ZERO).unwrap(),
        unit: grain,
        erase_block: Some(grain),
        reason: "test".to_owned(),
        fallback: false,
    }
}

/// Partitions as typed.
pub fn intent(partitions: &[&str]) -> Intent {
    Intent {
        partitions: partitions.iter().map(|p| p.parse().unwrap()).collect(),
        ..Intent::default()
    }
}

/// The same with a kind of table.
pub fn with_table(table: TableKind, partitions: &[&str]) -> Intent {
    Intent {
        table: TableChoice::Kind(table),
        ..intent(partitions)
    }
}

/// The layout.
pub fn plan(capacity: u64, grain: Bytes, intent: &Intent) -> Result<Layout, PlanError> {
    layout(&medium(capacity), &grid(grain), intent, ENTROPY)
}

/// First sector and length of every partition.
pub fn places(layout: &Layout) -> Vec<(u64, u64)> {
    layout
        .partitions
        .iter()
        .map(|p| (p.first.get(), p.sectors.get()))
        .collect()
}

/// Whether a warning is there.
pub fn warns(layout: &Layout, code: &str) -> bool {
    layout.warnings.iter().any(|w| w.code == code)
}

//! Which start and which sections for F2FS?
//!
//! F2FS writes and cleans in sections of whole 2 MiB segments; a section should be an erase block,
//! or the common multiple where it is no multiple of 2 MiB (6 MiB for 1.5 and 3 MiB). mkfs.f2fs puts
//! the main area on a multiple of the zone, counted from the start of the disk, which it can ask of
//! a real partition but not of everything. With a start that is a multiple of the zone itself it
//! makes no difference.

use super::{Fit, FitError, Inside, Parameters, Site};
use crate::plan::types::FileSystem;
use crate::units::{Alignment, Bytes, lcm};
use serde::{Deserialize, Serialize};

/// A segment: 512 blocks of 4 KiB (F2FS on-disk format).
const SEGMENT: Bytes = Bytes::mib(2);

/// Sections that mkfs.f2fs needs to lay out its over-provisioning, with room to spare: 1.15 was
/// seen to fail or crash with fewer than about 47 (measured over sizes from 20 MiB to 40 GiB).
const LEAST_SECTIONS: u64 = 64;

/// Zones likewise: six logs each begin in another one.
const LEAST_ZONES: u64 = 16;

/// Below this nothing is left for files (mkfs.f2fs 1.15 needs 60 MiB for itself).
const LEAST: Bytes = Bytes::mib(100);

/// F2FS (`mkfs.f2fs -s -z`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct F2fs {
    /// `-s`: segments of 2 MiB in a section.
    pub segments_per_section: u64,
    /// `-z`: sections in a zone.
    pub sections_per_zone: u64,
    /// The mount option: how many logs are written side by side, 2, 4 or 6.
    pub active_logs: u8,
}

/// Fit F2FS.
pub(super) fn fit(site: &Site<'_>) -> Result<Fit, FitError> {
    let (zone, inside) = zone(site.boundaries.grain(), site.boundaries.phase());
    let starts =
        lcm(site.starts.grain(), zone).and_then(|grain| Alignment::new(grain, site.starts.phase()));
    let start = match &inside {
        Inside::UnitsOnGrid | Inside::OnGrid(_) => starts.and_then(|grid| grid.up(site.range.from)),
        Inside::StartOnly(_) => Some(site.range.from),
    };
    let size = start.and_then(|start| site.range.to.checked_sub(start));
    let least = LEAST.max(Bytes(zone.get().saturating_mul(LEAST_ZONES)));
    let (Some(start), Some(size)) = (start, size.filter(|size| *size >= least)) else {
        return Err(FitError::TooSmall {
            fs: FileSystem::F2fs,
            size: site.size(),
            least,
            way_out: "its sections are whole erase blocks and it needs many; use ext4, or make the partition larger",
        });
    };
    let segments = zone.get() / SEGMENT.get();
    let section = section(segments, size);
    let logs = active_logs(site.stick.linear.safe());
    let parameters = Parameters::F2fs(F2fs {
        segments_per_section: section,
        sections_per_zone: segments / section,
        active_logs: logs,
    });
    let mount = format!("noatime,active_logs={logs}");
    let fit = Fit::at(start, parameters, inside).mounted(&mount).note(format!(
        "mkfs.f2fs -s {section}: sections of {} (-s is a count of 2 MiB segments since f2fs-tools 1.6; 1.2 took an exponent)",
        Bytes(section * SEGMENT.get())
    ));
    Ok(if segments == section {
        fit
    } else {
        fit.note(format!(
            "the partition is too small for sections of {zone}, so {} of them make up one",
            segments / section
        ))
    })
}

/// The zone: a multiple of the erase block where boundaries begin at 0. With a phase it is the
/// largest unit that has the boundaries among its own multiples, since mkfs.f2fs counts from 0.
fn zone(unit: Bytes, phase: Bytes) -> (Bytes, Inside) {
    let fitting = lcm(unit, SEGMENT).filter(|zone| *zone <= Bytes::gib(1));
    match fitting {
        Some(zone) if phase == Bytes::ZERO => (zone, Inside::UnitsOnGrid),
        None => (
            SEGMENT,
            Inside::StartOnly(format!(
                "F2FS counts in segments of 2 MiB, which have no sensible common multiple with {unit}"
            )),
        ),
        Some(_) => {
            let common = Bytes(crate::units::gcd(unit.get(), phase.get()));
            let zone = if common.is_multiple_of(SEGMENT) {
                common
            } else {
                SEGMENT
            };
            (
                zone,
                Inside::StartOnly(format!(
                    "start aligned only: mkfs.f2fs aligns to multiples of the section counted from 0, and boundaries begin at {phase}; sections of {zone} cross {}",
                    if common.is_multiple_of(SEGMENT) {
                        "no boundary"
                    } else {
                        "as few boundaries as segments of 2 MiB can"
                    }
                )),
            )
        }
    }
}

/// Whether the inside is what this grid leads to.
pub(super) fn is_inside(unit: Bytes, phase: Bytes, inside: &Inside) -> bool {
    let (_, planned) = zone(unit, phase);
    matches!(planned, Inside::StartOnly(_)) == matches!(inside, Inside::StartOnly(_))
        && !matches!(inside, Inside::OnGrid(_))
}

impl F2fs {
    /// Whether it is what a partition of this size on this grid leads to; how many logs, only the
    /// stick tells.
    pub(super) fn follows(&self, unit: Bytes, phase: Bytes, size: Bytes) -> bool {
        let (zone, _) = zone(unit, phase);
        let segments = zone.get() / SEGMENT.get();
        self.segments_per_section == section(segments, size)
            && self.sections_per_zone == segments / self.segments_per_section
            && [2, 4, 6].contains(&self.active_logs)
    }
}

/// Segments in a section: all of a zone, or the largest divisor that leaves enough sections.
fn section(segments: u64, size: Bytes) -> u64 {
    (1..=segments)
        .rev()
        .filter(|section| segments.is_multiple_of(*section))
        .find(|section| size.get() / (section * SEGMENT.get()) >= LEAST_SECTIONS)
        .unwrap_or(1)
}

/// Each log keeps an allocation unit open, and checkpoint and node address table take two more.
pub(super) fn active_logs(open: Option<u32>) -> u8 {
    match open {
        None | Some(8..) => 6,
        Some(5..=7) => 4,
        Some(_) => 2,
    }
}

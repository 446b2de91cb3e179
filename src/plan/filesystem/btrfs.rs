//! Which start for Btrfs?
//!
//! mkfs.btrfs has no option for alignment. On anything from 5 GiB up its first device extents lie
//! at 13, 21, 29, 37 and 293 or 1061 MiB, all ≡ 5 (mod 8 MiB) (btrfs-progs 6.2, read back with
//! `btrfs inspect-internal dump-tree -t dev` for sizes from 5 to 120 GiB), and later ones follow in
//! steps of whole 8 MiB. So a start of 3 MiB (mod 8 MiB) brings them onto any grid that divides 8
//! MiB, and nothing brings them onto another.

use super::{Fit, FitError, Inside, Parameters, Site, cluster};
use crate::plan::layout::AlignedBy;
use crate::plan::types::FileSystem;
use crate::units::{Alignment, Bytes};
use serde::{Deserialize, Serialize};

/// Where device extents lie, modulo [`PERIOD`].
pub(super) const EXTENTS: Bytes = Bytes::mib(5);

/// The period of device extents.
const PERIOD: Bytes = Bytes::mib(8);

/// Below this data and metadata share their block groups: separate ones fill up one by one while
/// half of the file system is empty (btrfs manual, "mixed"; meta-balena issue 239).
const LEAST_SEPARATE: Bytes = Bytes::gib(5);

/// Below this it is not worth it: mkfs.btrfs states a minimum of 109 MiB for separate block groups,
/// and small mixed ones run full (btrfs-progs issue 70).
const LEAST: Bytes = Bytes::mib(128);

/// Btrfs (`mkfs.btrfs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Btrfs {
    /// `-n`: the size of a tree node; `None` in mixed mode, where it is the page of the machine.
    #[serde(rename = "node_bytes")]
    pub node: Option<Bytes>,
    /// `-M`: data and metadata share block groups.
    pub mixed: bool,
}

/// Fit Btrfs.
pub(super) fn fit(site: &Site<'_>) -> Result<Fit, FitError> {
    if site.size() < LEAST {
        return Err(FitError::TooSmall {
            fs: FileSystem::Btrfs,
            size: site.size(),
            least: LEAST,
            way_out: "it runs full while half empty; use ext4, or make the partition larger",
        });
    }
    let node = site.stick.page.map_or(Bytes::kib(16), cluster::power_above);
    let separate = Btrfs {
        node: Some(node.clamp(Bytes::kib(16), Bytes::kib(64))),
        mixed: false,
    };
    let unit = site.boundaries.grain();
    let shifted = shifted_start(site);
    let large = |start: Bytes| site.range.to.saturating_sub(start) >= LEAST_SEPARATE;
    if let Some(start) = shifted.filter(|start| large(*start)) {
        let mut fit = Fit::at(start, Parameters::Btrfs(separate), Inside::UnitsOnGrid);
        if !site.starts.contains(start) {
            fit.aligned_by = AlignedBy::DataArea {
                reason: format!(
                    "the extents of Btrfs lie 5 MiB behind multiples of 8 MiB from its start, so this start brings them onto the grid of {}",
                    site.boundaries
                ),
            };
        }
        return Ok(fit.mounted("noatime"));
    }
    let mixed = !large(site.range.from);
    let (parameters, why) = if mixed {
        let mixed = Btrfs {
            node: None,
            mixed: true,
        };
        (
            mixed,
            "start aligned only: below 5 GiB data and metadata share block groups, which lie where they fit".to_owned(),
        )
    } else {
        (
            separate,
            format!(
                "start aligned only: Btrfs places its extents in steps of 8 MiB, of which {unit} is no divisor"
            ),
        )
    };
    Ok(Fit::at(
        site.range.from,
        Parameters::Btrfs(parameters),
        Inside::StartOnly(why),
    )
    .mounted("noatime"))
}

/// Whether it is what a partition of this size leads to; the node is a page, which only the stick
/// tells.
pub(super) fn follows(made: &Btrfs, size: Bytes) -> bool {
    let node = match made.node {
        None => made.mixed,
        Some(node) => {
            !made.mixed
                && node.get().is_power_of_two()
                && (Bytes::kib(16)..=Bytes::kib(64)).contains(&node)
        }
    };
    node && made.mixed == (size < LEAST_SEPARATE)
}

/// The first start behind the floor that brings the extents onto the grid.
fn shifted_start(site: &Site<'_>) -> Option<Bytes> {
    let unit = site.boundaries.grain();
    if !PERIOD.is_multiple_of(unit) {
        return None;
    }
    if site
        .boundaries
        .contains(Bytes(site.range.from.get() + EXTENTS.get()))
    {
        return Some(site.range.from);
    }
    let phase = Bytes(site.boundaries.phase().get() + PERIOD.get() - EXTENTS.get());
    // Whole megabytes where the grid has some, as all others expect of a start.
    Alignment::new(unit, phase)?.up(site.floor)
}

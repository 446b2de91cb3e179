//! From a grid and the intent to a layout for the device at hand.

use super::entropy::entropy;
use super::intent::of_plan;
use super::read_file::read;
use crate::device::{AccessError, ReadDevice, SMALLEST_DEVICE};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::output::layout_json;
use crate::plan::intent::{DiskIdChoice, Intent};
use crate::plan::{self, AlignmentChoice, DiskId, Layout, Medium};
use crate::table::read::contents;
use crate::topology::Facts;
use std::path::Path;

/// The layout. `geometry` is what was measured, for the inside of file systems; `present` is the identifier that the device bears now, when that was asked for.
///
/// # Errors
/// A layout that cannot be made.
pub fn arrange(
    facts: &Facts,
    choice: &AlignmentChoice,
    geometry: Option<&Geometry>,
    intent: &Intent,
    present: Option<DiskId>,
) -> Result<Layout, Error> {
    let mut medium = Medium::from_facts(facts).map_err(|error| of_plan(&error))?;
    medium.disk_id = present;
    if let Some(geometry) = geometry {
        medium = medium.with_geometry(geometry, facts);
    }
    if medium.capacity < SMALLEST_DEVICE {
        return Err(Error::failed(format!(
            "{} is too small for a layout, the least is {SMALLEST_DEVICE}",
            medium.capacity
        ))
        .hint("check the capacity"));
    }
    let entropy = match intent.id_seed {
        Some(_) => [0; 16],
        None => entropy()?,
    };
    plan::layout(&medium, choice, intent, entropy).map_err(|error| of_plan(&error))
}

/// The identifier to keep, when keeping it was asked for.
///
/// # Errors
/// The device bears none, or cannot be read.
pub fn present_id(device: &mut dyn ReadDevice, intent: &Intent) -> Result<Option<DiskId>, Error> {
    if intent.disk_id != DiskIdChoice::Keep {
        return Ok(None);
    }
    let failed = |error: AccessError| {
        Error::io(format!("reading the present table failed: {error}"))
            .hint("try another port or reader")
    };
    let found = contents(device).map_err(failed)?;
    match found.table.and_then(|table| table.disk_id) {
        Some(id) => Ok(Some(id)),
        None => Err(
            Error::failed("--disk-id keep: the device bears no disk identifier")
                .hint("leave it out for a new one"),
        ),
    }
}

/// A layout from a file.
///
/// # Errors
/// A file that cannot be read, or is no layout.
pub fn saved_layout(path: &Path) -> Result<Layout, Error> {
    let bytes = read(path)?;
    layout_json::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        Error::failed(format!("{}: {error}", path.display()))
            .hint("name a layout as it is made with: flashfit plan DEVICE --format json")
    })
}

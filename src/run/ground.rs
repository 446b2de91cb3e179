//! What a layout is made from: a grid and the device that it was found on, numbers given by hand, or a
//! layout that is made already.

use super::arrange::{arrange, present_id};
use super::intent::of_plan;
use super::plan::{check_phase, whole_sectors};
use crate::device::ReadDevice;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::output::report::Report;
use crate::plan::filesystem::command::UNKNOWN_DISK;
use crate::plan::intent::Intent;
use crate::plan::{self, AlignmentChoice, Layout, Medium};
use crate::table::Identity;
use crate::topology::Facts;
use crate::units::{Bytes, LogicalBlock, Size};

/// What the layout is made from.
pub enum Ground {
    /// It is made already.
    Layout(Box<Layout>),
    /// It is made already, and was shown to somebody, for a device that was looked at.
    Arranged {
        /// The layout.
        layout: Box<Layout>,
        /// The device.
        device: Box<Facts>,
    },
    /// A grid, and the device that it was found on.
    Grid {
        /// The grid.
        choice: Box<AlignmentChoice>,
        /// What was found, for the inside of file systems.
        geometry: Box<Geometry>,
        /// The device.
        device: Box<Facts>,
    },
    /// Numbers given by hand.
    Given {
        /// The erase block.
        erase_block: Size,
        /// Its first boundary, when given.
        phase: Option<Size>,
        /// The size that the device must have, when given.
        capacity: Option<Size>,
    },
}

impl Ground {
    /// The grid of a report.
    pub fn of(report: Report) -> Ground {
        Ground::Grid {
            choice: Box::new(report.alignment),
            geometry: Box::new(report.geometry),
            device: Box::new(report.device),
        }
    }
}

/// An image as a device with these sectors would show it.
pub fn with_block(mut facts: Facts, block: LogicalBlock) -> Facts {
    let unit = block.bytes().get();
    facts.logical_block = block;
    facts.capacity = facts.capacity.map(|size| Bytes(size.get() / unit * unit));
    facts
}

/// The layout for the device that is open now.
///
/// # Errors
/// A device that is not the one of the ground, and a layout that cannot be made for it.
pub fn layout(
    ground: &Ground,
    device: &mut dyn ReadDevice,
    intent: &Intent,
) -> Result<Layout, Error> {
    let mut facts = device.facts().clone();
    let mut measured = None;
    let choice = match ground {
        Ground::Layout(layout) => {
            let mut layout = layout.as_ref().clone();
            // The file may have been made for another disk, or for none.
            let disk = Medium::disk_of(&facts);
            layout.name_disk(disk.as_deref().unwrap_or(UNKNOWN_DISK));
            return Ok(layout);
        }
        Ground::Arranged { layout, device } => {
            same_device(device, &facts)?;
            return Ok(layout.as_ref().clone());
        }
        Ground::Grid {
            choice,
            geometry,
            device,
        } => {
            same_device(device, &facts)?;
            measured = Some(geometry.as_ref());
            facts.real_capacity = device.real_capacity;
            choice.as_ref().clone()
        }
        Ground::Given {
            erase_block,
            phase,
            capacity,
        } => given(*erase_block, *phase, *capacity, &facts)?,
    };
    let present = present_id(device, intent)?;
    arrange(&facts, &choice, measured, intent, present)
}

/// Refuse a report or a scan of another device.
fn same_device(then: &Facts, now: &Facts) -> Result<(), Error> {
    if let Some(difference) = Identity::of(then).difference(&Identity::of(now)) {
        return Err(Error::refused(format!(
            "the report is of another device than {}: {difference}",
            now.path
        ))
        .hint("name the device that it was made of, or leave out --report to scan this one"));
    }
    if then.diskseq.is_some() && now.diskseq.is_some() && then.diskseq != now.diskseq {
        return Err(exchanged(&now.path));
    }
    Ok(())
}

/// Another medium lies where the right one lay.
pub fn exchanged(name: &str) -> Error {
    Error::refused(format!(
        "{name}: another medium is in there than the one that was looked at; nothing was written"
    ))
    .hint("make sure that it is the right one, and run the command again")
}

fn given(
    erase_block: Size,
    phase: Option<Size>,
    capacity: Option<Size>,
    facts: &Facts,
) -> Result<AlignmentChoice, Error> {
    let block = facts.logical_block;
    let bytes = |option: &str, size: Size| whole_sectors(option, size, block);
    if let Some(capacity) = capacity {
        let capacity = bytes("--capacity", capacity)?;
        if Some(capacity) != facts.capacity {
            return Err(Error::refused(format!(
                "{} has {} bytes, and --capacity says {}",
                facts.path,
                facts.capacity.unwrap_or_default().get(),
                capacity.get()
            ))
            .hint("name the device that is meant, or leave --capacity out"));
        }
    }
    let erase_block = bytes("--erase-block", erase_block)?;
    let phase = phase.map_or(Ok(Bytes::ZERO), |phase| bytes("--phase", phase))?;
    check_phase(phase, erase_block)?;
    plan::alignment_of(erase_block, phase, facts).map_err(|error| of_plan(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ExitCode;
    use crate::topology::Transport;

    #[test]
    fn another_serial_number_or_another_attachment_is_another_device() {
        let scanned = Facts {
            serial: Some("4C53".to_owned()),
            diskseq: Some(7),
            ..Facts::bare(
                "/dev/sdb",
                Transport::Usb,
                Some(Bytes::gib(8)),
                LogicalBlock::B512,
            )
        };
        assert_eq!(same_device(&scanned, &scanned), Ok(()));
        let saved = Facts {
            diskseq: None,
            ..scanned.clone()
        };
        assert_eq!(same_device(&saved, &scanned), Ok(()));
        let exchanged = Facts {
            diskseq: Some(8),
            ..scanned.clone()
        };
        let other = Facts {
            serial: Some("4C54".to_owned()),
            ..scanned.clone()
        };
        for (now, says) in [
            (exchanged, "another medium is in there"),
            (other, "serial number"),
        ] {
            let error = same_device(&scanned, &now).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::Refused);
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}

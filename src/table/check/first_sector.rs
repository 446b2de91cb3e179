//! What sector 0 is, and what shows under it.

use super::super::read::contents::{Contents, SectorZero};
use super::Finding;
use crate::plan::TableKind;
use crate::plan::table_room::MBR_SECTORS;
use crate::units::{Bytes, Lba};

pub(super) fn findings(contents: &Contents, out: &mut Vec<Finding>) {
    match contents.sector_zero {
        SectorZero::Table { mbr, boot_sector } => {
            if boot_sector {
                let what = contents
                    .filesystem
                    .map_or("file system", |found| found.kind.name());
                out.push(Finding::inconsistent(
                    "old_boot_sector",
                    format!(
                        "the boot sector of a former {what} still shows in sector 0 beside the table, and tools take the whole device for it: partition anew with flashfit write, which removes it"
                    ),
                ));
            }
            if mbr.is_hybrid() {
                hybrid(contents, out);
            }
        }
        SectorZero::BootSector { contains_itself } => whole_device(contents, contains_itself, out),
        SectorZero::BootCode if contents.table.is_none() => out.push(Finding::note(
            "boot_code",
            "sector 0 ends in 55 AA, and what stands where the entries would be is code or text: no partition table",
        )),
        SectorZero::BootCode | SectorZero::Nothing => {
            if contents.filesystem.is_some() && contents.table.is_none() {
                whole_device(contents, false, out);
            }
        }
    }
    too_large(contents, out);
    let nothing = contents.sector_zero == SectorZero::Nothing
        && contents.table.is_none()
        && contents.filesystem.is_none()
        && contents.signatures.is_empty()
        && contents.gpts.is_empty();
    if nothing {
        out.push(Finding::note(
            "empty",
            "neither a partition table nor a file system is on it",
        ));
    }
}

fn whole_device(contents: &Contents, contains_itself: bool, out: &mut Vec<Finding>) {
    let what = contents
        .filesystem
        .map_or("file system", |found| found.kind.name());
    let entry = if contains_itself {
        "; the entry in its boot sector that lies over itself is no table"
    } else {
        ""
    };
    out.push(Finding::note(
        "whole_device",
        format!("{what} on the whole device, no real partition table{entry}"),
    ));
}

/// A GPT with entries of its own in the MBR: a loader of old firmware, or a mistake.
fn hybrid(contents: &Contents, out: &mut Vec<Finding>) {
    let SectorZero::Table { mbr, .. } = contents.sector_zero else {
        return;
    };
    let unit = contents.logical_block.bytes().get();
    let bytes = |lba: Lba| Bytes(lba.get().saturating_mul(unit));
    let mut shown = Vec::new();
    let mut strangers = Vec::new();
    for (number, entry) in mbr.used().filter(|(_, entry)| entry.kind != 0xee) {
        shown.push(number.to_string());
        let same = contents.partitions.iter().any(|partition| {
            partition.range.from == bytes(entry.first) && partition.range.to == bytes(entry.end())
        });
        if !same {
            strangers.push(number.to_string());
        }
    }
    out.push(Finding::note(
        "hybrid_mbr",
        format!(
            "hybrid MBR: entry {} shows partitions of the GPT to old systems; few tools keep the two alike, so change neither by hand",
            shown.join(", ")
        ),
    ));
    if !strangers.is_empty() {
        out.push(Finding::inconsistent(
            "hybrid_differs",
            format!(
                "hybrid MBR: entry {} describes no partition of the GPT: what one system writes there another overwrites",
                strangers.join(", ")
            ),
        ));
    }
}

/// An MBR on a medium that it cannot address.
fn too_large(contents: &Contents, out: &mut Vec<Finding>) {
    let sectors = contents.capacity.get() / contents.logical_block.bytes().get();
    let is_mbr = contents
        .table
        .is_some_and(|table| table.kind == TableKind::Mbr);
    // The one sector more is lost to every grid.
    if is_mbr && sectors > MBR_SECTORS.get() + 1 {
        out.push(Finding::note(
            "beyond_mbr",
            format!(
                "the medium has {sectors} sectors and an MBR reaches {MBR_SECTORS}: the rest can only be used with a GPT"
            ),
        ));
    }
}

//! The copies of a GPT: do they lie where they say, and say the same?

use super::super::read::contents::{Contents, Gpt, SectorZero};
use super::super::read::gpt::GptCopy;
use super::{Finding, Measure};
use crate::plan::TableKind;
use crate::units::LogicalBlock;

pub(super) fn findings(contents: &Contents, measure: &Measure, out: &mut Vec<Finding>) {
    let used = contents
        .table
        .filter(|table| table.kind == TableKind::Gpt)
        .map(|table| table.sector);
    for gpt in &contents.gpts {
        if used == Some(gpt.sector) {
            of_used(gpt, contents, measure, out);
        } else {
            out.push(stale(gpt, contents));
        }
    }
    protection(contents, out);
}

/// The table that counts.
fn of_used(gpt: &Gpt, contents: &Contents, measure: &Measure, out: &mut Vec<Finding>) {
    if gpt.sector != contents.logical_block {
        out.push(other_sectors(gpt.sector, contents, measure));
    }
    let Some(primary) = &gpt.primary else {
        out.push(Finding::inconsistent(
            "gpt_primary_missing",
            "the first GPT is gone, only its backup in the last sector is there: write it back with sgdisk or fdisk before it is lost too",
        ));
        return;
    };
    if let Some(fault) = primary.fault {
        out.push(Finding::inconsistent(
            "gpt_primary_damaged",
            format!("the first GPT is damaged: {fault}"),
        ));
    }
    let last = contents.capacity.get() / gpt.sector.bytes().get();
    let last = last.saturating_sub(1);
    let alternate = primary.header.alternate_lba.get();
    if primary.is_sound() && alternate > last {
        out.push(Finding::inconsistent(
            "gpt_beyond_end",
            format!(
                "the medium is smaller than the table was made for: its backup belongs into sector {alternate}, and the last sector is {last}"
            ),
        ));
    }
    match (&gpt.elsewhere, &gpt.last) {
        (Some(backup), stray) => {
            image_smaller(primary, backup, last, out);
            if let Some(stray) = stray.as_ref().filter(|stray| !stray.agrees_with(primary)) {
                out.push(former(stray));
            }
        }
        (None, Some(backup)) if backup.fault.is_some() => out.push(Finding::inconsistent(
            "gpt_backup_damaged",
            format!(
                "the backup GPT in the last sector is damaged: {}",
                backup
                    .fault
                    .map_or_else(String::new, |fault| fault.to_string())
            ),
        )),
        (None, Some(backup)) if primary.is_sound() && !backup.agrees_with(primary) => {
            if alternate == last && backup.header.disk == primary.header.disk {
                out.push(Finding::inconsistent(
                    "gpt_copies_differ",
                    "the two copies of the GPT name different partitions: a tool that repairs one from the other changes the layout",
                ));
            } else {
                out.push(former(backup));
            }
        }
        (None, Some(_)) => {}
        (None, None) if alternate <= last => out.push(Finding::inconsistent(
            "gpt_backup_missing",
            format!("the backup GPT is missing: sector {alternate} holds none"),
        )),
        (None, None) => {}
    }
}

/// A backup in front of the last sector: an image was copied to a larger medium.
fn image_smaller(primary: &GptCopy, backup: &GptCopy, last: u64, out: &mut Vec<Finding>) {
    let at = backup.at;
    if let Some(fault) = backup.fault {
        out.push(Finding::inconsistent(
            "gpt_backup_damaged",
            format!("the backup GPT in sector {at} is damaged: {fault}"),
        ));
    } else if primary.is_sound() && !backup.agrees_with(primary) {
        out.push(Finding::inconsistent(
            "gpt_copies_differ",
            "the two copies of the GPT name different partitions: a tool that repairs one from the other changes the layout",
        ));
    } else {
        out.push(Finding::note(
            "image_smaller_than_medium",
            format!(
                "the image is smaller than the medium: its backup table lies in sector {at}, the last sector is {last}; all is well, and the backup can be moved with: sgdisk --move-second-header DEVICE"
            ),
        ));
    }
}

fn other_sectors(sector: LogicalBlock, contents: &Contents, measure: &Measure) -> Finding {
    let written = sector.bytes().get();
    let own = contents.logical_block.bytes().get();
    if measure.is_image {
        Finding::note(
            "other_sector_size",
            format!(
                "the GPT is written with {written}-byte sectors: it is seen on a device with such sectors only"
            ),
        )
    } else {
        Finding::inconsistent(
            "other_sector_size",
            format!(
                "the GPT is written with {written}-byte sectors and the device shows {own}-byte ones, so no system here sees it: use the adapter that it was written with, or partition anew"
            ),
        )
    }
}

/// Copies that do not count.
fn stale(gpt: &Gpt, contents: &Contents) -> Finding {
    let sector = gpt.sector.bytes().get();
    let copies = [&gpt.primary, &gpt.elsewhere, &gpt.last];
    let places: Vec<String> = copies
        .into_iter()
        .flatten()
        .map(|copy| copy.at.to_string())
        .collect();
    let beside = match contents.table.map(|table| table.kind) {
        Some(TableKind::Mbr) => "beside the MBR, which is used",
        Some(TableKind::Gpt) => "beside the GPT that is used",
        None => "and no table uses it",
    };
    Finding::inconsistent(
        "stale_gpt",
        format!(
            "a former GPT lies in sector {} (of {sector} bytes) {beside}: tools may bring it back: partition anew with flashfit write, which removes it",
            places.join(" and ")
        ),
    )
}

/// The last sector holds the backup of another table than the one that is used.
fn former(copy: &GptCopy) -> Finding {
    Finding::inconsistent(
        "stale_gpt",
        format!(
            "the last sector, {}, holds the backup of a former GPT: tools may bring the old layout back; write the backup anew with sgdisk or fdisk",
            copy.at
        ),
    )
}

/// Whether sector 0 and the GPT belong together.
fn protection(contents: &Contents, out: &mut Vec<Finding>) {
    let is_gpt = contents
        .table
        .is_some_and(|table| table.kind == TableKind::Gpt);
    match contents.sector_zero {
        SectorZero::Table { mbr, .. } if mbr.is_protective() && !is_gpt => {
            out.push(Finding::inconsistent(
                "gpt_lost",
                "sector 0 protects a GPT, and no sound copy of one is on the device",
            ));
        }
        SectorZero::Nothing | SectorZero::BootCode if is_gpt => {
            out.push(Finding::inconsistent(
                "protective_mbr_missing",
                "the MBR that protects the GPT is missing, so the kernel ignores the table: write it back with sgdisk or fdisk",
            ));
        }
        _ => {}
    }
}

//! Marks outside all partitions that other systems would recognise.

use super::super::read::contents::{Contents, SectorZero};
use super::super::read::signatures::{Signature, SignatureKind};
use super::Finding;
use crate::units::{ByteRange, Bytes, LogicalBlock};

pub(super) fn findings(contents: &Contents, out: &mut Vec<Finding>) {
    let installer = is_installer(contents);
    if installer {
        out.push(Finding::note(
            "installer_image",
            "an installer image: an ISO 9660 file system or an Apple map lies under the table, and some tools refuse the medium for its blocks of 2048 bytes; partition it anew before other use",
        ));
    }
    let mut seen = Vec::new();
    for mark in &contents.signatures {
        let known = is_explained(mark, contents) || (installer && is_of_installer(mark));
        if known || seen.contains(&mark.name) {
            continue;
        }
        seen.push(mark.name);
        out.push(Finding::inconsistent(
            "leftover",
            format!(
                "{} ({}) at byte {} belongs to nothing that is there now, and tools take the device for it: remove it with: wipefs --offset {} DEVICE",
                mark.name,
                mark.kind.words(),
                mark.at.get(),
                mark.at.get()
            ),
        ));
    }
}

/// Whether an installer image was copied to the device.
pub(super) fn is_installer(contents: &Contents) -> bool {
    let marks: Vec<&Signature> = contents
        .signatures
        .iter()
        .filter(|mark| !inside_a_partition(mark, contents) || mark.at == FIRST_DESCRIPTOR)
        .collect();
    marks.iter().any(|mark| is_of_installer(mark))
}

/// Where the first volume descriptor of ISO 9660 has its mark: sector 16 of 2048 bytes, plus one.
/// The first partition of an installer image often lies over it.
const FIRST_DESCRIPTOR: Bytes = Bytes(0x8001);

fn is_of_installer(mark: &Signature) -> bool {
    mark.name == "ISO9660" || mark.name.starts_with("Apple")
}

/// Whether the mark belongs to what the contents are: tables are judged elsewhere, and the file
/// system of the whole device may have several.
fn is_explained(mark: &Signature, contents: &Contents) -> bool {
    if mark.name.starts_with("Apple") {
        return false;
    }
    if mark.kind == SignatureKind::PartitionTable || inside_a_partition(mark, contents) {
        return true;
    }
    let of_file_system = contents
        .filesystem
        .is_some_and(|found| mark.name.starts_with(found.kind.name()));
    // In sector 0 beside a table it is reported as an old boot sector.
    let told = matches!(
        contents.sector_zero,
        SectorZero::Table {
            boot_sector: true,
            ..
        }
    );
    match contents.table {
        Some(_) => told && mark.at < LogicalBlock::B512.bytes(),
        None => of_file_system || contents.filesystem.is_none(),
    }
}

fn inside_a_partition(mark: &Signature, contents: &Contents) -> bool {
    let place = ByteRange {
        from: mark.at,
        to: Bytes(mark.at.get().saturating_add(1)),
    };
    contents
        .partitions
        .iter()
        .any(|partition| !partition.is_container && partition.range.overlaps(place))
}

//! A master boot record from a layout: primary entries only.
//!
//! `mbrman` packs the bytes. What it does not do is done here: it leaves CHS addresses at zero
//! (and, given a geometry, fails beyond 8 GB instead of writing the conventional marker), it takes
//! extended partitions whose EBRs it then writes to the wrong place from 4 GiB on, and it cuts
//! numbers that do not fit.

use super::overlay::Overlay;
use super::prepare::PrepareError;
use super::read::mbr::Chs;
use crate::plan::layout::Partition;
use crate::plan::{DiskId, Layout, PartitionType};
use crate::units::Lba;
use mbrman::{BOOT_ACTIVE, BOOT_INACTIVE, CHS, MBRHeader, MBRPartitionEntry};

/// Types that announce a chain of further tables inside the partition: extended partitions of DOS,
/// Windows 95 and Linux (util-linux `include/pt-mbr-partnames.h`).
const EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];

/// The type that announces a GPT behind the MBR (UEFI specification, section 5.2.3).
const PROTECTIVE: u8 = 0xee;

/// Write the table of this layout into the overlay.
///
/// The boot code is zero: what stood there belongs to the table that goes, and a boot sector of a
/// file system that filled the device would be found again.
pub(super) fn render(overlay: &mut Overlay<'_>, layout: &Layout) -> Result<(), PrepareError> {
    let DiskId::Mbr(signature) = layout.disk_id else {
        return Err(PrepareError::crate_failed(
            "the identifier is none of an MBR",
        ));
    };
    // Little-endian on the disk, as every number of an MBR.
    let mut header = MBRHeader::new(signature.to_le_bytes());
    for (index, partition) in layout.partitions.iter().enumerate() {
        let slot = header
            .get_mut(index + 1)
            .ok_or(PrepareError::crate_failed("more than four partitions"))?;
        *slot = entry(index + 1, partition)?;
    }
    // The whole sector, also where it has 4096 bytes and the record only the first 512.
    overlay.put(Lba(0), &[]);
    header
        .write_into(overlay)
        .map_err(|error| PrepareError::of_crate(overlay, &error))
}

fn entry(number: usize, partition: &Partition) -> Result<MBRPartitionEntry, PrepareError> {
    let sys = match partition.kind {
        PartitionType::Mbr(code) => code,
        PartitionType::Gpt(_) => {
            return Err(PrepareError::crate_failed("a type of a GPT in an MBR"));
        }
    };
    if EXTENDED.contains(&sys) || sys == PROTECTIVE {
        return Err(PrepareError::SpecialType {
            number,
            kind: partition.kind,
        });
    }
    let narrow = |number: u64| {
        u32::try_from(number).map_err(|_| PrepareError::crate_failed("a sector beyond 2^32"))
    };
    Ok(MBRPartitionEntry {
        boot: if partition.bootable {
            BOOT_ACTIVE
        } else {
            BOOT_INACTIVE
        },
        first_chs: chs(partition.first),
        sys,
        last_chs: chs(partition.last()),
        starting_lba: narrow(partition.first.get())?,
        sectors: narrow(partition.sectors.get())?,
    })
}

/// Cameras and old firmware go by these addresses; what lies beyond them gets the marker
/// 1023/254/63 (bytes FE FF FF).
fn chs(place: Lba) -> CHS {
    let Chs {
        cylinder,
        head,
        sector,
    } = Chs::of(place);
    CHS::new(cylinder, head, sector)
}

//! Partition tables and their copies.

use super::super::bytes::{stands, u16_be, u32_be, u64_le};
use super::super::fat::Fat;
use super::super::gpt::MAGIC;
use super::super::mbr::{BOOT_SIGNATURE_AT, Mbr};
use super::SignatureKind::PartitionTable;
use super::probe::Probe;
use crate::device::AccessError;
use crate::units::{ByteRange, Bytes};

/// The names of the first copies and of the second ones.
const GPT: &str = "GPT";
const GPT_BACKUP: &str = "GPT backup";

/// Both sector sizes: a disk may have been partitioned behind another bridge.
const SECTORS: [u64; 2] = [512, 4096];

pub(super) fn probe(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    mbr(probe)?;
    gpt(probe)?;
    apple(probe)
}

fn mbr(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let sector = probe.bytes(Bytes::ZERO, Bytes(512))?;
    let boot_sector = Fat::parse(&sector).is_some()
        || stands(&sector, 3, b"EXFAT   ")
        || stands(&sector, 3, b"NTFS    ");
    if Mbr::parse(&sector).is_some_and(|mbr| mbr.is_table(boot_sector)) {
        probe.note_magic("MBR", PartitionTable, Bytes(BOOT_SIGNATURE_AT as u64), 2);
    }
    Ok(())
}

/// Both copies for both sector sizes. The second is looked for in the last sector, and where the
/// first says it is: in an image that was copied to a larger medium it lies somewhere in between.
fn gpt(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for sector in SECTORS {
        let at = Bytes(sector);
        let header = probe.bytes(at, Bytes(92))?;
        if stands(&header, 0, MAGIC) {
            probe.note_magic(GPT, PartitionTable, at, MAGIC.len());
            let other = u64_le(&header, 32).and_then(|lba| lba.checked_mul(sector));
            if let Some(other) = other.filter(|other| *other > sector) {
                let copy = probe.bytes(Bytes(other), Bytes(8))?;
                if copy == MAGIC {
                    probe.note_magic(GPT_BACKUP, PartitionTable, Bytes(other), copy.len());
                }
            }
        }
        let (at, last) = probe.bytes_from_end(Bytes(sector), Bytes(8))?;
        if at > Bytes(sector) && last == MAGIC {
            probe.note_magic(GPT_BACKUP, PartitionTable, at, last.len());
        }
    }
    Ok(())
}

/// The Apple driver descriptor `ER` in sector 0 and the map `PM` behind it, in blocks of 512 or of
/// 2048 bytes ("Inside Macintosh: Devices", chapter 3). Hybrid installer images carry both.
fn apple(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    /// As many entries as installers have ever had, and some more.
    const MOST: u64 = 64;
    let first = probe.bytes(Bytes::ZERO, Bytes(4))?;
    // The block size follows the word; without a sane one the word is chance.
    let block = u16_be(&first, 2).map_or(0, u64::from);
    if stands(&first, 0, b"ER") && matches!(block, 512 | 1024 | 2048 | 4096) {
        probe.note_magic("Apple driver descriptor", PartitionTable, Bytes::ZERO, 2);
    }
    for step in [512u64, 1024, 2048, 4096] {
        let entry = probe.bytes(Bytes(step), Bytes(8))?;
        // Two zero bytes pad the word; the number of entries follows.
        if !stands(&entry, 0, b"PM\0\0") {
            continue;
        }
        let count = u32_be(&entry, 4).map_or(1, u64::from).clamp(1, MOST);
        let mut to = Bytes(step * 2);
        for index in 2..=count {
            if probe.bytes(Bytes(step * index), Bytes(4))? != b"PM\0\0" {
                break;
            }
            to = Bytes(step * (index + 1));
        }
        let from = Bytes(step);
        probe.note(
            "Apple partition map",
            PartitionTable,
            from,
            ByteRange { from, to },
        );
    }
    Ok(())
}

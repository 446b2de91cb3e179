//! Marks at a distance from the end of the thing.

use super::super::bytes::{stands, u32_be, u32_le, u64_le};
use super::SignatureKind::{FileSystem, Raid};
use super::fixed::{MD_MAGIC, is_md_1};
use super::probe::Probe;
use crate::device::AccessError;
use crate::units::{ByteRange, Bytes};

pub(super) fn probe(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    md_0_90(probe)?;
    md_1_0(probe)?;
    ntfs_copy(probe)?;
    zfs(probe)
}

/// Version 0.90: 64 KiB before the last multiple of 64 KiB, in the byte order of the machine that
/// made it (`MD_NEW_SIZE_SECTORS` in Linux `include/uapi/linux/raid/md_p.h`).
fn md_0_90(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const RESERVED: u64 = 64 << 10;
    let Some(at) = (probe.length().get() / RESERVED * RESERVED).checked_sub(RESERVED) else {
        return Ok(());
    };
    let block = probe.bytes(Bytes(at), Bytes(8))?;
    let magic = |number: Option<u32>| number == Some(MD_MAGIC);
    let version = |number: Option<u32>| number == Some(0);
    if magic(u32_le(&block, 0)) && version(u32_le(&block, 4))
        || magic(u32_be(&block, 0)) && version(u32_be(&block, 4))
    {
        probe.note_magic("md RAID 0.90", Raid, Bytes(at), 4);
    }
    Ok(())
}

/// Version 1.0: at least 8 KiB before the end, on a multiple of 4 KiB (`super_1_load` in Linux
/// `drivers/md/md.c`).
fn md_1_0(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let Some(sector) = (probe.length().get() / 512).checked_sub(16) else {
        return Ok(());
    };
    let sector = sector / 8 * 8;
    let at = Bytes(sector * 512);
    let block = probe.bytes(at, Bytes(256))?;
    if is_md_1(&block, sector) {
        probe.note_magic("md RAID 1.0", Raid, at, 4);
    }
    Ok(())
}

/// NTFS keeps a copy of its boot sector in the sector behind the volume, which is the last one of
/// its partition.
fn ntfs_copy(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for sector in [512, 4096] {
        let (at, boot) = probe.bytes_from_end(Bytes(sector), Bytes(512))?;
        if at > Bytes::ZERO && stands(&boot, 3, b"NTFS    ") {
            let magic = Bytes(at.get().saturating_add(3));
            probe.note_magic("NTFS second boot sector", FileSystem, magic, 8);
        }
    }
    Ok(())
}

/// ZFS writes four labels of 256 KiB, two at each end; the second half of each is a ring of
/// uberblocks, any of which would be found ("ZFS On-Disk Specification", section 1.2).
fn zfs(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const LABEL: u64 = 256 << 10;
    const RING: u64 = 128 << 10;
    const STEP: usize = 1024;
    const MAGIC: u64 = 0x00ba_b10c;
    let whole = probe.length().get() / LABEL * LABEL;
    if whole < 4 * LABEL {
        return Ok(());
    }
    for label in [0, LABEL, whole - 2 * LABEL, whole - LABEL] {
        let ring = label + RING;
        let bytes = probe.bytes(Bytes(ring), Bytes(RING))?;
        let slot = bytes.chunks(STEP).position(|slot| {
            let number = u64_le(slot, 0);
            number == Some(MAGIC) || number == Some(MAGIC.swap_bytes())
        });
        if let Some(slot) = slot {
            let all = ByteRange {
                from: Bytes(ring),
                to: Bytes(ring + RING),
            };
            let at = Bytes(ring + (slot * STEP) as u64);
            probe.note("ZFS label", FileSystem, at, all);
        }
    }
    Ok(())
}

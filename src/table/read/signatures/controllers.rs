//! RAIDs of controllers and of firmwares, and DRBD: all keep their blocks near the end of a disk.
//!
//! Where each lies was checked against what wipefs of util-linux 2.38 recognises; the formats are told
//! by Linux' dmraid, mdadm (`super-ddf.c`, `super-intel.c`) and DRBD (`drbd_md_magic`).

use super::super::bytes::{stands, u16_le, u32_be, u32_le};
use super::SignatureKind::{Raid, Volume};
use super::probe::Probe;
use crate::device::AccessError;
use crate::units::Bytes;

const SECTOR: u64 = 512;

/// A mark at the start of a sector counted from the end: the last one is 1.
struct Mark {
    name: &'static str,
    sector: u64,
    magic: &'static [u8],
}

const fn mark(name: &'static str, sector: u64, magic: &'static [u8]) -> Mark {
    Mark {
        name,
        sector,
        magic,
    }
}

const MARKS: &[Mark] = &[
    mark("DDF RAID", 1, &[0xde, 0x11, 0xde, 0x11]),
    mark("DDF RAID", 1, &[0x11, 0xde, 0x11, 0xde]),
    // Adaptec controllers keep a block of their own behind it.
    mark("DDF RAID", 257, &[0xde, 0x11, 0xde, 0x11]),
    mark("DDF RAID", 257, &[0x11, 0xde, 0x11, 0xde]),
    mark("Intel RAID", 2, b"Intel Raid ISM Cfg Sig. "),
    mark("LSI MegaRAID", 1, b"$XIDE$"),
    mark("NVIDIA RAID", 2, b"NVIDIA"),
    mark("Highpoint RAID", 11, &0x5a78_16f3_u32.to_le_bytes()),
    mark("Highpoint RAID", 11, &0x5a78_16fd_u32.to_le_bytes()),
];

/// Where Promise FastTrak controllers of different generations keep their block.
const PROMISE: [u64; 13] = [
    16, 63, 255, 256, 399, 591, 675, 735, 911, 951, 974, 991, 3087,
];

pub(super) fn probe(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    for mark in MARKS {
        at_sector(probe, mark)?;
    }
    for sector in PROMISE {
        at_sector(
            probe,
            &mark("Promise RAID", sector, b"Promise Technology, Inc."),
        )?;
    }
    last_sector(probe)?;
    drbd(probe)
}

fn at_sector(probe: &mut Probe<'_>, mark: &Mark) -> Result<(), AccessError> {
    let Some(at) = from_end(probe, mark.sector) else {
        return Ok(());
    };
    let length = mark.magic.len();
    if probe.bytes(at, Bytes(length as u64))? == mark.magic {
        probe.note_magic(mark.name, Raid, at, length);
    }
    Ok(())
}

/// Where that sector begins; whole sectors are counted, and sector 0 is none of them.
fn from_end(probe: &Probe<'_>, sector: u64) -> Option<Bytes> {
    let whole = probe.length().get() / SECTOR;
    let number = whole.checked_sub(sector).filter(|number| *number > 0)?;
    Some(Bytes(number * SECTOR))
}

/// Blocks in the last sector whose magic is short or lies inside.
fn last_sector(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    let Some(at) = from_end(probe, 1) else {
        return Ok(());
    };
    let block = probe.bytes(at, Bytes(SECTOR))?;
    let inside = |offset: u64| Bytes(at.get() + offset);
    if is_via(&block) {
        probe.note_magic("VIA RAID", Raid, at, 2);
    }
    if is_jmicron(&block) {
        probe.note_magic("JMicron RAID", Raid, at, 2);
    }
    if u32_be(&block, 0) == Some(0x37fc_4d1e) && stands(&block, 256, b"DPTM") {
        probe.note_magic("Adaptec RAID", Raid, at, 4);
    }
    if u32_le(&block, 0x60) == Some(0x2f00_0000) {
        probe.note_magic("Silicon Image RAID", Raid, inside(0x60), 4);
    }
    Ok(())
}

/// Two bytes of magic, a version of 0 or 1, and the sum of the first 50 bytes behind them.
fn is_via(block: &[u8]) -> bool {
    let sum = block
        .iter()
        .take(50)
        .fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    u16_le(block, 0) == Some(0xaa55)
        && block.get(2).is_some_and(|version| *version <= 1)
        && block.get(50) == Some(&sum)
}

/// Two letters, and the sum of 64 words, which comes to 0 or 1.
fn is_jmicron(block: &[u8]) -> bool {
    let Some(words) = block.get(..128) else {
        return false;
    };
    let sum = words.as_chunks::<2>().0.iter().fold(0u16, |sum, word| {
        sum.wrapping_add(u16::from_le_bytes(*word))
    });
    stands(block, 0, b"JM") && sum <= 1
}

/// DRBD keeps its metadata in the last block of 4 KiB; three magics tell its versions and states.
fn drbd(probe: &mut Probe<'_>) -> Result<(), AccessError> {
    const BLOCK: u64 = 4096;
    const MAGIC_AT: u64 = 60;
    let Some(block) = (probe.length().get() / BLOCK).checked_sub(1) else {
        return Ok(());
    };
    let at = Bytes(block * BLOCK + MAGIC_AT);
    let word = probe.bytes(at, Bytes(4))?;
    if u32_be(&word, 0).is_some_and(|magic| (0x8374_026b..=0x8374_026d).contains(&magic)) {
        probe.note_magic("DRBD", Volume, at, 4);
    }
    Ok(())
}

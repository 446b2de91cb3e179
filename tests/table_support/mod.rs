//! What the tests of written tables share: devices with an old content, layouts, and a judge that
//! reads tables by its own means.

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use super::common;
use flashfit::device::memory::MemoryDevice;
use flashfit::device::{AlignedBuffer, ReadDevice};
use flashfit::plan::intent::{Intent, TableChoice};
use flashfit::plan::{self, AlignmentChoice, Layout, Medium, TableKind};
use flashfit::table::{self, Identity, Prepared};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Alignment, Bytes, LogicalBlock, Sectors};

/// 64 MiB: room for a few partitions on grids of MiB, small enough to copy a thousand times.
pub const SIZE: u64 = 64 << 20;

/// A medium of zeros.
pub fn blank(block: LogicalBlock) -> MemoryDevice {
    sized(block, SIZE)
}

/// A medium of zeros with this many bytes.
pub fn sized(block: LogicalBlock, size: u64) -> MemoryDevice {
    let facts = Facts {
        serial: Some("4C53".to_owned()),
        model: Some("Fit".to_owned()),
        ..Facts::bare("memory", Transport::Usb, None, block)
    };
    MemoryDevice::new(block, Sectors(size / block.bytes().get())).with_facts(facts)
}

/// A grid.
pub fn grid(grain: Bytes, phase: Bytes) -> AlignmentChoice {
    AlignmentChoice {
        alignment: Alignment::new(grain, phase).unwrap(),
        unit: grain,
        erase_block: Some(grain),
        reason: "test".to_owned(),
        fallback: false,
    }
}

/// A layout for a device.
pub fn layout(device: &MemoryDevice, table: TableKind, seed: &str, partitions: &[&str]) -> Layout {
    on_grid(
        device,
        &grid(Bytes::mib(4), Bytes::ZERO),
        table,
        seed,
        partitions,
    )
}

/// The same on another grid.
pub fn on_grid(
    device: &MemoryDevice,
    grid: &AlignmentChoice,
    table: TableKind,
    seed: &str,
    partitions: &[&str],
) -> Layout {
    let intent = Intent {
        table: TableChoice::Kind(table),
        partitions: partitions.iter().map(|p| p.parse().unwrap()).collect(),
        id_seed: Some(seed.to_owned()),
        ..Intent::default()
    };
    with_intent(device, grid, &intent)
}

/// The same with any intent.
pub fn with_intent(device: &MemoryDevice, grid: &AlignmentChoice, intent: &Intent) -> Layout {
    let medium = Medium::from_facts(device.facts()).unwrap();
    plan::layout(&medium, grid, intent, [7; 16]).unwrap()
}

/// The partitions of the new tables.
pub const NEW: [&str; 3] = ["8MiB:swap:BOOT", "12MiB:ext4:root", "rest:exfat:data"];

/// Those of the old ones: other places, so that old and new cannot be taken for one another.
pub const OLD: [&str; 2] = ["16MiB:ext4:old", "rest:none"];

/// What stood on the device before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    Nothing,
    Mbr,
    Gpt,
    /// A FAT over the whole device.
    Superfloppy,
    /// A GPT, and an ext4 where the first new partition begins.
    GptAndFileSystem,
    /// A GPT of the other sector size.
    OtherGpt,
}

pub const ALL_OLD: [Old; 6] = [
    Old::Nothing,
    Old::Mbr,
    Old::Gpt,
    Old::Superfloppy,
    Old::GptAndFileSystem,
    Old::OtherGpt,
];

/// A device with this old content.
pub fn device(block: LogicalBlock, old: Old) -> MemoryDevice {
    let mut device = blank(block);
    let table = |device: &mut MemoryDevice, kind| {
        let old = layout(device, kind, "old", &OLD);
        write(device, &old);
    };
    match old {
        Old::Nothing => {}
        Old::Mbr => {
            table(&mut device, TableKind::Mbr);
            device.place(Bytes::ZERO, b"old boot code");
        }
        Old::Gpt => table(&mut device, TableKind::Gpt),
        Old::Superfloppy => device.place(Bytes::ZERO, &fat_boot_sector()),
        Old::GptAndFileSystem => {
            table(&mut device, TableKind::Gpt);
            ext4(&mut device, Bytes::mib(4));
        }
        Old::OtherGpt => {
            let other = match block {
                LogicalBlock::B512 => LogicalBlock::B4096,
                LogicalBlock::B4096 => LogicalBlock::B512,
            };
            let mut behind_a_bridge = self::device(other, Old::Gpt);
            for at in (0..SIZE).step_by(1 << 20) {
                let mut bytes = AlignedBuffer::new(1 << 20);
                behind_a_bridge.read(Bytes(at), &mut bytes).unwrap();
                if bytes.iter().any(|byte| *byte != 0) {
                    device.place(Bytes(at), &bytes);
                }
            }
        }
    }
    device
}

/// Write a layout, without keeping a backup.
pub fn write(device: &mut MemoryDevice, layout: &Layout) {
    let (prepared, _) = prepare(device, layout);
    let image = prepared
        .back_up(Identity::of(device.facts()), |_| Ok::<(), ()>(()))
        .unwrap();
    image.write(device, &|| false).unwrap();
}

/// Prepare a layout, and its backup file.
pub fn prepare(device: &mut MemoryDevice, layout: &Layout) -> (Prepared, String) {
    let prepared = table::prepare(device, layout).unwrap_or_else(|error| panic!("{error}"));
    let mut text = String::new();
    let _ = prepared
        .clone()
        .back_up(Identity::of(device.facts()), |saved| {
            text = saved.to_owned();
            Ok::<(), ()>(())
        });
    (prepared, text)
}

/// The boot sector of a FAT16 of 64 MiB, as mkfs.fat makes it.
pub fn fat_boot_sector() -> Vec<u8> {
    let mut sector = vec![0; 512];
    sector[..3].copy_from_slice(&[0xeb, 0x3c, 0x90]);
    sector[3..11].copy_from_slice(b"mkfs.fat");
    sector[11..13].copy_from_slice(&512u16.to_le_bytes());
    sector[13] = 4;
    sector[14..16].copy_from_slice(&4u16.to_le_bytes());
    sector[16] = 2;
    sector[17..19].copy_from_slice(&512u16.to_le_bytes());
    sector[21] = 0xf8;
    sector[22..24].copy_from_slice(&128u16.to_le_bytes());
    sector[24..26].copy_from_slice(&32u16.to_le_bytes());
    sector[26..28].copy_from_slice(&2u16.to_le_bytes());
    sector[32..36].copy_from_slice(&131_072u32.to_le_bytes());
    sector[38] = 0x29;
    sector[43..54].copy_from_slice(b"NO NAME    ");
    sector[54..62].copy_from_slice(b"FAT16   ");
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// The superblock of an ext4 in a partition that begins at `at`, as far as its signature goes.
pub fn ext4(device: &mut MemoryDevice, at: Bytes) {
    let mut block = vec![0; 1024];
    block[4..8].copy_from_slice(&1024u32.to_le_bytes());
    block[24..28].copy_from_slice(&2u32.to_le_bytes());
    block[32..36].copy_from_slice(&32768u32.to_le_bytes());
    block[40..44].copy_from_slice(&1024u32.to_le_bytes());
    block[56..58].copy_from_slice(&0xef53u16.to_le_bytes());
    block[76..80].copy_from_slice(&1u32.to_le_bytes());
    block[88..90].copy_from_slice(&256u16.to_le_bytes());
    block[96..100].copy_from_slice(&0x2c2u32.to_le_bytes());
    device.place(Bytes(at.get() + 1024), &block);
}

/// What a system shows of a table: start and length in sectors, with the type's first byte.
pub type Seen = Vec<(u64, u64, u8)>;

/// What a layout should look like to it.
pub fn expected(layout: &Layout) -> Seen {
    let of = |p: &flashfit::plan::layout::Partition| {
        let kind = match p.kind {
            flashfit::plan::PartitionType::Mbr(code) => code,
            flashfit::plan::PartitionType::Gpt(guid) => guid.to_disk()[0],
        };
        (p.first.get(), p.sectors.get(), kind)
    };
    layout.partitions.iter().map(of).collect()
}

/// Read the table as systems do: an MBR unless it protects a GPT; of a GPT the first copy when its
/// checksums hold, else the second. `None`: no table at all.
pub fn seen(device: &MemoryDevice) -> Option<Seen> {
    let sector = device.bytes(Bytes::ZERO, 512);
    if sector[510..] != [0x55, 0xaa] {
        return None;
    }
    let entries: Vec<&[u8]> = sector[446..510].chunks(16).collect();
    if entries.iter().any(|entry| entry[4] == 0xee) {
        let last = device.capacity().get() / device.logical_block().bytes().get() - 1;
        return gpt(device, 1).or_else(|| gpt(device, last));
    }
    if entries.iter().any(|entry| entry[0] & 0x7f != 0) {
        return None;
    }
    let number = |entry: &[u8], at: usize| {
        u64::from(u32::from_le_bytes(entry[at..at + 4].try_into().unwrap()))
    };
    let used: Seen = entries
        .iter()
        .filter(|entry| entry[4] != 0)
        .map(|entry| (number(entry, 8), number(entry, 12), entry[4]))
        .collect();
    (!used.is_empty()).then_some(used)
}

fn gpt(device: &MemoryDevice, at: u64) -> Option<Seen> {
    let unit = device.logical_block().bytes().get();
    let mut header = device.bytes(Bytes(at * unit), 92);
    let u32_at =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let sum = u32_at(&header, 16);
    header[16..20].fill(0);
    if header[..8] != *b"EFI PART" || common::crc32(&header) != sum || u64_at(&header, 24) != at {
        return None;
    }
    let (place, count) = (u64_at(&header, 72), u32_at(&header, 80));
    let entries = device.bytes(Bytes(place * unit), count as usize * 128);
    if common::crc32(&entries) != u32_at(&header, 88) {
        return None;
    }
    let used = entries.chunks(128).filter(|entry| entry[..16] != [0; 16]);
    let of = |entry: &[u8]| {
        let (first, last) = (u64_at(entry, 32), u64_at(entry, 40));
        (first, last + 1 - first, entry[0])
    };
    Some(used.map(of).collect())
}

//! The table readers on changed bytes: no panic, no unbounded work, and what a check says of them
//! can be printed. Fixed seeds; the long run needs FLASHFIT_FULL.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;

use flashfit::device::sysfs::AlignmentOffset;
use flashfit::device::{AccessError, ReadDevice};
use flashfit::output::check::CheckReport;
use flashfit::output::{check_json, check_text};
use flashfit::plan::alignment_of;
use flashfit::table::check::{Measure, check};
use flashfit::table::read::contents;
use flashfit::table::read::filesystem::FileSystemFound;
use flashfit::table::read::gpt::{GptEntry, GptHeader};
use flashfit::table::read::mbr::Mbr;
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::time::{Duration, Instant};

/// A device whose bytes are given, and that counts what it is asked for.
struct Memory {
    bytes: Vec<u8>,
    facts: Facts,
    reads: usize,
    largest: usize,
}

impl Memory {
    fn new(bytes: Vec<u8>, block: LogicalBlock) -> Memory {
        let capacity = Some(Bytes(bytes.len() as u64));
        Memory {
            bytes,
            facts: Facts::bare("memory", Transport::Image, capacity, block),
            reads: 0,
            largest: 0,
        }
    }
}

impl ReadDevice for Memory {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn capacity(&self) -> Bytes {
        self.facts.capacity.unwrap()
    }
    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let unit = self.facts.logical_block.bytes();
        assert!(at.is_multiple_of(unit) && Bytes(into.len() as u64).is_multiple_of(unit));
        let at = usize::try_from(at.get()).unwrap();
        into.copy_from_slice(&self.bytes[at..at + into.len()]);
        self.reads += 1;
        self.largest = self.largest.max(into.len());
        Ok(Duration::ZERO)
    }
    fn wait(&mut self, _: Duration) {}
    fn clock(&self) -> Duration {
        Duration::ZERO
    }
}

const SIZE: usize = 4 << 20;

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn entry(status: u8, kind: u8, first: u32, sectors: u32) -> Vec<u8> {
    let mut bytes = vec![status, 0, 0, 0, kind, 0, 0, 0];
    bytes.extend(first.to_le_bytes());
    bytes.extend(sectors.to_le_bytes());
    bytes
}

/// An MBR with a FAT, a chain of two logical partitions, and an ext4.
fn mbr() -> Vec<u8> {
    let mut b = vec![0; SIZE];
    put(&mut b, 446, &entry(0x80, 0x0c, 512, 1024));
    put(&mut b, 462, &entry(0, 0x83, 1536, 1024));
    put(&mut b, 478, &entry(0, 0x0f, 4096, 4096));
    put(&mut b, 510, &[0x55, 0xaa]);
    for (link, next) in [(4096, Some(2048)), (6144, None)] {
        put(&mut b, link * 512 + 446, &entry(0, 0x83, 8, 1024));
        if let Some(next) = next {
            put(&mut b, link * 512 + 462, &entry(0, 0x05, next, 1032));
        }
        put(&mut b, link * 512 + 510, &[0x55, 0xaa]);
    }
    fat(&mut b[512 * 512..]);
    put(&mut b, 1536 * 512 + 1080, &[0x53, 0xef]);
    b
}

fn fat(b: &mut [u8]) {
    put(b, 0x0b, &[0, 2, 8, 32, 0, 2, 0, 0, 0, 0, 0xf8]);
    put(b, 0x20, &1024u32.to_le_bytes());
    put(b, 0x24, &4u32.to_le_bytes());
    put(b, 510, &[0x55, 0xaa]);
}

/// A GPT with both copies and three partitions, in sectors of this size.
fn gpt(sector: usize) -> Vec<u8> {
    let mut b = vec![0; SIZE];
    let last = SIZE / sector - 1;
    let array = 16384 / sector;
    put(
        &mut b,
        446,
        &entry(0, 0xee, 1, u32::try_from(last).unwrap()),
    );
    put(&mut b, 510, &[0x55, 0xaa]);
    for (copy, other, entries) in [(1, last, 2), (last, 1, last - array)] {
        for number in 0..3u64 {
            let at = entries * sector + 128 * usize::try_from(number).unwrap();
            let first = (1 + number) * (1 << 20) / sector as u64;
            put(&mut b, at, &[0xaf; 16]);
            b[at + 16] = 1 + u8::try_from(number).unwrap();
            put(&mut b, at + 32, &first.to_le_bytes());
            put(&mut b, at + 40, &(first + 100).to_le_bytes());
        }
        let at = copy * sector;
        put(&mut b, at, b"EFI PART\0\0\x01\0\x5c");
        for (field, value) in [
            (24, copy),
            (32, other),
            (40, 2 + array),
            (48, last - array - 1),
            (72, entries),
        ] {
            put(&mut b, at + field, &(value as u64).to_le_bytes());
        }
        put(&mut b, at + 56, &[7; 16]);
        b[at + 80] = 128;
        b[at + 84] = 128;
    }
    sign(&mut b, sector);
    heads(&mut b);
    b
}

/// Make the checksums of both copies right, whatever the headers say now.
fn sign(b: &mut [u8], sector: usize) {
    for at in [sector, b.len() - sector] {
        let word = |b: &[u8], field: usize| {
            u64::from_le_bytes(b[at + field..at + field + 8].try_into().unwrap())
        };
        let count = word(b, 80) & 0xffff_ffff;
        let size = word(b, 84) & 0xffff_ffff;
        let from = word(b, 72).saturating_mul(sector as u64);
        let to = from.saturating_add(count.saturating_mul(size));
        if to <= b.len() as u64 && to - from.min(to) <= 1 << 20 {
            let range = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
            let crc = common::crc32(&b[range]);
            put(b, at + 88, &crc.to_le_bytes());
        }
        put(b, at + 16, &[0; 4]);
        let crc = common::crc32(&b[at..at + 92]);
        put(b, at + 16, &crc.to_le_bytes());
    }
}

/// Superblocks at the starts of the partitions.
fn heads(b: &mut [u8]) {
    put(b, (1 << 20) + 1024, &0xf2f5_2010_u32.to_le_bytes());
    put(b, (1 << 20) + 1024 + 16, &[12, 0, 0, 0, 9, 0, 0, 0, 1]);
    put(b, (2 << 20) + 3, b"EXFAT   ");
    put(b, (2 << 20) + 72, &4096u64.to_le_bytes());
    put(b, (2 << 20) + 88, &[64, 0, 0, 0, 64]);
    put(b, (2 << 20) + 108, &[9, 3]);
    put(b, (2 << 20) + 510, &[0x55, 0xaa]);
    put(b, 3 << 20, b"XFSB\0\0\x10\0");
}

/// Whole devices with file systems of their own.
fn superfloppies() -> Vec<Vec<u8>> {
    let blank = || vec![0; SIZE];
    let mut fat_only = blank();
    fat(&mut fat_only);
    let mut btrfs = blank();
    put(&mut btrfs, 0x10040, b"_BHRfS_M");
    put(&mut btrfs, 0x10090, &4096u32.to_le_bytes());
    put(&mut btrfs, 0x10094, &16384u32.to_le_bytes());
    put(&mut btrfs, 0x100a0, &129u32.to_le_bytes());
    put(&mut btrfs, 0x10000 + 0x32b + 17 + 44, &[2]);
    let mut ntfs = blank();
    put(&mut ntfs, 3, b"NTFS    \0\x02\x08");
    put(&mut ntfs, 0x28, &4096u64.to_le_bytes());
    put(&mut ntfs, 510, &[0x55, 0xaa]);
    let mut iso = blank();
    put(&mut iso, 0, b"ER\x08\0");
    put(&mut iso, 2048, b"PM\0\0\0\0\0\x03");
    put(&mut iso, 0x8001, b"CD001");
    put(&mut iso, 512 * 3, b"LABELONE");
    vec![fat_only, btrfs, ntfs, iso]
}

/// Bytes worth changing: the first ones, the last ones, links, and starts of partitions.
fn place(rng: &mut Xoshiro256PlusPlus, length: usize) -> usize {
    const SPOTS: [(usize, usize); 9] = [
        (440, 72),
        (512, 92),
        (1024, 512),
        (4096, 92),
        (8192, 512),
        (4096 * 512 + 440, 72),
        (6144 * 512 + 440, 72),
        (1 << 20, 2048),
        (2 << 20, 512),
    ];
    let at = match rng.random_range(0..12) {
        9 => length.saturating_sub(512 - rng.random_range(0..92)),
        10 => length.saturating_sub(4096 - rng.random_range(0..92)),
        11 => 0x10000 + rng.random_range(0..4096),
        spot => {
            let (from, width): (usize, usize) = SPOTS[spot];
            from + rng.random_range(0..width)
        }
    };
    at.min(length - 9)
}

fn change(bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) -> Vec<(usize, u8)> {
    let mut undo = Vec::new();
    for _ in 0..rng.random_range(1..5) {
        let at = place(rng, bytes.len());
        let width = [1, 1, 2, 4, 8][rng.random_range(0..5)];
        let value: u64 = match rng.random_range(0..6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << rng.random_range(0..64),
            3 => (1u64 << rng.random_range(0..64)).wrapping_sub(1),
            4 => rng.random_range(0..300),
            _ => rng.random(),
        };
        for (offset, byte) in value.to_le_bytes().into_iter().take(width).enumerate() {
            undo.push((at + offset, bytes[at + offset]));
            bytes[at + offset] = byte;
        }
    }
    undo
}

/// Read and judge; every limit of the readers holds.
fn survive(bytes: Vec<u8>, block: LogicalBlock) -> Vec<u8> {
    let mut device = Memory::new(bytes, block);
    let found = contents(&mut device).unwrap();
    assert!(device.largest <= (256 << 10) + 8192, "{}", device.largest);
    assert!(device.reads <= 20_000, "{}", device.reads);
    let choice = alignment_of(Bytes::mib(1), Bytes::kib(512), &device.facts).unwrap();
    let measure = Measure {
        choice,
        page: None,
        is_image: false,
        alignment_offset: None,
    };
    let checked = check(&found, &measure);
    for finding in &checked.findings {
        assert!(!finding.text.contains('\n'));
    }
    let report = CheckReport {
        path: "memory".to_owned(),
        capacity: found.capacity,
        logical_block: found.logical_block,
        table: found.table,
        choice: measure.choice,
        checked,
    };
    let text = check_text::render(&report);
    assert!(text.chars().all(|c| c == '\n' || (' '..='~').contains(&c)));
    serde_json::from_str::<serde_json::Value>(&check_json::render(&report)).unwrap();
    device.bytes
}

#[test]
fn changed_devices_are_read_to_the_end() {
    let (most, limit) = if common::full() {
        (10_000_000, Duration::from_secs(600))
    } else {
        (600, Duration::from_secs(20))
    };
    let mut bases = vec![mbr(), gpt(512), gpt(4096)];
    bases.extend(superfloppies());
    let begun = Instant::now();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for round in 0..most {
        if begun.elapsed() > limit {
            break;
        }
        let index = rng.random_range(0..bases.len());
        let base = &mut bases[index];
        // Undone afterwards: copying megabytes each time would be most of the work.
        let saved: Vec<(usize, u8)> = [512, 4096]
            .iter()
            .flat_map(|sector| [*sector, SIZE - sector])
            .flat_map(|at| at..at + 92)
            .map(|at| (at, base[at]))
            .collect();
        let undo = change(base, &mut rng);
        if rng.random_bool(0.5) && (1..=2).contains(&index) {
            sign(base, if index == 1 { 512 } else { 4096 });
        }
        let block = if rng.random_bool(0.7) {
            LogicalBlock::B512
        } else {
            LogicalBlock::B4096
        };
        if round % 16 == 0 {
            let shorter = rng.random_range(1..SIZE / 4096) * 4096;
            survive(base[..shorter].to_vec(), block);
        }
        let mut bytes = survive(std::mem::take(base), block);
        for (at, byte) in undo.into_iter().rev() {
            bytes[at] = byte;
        }
        for (at, byte) in saved {
            bytes[at] = byte;
        }
        *base = bytes;
    }
}

#[test]
fn changed_sectors_are_parsed_or_refused() {
    let (most, limit) = if common::full() {
        (10_000_000, Duration::from_secs(600))
    } else {
        (100_000, Duration::from_secs(10))
    };
    let mut heads: Vec<Vec<u8>> = vec![mbr(), gpt(512)];
    heads.extend(superfloppies());
    let partition = heads[1].clone();
    for start in 1..4 {
        heads.push(partition[start << 20..].to_vec());
    }
    for head in &mut heads {
        head.truncate(72 << 10);
    }
    let begun = Instant::now();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for round in 0..most {
        if round % 4096 == 0 && begun.elapsed() > limit {
            break;
        }
        let index = rng.random_range(0..heads.len());
        let head = &mut heads[index];
        let undo = change(head, &mut rng);
        let length = if rng.random_bool(0.2) {
            rng.random_range(0..head.len())
        } else {
            head.len()
        };
        let bytes = &head[..length];
        let found = FileSystemFound::identify(bytes);
        assert!(found.is_none_or(|found| found.block.get() > 0));
        if let Some(mbr) = Mbr::parse(bytes) {
            let _ = (
                mbr.is_table(true),
                mbr.is_hybrid(),
                mbr.entries[0].chs_agrees(),
            );
        }
        let sector = bytes.get(512..1024).unwrap_or_default();
        if let Some((header, _)) = GptHeader::parse(sector, Bytes(512)) {
            let entries = bytes.get(1024..).unwrap_or_default();
            let entries = &entries[..entries.len().min(2048)];
            assert!(GptEntry::parse_all(entries, header.entry).len() <= 2048);
        }
        for (at, byte) in undo.into_iter().rev() {
            head[at] = byte;
        }
    }
}

#[test]
fn the_unchanged_bases_are_what_they_claim_to_be() {
    let table = |bytes, block| {
        let found = contents(&mut Memory::new(bytes, block)).unwrap();
        let numbers: Vec<usize> = found.partitions.iter().map(|p| p.number).collect();
        (found.table.map(|table| table.kind.word()), numbers)
    };
    let of_mbr = table(mbr(), LogicalBlock::B512);
    assert_eq!(of_mbr, (Some("mbr"), vec![1, 2, 3, 5, 6]));
    for sector in [512, 4096] {
        let of_gpt = table(gpt(sector), LogicalBlock::B512);
        assert_eq!(of_gpt, (Some("gpt"), vec![1, 2, 3]));
    }
    for floppy in superfloppies() {
        assert_eq!(table(floppy, LogicalBlock::B512).0, None);
    }
}

#[test]
fn what_the_device_says_of_its_own_alignment_is_told_apart() {
    let mut device = Memory::new(mbr(), LogicalBlock::B512);
    let found = contents(&mut device).unwrap();
    let of = |alignment_offset| {
        let measure = Measure {
            choice: alignment_of(Bytes::kib(256), Bytes::ZERO, &device.facts).unwrap(),
            page: None,
            is_image: false,
            alignment_offset,
        };
        check(&found, &measure)
    };
    let silent = of(Some(AlignmentOffset::Zero));
    assert_eq!(silent, of(None));
    for said in [
        AlignmentOffset::Misaligned,
        AlignmentOffset::Shifted(Bytes(3584)),
    ] {
        let checked = of(Some(said));
        assert!(
            checked
                .findings
                .iter()
                .any(|finding| finding.code == "alignment_offset")
        );
        // Our own grid decides, not the word of the device.
        assert_eq!(checked.items, silent.items);
        assert_eq!(checked.is_good(), silent.is_good());
    }
}

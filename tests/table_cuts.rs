//! What is left when writing ends in the middle: power cut after every single access, failing and
//! lying devices. The old table, the new one, or none; never a third; and a restore brings every
//! byte back.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod table_support;

use flashfit::device::memory::MemoryDevice;
use flashfit::device::wrappers::{AccessKind, Fault, FaultInjector, Recorder};
use flashfit::device::{AccessError, ReadDevice};
use flashfit::plan::TableKind;
use flashfit::table::check::{Measure, check};
use flashfit::table::read::contents;
use flashfit::table::restore::{self, State};
use flashfit::table::{self, BackedUp, Backup, Identity, Part, Prepared, Undone, WriteError};
use flashfit::units::{ByteRange, Bytes, Lba, LogicalBlock, Sectors};
use table_support::*;

const BLOCKS: [LogicalBlock; 2] = [LogicalBlock::B512, LogicalBlock::B4096];
const TABLES: [TableKind; 2] = [TableKind::Mbr, TableKind::Gpt];

/// Write what is prepared with these faults; the device as it is left, and how it ended.
fn write_with(
    device: &MemoryDevice,
    prepared: &Prepared,
    faults: Vec<Fault>,
) -> (MemoryDevice, Result<table::Written, WriteError>) {
    let mut faulty = FaultInjector::new(device.clone(), faults);
    let ended = saved(device, prepared).write(&mut faulty, &|| false);
    (faulty.into_inner(), ended)
}

fn saved(device: &MemoryDevice, prepared: &Prepared) -> BackedUp {
    let identity = Identity::of(device.facts());
    let kept = prepared.clone().back_up(identity, |_| Ok::<(), ()>(()));
    kept.unwrap()
}

fn restored(device: &MemoryDevice, backup: &str) -> MemoryDevice {
    let mut device = device.clone();
    let backup = Backup::parse(backup).unwrap();
    let restoring = restore::prepare(&mut device, backup).unwrap();
    restoring.write(&mut device).unwrap();
    device
}

/// How many accesses a whole write takes.
fn accesses(device: &MemoryDevice, prepared: &Prepared) -> u64 {
    let mut counted = FaultInjector::new(device.clone(), Vec::new());
    let ended = saved(device, prepared).write(&mut counted, &|| false);
    ended.unwrap();
    counted.accesses()
}

#[test]
fn a_cut_anywhere_leaves_the_old_table_or_the_new_or_none_and_restore_undoes_it() {
    let measure = Measure {
        choice: grid(Bytes::mib(4), Bytes::ZERO),
        page: None,
        is_image: true,
        alignment_offset: None,
    };
    for block in BLOCKS {
        for old in ALL_OLD {
            let before = device(block, old);
            let old_table = seen(&before);
            let old_contents = contents(&mut before.clone()).unwrap();
            let places = old_contents.partitions.iter().map(|p| p.range);
            let old_places: Vec<ByteRange> = places.collect();
            for table in TABLES {
                let new = layout(&before, table, "new", &NEW);
                let (prepared, backup) = prepare(&mut before.clone(), &new);
                let places = |p| new.byte_range(p);
                let new_places: Vec<ByteRange> = new.partitions.iter().map(places).collect();
                let mut states = [0; 3];
                let mut last = None;
                for cut in 0..=accesses(&before, &prepared) {
                    let fault = vec![Fault::VanishAfter(cut)];
                    let (after, _) = write_with(&before, &prepared, fault);
                    // Reads and flushes change nothing.
                    if last.as_ref() == Some(&after) {
                        continue;
                    }
                    last = Some(after.clone());
                    let ours = contents(&mut after.clone()).unwrap();
                    let places: Vec<ByteRange> = ours.partitions.iter().map(|p| p.range).collect();
                    assert!(
                        places.is_empty() || places == old_places || places == new_places,
                        "{block:?} {old:?} -> {table}, cut after {cut}: {places:?}"
                    );
                    if seen(&after).is_none() && old_table.is_some() {
                        let checked = check(&ours, &measure);
                        assert!(
                            !checked.is_consistent(),
                            "{block:?} {old:?} -> {table}, cut after {cut}: called consistent"
                        );
                    }
                    let case = format!("{block:?} {old:?} -> {table}, cut after {cut}");
                    match seen(&after) {
                        None => states[0] += 1,
                        found if found == old_table => states[1] += 1,
                        found if found == Some(expected(&new)) => states[2] += 1,
                        other => panic!("{case}: a third table {other:?}"),
                    }
                    assert_eq!(
                        restored(&after, &backup).content(),
                        before.content(),
                        "{case}"
                    );
                }
                // The last cut comes after the end.
                assert!(states[2] > 0, "{states:?}");
                if old_table.is_some() {
                    assert!(states[1] > 0, "{states:?}");
                }
            }
        }
    }
}

#[test]
fn a_cut_restore_can_be_repeated() {
    for table in TABLES {
        let before = device(LogicalBlock::B512, Old::GptAndFileSystem);
        let new = layout(&before, table, "new", &NEW);
        let backup = prepare(&mut before.clone(), &new).1;
        let mut written = before.clone();
        write(&mut written, &new);
        for cut in 0..200 {
            let mut faulty = FaultInjector::new(written.clone(), vec![Fault::VanishAfter(cut)]);
            let parsed = Backup::parse(&backup).unwrap();
            if let Ok(restoring) = restore::prepare(&mut faulty, parsed) {
                let _ = restoring.write(&mut faulty);
            }
            let after = faulty.into_inner();
            let found = seen(&after);
            assert!(
                found.is_none() || found == seen(&before) || found == Some(expected(&new)),
                "{cut}: {found:?}"
            );
            assert_eq!(restored(&after, &backup).content(), before.content());
        }
    }
}

#[test]
fn a_single_failed_write_or_flush_is_undone() {
    for table in TABLES {
        for old in [Old::Nothing, Old::Gpt, Old::GptAndFileSystem] {
            let before = device(LogicalBlock::B512, old);
            let new = layout(&before, table, "new", &NEW);
            let (prepared, _) = prepare(&mut before.clone(), &new);
            for at in 1..=accesses(&before, &prepared) {
                let (after, ended) = write_with(&before, &prepared, vec![Fault::ErrorAt(at)]);
                let error = ended.unwrap_err();
                let undone = error.undone();
                assert!(
                    matches!(undone, None | Some(Undone::Restored)),
                    "{at}: {error}"
                );
                assert_eq!(after.content(), before.content(), "{at}: {error}");
            }
        }
    }
}

#[test]
fn a_device_that_vanishes_reports_both_failures() {
    let before = device(LogicalBlock::B512, Old::Gpt);
    let new = layout(&before, TableKind::Gpt, "new", &NEW);
    let (prepared, _) = prepare(&mut before.clone(), &new);
    let looks = prepared.extents().len() as u64;
    let all = accesses(&before, &prepared);
    // In the first write, in its flush, and in the first read back.
    for cut in [looks, looks + 1, all - looks] {
        let (_, ended) = write_with(&before, &prepared, vec![Fault::VanishAfter(cut)]);
        let error = ended.unwrap_err();
        let gone = Undone::Failed(AccessError::Gone { at: 0 });
        let undone = error.undone().unwrap();
        assert_eq!(
            std::mem::discriminant(undone),
            std::mem::discriminant(&gone),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(
            text.matches("went away").count() == 2 && text.contains("failed as well"),
            "{text}"
        );
    }
}

#[test]
fn a_device_that_lies_is_found_out() {
    for (table, sector, part) in [
        (TableKind::Mbr, 0, Part::Mbr),
        (TableKind::Gpt, 0, Part::ProtectiveMbr),
        (TableKind::Gpt, 1, Part::PrimaryHeader),
        (TableKind::Gpt, 2, Part::PrimaryEntries),
        (TableKind::Gpt, SIZE / 512 - 1, Part::BackupHeader),
    ] {
        let before = device(LogicalBlock::B512, Old::Superfloppy);
        let new = layout(&before, table, "new", &NEW);
        let lie = ByteRange {
            from: Bytes(sector * 512),
            to: Bytes(sector * 512 + 512),
        };
        let (prepared, _) = prepare(&mut before.clone(), &new);
        let (after, ended) = write_with(&before, &prepared, vec![Fault::LyingWrites(lie)]);
        match ended.unwrap_err() {
            WriteError::Lies {
                part: found,
                at,
                undone,
            } => assert_eq!((found, at, undone), (part, lie.from, Undone::Restored)),
            other => panic!("{other}"),
        }
        assert_eq!(after.content(), before.content());
    }
}

#[test]
fn an_interrupt_before_any_sector_leaves_the_old_content() {
    let before = device(LogicalBlock::B512, Old::GptAndFileSystem);
    let new = layout(&before, TableKind::Gpt, "new", &NEW);
    for allowed in 0..8 {
        let mut device = before.clone();
        let (prepared, _) = prepare(&mut device, &new);
        let image = saved(&device, &prepared);
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > allowed
        };
        match image.write(&mut device, &stop) {
            Err(WriteError::Interrupted { undone }) => {
                assert_eq!(undone, Undone::Restored);
                assert_eq!(device.content(), before.content());
            }
            Ok(_) => assert_eq!(seen(&device), Some(expected(&new))),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn somebody_elses_write_is_noticed_before_the_first_byte() {
    let before = device(LogicalBlock::B512, Old::Gpt);
    let new = layout(&before, TableKind::Gpt, "new", &NEW);
    let mut device = before.clone();
    let (prepared, _) = prepare(&mut device, &new);
    let image = saved(&device, &prepared);
    device.place(Bytes(512 + 57), b"!");
    let meanwhile = device.clone();
    let error = image.write(&mut device, &|| false).unwrap_err();
    assert_eq!(error, WriteError::Changed { at: Bytes(512) });
    assert_eq!(device, meanwhile);
}

#[test]
fn without_a_backup_nothing_can_be_written() {
    let mut device = device(LogicalBlock::B512, Old::Gpt);
    let new = layout(&device, TableKind::Mbr, "new", &NEW);
    let (prepared, _) = prepare(&mut device, &new);
    let identity = Identity::of(device.facts());
    let refused = prepared.back_up(identity, |_| Err("disk full"));
    assert_eq!(refused.unwrap_err(), "disk full");
}

#[test]
fn sectors_are_written_one_by_one_in_order_and_flushed_each() {
    for table in TABLES {
        for block in BLOCKS {
            let before = device(block, Old::GptAndFileSystem);
            let new = layout(&before, table, "new", &NEW);
            let mut device = before.clone();
            let (prepared, _) = prepare(&mut device, &new);
            let extents = prepared.extents().to_vec();
            let image = saved(&device, &prepared);
            let mut recorded = Recorder::new(device);
            let record = recorded.record();
            let written = image.write(&mut recorded, &|| false).unwrap();
            let accesses = record.accesses();
            let writes: Vec<Lba> = accesses
                .iter()
                .filter(|access| access.kind == AccessKind::Write)
                .map(|access| {
                    assert_eq!(access.range.length(), block.bytes());
                    Lba(access.range.from.get() / block.bytes().get())
                })
                .collect();
            let changed: Vec<Lba> = extents
                .iter()
                .filter(|extent| !extent.is_unchanged())
                .map(|extent| extent.at)
                .collect();
            assert_eq!(writes, changed);
            assert_eq!(written.sectors, Sectors(writes.len() as u64));
            assert!(extents.is_sorted_by_key(|extent| extent.part));
            let last = if table == TableKind::Mbr {
                Part::Mbr
            } else {
                Part::ProtectiveMbr
            };
            assert_eq!(extents.last().unwrap().part, last);
            for pair in accesses.windows(2) {
                if pair[0].kind == AccessKind::Write {
                    assert_eq!(pair[1].kind, AccessKind::Flush);
                }
            }
            // Everything is read back after the last write.
            let reads = accesses.iter().rev();
            let reads = reads.take_while(|access| access.kind == AccessKind::Read);
            assert_eq!(reads.count(), extents.len());
            let wiped = written.wiped.get() * block.bytes().get();
            let bytes = record.bytes(AccessKind::Write).get();
            assert!(bytes - wiped <= 100 << 10, "{bytes} bytes");
        }
    }
}

#[test]
fn a_restore_tells_what_it_finds() {
    let before = device(LogicalBlock::B512, Old::Gpt);
    let new = layout(&before, TableKind::Gpt, "new", &NEW);
    let backup = prepare(&mut before.clone(), &new).1;
    let mut after = before.clone();
    write(&mut after, &new);
    after.place(Bytes(0), b"somebody's boot code");
    let parsed = Backup::parse(&backup).unwrap();
    let restoring = restore::prepare(&mut after, parsed).unwrap();
    assert_eq!(restoring.count(State::Other), Sectors(1));
    assert!(restoring.count(State::Replaced).get() >= 4);
    assert_eq!(restoring.sectors().next().unwrap().0.at, Lba(0));
    let total = [State::Old, State::Replaced, State::Other].map(|state| restoring.count(state).0);
    assert_eq!(total.iter().sum::<u64>(), 67);
}

#[test]
fn a_backup_of_another_device_is_refused() {
    let before = device(LogicalBlock::B512, Old::Gpt);
    let new = layout(&before, TableKind::Gpt, "new", &NEW);
    let backup = prepare(&mut before.clone(), &new).1;
    let mut facts = before.facts().clone();
    facts.serial = Some("4C54".to_owned());
    let others = [
        (before.clone().with_facts(facts), "serial number"),
        (sized(LogicalBlock::B512, SIZE * 2), "size"),
        (sized(LogicalBlock::B4096, SIZE), "logical block"),
    ];
    for (mut other, says) in others {
        let parsed = Backup::parse(&backup).unwrap();
        let error = restore::prepare(&mut other, parsed)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("another device") && error.contains(says),
            "{error}"
        );
    }
}

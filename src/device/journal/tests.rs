use super::parse::parse;
use super::*;
use crate::device::memory::MemoryDevice;
use crate::device::{AlignedBuffer, Device, ReadDevice};
use crate::topology::Transport;
use crate::units::{LogicalBlock, Sectors};

fn facts() -> Facts {
    Facts::bare("x", Transport::Usb, Some(Bytes::gib(1)), LogicalBlock::B512)
}

fn bytes(byte: u8) -> Vec<u8> {
    (0..1024u16).map(|n| byte ^ (n % 251) as u8).collect()
}

/// A journal with three entries, as the bytes of its file.
fn three() -> Vec<u8> {
    let mut journal = Journal::in_memory(&facts()).unwrap();
    for n in 0..3u8 {
        journal
            .append(Bytes(u64::from(n) * 8192), &bytes(n))
            .unwrap();
    }
    let Store::Memory(text) = journal.store else {
        panic!("it is in memory");
    };
    text
}

fn of(text: &[u8]) -> Result<Journal, JournalError> {
    parse(Store::Memory(text.to_vec()))
}

#[test]
fn a_journal_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new folder/journal");
    let mut journal = Journal::create(&path, &facts()).unwrap();
    journal.append(Bytes(4096), &bytes(1)).unwrap();
    journal.append(Bytes(512), &bytes(2)).unwrap();
    journal.sync().unwrap();
    let again = Journal::open(&path).unwrap();
    assert_eq!(again.facts(), &facts());
    let ranges: Vec<u64> = again.ranges().map(|range| range.from.get()).collect();
    assert_eq!((ranges, again.size()), (vec![4096, 512], Bytes(2048)));
    assert!(!again.is_torn() && !again.is_done());
    // It is the only one of this name, and private.
    assert!(Journal::create(&path, &facts()).is_err());
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    journal.mark_done().unwrap();
    assert!(Journal::open(&path).unwrap().is_done());
}

#[test]
fn a_file_that_was_cut_anywhere_gives_the_entries_before_the_cut() {
    let text = three();
    let whole = of(&text).unwrap();
    let ends: Vec<u64> = whole
        .entries
        .iter()
        .map(|entry| entry.offset + 1025)
        .collect();
    let head = whole.entries[0].begin;
    for cut in 0..text.len() {
        match of(&text[..cut]) {
            Ok(journal) => {
                assert!(cut as u64 >= head);
                let expected = ends.iter().filter(|end| **end <= cut as u64).count();
                assert_eq!(journal.len(), expected, "cut at {cut}");
                let at_an_end = cut as u64 == head || ends.contains(&(cut as u64));
                assert_eq!(journal.is_torn(), !at_an_end, "cut at {cut}");
            }
            Err(error) => {
                assert!((cut as u64) < head, "cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn no_changed_byte_is_taken_for_an_old_one() {
    let text = three();
    let whole = of(&text).unwrap();
    for place in (0..text.len()).step_by(7) {
        let mut changed = text.clone();
        changed[place] ^= 0x15;
        let Ok(journal) = of(&changed) else { continue };
        for entry in &journal.entries {
            let Some(n) = whole
                .entries
                .iter()
                .position(|old| old.range == entry.range)
            else {
                // The line of an entry was hit: its place may be another one now, its bytes not.
                continue;
            };
            let mut now = vec![0; 1024];
            if journal.bytes(entry, &mut now).is_ok() {
                assert_eq!(now, bytes(u8::try_from(n).unwrap()), "byte {place}");
            }
        }
    }
    // In the middle it is damage, at the end it may be a torn entry.
    let mut changed = text.clone();
    let inside = usize::try_from(whole.entries[1].offset).unwrap();
    changed[inside] ^= 1;
    assert!(matches!(of(&changed), Err(JournalError::Damaged(_))));
    let mut changed = text;
    let last = changed.len() - 2;
    changed[last] ^= 1;
    let journal = of(&changed).unwrap();
    assert!(journal.is_torn() && journal.len() == 2);
}

#[test]
fn what_is_no_journal_is_refused_by_name() {
    assert!(matches!(of(b""), Err(JournalError::NoJournal)));
    assert!(matches!(of(b"{}\n"), Err(JournalError::NoJournal)));
    assert!(matches!(of(&[0xff; 100_000]), Err(JournalError::NoJournal)));
    let text = three();
    let later = String::from_utf8_lossy(&text).replacen("journal/1", "journal/2", 1);
    let error = of(later.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("'flashfit.journal/2' is not known"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(Journal::open(folder.path()).is_err());
}

#[test]
fn forgotten_entries_are_not_found_again() {
    let mut journal = Journal::in_memory(&facts()).unwrap();
    journal.append(Bytes(0), &bytes(1)).unwrap();
    journal.append(Bytes(8192), &bytes(2)).unwrap();
    journal.forget_from(1);
    journal.append(Bytes(4096), &bytes(3)).unwrap();
    let Store::Memory(text) = journal.store else {
        panic!("it is in memory");
    };
    let again = of(&text).unwrap();
    let from: Vec<u64> = again.ranges().map(|range| range.from.get()).collect();
    assert_eq!((from, again.is_torn()), (vec![0, 4096], false));
}

#[test]
fn the_first_saved_is_put_back_last() {
    let mut device = MemoryDevice::new(LogicalBlock::B512, Sectors(100));
    let mut journal = Journal::in_memory(device.facts()).unwrap();
    // As on a device of two addresses for one place: the second entry holds what a test wrote.
    journal.append(Bytes(4096), &bytes(1)).unwrap();
    journal.append(Bytes(4096), &bytes(2)).unwrap();
    // The check that follows cannot hold for both.
    assert!(matches!(
        journal.put_back(&mut device),
        Err(PutBackError::Differs(Bytes(4096)))
    ));
    let mut now = AlignedBuffer::new(1024);
    device.read(Bytes(4096), &mut now).unwrap();
    assert_eq!(now[..], bytes(1)[..]);
}

#[test]
fn a_device_that_lies_is_found_out() {
    use crate::device::wrappers::{Fault, FaultInjector};
    let mut inner = MemoryDevice::new(LogicalBlock::B512, Sectors(100));
    let mut data = AlignedBuffer::new(1024);
    data.copy_from_slice(&bytes(9));
    inner.write(Bytes(4096), &data).unwrap();
    let bad = ByteRange {
        from: Bytes(4096),
        to: Bytes(4608),
    };
    let mut device = FaultInjector::new(inner, vec![Fault::LyingWrites(bad)]);
    let mut journal = Journal::in_memory(device.facts()).unwrap();
    journal.append(Bytes(4096), &bytes(1)).unwrap();
    let result = journal.put_back(&mut device);
    assert!(
        matches!(result, Err(PutBackError::Differs(_))),
        "{result:?}"
    );
}

use super::*;
use crate::device::memory::MemoryDevice;
use crate::device::wrappers::{AccessKind, Recorder};
use crate::units::{LogicalBlock, Sectors};

fn range(from: u64, to: u64) -> ByteRange {
    ByteRange {
        from: Bytes(from),
        to: Bytes(to),
    }
}

fn disk() -> MemoryDevice {
    let mut device = MemoryDevice::new(LogicalBlock::B512, Sectors(4096));
    for sector in 0..4096u64 {
        device.place(Bytes(sector * 512), &sector.to_le_bytes());
    }
    device
}

fn preserving(device: &mut dyn Device) -> Preserving<'_> {
    let journal = Journal::in_memory(device.facts()).unwrap();
    Preserving::new(device, journal)
}

#[test]
fn everything_written_is_put_back_announced_or_not() {
    let mut device = disk();
    let mut wrapped = preserving(&mut device);
    wrapped
        .announce(&[range(8192, 16384), range(4096, 8192), range(12288, 20480)])
        .unwrap();
    let ones = AlignedBuffer::new(4096);
    for at in [4096, 8192, 16384, 65536, 67584, 65536] {
        wrapped.write(Bytes(at), &ones).unwrap();
    }
    let (back, journal) = wrapped.put_back();
    assert_eq!(back.unwrap().bytes, Bytes(16384 + 6144));
    assert_eq!(journal.size(), Bytes(16384 + 6144));
    assert_eq!(device, disk());
}

#[test]
fn every_place_is_saved_once_and_before_its_first_write() {
    let mut recorder = Recorder::new(disk());
    let record = recorder.record();
    let mut wrapped = preserving(&mut recorder);
    wrapped.announce(&[range(4096, 8192)]).unwrap();
    assert_eq!(record.bytes(AccessKind::Read), Bytes(4096));
    // Half of it is saved, the other half not yet.
    let data = AlignedBuffer::new(4096);
    wrapped.write(Bytes(6144), &data).unwrap();
    let kinds: Vec<AccessKind> = record.accesses().iter().map(|access| access.kind).collect();
    assert_eq!(
        kinds,
        [AccessKind::Read, AccessKind::Read, AccessKind::Write]
    );
    assert_eq!(record.bytes(AccessKind::Read), Bytes(6144));
    assert_eq!(wrapped.to_put_back(&[range(4096, 10240)]), Bytes::ZERO);
    wrapped.announce(&[range(4096, 10240)]).unwrap();
    assert_eq!(record.count(AccessKind::Read), 2);
}

#[test]
fn what_has_to_be_put_back_is_counted_once_and_in_whole_blocks() {
    let mut device = disk();
    let wrapped = preserving(&mut device);
    let ranges = [range(100, 600), range(0, 512), range(512, 1025)];
    assert_eq!(wrapped.to_put_back(&ranges), Bytes(1536));
    // Nothing lies behind the end.
    let end = 4096 * 512;
    assert_eq!(
        wrapped.to_put_back(&[range(end - 512, end + 512)]),
        Bytes(512)
    );
}

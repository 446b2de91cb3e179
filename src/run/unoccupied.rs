//! Where write tests may write without touching a partition.

use crate::device::ReadDevice;
use crate::measure::territory::Territory;
use crate::table::read::contents::partition_ranges;

/// Write tests need this share of the device: units far apart from one another, forty and more.
const ENOUGH: u64 = 4;

/// What lies outside the partitions, if that is at least a quarter of the device; else all of it:
/// everything that is written is saved first and put back in either case.
pub fn territory(device: &mut dyn ReadDevice) -> Territory {
    let capacity = device.capacity();
    let whole = Territory::whole(capacity);
    // Without a table, or with one that cannot be read, there is no telling what is free.
    let partitions = partition_ranges(device).unwrap_or_default();
    if partitions.is_empty() {
        return whole;
    }
    let mut free = whole.clone();
    for partition in partitions {
        free.take(partition);
    }
    if free.size().get() >= capacity.get() / ENOUGH {
        free
    } else {
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::territory;
    use crate::device::ReadDevice;
    use crate::device::memory::MemoryDevice;
    use crate::units::{ByteRange, Bytes, LogicalBlock, MIB, Sectors};
    use std::io::Cursor;

    const SIZE: usize = 64 << 20;
    /// Both copies of a table lie within this distance of the ends.
    const MARGIN: usize = 1 << 20;

    /// A device with one partition from 1 MiB to there.
    fn with_gpt_partition_up_to(end: Bytes) -> MemoryDevice {
        let mut disk = gpt::GptConfig::new()
            .writable(true)
            .create_from_device(Cursor::new(vec![0; SIZE]), None)
            .unwrap();
        let size = end.get() - MIB;
        let kind = gpt::partition_types::BASIC;
        disk.add_partition("data", size, kind, 0, Some(2048))
            .unwrap();
        let image = disk.write().unwrap().into_inner();
        let mut device = MemoryDevice::new(LogicalBlock::B512, Sectors(SIZE as u64 / 512));
        device.place(Bytes::ZERO, &image[..MARGIN]);
        let tail = SIZE - MARGIN;
        device.place(Bytes(tail as u64), &image[tail..]);
        device
    }

    #[test]
    fn the_partitions_of_a_gpt_are_left_alone() {
        let mut device = with_gpt_partition_up_to(Bytes::mib(16));
        let free = territory(&mut device);
        let range = |from, to| ByteRange {
            from: Bytes::mib(from),
            to: Bytes::mib(to),
        };
        assert!(!free.contains(range(1, 2)));
        assert!(!free.contains(range(15, 16)));
        assert!(free.contains(range(16, 60)));
    }

    #[test]
    fn a_device_that_is_nearly_full_is_tested_all_over() {
        let mut device = with_gpt_partition_up_to(Bytes::mib(60));
        assert_eq!(territory(&mut device).size(), device.capacity());
    }

    #[test]
    fn without_a_table_all_is_free() {
        let mut device = MemoryDevice::new(LogicalBlock::B512, Sectors(SIZE as u64 / 512));
        assert_eq!(territory(&mut device).size(), device.capacity());
    }
}

//! A device that exists only in memory, with a clock that stands still. It holds what was written
//! and zeros elsewhere, so it may claim any size. Tests write tables to it and look at every byte.

use super::{AccessError, Device, ReadDevice, check_access};
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, Lba, LogicalBlock, Sectors};
use std::collections::BTreeMap;
use std::time::Duration;

/// A device in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryDevice {
    facts: Facts,
    capacity: Bytes,
    written: BTreeMap<Lba, Vec<u8>>,
}

impl MemoryDevice {
    /// A device of zeros; its size saturates below 2^64 bytes.
    pub fn new(block: LogicalBlock, sectors: Sectors) -> MemoryDevice {
        let capacity = sectors.to_bytes(block).unwrap_or(Bytes(u64::MAX));
        MemoryDevice {
            facts: Facts::bare("memory", Transport::Unknown, Some(capacity), block),
            capacity,
            written: BTreeMap::new(),
        }
    }

    /// The same device with other facts about it; size and logical block stay.
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> MemoryDevice {
        let block = self.facts.logical_block;
        self.facts = Facts {
            capacity: Some(self.capacity),
            logical_block: block,
            ..facts
        };
        self
    }

    /// Put bytes at any place, aligned or not, whatever stands there. What lies behind the end is
    /// dropped.
    pub fn place(&mut self, at: Bytes, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            let place = Bytes(at.get().saturating_add(index as u64));
            if place < self.capacity {
                let (sector, offset) = self.sector(place);
                self.sector_mut(sector)[offset] = *byte;
            }
        }
    }

    /// The bytes of a range, aligned or not; zeros behind the end.
    pub fn bytes(&self, at: Bytes, length: usize) -> Vec<u8> {
        (0..length as u64)
            .map(|index| {
                let (sector, offset) = self.sector(Bytes(at.get().saturating_add(index)));
                self.written.get(&sector).map_or(0, |data| data[offset])
            })
            .collect()
    }

    /// The sectors that hold something other than zeros.
    pub fn content(&self) -> BTreeMap<Lba, &[u8]> {
        self.written
            .iter()
            .filter(|(_, data)| data.iter().any(|byte| *byte != 0))
            .map(|(at, data)| (*at, data.as_slice()))
            .collect()
    }

    fn sector(&self, at: Bytes) -> (Lba, usize) {
        let unit = self.facts.logical_block.bytes().get();
        // Smaller than a sector, so it fits.
        let offset = usize::try_from(at.get() % unit).unwrap_or(0);
        (Lba(at.get() / unit), offset)
    }

    fn sector_mut(&mut self, at: Lba) -> &mut Vec<u8> {
        let length = self.length();
        self.written.entry(at).or_insert_with(|| vec![0; length])
    }

    fn length(&self) -> usize {
        match self.facts.logical_block {
            LogicalBlock::B512 => 512,
            LogicalBlock::B4096 => 4096,
        }
    }
}

impl ReadDevice for MemoryDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        check_access(at, into, self.capacity, self.facts.logical_block)?;
        let (first, _) = self.sector(at);
        let length = self.length();
        for (place, out) in (first.get()..).zip(into.chunks_mut(length)) {
            match self.written.get(&Lba(place)) {
                Some(data) => out.copy_from_slice(data),
                None => out.fill(0),
            }
        }
        Ok(Duration::ZERO)
    }

    fn wait(&mut self, _: Duration) {}

    fn clock(&self) -> Duration {
        Duration::ZERO
    }
}

impl Device for MemoryDevice {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        check_access(at, data, self.capacity, self.facts.logical_block)?;
        let (first, _) = self.sector(at);
        let length = self.length();
        for (place, data) in (first.get()..).zip(data.chunks(length)) {
            self.sector_mut(Lba(place)).copy_from_slice(data);
        }
        Ok(Duration::ZERO)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        Ok(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::AlignedBuffer;

    #[test]
    fn what_is_written_is_read_and_the_rest_is_zeros() {
        let mut device = MemoryDevice::new(LogicalBlock::B512, Sectors(1 << 40));
        let mut data = AlignedBuffer::new(1024);
        data.fill(5);
        let at = Bytes(1 << 45);
        device.write(at, &data).unwrap();
        let mut back = AlignedBuffer::new(2048);
        device.read(at, &mut back).unwrap();
        assert_eq!(back[..1024], data[..]);
        assert!(back[1024..].iter().all(|byte| *byte == 0));
        assert_eq!(device.content().len(), 2);
        assert!(device.write(Bytes(1), &data).is_err());
        assert!(device.read(Bytes(1 << 49), &mut back).is_err());
    }

    #[test]
    fn bytes_are_placed_across_sectors_and_cut_at_the_end() {
        let mut device = MemoryDevice::new(LogicalBlock::B4096, Sectors(4));
        device.place(Bytes(4090), b"across sectors");
        assert_eq!(device.bytes(Bytes(4090), 14), b"across sectors");
        device.place(Bytes(4 * 4096 - 1), b"ab");
        assert_eq!(device.bytes(Bytes(4 * 4096 - 1), 2), b"a\0");
    }
}

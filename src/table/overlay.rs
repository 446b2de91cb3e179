//! What a device would hold after a change: reads fall through to the device, writes stay here.
//!
//! The table crates write to it as to a disk. What they changed is recorded sector by sector, and
//! that record is what gets shown, saved, written and undone.

use crate::device::{AccessError, AlignedBuffer, ReadDevice, check_access};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

/// A read-only view of a device with changes on top.
///
/// It cannot write to the device: it holds a [`ReadDevice`].
pub struct Overlay<'a> {
    device: &'a mut dyn ReadDevice,
    block: usize,
    /// In whole sectors.
    capacity: Bytes,
    changed: BTreeMap<Lba, Vec<u8>>,
    position: u64,
    trouble: Option<AccessError>,
}

impl<'a> Overlay<'a> {
    /// Nothing is changed yet.
    pub fn new(device: &'a mut dyn ReadDevice) -> Overlay<'a> {
        let unit = device.logical_block().bytes().get();
        Overlay {
            block: usize::try_from(unit).unwrap_or(512),
            capacity: Bytes(device.capacity().get() / unit * unit),
            device,
            changed: BTreeMap::new(),
            position: 0,
            trouble: None,
        }
    }

    /// The sectors that were written, in the order of their places.
    pub fn changed(&self) -> impl Iterator<Item = (Lba, &[u8])> {
        self.changed.iter().map(|(at, data)| (*at, data.as_slice()))
    }

    /// What a sector would hold.
    ///
    /// # Errors
    /// The device fails.
    pub fn sector(&mut self, at: Lba) -> Result<Vec<u8>, AccessError> {
        match self.changed.get(&at) {
            Some(data) => Ok(data.clone()),
            None => self.original(at),
        }
    }

    /// What a sector holds on the device.
    ///
    /// # Errors
    /// The device fails.
    pub fn original(&mut self, at: Lba) -> Result<Vec<u8>, AccessError> {
        let mut buffer = AlignedBuffer::new(self.block);
        let place = at.get().saturating_mul(self.block as u64);
        match self.device.read(Bytes(place), &mut buffer) {
            Ok(_) => Ok(buffer.to_vec()),
            Err(error) => {
                self.trouble = Some(error.clone());
                Err(error)
            }
        }
    }

    /// The device below, without the changes.
    pub fn device(&mut self) -> &mut dyn ReadDevice {
        self.device
    }

    /// Put a whole sector. `data` is cut or filled with zeros to the length of one.
    pub fn put(&mut self, at: Lba, data: &[u8]) {
        let mut sector = data.to_vec();
        sector.resize(self.block, 0);
        self.changed.insert(at, sector);
    }

    /// Forget what was written to sectors from `from` up to and without `to`.
    pub fn forget(&mut self, from: Lba, to: Lba) {
        self.changed.retain(|at, _| *at < from || *at >= to);
    }

    /// The failure of the device behind the last error that a table crate returned, if it was one.
    pub fn take_trouble(&mut self) -> Option<AccessError> {
        self.trouble.take()
    }

    /// The sector at the position, how far into it, and how many of `wanted` bytes lie in it.
    fn piece(&self, wanted: usize) -> (Lba, usize, usize) {
        let unit = self.block as u64;
        // Smaller than a sector, so it fits.
        let inside = usize::try_from(self.position % unit).unwrap_or(0);
        let left = self.capacity.get().saturating_sub(self.position);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let length = wanted.min(self.block - inside).min(left);
        (Lba(self.position / unit), inside, length)
    }
}

impl fmt::Debug for Overlay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("capacity", &self.capacity)
            .field("changed", &self.changed.keys())
            .finish_non_exhaustive()
    }
}

impl Read for Overlay<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (at, inside, length) = self.piece(into.len());
        if length == 0 {
            return Ok(0);
        }
        let sector = self.sector(at).map_err(io::Error::other)?;
        into[..length].copy_from_slice(&sector[inside..inside + length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Write for Overlay<'_> {
    /// Zero behind the end, as on a full disk.
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let (at, inside, length) = self.piece(data.len());
        if length == 0 {
            return Ok(0);
        }
        let mut sector = self.sector(at).map_err(io::Error::other)?;
        sector[inside..inside + length].copy_from_slice(&data[..length]);
        self.changed.insert(at, sector);
        self.position += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Overlay<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(offset) => self.capacity.get().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Reading it as a device shows the changed device: what would be found after the write.
impl ReadDevice for Overlay<'_> {
    fn facts(&self) -> &Facts {
        self.device.facts()
    }

    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn logical_block(&self) -> LogicalBlock {
        self.device.logical_block()
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        check_access(at, into, self.capacity(), self.logical_block())?;
        let took = self.device.read(at, into)?;
        let range = ByteRange {
            from: at,
            to: Bytes(at.get() + into.len() as u64),
        };
        let unit = self.block as u64;
        let touched = Lba(range.from.get() / unit)..Lba(range.to.get() / unit);
        for (place, data) in self.changed.range(touched) {
            // Inside the buffer, because the place is inside the range.
            let offset = usize::try_from(place.get() * unit - at.get()).unwrap_or(0);
            into[offset..offset + data.len()].copy_from_slice(data);
        }
        Ok(took)
    }

    fn wait(&mut self, time: Duration) {
        self.device.wait(time);
    }

    fn clock(&self) -> Duration {
        self.device.clock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::MemoryDevice;
    use crate::units::Sectors;

    fn numbered(block: LogicalBlock, sectors: u64) -> MemoryDevice {
        let mut device = MemoryDevice::new(block, Sectors(sectors));
        for n in 0..device.capacity().get() / 8 {
            device.place(Bytes(n * 8), &n.to_be_bytes());
        }
        device
    }

    #[test]
    fn writes_stay_in_the_overlay_and_reads_see_them() {
        let mut device = numbered(LogicalBlock::B512, 64);
        let before = device.clone();
        let old = before.bytes(Bytes::ZERO, 4096);
        let mut overlay = Overlay::new(&mut device);
        overlay.seek(SeekFrom::Start(1000)).unwrap();
        overlay.write_all(&[0xee; 600]).unwrap();
        let places: Vec<u64> = overlay.changed().map(|(at, _)| at.get()).collect();
        assert_eq!(places, [1, 2, 3]);
        let mut buffer = AlignedBuffer::new(2048);
        ReadDevice::read(&mut overlay, Bytes(512), &mut buffer).unwrap();
        assert_eq!(buffer[..488], old[512..1000]);
        assert!(buffer[488..1088].iter().all(|byte| *byte == 0xee));
        assert_eq!(buffer[1088..], old[1600..2560]);
        let mut two = [0; 2];
        overlay.seek(SeekFrom::Start(999)).unwrap();
        overlay.read_exact(&mut two).unwrap();
        assert_eq!(two, [old[999], 0xee]);
        assert_eq!(device, before);
    }

    #[test]
    fn the_end_is_that_of_the_last_sector() {
        let mut device = numbered(LogicalBlock::B4096, 8);
        let mut overlay = Overlay::new(&mut device);
        assert_eq!(overlay.seek(SeekFrom::End(0)).unwrap(), 8 * 4096);
        assert_eq!(Write::write(&mut overlay, &[1]).unwrap(), 0);
        assert_eq!(Read::read(&mut overlay, &mut [0; 4]).unwrap(), 0);
        assert!(overlay.seek(SeekFrom::Current(-9 * 4096)).is_err());
        assert_eq!(overlay.seek(SeekFrom::End(-1)).unwrap(), 8 * 4096 - 1);
        assert_eq!(Write::write(&mut overlay, &[1, 2]).unwrap(), 1);
    }

    #[test]
    fn what_is_forgotten_falls_through_again() {
        let mut device = numbered(LogicalBlock::B512, 8);
        let old = device.bytes(Bytes(1024), 512);
        let mut overlay = Overlay::new(&mut device);
        overlay.put(Lba(1), &[7]);
        overlay.put(Lba(2), &[7]);
        overlay.forget(Lba(2), Lba(3));
        assert_eq!(overlay.sector(Lba(2)).unwrap(), old);
        assert_eq!(overlay.sector(Lba(1)).unwrap()[..2], [7, 0]);
    }
}

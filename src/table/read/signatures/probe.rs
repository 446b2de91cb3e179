//! Reading one range, and noting what is found in it.

use super::super::window;
use super::{Signature, SignatureKind};
use crate::device::{AccessError, ReadDevice};
use crate::units::{ByteRange, Bytes};

/// The first bytes of a range are read once: nearly all marks lie in them (the last is the swap
/// magic of 64 KiB pages; btrfs follows at 64 KiB + 64).
const HEAD: Bytes = Bytes::kib(72);

/// One range of a device.
pub(super) struct Probe<'a> {
    device: &'a mut dyn ReadDevice,
    range: ByteRange,
    head: Option<Vec<u8>>,
    found: Vec<Signature>,
}

impl<'a> Probe<'a> {
    pub(super) fn new(device: &'a mut dyn ReadDevice, range: ByteRange) -> Probe<'a> {
        let range = ByteRange {
            from: range.from,
            to: range.to.min(device.capacity()),
        };
        Probe {
            device,
            range,
            head: None,
            found: Vec::new(),
        }
    }

    /// The size of the range.
    pub(super) fn length(&self) -> Bytes {
        self.range.length()
    }

    /// The bytes at `at`, counted from the start of the range; shorter at its end.
    pub(super) fn bytes(&mut self, at: Bytes, length: Bytes) -> Result<Vec<u8>, AccessError> {
        let Some(end) = at.checked_add(length) else {
            return Ok(Vec::new());
        };
        if end <= HEAD {
            let head = self.head()?;
            return Ok(slice(head, at, end).to_vec());
        }
        self.read(at, length)
    }

    /// The same, counted back from the end of the range; empty when the range is too short.
    pub(super) fn bytes_from_end(
        &mut self,
        before_end: Bytes,
        length: Bytes,
    ) -> Result<(Bytes, Vec<u8>), AccessError> {
        match self.length().checked_sub(before_end) {
            Some(at) => Ok((at, self.bytes(at, length)?)),
            None => Ok((Bytes::ZERO, Vec::new())),
        }
    }

    /// Note a mark whose magic lies at `at`, with `wipe` to zero; both count from the start of the
    /// range.
    pub(super) fn note(
        &mut self,
        name: &'static str,
        kind: SignatureKind,
        at: Bytes,
        wipe: ByteRange,
    ) {
        let on_device = |place: Bytes| Bytes(self.range.from.get().saturating_add(place.get()));
        let wipe = ByteRange {
            from: on_device(wipe.from),
            to: on_device(wipe.to),
        };
        let signature = Signature {
            name,
            kind,
            at: on_device(at),
            wipe: window::blocks(self.device, wipe),
        };
        if !self.found.contains(&signature) {
            self.found.push(signature);
        }
    }

    /// Note a mark of `length` bytes at `at`: zeroing the magic is enough.
    pub(super) fn note_magic(
        &mut self,
        name: &'static str,
        kind: SignatureKind,
        at: Bytes,
        length: usize,
    ) {
        let to = Bytes(at.get().saturating_add(length as u64));
        self.note(name, kind, at, ByteRange { from: at, to });
    }

    pub(super) fn found(self) -> Vec<Signature> {
        self.found
    }

    fn head(&mut self) -> Result<&[u8], AccessError> {
        if self.head.is_none() {
            self.head = Some(self.read(Bytes::ZERO, HEAD)?);
        }
        Ok(self.head.as_deref().unwrap_or_default())
    }

    fn read(&mut self, at: Bytes, length: Bytes) -> Result<Vec<u8>, AccessError> {
        let length = length.min(self.length().saturating_sub(at));
        match self.range.from.checked_add(at) {
            Some(place) => window::read(self.device, place, length),
            None => Ok(Vec::new()),
        }
    }
}

/// The part of `bytes` that lies in `[from, to)`.
fn slice(bytes: &[u8], from: Bytes, to: Bytes) -> &[u8] {
    let clip = |place: Bytes| {
        usize::try_from(place.get())
            .unwrap_or(usize::MAX)
            .min(bytes.len())
    };
    bytes.get(clip(from)..clip(to)).unwrap_or_default()
}

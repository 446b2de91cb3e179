//! Numbers out of bytes whose length is not to be trusted: what does not lie inside is `None`.

/// `N` bytes at `at`.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A little-endian number of 16 bits.
pub(super) fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// A little-endian number of 32 bits.
pub(super) fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// A little-endian number of 64 bits.
pub(super) fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A big-endian number of 16 bits.
pub(super) fn u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

/// A big-endian number of 32 bits.
pub(super) fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

/// Whether these bytes stand at `at`.
pub(super) fn stands(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    at.checked_add(magic.len())
        .and_then(|end| bytes.get(at..end))
        .is_some_and(|found| found == magic)
}

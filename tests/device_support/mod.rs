//! What the tests of real devices and image files share.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

use flashfit::device::{AlignedBuffer, ReadDevice};
use flashfit::units::{Bytes, MIB};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A sparse file whose every mebibyte starts with its own number.
pub fn patterned_file(directory: &Path, size: u64) -> PathBuf {
    let path = directory.join("backing");
    let file = File::create(&path).unwrap();
    file.set_len(size).unwrap();
    for mebibyte in 0..size / MIB {
        file.write_all_at(&mebibyte.to_le_bytes(), mebibyte * MIB)
            .unwrap();
    }
    path
}

/// Read there, and take the number that stands in front.
pub fn first_number(device: &mut impl ReadDevice, at: Bytes, length: usize) -> u64 {
    let mut buffer = AlignedBuffer::new(length);
    let took = device.read(at, &mut buffer).unwrap();
    assert!(took > Duration::ZERO);
    u64::from_le_bytes(buffer[..8].try_into().unwrap())
}

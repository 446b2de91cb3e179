//! Block devices and image files of the running kernel. Everything that is opened here was made
//! here: files in a temporary directory and loop devices on them. A loop device needs root; without
//! it these tests say that they were skipped.

use flashfit::device::{
    AccessError, AlignedBuffer, Device, OpenError, OpenErrorKind, ReadDevice, block, image, sysfs,
};
use flashfit::topology::Transport;
use flashfit::units::{Bytes, LogicalBlock, MIB};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A loop device on a file of its own; both go when it is dropped.
struct Loop {
    device: PathBuf,
    directory: TempDir,
}

impl Loop {
    /// `None`, said aloud, when no loop device can be made.
    fn new(size: u64, options: &[&str]) -> Option<Loop> {
        let directory = TempDir::new().unwrap();
        let file = patterned_file(directory.path(), size);
        let output = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .args(options)
            .arg(&file)
            .output();
        match output {
            Ok(output) if output.status.success() => {
                let device = String::from_utf8(output.stdout).unwrap();
                Some(Loop {
                    device: PathBuf::from(device.trim()),
                    directory,
                })
            }
            other => {
                eprintln!("skipped: needs root and losetup ({other:?})");
                None
            }
        }
    }

    fn name(&self) -> &str {
        self.device.file_name().unwrap().to_str().unwrap()
    }

    fn backing_file(&self) -> PathBuf {
        self.directory.path().join("backing")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.device).status();
    }
}

/// A sparse file whose every mebibyte starts with its own number.
fn patterned_file(directory: &Path, size: u64) -> PathBuf {
    let path = directory.join("backing");
    let file = File::create(&path).unwrap();
    file.set_len(size).unwrap();
    for mebibyte in 0..size / MIB {
        file.write_all_at(&mebibyte.to_le_bytes(), mebibyte * MIB)
            .unwrap();
    }
    path
}

fn first_number(device: &mut impl ReadDevice, at: Bytes, length: usize) -> u64 {
    let mut buffer = AlignedBuffer::new(length);
    let took = device.read(at, &mut buffer).unwrap();
    assert!(took > Duration::ZERO);
    u64::from_le_bytes(buffer[..8].try_into().unwrap())
}

#[test]
fn a_512_loop_device_is_opened_read_and_described() {
    let Some(disk) = Loop::new(64 * MIB, &[]) else {
        return;
    };
    let mut device = block::open(&disk.device).unwrap();
    assert_eq!(device.capacity(), Bytes::mib(64));
    assert_eq!(device.logical_block(), LogicalBlock::B512);
    assert_eq!(device.node(), disk.device);
    assert_eq!(device.disk().name(), disk.name());
    assert!(!device.is_read_only());
    let facts = device.facts().clone();
    assert_eq!(facts.transport, Transport::Loop);
    assert_eq!(facts.physical_block, Some(Bytes(512)));
    assert_eq!(facts.removable, Some(false));
    assert!(facts.diskseq.is_some_and(|number| number > 0));
    assert_eq!(facts.diskseq, device.disk_sequence_now());
    let max = format!("/sys/block/{}/queue/max_sectors_kb", disk.name());
    let max: u64 = fs::read_to_string(max).unwrap().trim().parse().unwrap();
    assert_eq!(facts.max_request, Some(Bytes::kib(max)));
    let before = device.clock();
    for mebibyte in [0, 1, 17, 63] {
        assert_eq!(
            first_number(&mut device, Bytes::mib(mebibyte), 4096),
            mebibyte
        );
    }
    assert_eq!(first_number(&mut device, Bytes::mib(5), 512), 5);
    assert!(device.clock() > before);
    let before = device.clock();
    device.wait(Duration::from_micros(200));
    assert!(device.clock() - before >= Duration::from_micros(200));
}

#[test]
fn a_4096_loop_device_refuses_smaller_accesses() {
    let Some(disk) = Loop::new(64 * MIB, &["-b", "4096"]) else {
        return;
    };
    let mut device = block::open(&disk.device).unwrap();
    assert_eq!(device.logical_block(), LogicalBlock::B4096);
    assert_eq!(first_number(&mut device, Bytes::mib(9), 4096), 9);
    let mut buffer = AlignedBuffer::new(8192);
    for (at, length) in [(512, 4096), (0, 512), (Bytes::mib(64).get() - 4096, 8192)] {
        let error = device.read(Bytes(at), &mut buffer[..length]).unwrap_err();
        assert!(matches!(error, AccessError::Unaligned { .. }), "{error}");
    }
}

#[test]
fn a_buffer_that_the_kernel_rejects_is_named() {
    let Some(disk) = Loop::new(64 * MIB, &[]) else {
        return;
    };
    let mut device = block::open(&disk.device).unwrap();
    let mut buffer = AlignedBuffer::new(8192);
    match device.read(Bytes(0), &mut buffer[1..4097]) {
        Err(AccessError::Unaligned { reason, .. }) => assert!(reason.contains("buffer")),
        other => panic!("{other:?}"),
    }
}

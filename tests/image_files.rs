//! Image files as devices.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

use flashfit::device::{AlignedBuffer, Device, OpenError, ReadDevice, image};
use flashfit::topology::Transport;
use flashfit::units::{Bytes, LogicalBlock, MIB};
use std::fs::File;
use std::path::Path;
use tempfile::TempDir;

#[path = "device_support/mod.rs"]
mod device_support;

use device_support::{first_number, patterned_file};

#[test]
fn an_image_is_read_and_written_like_a_device() {
    let directory = TempDir::new().unwrap();
    let path = patterned_file(directory.path(), 32 * MIB + 700);
    let mut read = image::open(&path, LogicalBlock::B512).unwrap();
    assert_eq!(read.capacity(), Bytes(32 * MIB + 512));
    assert_eq!(read.facts().transport, Transport::Image);
    assert_eq!(first_number(&mut read, Bytes::mib(7), 4096), 7);
    let read = image::open(&path, LogicalBlock::B4096).unwrap();
    assert_eq!(read.capacity(), Bytes::mib(32));

    let mut written = image::open_writable(&path, LogicalBlock::B512).unwrap();
    let mut data = AlignedBuffer::new(512);
    data.fill(7);
    written.write(Bytes(512), &data).unwrap();
    written.flush().unwrap();
    let mut back = AlignedBuffer::new(512);
    written.read(Bytes(512), &mut back).unwrap();
    assert_eq!(back[..], data[..]);
    let error = image::open_writable(&path, LogicalBlock::B512).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    drop(written);
    assert!(image::open_writable(&path, LogicalBlock::B512).is_ok());
}

#[test]
fn an_image_in_memory_falls_back_to_the_cache_and_says_so() {
    let shm = Path::new("/dev/shm");
    let Ok(directory) = TempDir::new_in(shm) else {
        eprintln!("skipped: needs /dev/shm");
        return;
    };
    let path = patterned_file(directory.path(), 16 * MIB);
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_DIRECT);
    let refused = options.read(true).open(&path).is_err();
    let mut device = image::open(&path, LogicalBlock::B512).unwrap();
    // Since Linux 6.6, tmpfs accepts O_DIRECT and reads from memory all the same.
    assert!(device.is_cached() || !refused);
    assert_eq!(first_number(&mut device, Bytes::mib(3), 512), 3);
}

#[test]
fn what_is_no_image_is_refused() {
    let directory = TempDir::new().unwrap();
    let open = |path: &Path| image::open(path, LogicalBlock::B512).unwrap_err();
    let empty = directory.path().join("empty");
    File::create(&empty).unwrap();
    assert!(matches!(open(&empty), OpenError::EmptyFile { .. }));
    let small = directory.path().join("small");
    File::create(&small).unwrap().set_len(16 * MIB - 1).unwrap();
    assert!(matches!(open(&small), OpenError::TooSmall { .. }));
    assert!(matches!(
        open(directory.path()),
        OpenError::Directory { .. }
    ));
    assert!(matches!(
        open(Path::new("/dev/null")),
        OpenError::CharacterDevice { .. }
    ));
    assert!(matches!(
        open(Path::new("/no/such/file")),
        OpenError::NotFound { .. }
    ));
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert!(matches!(
        open(&pipe),
        OpenError::WrongKind {
            found: "a pipe",
            ..
        }
    ));
}

#[test]
fn a_name_that_leads_elsewhere_by_now_is_noticed() {
    let directory = TempDir::new().unwrap();
    let path = patterned_file(directory.path(), 32 * MIB);
    let open = || image::open_writable(&path, LogicalBlock::B512).unwrap();
    let image = open();
    assert!(image.is_still(&path).unwrap());
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(20 * MIB)
        .unwrap();
    assert!(!image.is_still(&path).unwrap(), "it shrank");
    drop(image);
    let image = open();
    let aside = directory.path().join("aside");
    std::fs::rename(&path, &aside).unwrap();
    assert!(!image.is_still(&path).unwrap(), "it is gone");
    std::fs::copy(&aside, &path).unwrap();
    assert!(!image.is_still(&path).unwrap(), "it is another file");
}

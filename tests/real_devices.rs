//! Block devices and image files of the running kernel. Everything that is opened here was made
//! here: files in a temporary directory and loop devices on them. A loop device needs root; without
//! it these tests say that they were skipped.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

use flashfit::device::{
    AccessError, AlignedBuffer, Device, OpenError, OpenErrorKind, ReadDevice, block, sysfs,
};
use flashfit::topology::Transport;
use flashfit::units::{ByteRange, Bytes, LogicalBlock, MIB};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

#[path = "device_support/mod.rs"]
mod device_support;

use device_support::{first_number, patterned_file};

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

/// The `O_` flags of this process's descriptors of `path`, as the kernel has them.
fn flags_of_descriptors(path: &Path) -> Vec<i32> {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let of_path = descriptors.filter(|fd| fs::read_link(fd.path()).is_ok_and(|at| at == path));
    of_path
        .map(|fd| {
            let info = Path::new("/proc/self/fdinfo").join(fd.file_name());
            let info = fs::read_to_string(info).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            i32::from_str_radix(flags.unwrap().trim(), 8).unwrap()
        })
        .collect()
}

#[test]
fn a_scan_cannot_write_since_its_descriptor_is_read_only_and_direct() {
    let Some(disk) = Loop::new(16 * MIB, &[]) else {
        return;
    };
    let device = block::open(&disk.device).unwrap();
    let flags = flags_of_descriptors(&disk.device);
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0] & nix::libc::O_ACCMODE, nix::libc::O_RDONLY);
    assert_ne!(flags[0] & nix::libc::O_DIRECT, 0);
    assert_ne!(flags[0] & nix::libc::O_CLOEXEC, 0);
    drop(device);
    assert!(flags_of_descriptors(&disk.device).is_empty());
}

#[test]
fn a_link_is_opened_as_the_device_behind_it() {
    let Some(disk) = Loop::new(16 * MIB, &[]) else {
        return;
    };
    let link = disk.directory.path().join("by-any-name");
    symlink(&disk.device, &link).unwrap();
    let device = block::open(&link).unwrap();
    assert_eq!(device.node(), disk.device);
    assert_eq!(device.facts().path, link.to_string_lossy());
    let (found, facts) = block::look(&link).unwrap();
    assert_eq!(&found, device.disk());
    assert_eq!(&facts, device.facts());
}

#[test]
fn a_device_below_16_mebibytes_is_too_small() {
    let Some(disk) = Loop::new(16 * MIB - 512, &[]) else {
        return;
    };
    let error = block::open(&disk.device).unwrap_err();
    assert!(matches!(error, OpenError::TooSmall { .. }), "{error}");
    assert_eq!(error.kind(), OpenErrorKind::Failed);
}

#[test]
fn a_device_that_shrinks_to_nothing_is_gone() {
    let Some(disk) = Loop::new(64 * MIB, &[]) else {
        return;
    };
    let mut device = block::open(&disk.device).unwrap();
    let backing = File::options()
        .write(true)
        .open(disk.backing_file())
        .unwrap();
    backing.set_len(32 * MIB).unwrap();
    let mut buffer = AlignedBuffer::new(4096);
    let at = Bytes::mib(40);
    // The loop device still has its size: this place cannot be delivered.
    let error = device.read(at, &mut buffer).unwrap_err();
    assert!(
        matches!(error, AccessError::Io { at: 41_943_040, .. }),
        "{error}"
    );
    // Now it tells its new size, as a device does that has lost its medium.
    let status = Command::new("losetup").arg("-c").arg(&disk.device).status();
    assert!(status.unwrap().success());
    let error = device.read(at, &mut buffer).unwrap_err();
    assert_eq!(error, AccessError::Gone { at: at.get() });
}

#[test]
fn a_write_protected_device_is_scanned_and_not_opened_for_writing() {
    let Some(disk) = Loop::new(16 * MIB, &["--read-only"]) else {
        return;
    };
    let mut device = block::open(&disk.device).unwrap();
    assert!(device.is_read_only());
    assert_eq!(first_number(&mut device, Bytes::mib(3), 4096), 3);
    let error = block::open_exclusive(&disk.device).unwrap_err();
    assert!(matches!(error, OpenError::ReadOnly { .. }), "{error}");
    assert_eq!(error.kind(), OpenErrorKind::Refused);
}

#[test]
fn what_is_written_exclusively_is_read_back_and_reaches_the_file() {
    let Some(disk) = Loop::new(16 * MIB, &["-b", "4096"]) else {
        return;
    };
    let mut device = block::open_exclusive(&disk.device).unwrap();
    let mut data = AlignedBuffer::new(8192);
    data.fill(0xa5);
    let before = device.clock();
    assert!(device.write(Bytes::mib(2), &data).unwrap() > Duration::ZERO);
    device.flush().unwrap();
    assert!(device.clock() > before);
    let mut back = AlignedBuffer::new(8192);
    device.read(Bytes::mib(2), &mut back).unwrap();
    assert_eq!(back[..], data[..]);
    let error = device.write(Bytes(512), &data).unwrap_err();
    assert!(matches!(error, AccessError::Unaligned { .. }));
    // A second opening for writing fails while the first lasts, reading does not.
    let error = block::open_exclusive(&disk.device).unwrap_err();
    assert!(
        matches!(&error, OpenError::InUse { uses, .. } if uses.is_empty()),
        "{error}"
    );
    assert!(block::open(&disk.device).is_ok());
    // Whoever honours the lock, as udev does, keeps off as well.
    let other = File::open(&disk.device).unwrap();
    let (other, errno) = Flock::lock(other, FlockArg::LockSharedNonblock).unwrap_err();
    assert_eq!(errno, Errno::EWOULDBLOCK);
    drop(device);
    assert!(Flock::lock(other, FlockArg::LockSharedNonblock).is_ok());
    let mut in_file = vec![0; 8192];
    let backing = File::open(disk.backing_file()).unwrap();
    backing.read_exact_at(&mut in_file, 2 * MIB).unwrap();
    assert_eq!(in_file[..], data[..]);
    assert!(block::open_exclusive(&disk.device).is_ok());
}

/// A mount that is undone when it is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn mount_ext4(node: &Path, directory: &Path) -> Option<Mounted> {
    let at = directory.join("mount point");
    fs::create_dir(&at).unwrap();
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(node)
        .status();
    let mounted = Command::new("mount").arg(node).arg(&at).status();
    if made.is_ok_and(|status| status.success()) && mounted.is_ok_and(|status| status.success()) {
        Some(Mounted(at))
    } else {
        eprintln!("skipped: needs mkfs.ext4 and mount");
        None
    }
}

#[test]
fn a_mounted_device_is_scanned_and_not_opened_for_writing() {
    let Some(disk) = Loop::new(64 * MIB, &[]) else {
        return;
    };
    let Some(mounted) = mount_ext4(&disk.device, disk.directory.path()) else {
        return;
    };
    let roots = sysfs::Roots::system();
    let found = sysfs::Disk::by_name(&roots, disk.name()).unwrap();
    let uses = sysfs::in_use(&roots, &found);
    assert_eq!(uses.len(), 1, "{uses:?}");
    let at = mounted.0.to_string_lossy().into_owned();
    assert_eq!(
        uses[0].to_string(),
        format!("{} mounted at {at}", disk.name())
    );
    assert_eq!(uses[0].release(), format!("sudo umount '{at}'"));
    assert!(!uses[0].is_system());
    assert!(block::open(&disk.device).is_ok());
    let error = block::open_exclusive(&disk.device).unwrap_err();
    assert!(error.to_string().contains("mounted at"), "{error}");
    assert_eq!(error.kind(), OpenErrorKind::Refused);
    drop(mounted);
    assert!(sysfs::in_use(&roots, &found).is_empty());
    assert!(block::open_exclusive(&disk.device).is_ok());
}

#[test]
fn a_partition_names_its_disk_and_its_mount_keeps_the_disk() {
    let Some(disk) = Loop::new(64 * MIB, &[]) else {
        return;
    };
    let script = disk.directory.path().join("script");
    fs::write(&script, "label: dos\nstart=8192, size=65536, type=83\n").unwrap();
    let sfdisk = Command::new("sfdisk")
        .args(["-q", "--no-reread", "--no-tell-kernel"])
        .arg(disk.backing_file())
        .stdin(File::open(&script).unwrap())
        .status();
    // partx reads the table itself and adds each partition by BLKPG, so that a kernel without
    // partition parsers will do.
    let partx = Command::new("partx").arg("-a").arg(&disk.device).status();
    let node = PathBuf::from(format!("{}p1", disk.device.display()));
    if !sfdisk.is_ok_and(|s| s.success()) || !partx.is_ok_and(|s| s.success()) || !node.exists() {
        eprintln!("skipped: needs sfdisk, partx and a /dev that the kernel fills");
        return;
    }
    let error = block::open(&node).unwrap_err();
    assert_eq!(
        error,
        OpenError::Partition {
            path: node.to_string_lossy().into_owned(),
            disk: disk.device.to_string_lossy().into_owned(),
        }
    );
    let Some(mounted) = mount_ext4(&node, disk.directory.path()) else {
        return;
    };
    match block::open_exclusive(&disk.device).unwrap_err() {
        OpenError::InUse { uses, .. } => {
            assert_eq!(uses[0].chain(), [format!("{}p1", disk.name())]);
        }
        other => panic!("{other}"),
    }
    drop(mounted);
    let removed = Command::new("partx").arg("-d").arg(&disk.device).status();
    assert!(removed.unwrap().success());
}

#[test]
fn partition_nodes_are_made_and_removed_in_the_running_kernel() {
    let Some(disk) = Loop::new(64 * MIB, &["-b", "4096"]) else {
        return;
    };
    let device = block::open_exclusive(&disk.device).unwrap();
    // Without --partscan a loop device has no partition scan.
    assert_eq!(device.reread_partitions(), Err(Errno::EINVAL));
    let range = ByteRange {
        from: Bytes::mib(12),
        to: Bytes::mib(20),
    };
    device.add_partition(3, range).unwrap();
    let at = PathBuf::from(format!("/sys/block/{0}/{0}p3", disk.name()));
    let number = |attribute: &str| fs::read_to_string(at.join(attribute)).unwrap();
    // sysfs counts in 512 bytes whatever the logical block is.
    assert_eq!(number("start").trim(), "24576");
    assert_eq!(number("size").trim(), "16384");
    let roots = sysfs::Roots::system();
    let found = sysfs::Disk::by_name(&roots, disk.name()).unwrap();
    assert_eq!(found.partitions(), [format!("{}p3", disk.name())]);
    assert_eq!(device.add_partition(4, range), Err(Errno::EBUSY));
    device.remove_partition(3).unwrap();
    assert!(!at.exists());
    assert_eq!(device.remove_partition(3), Err(Errno::ENXIO));
}

#[test]
fn a_discarded_range_of_a_loop_device_reads_as_zeros() {
    let Some(disk) = Loop::new(16 * MIB, &[]) else {
        return;
    };
    let mut device = block::open_exclusive(&disk.device).unwrap();
    let range = ByteRange {
        from: Bytes::mib(4),
        to: Bytes::mib(8),
    };
    match device.discard(range) {
        Err(Errno::EOPNOTSUPP) => {
            eprintln!("skipped: needs a file system that can punch holes");
            return;
        }
        result => result.unwrap(),
    }
    let numbers = [3, 4, 7, 8].map(|n| first_number(&mut device, Bytes::mib(n), 4096));
    assert_eq!(numbers, [3, 0, 0, 8]);
}

const DENIED_DEVICE: &str = "FLASHFIT_TEST_DENIED_DEVICE";

/// Run by the test below as another user; on its own it has no device to try.
#[test]
#[ignore = "runs as a child of the_permission_error_names_the_sudo_line"]
fn child_without_permission() {
    let device = std::env::var(DENIED_DEVICE).unwrap();
    println!("said: {}", block::open(Path::new(&device)).unwrap_err());
    let (_, facts) = block::look(Path::new(&device)).unwrap();
    println!("size: {}", facts.capacity.unwrap());
}

#[test]
fn the_permission_error_names_the_sudo_line() {
    let Some(disk) = Loop::new(16 * MIB, &[]) else {
        return;
    };
    // A copy where everybody can reach it.
    let exe = disk.directory.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(disk.directory.path(), open_to_all).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&exe)
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "child_without_permission",
        ])
        .env(DENIED_DEVICE, &disk.device)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: needs setpriv");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said} {output:?}");
    let device = disk.device.display();
    assert!(
        said.contains(&format!("said: no permission to open {device}")),
        "{said}"
    );
    assert!(
        said.contains(&format!("; run: sudo flashfit scan {device}\n")),
        "{said}"
    );
    // What sysfs tells needs no permission.
    assert!(said.contains("size: 16 MiB"), "{said}");
}

#[test]
fn the_running_system_is_no_candidate_and_a_loop_device_neither() {
    let loop_device = Loop::new(16 * MIB, &[]);
    let roots = sysfs::Roots::system();
    for candidate in sysfs::list(&roots) {
        let name = &candidate.name;
        let is_root = candidate.uses.iter().any(sysfs::Use::is_system);
        let is_ours = loop_device.as_ref().is_some_and(|ours| ours.name() == name);
        if is_root || is_ours {
            assert!(
                matches!(candidate.verdict, sysfs::Verdict::Refused(_)),
                "{name}"
            );
        }
        if is_ours {
            assert_eq!(candidate.capacity, Bytes::mib(16));
        }
    }
}

//! Opening a device for writing: nobody else may use it, from the last check to the end.

use super::open::{BlockDevice, Target};
use super::{ioctl, timed};
use crate::device::open_error::OpenError;
use crate::device::sysfs::{self, Roots, Use, Virtual};
use crate::device::{AccessError, Device, ReadDevice, check_access};
use crate::units::{ByteRange, Bytes};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A block device that is open for writing, claimed (`O_EXCL`) and locked (`flock`).
///
/// On a whole disk, `O_EXCL` fails while any of its partitions is mounted or held; the lock keeps
/// udev from probing in between (systemd's "Locking Block Device Access").
#[derive(Debug)]
pub struct ExclusiveDevice {
    inner: BlockDevice,
    /// A second descriptor of the same opening; the lock ends when both are closed.
    _lock: Flock<File>,
}

/// How often a claim or a lock is tried: udev holds both for the moments of a probe.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Whether a device could be opened for writing, without opening it: everything that
/// [`open_exclusive`] refuses, except what only an opening meets.
///
/// # Errors
///
/// The reason why it may not be written.
pub fn check_writable(path: &Path) -> Result<(), OpenError> {
    let roots = Roots::system();
    refuse(&roots, &Target::find(&roots, path)?)
}

/// What must not be written, each with its own reason.
fn refuse(roots: &Roots, target: &Target) -> Result<(), OpenError> {
    let path = || target.given.clone();
    if let Some(kind) = Virtual::of(target.disk.name()).filter(|kind| !kind.may_be_written()) {
        return Err(OpenError::NoMediumOfItsOwn { path: path(), kind });
    }
    if target.disk.capacity() == Some(Bytes::ZERO) {
        return Err(target.without_medium());
    }
    let uses = sysfs::in_use(roots, &target.disk);
    let system: Vec<Use> = uses.iter().filter(|one| one.is_system()).cloned().collect();
    if !system.is_empty() {
        return Err(OpenError::SystemDisk {
            path: path(),
            uses: system,
        });
    }
    if !uses.is_empty() {
        return Err(OpenError::InUse { path: path(), uses });
    }
    if target.disk.is_read_only() {
        return Err(OpenError::ReadOnly { path: path() });
    }
    Ok(())
}

/// Open a whole disk for writing: `O_RDWR | O_EXCL | O_DIRECT | O_DSYNC | O_CLOEXEC`, with an
/// exclusive lock.
///
/// # Errors
///
/// As [`super::open`]; besides, a device in use, locked or write-protected, the disk that the
/// running system lives on, and what is no medium of its own.
pub fn open_exclusive(path: &Path) -> Result<ExclusiveDevice, OpenError> {
    let roots = Roots::system();
    let target = Target::find(&roots, path)?;
    refuse(&roots, &target)?;
    let claim = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_EXCL | libc::O_DIRECT | libc::O_DSYNC | libc::O_CLOEXEC)
            .open(&target.node)
    };
    let is_busy = |error: &std::io::Error| error.raw_os_error() == Some(libc::EBUSY);
    let mut opened = claim();
    for _ in 1..TRIES {
        if !opened.as_ref().is_err_and(is_busy) {
            break;
        }
        thread::sleep(BETWEEN_TRIES);
        opened = claim();
    }
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_busy(&error) => {
            return Err(OpenError::InUse {
                path: target.given.clone(),
                uses: sysfs::in_use(&roots, &target.disk),
            });
        }
        Err(error) => return Err(target.explain(&error)),
    };
    let second = file.try_clone().map_err(|error| target.explain(&error))?;
    let lock = lock(second).ok_or_else(|| OpenError::Locked {
        path: target.given.clone(),
    })?;
    // Looked at again under the claim: a mount or a swap area may have come in between. (A claim
    // alone does not show on a system whose kernel lets anybody open a mounted disk.)
    refuse(&roots, &target)?;
    if ioctl::is_read_only(&file) == Ok(true) {
        return Err(OpenError::ReadOnly {
            path: target.given.clone(),
        });
    }
    Ok(ExclusiveDevice {
        inner: BlockDevice::new(file, target)?,
        _lock: lock,
    })
}

fn lock(mut file: File) -> Option<Flock<File>> {
    for _ in 0..TRIES {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Some(lock),
            Err((back, _)) => file = back,
        }
        thread::sleep(BETWEEN_TRIES);
    }
    None
}

impl ExclusiveDevice {
    /// What it is when it is only read.
    pub fn as_read_only(&self) -> &BlockDevice {
        &self.inner
    }

    /// Ask the kernel to read the partition table again, after it has dropped its cached pages of
    /// the old one.
    ///
    /// # Errors
    ///
    /// `EBUSY` when a partition is in use. `EINVAL` when the kernel does not look for partitions on
    /// this device; a kernel without a parser for the table succeeds and shows no partitions. In
    /// both cases [`ExclusiveDevice::add_partition`] still makes them.
    pub fn reread_partitions(&self) -> Result<(), Errno> {
        ioctl::drop_cached_pages(&self.inner.file)?;
        ioctl::reread_partitions(&self.inner.file)
    }

    /// Make a partition node in the running kernel; the table on the device is not touched.
    ///
    /// # Errors
    ///
    /// `EBUSY` when the number or the range is taken, `EINVAL` when the range is empty or outside.
    pub fn add_partition(&self, number: u32, range: ByteRange) -> Result<(), Errno> {
        ioctl::add_partition(
            &self.inner.file,
            number,
            range.from.get(),
            range.length().get(),
        )
    }

    /// Remove a partition node from the running kernel; the table on the device is not touched.
    ///
    /// # Errors
    ///
    /// `ENXIO` when there is none of this number, `EBUSY` when it is in use.
    pub fn remove_partition(&self, number: u32) -> Result<(), Errno> {
        ioctl::remove_partition(&self.inner.file, number)
    }

    /// Tell the device that it may forget a range. Its content is undefined afterwards.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` when the device cannot, `EINVAL` when the range is off its logical blocks.
    pub fn discard(&self, range: ByteRange) -> Result<(), Errno> {
        ioctl::discard(&self.inner.file, range.from.get(), range.length().get())
    }
}

reads_through_inner!(ExclusiveDevice);

impl Device for ExclusiveDevice {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        check_access(at, data, self.capacity(), self.logical_block())?;
        let result = timed::write(&self.inner.file, at, data);
        self.inner.settle(result)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let result = timed::flush(&self.inner.file);
        self.inner.settle(result)
    }
}

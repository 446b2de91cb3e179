//! A regular file in place of a device: its layout can be planned and written; its times say
//! nothing of flash.

use super::block::{explain, timed, wrong_kind};
use super::open_error::{OpenError, check_size};
use super::sysfs::{self, Roots};
use super::{AccessError, AlignedBuffer, Device, ReadDevice, check_access};
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock};
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::unistd::AccessFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// An image file, open for reading only.
#[derive(Debug)]
pub struct ImageFile {
    file: File,
    facts: Facts,
    capacity: Bytes,
    cached: bool,
    clock: Duration,
}

/// Open an image for reading. `block` is the logical block that a device with this content has:
/// the file itself does not tell.
///
/// # Errors
///
/// Anything but a readable regular file of a size worth planning for.
pub fn open(path: &Path, block: LogicalBlock) -> Result<ImageFile, OpenError> {
    ImageFile::open(path, block, OpenOptions::new().read(true))
}

impl ImageFile {
    fn open(
        path: &Path,
        block: LogicalBlock,
        options: &OpenOptions,
    ) -> Result<ImageFile, OpenError> {
        let given = path.to_string_lossy().into_owned();
        let explain = |error: std::io::Error| explain(&given, Some(path), &error);
        // Looked at first: opening a pipe would block.
        let metadata = std::fs::metadata(path).map_err(explain)?;
        if !metadata.is_file() {
            return Err(wrong_kind(given, &metadata.file_type(), "a regular file"));
        }
        if metadata.len() == 0 {
            // Files of the kernel tell no size, and none can be given to them.
            let of_kernel =
                |real: std::path::PathBuf| real.starts_with("/proc") || real.starts_with("/sys");
            if std::fs::canonicalize(path).is_ok_and(of_kernel) {
                return Err(OpenError::WrongKind {
                    path: given,
                    found: "a file of the kernel",
                    wanted: "a disk or an image",
                });
            }
            return Err(OpenError::EmptyFile { path: given });
        }
        let unit = block.bytes().get();
        let capacity = Bytes(metadata.len() / unit * unit);
        check_size(&given, capacity, unit)?;
        let mut direct = options.clone();
        direct.custom_flags(libc::O_DIRECT | libc::O_CLOEXEC);
        // Some file systems refuse O_DIRECT when the file is opened (tmpfs before Linux 6.6),
        // others want larger units than the logical block.
        let file = direct.open(path).ok().filter(|file| {
            let mut buffer = AlignedBuffer::new(usize::try_from(unit).unwrap_or(4096));
            timed::read(file, block.bytes(), &mut buffer).is_ok()
        });
        let cached = file.is_none();
        let file = match file {
            Some(file) => file,
            None => options.open(path).map_err(explain)?,
        };
        Ok(ImageFile {
            file,
            facts: Facts::bare(given, Transport::Image, Some(capacity), block),
            capacity,
            cached,
            clock: Duration::ZERO,
        })
    }

    /// Whether reads may come from the page cache, so that times mean nothing at all.
    pub fn is_cached(&self) -> bool {
        self.cached
    }

    fn count(&mut self, result: Result<Duration, AccessError>) -> Result<Duration, AccessError> {
        if let Ok(took) = result {
            self.clock += took;
        }
        result
    }
}

impl ReadDevice for ImageFile {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        check_access(at, into, self.capacity, self.facts.logical_block)?;
        let result = timed::read(&self.file, at, into);
        self.count(result)
    }

    fn wait(&mut self, time: Duration) {
        self.clock += timed::wait(time);
    }

    fn clock(&self) -> Duration {
        self.clock
    }
}

/// An image file that is open for writing, and locked.
#[derive(Debug)]
pub struct WritableImage {
    inner: ImageFile,
    _lock: Flock<File>,
}

/// Refuse a file that a loop device shows: its cache would not see what is written here.
fn refuse_attached(path: &Path) -> Result<(), OpenError> {
    match sysfs::loop_device_of(&Roots::system(), path) {
        None => Ok(()),
        Some((by, release)) => Err(OpenError::ImageInUse {
            path: path.to_string_lossy().into_owned(),
            by,
            release,
        }),
    }
}

impl WritableImage {
    /// Whether this name still leads to the file that is open, with the size that it had. Somebody may
    /// have thought for minutes since it was opened.
    ///
    /// # Errors
    ///
    /// A loop device shows it now.
    pub fn is_still(&self, path: &Path) -> Result<bool, OpenError> {
        refuse_attached(path)?;
        let unit = self.logical_block().bytes().get();
        let (Ok(named), Ok(open)) = (std::fs::metadata(path), self.inner.file.metadata()) else {
            return Ok(false);
        };
        let is_same = (named.dev(), named.ino()) == (open.dev(), open.ino());
        Ok(is_same && open.len() / unit * unit == self.capacity().get())
    }
}

/// Whether an image can be opened for writing, asked before anything that takes long.
///
/// # Errors
///
/// As [`open_writable`], but for a lock.
pub fn check_writable(path: &Path) -> Result<(), OpenError> {
    refuse_attached(path)?;
    let given = path.to_string_lossy();
    // Asked, not tried out: a dry run asks too, and opens nothing for writing.
    nix::unistd::eaccess(path, AccessFlags::W_OK)
        .map_err(|errno| explain(&given, Some(path), &errno.into()))
}

/// Open an image for reading and writing.
///
/// # Errors
///
/// As [`open`]; besides, a file that another program has locked, or that is attached to a loop
/// device, whose cache would not see what is written here.
pub fn open_writable(path: &Path, block: LogicalBlock) -> Result<WritableImage, OpenError> {
    refuse_attached(path)?;
    let inner = ImageFile::open(path, block, OpenOptions::new().read(true).write(true))?;
    let given = &inner.facts.path;
    let second = inner.file.try_clone();
    let second = second.map_err(|error| explain(given, Some(path), &error))?;
    let lock = Flock::lock(second, FlockArg::LockExclusiveNonblock);
    let lock = lock.map_err(|_| OpenError::Locked {
        path: given.clone(),
    })?;
    Ok(WritableImage { inner, _lock: lock })
}

reads_through_inner!(WritableImage);

impl Device for WritableImage {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        check_access(at, data, self.capacity(), self.logical_block())?;
        let result = timed::write(&self.inner.file, at, data);
        self.inner.count(result)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let result = timed::flush(&self.inner.file);
        self.inner.count(result)
    }
}

//! One system call, and the time it took.

use crate::device::AccessError;
use crate::units::Bytes;
use nix::errno::Errno;
use nix::sys::uio::{pread, pwrite};
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

/// A sleeping thread wakes late by the timer slack, 50 µs by default (prctl(2),
/// PR_SET_TIMERSLACK), and some scheduling: the end of a wait is spun instead.
const SPIN: Duration = Duration::from_micros(60);

/// Read `into.len()` bytes at `at` with one system call. A call that a signal interrupted is
/// repeated, and only the repetition is timed. Nothing is allocated unless the read fails.
pub(in crate::device) fn read(
    file: &File,
    at: Bytes,
    into: &mut [u8],
) -> Result<Duration, AccessError> {
    let offset = offset(at, into.len())?;
    loop {
        let start = Instant::now();
        let result = pread(file, into, offset);
        let took = start.elapsed();
        match result {
            Ok(length) if length == into.len() => return Ok(took),
            // A block device ends early only when it lost its capacity.
            Ok(_) => return Err(AccessError::Gone { at: at.get() }),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(access_error(errno, at, into.len())),
        }
    }
}

/// Write `data` at `at` with one system call, under the same rules as [`read`].
pub(in crate::device) fn write(
    file: &File,
    at: Bytes,
    data: &[u8],
) -> Result<Duration, AccessError> {
    let offset = offset(at, data.len())?;
    loop {
        let start = Instant::now();
        let result = pwrite(file, data, offset);
        let took = start.elapsed();
        match result {
            Ok(length) if length == data.len() => return Ok(took),
            // A device that lost its capacity, or an image on a full file system.
            Ok(length) => {
                return Err(AccessError::Io {
                    at: at.get(),
                    reason: format!("only {length} of {} bytes were written", data.len()),
                });
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(access_error(errno, at, data.len())),
        }
    }
}

/// Make all writes durable with one system call.
pub(in crate::device) fn flush(file: &File) -> Result<Duration, AccessError> {
    loop {
        let start = Instant::now();
        let result = nix::unistd::fdatasync(file);
        let took = start.elapsed();
        match result {
            Ok(()) => return Ok(took),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(access_error(errno, Bytes::ZERO, 0)),
        }
    }
}

/// Let `time` pass: asleep for the most of it, and spinning at the end. Returns the time that
/// really passed.
pub(in crate::device) fn wait(time: Duration) -> Duration {
    let start = Instant::now();
    if let Some(sleep) = time.checked_sub(SPIN).filter(|sleep| !sleep.is_zero()) {
        thread::sleep(sleep);
    }
    loop {
        let passed = start.elapsed();
        if passed >= time {
            return passed;
        }
        std::hint::spin_loop();
    }
}

fn offset(at: Bytes, length: usize) -> Result<nix::libc::off_t, AccessError> {
    nix::libc::off_t::try_from(at.get()).map_err(|_| AccessError::Unaligned {
        at: at.get(),
        length: length as u64,
        reason: "it lies beyond the largest file offset".into(),
    })
}

/// What an errno of a read or a write means.
fn access_error(errno: Errno, at: Bytes, length: usize) -> AccessError {
    match errno {
        Errno::ENXIO | Errno::ENODEV | Errno::ENOMEDIUM => AccessError::Gone { at: at.get() },
        Errno::EINVAL => AccessError::Unaligned {
            at: at.get(),
            length: length as u64,
            reason: "the kernel rejects this offset, length or buffer address for direct access"
                .into(),
        },
        Errno::EIO => AccessError::Io {
            at: at.get(),
            reason: "the device reports a failure (EIO)".to_owned(),
        },
        errno => AccessError::Io {
            at: at.get(),
            reason: format!("{} ({errno:?})", errno.desc().to_lowercase()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_medium_is_gone_and_a_bad_place_is_an_io_error() {
        for errno in [Errno::ENXIO, Errno::ENODEV, Errno::ENOMEDIUM] {
            let error = access_error(errno, Bytes(4096), 512);
            assert_eq!(error, AccessError::Gone { at: 4096 });
        }
        for errno in [
            Errno::EIO,
            Errno::EREMOTEIO,
            Errno::ENODATA,
            Errno::ETIMEDOUT,
        ] {
            let error = access_error(errno, Bytes(4096), 512);
            assert!(matches!(error, AccessError::Io { at: 4096, .. }), "{errno}");
        }
        let error = access_error(Errno::EINVAL, Bytes(1), 512);
        assert!(matches!(
            error,
            AccessError::Unaligned {
                at: 1,
                length: 512,
                ..
            }
        ));
    }

    #[test]
    fn a_wait_is_never_too_short() {
        for micros in [0, 1, 59, 61, 300, 2000] {
            let asked = Duration::from_micros(micros);
            assert!(wait(asked) >= asked);
        }
    }

    #[test]
    fn an_offset_beyond_the_file_interface_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let error = read(&file, Bytes(u64::MAX), &mut [0; 512]).unwrap_err();
        assert!(matches!(error, AccessError::Unaligned { .. }));
    }

    #[test]
    fn a_short_read_means_that_the_device_is_gone() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(700).unwrap();
        assert!(read(&file, Bytes(0), &mut [0; 512]).is_ok());
        let error = read(&file, Bytes(512), &mut [0; 512]).unwrap_err();
        assert_eq!(error, AccessError::Gone { at: 512 });
    }
}

//! Where backups are kept, and how they get there for good.

use crate::error::Error;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where root's backups are, whoever's home `sudo` chose.
const ROOTS_FOLDER: &str = "/var/lib/flashfit";

/// A place for a new backup.
pub struct Place {
    path: PathBuf,
    /// Whether `path` was typed, and so is final; else a number is added when it is taken.
    typed: bool,
}

/// The place that was typed, or one in the user's state directory, named after the device and the
/// present time. Nothing is made yet.
///
/// # Errors
/// A name that is taken, and a user without a state directory.
pub fn place(typed: Option<&Path>, device: &str) -> Result<Place, Error> {
    place_of(typed, device, "json")
}

/// The same for the journal of write tests.
///
/// # Errors
/// As [`place`].
pub fn journal(typed: Option<&Path>, device: &str) -> Result<PathBuf, Error> {
    Ok(place_of(typed, device, "journal")?.path)
}

/// Keep a report beside the backups, named after the device and the present time. Gives its name.
///
/// # Errors
/// No such place, or it cannot be written.
pub fn keep_report(device: &str, text: &str) -> Result<PathBuf, Error> {
    let place = place_of(None, device, "report.json")?;
    place.keep(text, |path, error| {
        Error::failed(format!(
            "the report cannot be kept in {}: {error}",
            path.display()
        ))
        .hint("name another place with --report FILE")
    })
}

fn place_of(typed: Option<&Path>, device: &str, extension: &str) -> Result<Place, Error> {
    if let Some(path) = typed {
        if path == Path::new("") {
            return Err(Error::usage("the name after --backup is empty").hint("name a file"));
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(taken(path));
        }
        return Ok(Place {
            path: path.to_owned(),
            typed: true,
        });
    }
    let folder = state_folder().ok_or_else(|| {
        Error::failed("no place for the backup: neither XDG_STATE_HOME nor HOME is set")
            .hint("name one with --backup FILE")
    })?;
    let name = format!("{}-{}.{extension}", file_name(device), time_of_day());
    Ok(Place {
        path: folder.join(name),
        typed: false,
    })
}

fn taken(path: &Path) -> Error {
    Error::usage(format!(
        "--backup {}: it exists, and a backup never replaces anything",
        path.display()
    ))
    .hint("name a new file")
}

/// `$XDG_STATE_HOME/flashfit` (XDG Base Directory Specification 0.8), else root's folder or
/// `~/.local/state/flashfit`.
fn state_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from)?;
        // The specification says that relative paths are to be ignored.
        path.is_absolute().then_some(path)
    };
    if let Some(state) = absolute("XDG_STATE_HOME") {
        return Some(state.join("flashfit"));
    }
    // The owner of this process's directory in /proc is its effective user.
    if fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        return Some(PathBuf::from(ROOTS_FOLDER));
    }
    Some(absolute("HOME")?.join(".local/state/flashfit"))
}

/// The last part of a device's name, of characters that need no quoting.
fn file_name(device: &str) -> String {
    let last = device.trim_end_matches('/').rsplit('/').next();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = last
        .unwrap_or_default()
        .chars()
        .map(plain)
        .take(80)
        .collect();
    match name.trim_start_matches('.') {
        "" => "device".to_owned(),
        name => name.to_owned(),
    }
}

/// `20261130-121500`, in UTC.
fn time_of_day() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    stamp(since.map_or(0, |since| since.as_secs()))
}

fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Counted from 1 March of the year 0, so that the leap day is the last of its year: Howard
    // Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + carry;
    format!(
        "{year:04}{month:02}{day:02}-{:02}{:02}{:02}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

impl Place {
    /// Put `text` there for good: the file is new, readable by its owner only, and it and its name
    /// are flushed to the disk when this returns.
    ///
    /// # Errors
    /// Nothing may be written to the device then.
    pub fn save(&self, text: &str) -> Result<PathBuf, Error> {
        self.keep(text, |path, error| {
            Error::failed(format!(
                "cannot save the backup to {}: {error}; nothing was written to the device",
                path.display()
            ))
            .hint("name another place with --backup FILE")
        })
    }

    /// The same for any text; `failed` says what it means when it cannot be kept.
    fn keep(
        &self,
        text: &str,
        failed: impl Fn(&Path, &io::Error) -> Error,
    ) -> Result<PathBuf, Error> {
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !self.typed {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(|error| failed(folder, &error))?;
        }
        let (path, mut file) = match self.create() {
            Ok(made) => made,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(taken(&self.path));
            }
            Err(error) => return Err(failed(&self.path, &error)),
        };
        let saved = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| File::open(folder)?.sync_all())
            .and_then(|()| fs::read_to_string(&path))
            .and_then(|back| {
                if back == text {
                    Ok(())
                } else {
                    Err(io::Error::other("other bytes are read back"))
                }
            });
        if let Err(error) = saved {
            // Half a backup is none; what cannot be removed either is the smaller trouble.
            let _ = fs::remove_file(&path);
            return Err(failed(&path, &error));
        }
        Ok(path)
    }

    fn create(&self) -> io::Result<(PathBuf, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        for attempt in 1..=100u32 {
            let path = if attempt == 1 {
                self.path.clone()
            } else {
                self.path.with_extension(format!("{attempt}.json"))
            };
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !self.typed => {}
                other => return other.map(|file| (path, file)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (951_868_799, "20000229-235959"),
            (1_796_040_900, "20261130-121500"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(stamp(seconds), text);
        }
    }

    #[test]
    fn a_device_gives_its_last_name_without_odd_characters() {
        for (device, name) in [
            ("/dev/sdb", "sdb"),
            ("/dev/disk/by-id/usb-A_B:0-0:0", "usb-A_B_0-0_0"),
            ("sim:3m#1 2", "sim_3m_1_2"),
            ("../..", "device"),
            ("", "device"),
        ] {
            assert_eq!(file_name(device), name);
        }
    }

    #[test]
    fn a_backup_is_private_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup.json");
        let typed = place(Some(&path), "x").unwrap();
        assert_eq!(typed.save("one").unwrap(), path);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        for refused in [
            typed.save("two").map(drop),
            place(Some(&path), "x").map(drop),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("never replaces"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        let ours = Place {
            path: path.clone(),
            typed: false,
        };
        let second = ours.save("two").unwrap();
        assert_eq!(second, folder.path().join("backup.2.json"));
    }

    #[test]
    fn what_cannot_be_saved_leaves_no_file() {
        let error = place(Some(Path::new("/dev/full/x")), "x")
            .unwrap()
            .save("text")
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("nothing was written to the device"),
            "{error}"
        );
    }
}

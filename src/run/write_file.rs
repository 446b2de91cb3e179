//! Saving a report so that a reader finds either the old file or the whole new one.

use super::read_file::STDIN;
use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Put `text` into the file of this name, replacing what it held.
///
/// A regular file is replaced at one stroke: written beside it and renamed, and keeps its mode.
/// Everything else is refused: nothing here may write to a medium, or wait for the reader of a pipe.
///
/// # Errors
/// A name that cannot be written to, and why.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_option("--report", path, text)
}

/// The same for what another option names.
///
/// # Errors
/// As [`write`].
pub(super) fn write_option(option: &str, path: &Path, text: &str) -> Result<(), Error> {
    save(path, text).map_err(|error| cannot_write(option, path, &error))
}

fn cannot_write(option: &str, path: &Path, error: &io::Error) -> Error {
    Error::failed(format!("cannot write {}: {error}", path.display()))
        .hint(format!("name another file after {option}"))
}

/// Whether the file that this option names could be written, asked before the measurement that it
/// is to hold.
///
/// # Errors
/// A name that cannot be written to, and one of a file in `inputs`, which would be lost: links are
/// followed, and hard links count too.
pub(super) fn check_option(option: &str, path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if path == Path::new("") {
        return Err(Error::usage(format!("the name after {option} is empty")).hint("name a file"));
    }
    if let Ok(target) = fs::metadata(path) {
        let is_target = |input: &&PathBuf| {
            let input = if **input == Path::new(STDIN) {
                Path::new("/dev/stdin")
            } else {
                input.as_path()
            };
            fs::metadata(input)
                .is_ok_and(|found| (found.dev(), found.ino()) == (target.dev(), target.ino()))
        };
        if let Some(input) = inputs.iter().find(is_target) {
            return Err(Error::usage(format!(
                "{option} {} would replace {}, which is read here",
                path.display(),
                input.display()
            ))
            .hint(format!("name another file after {option}")));
        }
    }
    let try_out = || {
        let target = target_of(path)?;
        let (folder, name) = place_of(&target)?;
        let (temporary, _) = create_beside(folder, &name)?;
        fs::remove_file(temporary)
    };
    try_out().map_err(|error| cannot_write(option, path, &error))
}

/// Whether two names lead to one file, be it there already or not.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| -> Option<PathBuf> {
        if let Ok(whole) = fs::canonicalize(path) {
            return Some(whole);
        }
        let (folder, name) = place_of(path).ok()?;
        Some(fs::canonicalize(folder).ok()?.join(name))
    };
    a == b || place(a).is_some_and(|place_of_a| Some(place_of_a) == place(b))
}

fn save(path: &Path, text: &str) -> io::Result<()> {
    replace(&target_of(path)?, text)
}

/// The file that the name leads to, unless it is something other than a file.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    // A link is followed, so that it stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let found = match fs::metadata(&target) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
        Err(error) => return Err(error),
    };
    let kind = found.file_type();
    let objection = if kind.is_file() {
        return Ok(target);
    } else if kind.is_dir() {
        "it is a directory"
    } else if kind.is_block_device() || kind.is_char_device() {
        "it is a device, and a report is a file"
    } else if kind.is_fifo() {
        "it is a pipe, and a report is a file (--json prints it on stdout)"
    } else {
        "it is a socket, and a report is a file"
    };
    Err(io::Error::other(objection))
}

/// Its folder and its name there.
fn place_of(target: &Path) -> io::Result<(&Path, String)> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::other("it names no file"))?;
    Ok((folder, name.to_string_lossy().into_owned()))
}

fn replace(target: &Path, text: &str) -> io::Result<()> {
    let (folder, name) = place_of(target)?;
    let (temporary, mut file) = create_beside(folder, &name)?;
    let written = keep_owner_and_mode(target, &file)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // The name is ours; what cannot be removed either is the smaller trouble.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Give the new file the rights of the one that it replaces, if there is one.
fn keep_owner_and_mode(target: &Path, file: &File) -> io::Result<()> {
    let Ok(old) = fs::metadata(target) else {
        return Ok(());
    };
    // Only root may give files away; for everybody else the new file is their own.
    let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    file.set_permissions(old.permissions())
}

/// A new file in the folder, whose name begins like the one that it will get.
fn create_beside(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let process = std::process::id();
    let mut attempt = 0;
    loop {
        let path = folder.join(format!(".{name}.{process}-{attempt}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_at_one_stroke_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write(&path, "old, and longer").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        // An open reader keeps the old content whole.
        let mut reader = File::open(&path).unwrap();
        write(&link, "new").unwrap();
        let mut old = String::new();
        io::Read::read_to_string(&mut reader, &mut old).unwrap();
        assert_eq!(old, "old, and longer");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_named_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for (path, says) in [
            (folder.path().to_owned(), "it is a directory"),
            (folder.path().join("none/report.json"), "No such file"),
        ] {
            let error = write(&path, "text").unwrap_err().to_string();
            assert!(
                error.contains(&path.display().to_string()) && error.contains(says),
                "{error}"
            );
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_character_device_is_neither_written_to_nor_replaced() {
        for refused in [
            check_option("--report", Path::new("/dev/null"), &[]),
            write(Path::new("/dev/null"), "text"),
        ] {
            assert!(refused.unwrap_err().to_string().contains("it is a device"));
        }
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
    }

    #[test]
    fn two_names_of_one_file_are_known_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(folder.path(), path("link")).unwrap();
        assert!(is_same(&path("a"), &path("link/a")));
        assert!(!is_same(&path("a"), &path("b")));
        fs::write(path("a"), "").unwrap();
        std::os::unix::fs::symlink(path("a"), path("b")).unwrap();
        assert!(is_same(&path("a"), &path("b")));
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for mode in [0o600, 0o664] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write(&path, "new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        }
    }
}

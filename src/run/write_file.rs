//! Saving a report so that a reader finds either the old file or the whole new one.

use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Put `text` into the file of this name, replacing what it held.
///
/// A regular file is replaced at one stroke: written beside it and renamed. A pipe or a terminal is
/// written to. A block device is refused: nothing here may write to a medium.
///
/// # Errors
/// A name that cannot be written to, and why.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    save(path, text).map_err(|error| {
        Error::failed(format!("cannot write {}: {error}", path.display()))
            .hint("name another file after --report")
    })
}

fn save(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed, so that it stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a directory")),
        Ok(found) if found.file_type().is_block_device() => {
            Err(io::Error::other("it is a device, and a report is a file"))
        }
        Ok(found) if !found.is_file() => OpenOptions::new()
            .write(true)
            .open(&target)?
            .write_all(text.as_bytes()),
        _ => replace(&target, text),
    }
}

fn replace(target: &Path, text: &str) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::other("it names no file"))?;
    let (temporary, mut file) = create_beside(folder, &name.to_string_lossy())?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // The name is ours; what cannot be removed either is the smaller trouble.
        let _ = fs::remove_file(&temporary);
    }
    written
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
    fn a_character_device_is_written_to_and_not_replaced() {
        write(Path::new("/dev/null"), "text").unwrap();
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
    }
}

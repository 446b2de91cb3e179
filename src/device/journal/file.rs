//! Where the bytes of a journal are: in a file, or in memory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that are appended to.
#[derive(Debug)]
pub(super) enum Store {
    /// A file and its name.
    File(File, PathBuf),
    /// Nothing that outlives the program.
    Memory(Vec<u8>),
}

impl Store {
    /// A new file that only its owner reads: it holds pieces of what is on the device.
    pub(super) fn create(path: &Path) -> io::Result<Store> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // The name of a new file is durable only with its folder.
        File::open(folder)?.sync_all()?;
        Ok(Store::File(file, path.to_owned()))
    }

    /// An existing file.
    pub(super) fn open(path: &Path) -> io::Result<Store> {
        // Looked at first: opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Store::File(file, path.to_owned()))
    }

    pub(super) fn memory() -> Store {
        Store::Memory(Vec::new())
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Store::File(_, path) => Some(path),
            Store::Memory(_) => None,
        }
    }

    pub(super) fn size(&self) -> io::Result<u64> {
        match self {
            Store::File(file, _) => Ok(file.metadata()?.len()),
            Store::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Write the pieces from `end` on, and give the new end. What lay behind `end` is cut off.
    pub(super) fn append(&mut self, end: u64, pieces: &[&[u8]]) -> io::Result<u64> {
        match self {
            Store::File(file, _) => {
                let mut at = end;
                for piece in pieces {
                    if let Err(error) = file.write_all_at(piece, at) {
                        self.cut(end);
                        return Err(error);
                    }
                    at += piece.len() as u64;
                }
                Ok(at)
            }
            Store::Memory(bytes) => {
                bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
                for piece in pieces {
                    bytes.extend_from_slice(piece);
                }
                Ok(bytes.len() as u64)
            }
        }
    }

    /// Drop what lies behind `end`, if that is possible: a reader copes with it all the same.
    pub(super) fn cut(&mut self, end: u64) {
        match self {
            Store::File(file, _) => {
                let _ = file.set_len(end);
            }
            Store::Memory(bytes) => bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX)),
        }
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        match self {
            Store::File(file, _) => file.sync_data(),
            Store::Memory(_) => Ok(()),
        }
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Store::File(file, _) => file.read_exact_at(into, at),
            Store::Memory(bytes) => {
                let piece = usize::try_from(at)
                    .ok()
                    .and_then(|at| bytes.get(at..at.checked_add(into.len())?));
                match piece {
                    Some(piece) => {
                        into.copy_from_slice(piece);
                        Ok(())
                    }
                    None => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
        }
    }

    pub(super) fn remove(self) -> Result<(), (PathBuf, io::Error)> {
        match self {
            Store::File(_, path) => fs::remove_file(&path).map_err(|error| (path, error)),
            Store::Memory(_) => Ok(()),
        }
    }
}

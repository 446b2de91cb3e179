//! Reading what the user names: a report, a log, or stdin.

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No report and no log comes near this; what is longer is a slip, such as a device or /dev/zero.
const LONGEST: u64 = 64 << 20;

/// The name that means stdin.
pub const STDIN: &str = "-";

/// All bytes of a regular file, or of stdin.
///
/// # Errors
/// A file that cannot be read, or is too long to be what is asked for. Everything but a regular file is
/// refused before it is opened: opening a pipe would wait for a writer that may never come.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let is_odd = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if path != Path::new(STDIN) && is_odd {
        return Err(Error::failed(format!(
            "cannot read {}: it is no regular file",
            path.display()
        ))
        .hint("save it to a file first"));
    }
    read_stream(path)
}

/// All bytes of whatever has this name: what another program prints may come through a pipe.
///
/// # Errors
/// As [`read`], but pipes and the like are read to their end.
pub fn read_stream(path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.display();
    let failed = |error: std::io::Error| {
        let (what, hint) = match error.kind() {
            std::io::ErrorKind::NotFound => ("no such file".to_owned(), "check the name"),
            std::io::ErrorKind::IsADirectory => ("it is a directory".to_owned(), "name a file"),
            std::io::ErrorKind::PermissionDenied => (
                "no permission".to_owned(),
                "copy it to a place where you may read it",
            ),
            _ => (error.to_string(), "copy it to another disk and try again"),
        };
        Error::failed(format!("cannot read {name}: {what}")).hint(hint)
    };
    let mut bytes = Vec::new();
    if path == Path::new(STDIN) {
        let stdin = std::io::stdin().lock();
        stdin.take(LONGEST + 1).read_to_end(&mut bytes)
    } else {
        let file = File::open(path).map_err(failed)?;
        file.take(LONGEST + 1).read_to_end(&mut bytes)
    }
    .map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::failed(format!(
            "{name} is longer than {} MiB, so it is neither a report nor a log",
            LONGEST >> 20
        ))
        .hint("name the file that 'scan --report' or flashbench made"));
    }
    Ok(bytes)
}

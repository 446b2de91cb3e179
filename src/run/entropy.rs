//! Where new identifiers come from.

use crate::error::Error;
use std::fs::File;
use std::io::Read;

/// The kernel's generator, see random(4).
const GENERATOR: &str = "/dev/urandom";

/// 16 random bytes.
///
/// # Errors
/// A system without the generator, such as a bare chroot.
pub fn entropy() -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    File::open(GENERATOR)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| {
            Error::failed(format!("cannot read {GENERATOR}: {error}"))
                .hint("identifiers can be derived from a text instead: --id-seed TEXT")
        })?;
    Ok(bytes)
}

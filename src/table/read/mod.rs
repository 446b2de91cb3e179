//! What is on a device now: tables, file systems, signatures. Reads only, and trusts nothing: any
//! bytes at all give an answer, never a panic, and never more memory than a few hundred kilobytes.
//!
//! The formats (`mbr`, `fat`) are plain structs with a `parse` that takes bytes; only
//! `window` and `signatures` read a device.
//!
//! | file | question |
//! |---|---|
//! | `bytes` | how does one take numbers out of bytes without trusting their length? |
//! | `window` | how does one read a few bytes of a device that only gives whole blocks? |
//! | `mbr` | what does a master boot record say? |
//! | `fat` | what does a FAT boot sector say? |
//! | `signatures` | what is there that other systems would recognise? |

mod bytes;
pub mod fat;
pub mod mbr;
pub mod signatures;
mod window;

pub use signatures::{Signature, SignatureKind, signatures};

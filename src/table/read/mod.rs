//! What is on a device now: tables, file systems, signatures. Reads only, and trusts nothing: any
//! bytes at all give an answer, never a panic, and never more memory than a few megabytes.
//!
//! The formats are plain structs with a `parse` that takes bytes; only `window`, `copies`,
//! `logical`, `contents` and `signatures` read a device.
//!
//! | file | question |
//! |---|---|
//! | `contents` | what is on this device? |
//! | `copies` | what do the copies of its GPT say? |
//! | `logical` | which partitions lie in an extended one? |
//! | `signatures` | what is there that other systems would recognise? |
//! | `filesystem` | which file system is it, and where do its data begin? |
//! | `mbr`, `gpt` | what does this table say? |
//! | `fat`, `exfat`, `ext`, `f2fs`, `btrfs`, `ntfs`, `xfs` | what does this superblock say? |
//! | `window` | how does one read a few bytes of a device that only gives whole blocks? |
//! | `bytes`, `crc` | numbers and checksums of bytes whose length is not to be trusted |

pub mod btrfs;
mod bytes;
pub mod contents;
mod copies;
pub(super) mod crc;
pub mod exfat;
pub mod ext;
pub mod f2fs;
pub mod fat;
pub mod filesystem;
pub mod gpt;
mod logical;
pub mod mbr;
pub mod ntfs;
pub mod signatures;
mod window;
pub mod xfs;

pub use contents::{Contents, contents};
pub use signatures::{Signature, SignatureKind, signatures};

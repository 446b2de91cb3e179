//! Why a device or an image cannot be opened: what happened, and what to run next.

use super::sysfs::{Use, Virtual};
use crate::quote::shell_word;
use crate::units::{Bytes, LogicalBlock};

/// The smallest device that is worth measuring: the scans compare several erase blocks with one
/// another, and 4 MiB is the common erase block of sticks from 2 GB on, so that four of them is
/// the least that gives one comparison.
pub const SMALLEST_DEVICE: Bytes = Bytes::mib(16);

/// Why a device or an image cannot be opened. Every text names what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The path does not exist, or the node has no device behind it.
    #[error("{path}: no such device; plug it in, then run: flashfit list")]
    NotFound {
        /// As given.
        path: String,
    },
    /// ELOOP.
    #[error(
        "{path}: the symbolic links lead in a circle, or there are too many; name the device itself, as shown by: flashfit list"
    )]
    LinkLoop {
        /// As given.
        path: String,
    },
    /// ENAMETOOLONG.
    #[error("{}...: this name is too long for any file; check it, or run: flashfit list", path.chars().take(40).collect::<String>())]
    NameTooLong {
        /// As given.
        path: String,
    },
    /// Memory that looks like a disk.
    #[error("{path} is memory in the guise of a disk, never a target; run: flashfit list")]
    Memory {
        /// As given.
        path: String,
    },
    /// EACCES or EPERM.
    #[error("{}", permission_text(path, group.as_deref(), "scan"))]
    Permission {
        /// As given.
        path: String,
        /// The group that owns the node, when there is one besides root's.
        group: Option<String>,
    },
    /// A reader without a card (ENOMEDIUM, or a size of 0).
    #[error("{path}: no card in this slot; insert one, then run: flashfit list")]
    NoMedium {
        /// As given.
        path: String,
    },
    /// A loop device that no file is attached to.
    #[error("{path}: no file is attached to this loop device; run: losetup {path} FILE")]
    NothingAttached {
        /// As given.
        path: String,
    },
    /// A partition.
    #[error("{path} is a partition; name the whole disk instead: {disk}")]
    Partition {
        /// As given.
        path: String,
        /// The node of the whole disk.
        disk: String,
    },
    /// A directory.
    #[error("{path} is a directory, not a device; run: flashfit list")]
    Directory {
        /// As given.
        path: String,
    },
    /// A character device.
    #[error("{path} is a character device, not a disk; run: flashfit list")]
    CharacterDevice {
        /// As given.
        path: String,
    },
    /// A socket, a pipe, or a file where a block device is asked for and the other way round.
    #[error("{path} is {found}, not {wanted}; run: flashfit list")]
    WrongKind {
        /// As given.
        path: String,
        /// What it is.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A file without content.
    #[error(
        "{path} is an empty file; give it a size first, such as: truncate -s 4G {}",
        shell_word(path)
    )]
    EmptyFile {
        /// As given.
        path: String,
    },
    /// Less than [`SMALLEST_DEVICE`].
    #[error(
        "{path} has only {size}, the least that can be measured is {SMALLEST_DEVICE}; run 'flashfit list' for other devices"
    )]
    TooSmall {
        /// As given.
        path: String,
        /// Its size.
        size: Bytes,
    },
    /// Neither 512 nor 4096.
    #[error(
        "{path} has logical blocks of {bytes}; only 512 and 4096 bytes are supported, run 'flashfit list' for other devices"
    )]
    UnsupportedBlock {
        /// As given.
        path: String,
        /// What it has.
        bytes: Bytes,
    },
    /// A boot or replay-protected area of an eMMC.
    #[error(
        "{path} is a hardware area of the eMMC that boot code or keys live in, never a target; name the user area instead: {disk}"
    )]
    BootArea {
        /// As given.
        path: String,
        /// The node of the user area.
        disk: String,
    },
    /// A by-id name that several present disks claim.
    #[error("{path} could mean any of {}: they report the same identity; name one of these instead: {}", disks.join(", "), instead.join(", "))]
    AmbiguousName {
        /// As given.
        path: String,
        /// The nodes that share the identity.
        disks: Vec<String>,
        /// Names that tell them apart.
        instead: Vec<String>,
    },
    /// sysfs does not know the device.
    #[error(
        "{path}: the kernel lists no such block device in /sys; plug it in (or mount /sys), then run: flashfit list"
    )]
    NotInSysfs {
        /// As given.
        path: String,
    },
    /// Somebody else uses it; only when it is opened for writing.
    #[error("{}", in_use_text(path, uses))]
    InUse {
        /// As given.
        path: String,
        /// By whom; empty when nothing visible explains the claim.
        uses: Vec<Use>,
    },
    /// Another program holds the lock that partitioners and udev take; only when it is opened for
    /// writing.
    #[error(
        "{path} is locked by another program, such as a partitioner or a probe of udev; wait for it, or run 'lslocks' to see it, then run the command again"
    )]
    Locked {
        /// As given.
        path: String,
    },
    /// The running system needs it; only when it is opened for writing.
    #[error(
        "{path} is a disk of the running system ({}), never a target; run: flashfit list",
        uses.iter().map(Use::to_string).collect::<Vec<_>>().join(", ")
    )]
    SystemDisk {
        /// As given.
        path: String,
        /// What of the system is on it.
        uses: Vec<Use>,
    },
    /// Not the disk that a person could mean; only when it is opened for writing.
    #[error("{path} is {kind}, not a medium of its own, and is not written; run: flashfit list")]
    NoMediumOfItsOwn {
        /// As given.
        path: String,
        /// What it is.
        kind: Virtual,
    },
    /// An image that is a loop device or swap space at the moment; only when it is opened for
    /// writing.
    #[error("{path} is in use as {by}; write to {by} instead, or detach it first: {release}")]
    ImageInUse {
        /// As given.
        path: String,
        /// The device that it appears as.
        by: String,
        /// The command that ends it.
        release: String,
    },
    /// Write-protected; only when it is opened for writing.
    #[error("{path} {}", read_only_text(path))]
    ReadOnly {
        /// As given.
        path: String,
    },
    /// Direct access is impossible.
    #[error(
        "{path} cannot be read past the page cache (O_DIRECT: {reason}), so nothing can be timed; connect it in another way"
    )]
    NoDirectAccess {
        /// As given.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// Anything else.
    #[error("{path}: {doing} failed: {reason}; re-plug the device and try again")]
    Io {
        /// As given.
        path: String,
        /// What was tried.
        doing: &'static str,
        /// The system's words.
        reason: String,
    },
}

/// How an [`OpenError`] is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenErrorKind {
    /// There is nothing usable behind the name.
    Failed,
    /// There is something, and flashfit will not touch it as it is.
    Refused,
    /// The system failed.
    Io,
}

impl OpenError {
    /// How it is to be counted.
    pub fn kind(&self) -> OpenErrorKind {
        match self {
            OpenError::NotFound { .. }
            | OpenError::LinkLoop { .. }
            | OpenError::NameTooLong { .. }
            | OpenError::Permission { .. }
            | OpenError::Directory { .. }
            | OpenError::CharacterDevice { .. }
            | OpenError::WrongKind { .. }
            | OpenError::EmptyFile { .. }
            | OpenError::TooSmall { .. }
            | OpenError::UnsupportedBlock { .. }
            | OpenError::NotInSysfs { .. }
            | OpenError::NoDirectAccess { .. } => OpenErrorKind::Failed,
            OpenError::NoMedium { .. }
            | OpenError::NothingAttached { .. }
            | OpenError::Partition { .. }
            | OpenError::BootArea { .. }
            | OpenError::Memory { .. }
            | OpenError::AmbiguousName { .. }
            | OpenError::InUse { .. }
            | OpenError::Locked { .. }
            | OpenError::SystemDisk { .. }
            | OpenError::NoMediumOfItsOwn { .. }
            | OpenError::ImageInUse { .. }
            | OpenError::ReadOnly { .. } => OpenErrorKind::Refused,
            OpenError::Io { .. } => OpenErrorKind::Io,
        }
    }
}

/// Refuse what is too small to measure, or has blocks that cannot be planned in.
pub(super) fn check_size(path: &str, size: Bytes, block: u64) -> Result<LogicalBlock, OpenError> {
    let unsupported = |_| OpenError::UnsupportedBlock {
        path: path.to_owned(),
        bytes: Bytes(block),
    };
    let block = LogicalBlock::try_from(block).map_err(unsupported)?;
    if size < SMALLEST_DEVICE {
        return Err(OpenError::TooSmall {
            path: path.to_owned(),
            size,
        });
    }
    Ok(block)
}

/// What to run instead, when `command` was run without the right to open the device.
pub fn permission_text(path: &str, group: Option<&str>, command: &str) -> String {
    let owner = match group {
        Some(group) => format!(" (it belongs to the group {group})"),
        None => String::new(),
    };
    format!(
        "no permission to open {path}{owner}; run: sudo flashfit {command} {}",
        shell_word(path)
    )
}

/// Only a card has a slider.
fn read_only_text(path: &str) -> &'static str {
    match path {
        path if path.starts_with("/dev/loop") => {
            "is attached read-only; detach it (losetup --detach) and attach its file without --read-only"
        }
        path if path.starts_with("/dev/") => {
            "is write-protected; push the slider of the card or adapter towards the contacts, re-insert it, and run the command again (scans are possible as it is)"
        }
        _ => "lies on a read-only file system; copy it to a place where it can be written",
    }
}

fn in_use_text(path: &str, uses: &[Use]) -> String {
    if uses.is_empty() {
        return format!(
            "{path} is claimed by another program; close it (fuser -v {} names it) and run the command again",
            shell_word(path)
        );
    }
    let said: Vec<String> = uses.iter().map(Use::to_string).collect();
    let mut release: Vec<&str> = uses.iter().map(Use::release).collect();
    release.dedup();
    format!(
        "{path} is in use: {}; release it first: {}",
        said.join(", "),
        release.join(" && ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_device_names_the_sudo_line_and_the_group() {
        let error = OpenError::Permission {
            path: "/dev/sdb".into(),
            group: Some("disk".into()),
        };
        assert_eq!(
            error.to_string(),
            "no permission to open /dev/sdb (it belongs to the group disk); run: sudo flashfit scan /dev/sdb"
        );
        assert_eq!(error.kind(), OpenErrorKind::Failed);
        let odd = OpenError::Permission {
            path: "my stick's.img".into(),
            group: None,
        };
        assert_eq!(
            odd.to_string(),
            r"no permission to open my stick's.img; run: sudo flashfit scan 'my stick'\''s.img'"
        );
    }

    #[test]
    fn size_and_block_are_checked_at_their_limits() {
        let check = |size, block| check_size("x", size, block);
        assert_eq!(check(Bytes::mib(16), 512), Ok(LogicalBlock::B512));
        assert_eq!(check(Bytes::mib(16), 4096), Ok(LogicalBlock::B4096));
        assert!(matches!(
            check(Bytes::mib(16).saturating_sub(Bytes(1)), 512),
            Err(OpenError::TooSmall { .. })
        ));
        assert!(matches!(
            check(Bytes::gib(1), 2048),
            Err(OpenError::UnsupportedBlock {
                bytes: Bytes(2048),
                ..
            })
        ));
    }

    #[test]
    fn every_text_is_one_line_that_starts_with_what_happened_and_ends_with_what_to_do() {
        let path = || "/dev/sdb".to_owned();
        let reason = || "no luck".to_owned();
        let all = [
            OpenError::NotFound { path: path() },
            OpenError::LinkLoop { path: path() },
            OpenError::NameTooLong { path: path() },
            OpenError::Memory { path: path() },
            OpenError::Permission {
                path: path(),
                group: None,
            },
            OpenError::NoMedium { path: path() },
            OpenError::NothingAttached { path: path() },
            OpenError::Partition {
                path: path(),
                disk: path(),
            },
            OpenError::Directory { path: path() },
            OpenError::CharacterDevice { path: path() },
            OpenError::WrongKind {
                path: path(),
                found: "a pipe",
                wanted: "a block device",
            },
            OpenError::EmptyFile { path: path() },
            OpenError::TooSmall {
                path: path(),
                size: Bytes(1),
            },
            OpenError::UnsupportedBlock {
                path: path(),
                bytes: Bytes(2048),
            },
            OpenError::BootArea {
                path: path(),
                disk: path(),
            },
            OpenError::AmbiguousName {
                path: path(),
                disks: vec![path()],
                instead: vec![path()],
            },
            OpenError::NotInSysfs { path: path() },
            OpenError::InUse {
                path: path(),
                uses: Vec::new(),
            },
            OpenError::ReadOnly { path: path() },
            OpenError::Locked { path: path() },
            OpenError::SystemDisk {
                path: path(),
                uses: Vec::new(),
            },
            OpenError::NoMediumOfItsOwn {
                path: path(),
                kind: Virtual::Ram,
            },
            OpenError::ImageInUse {
                path: path(),
                by: "/dev/loop3".into(),
                release: "sudo losetup -d /dev/loop3".into(),
            },
            OpenError::NoDirectAccess {
                path: path(),
                reason: reason(),
            },
            OpenError::Io {
                path: path(),
                doing: "opening",
                reason: reason(),
            },
        ];
        for error in all {
            let text = error.to_string();
            assert!(text.contains("/dev/sdb"), "{text}");
            assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
            assert!(text.starts_with('/') || text.starts_with("no "), "{text}");
            // What happened; what to do.
            let (_, to_do) = text.split_once([';', ':']).unwrap();
            let verbs = [
                "run", "name", "plug", "insert", "re-plug", "close", "connect", "truncate", "push",
                "write", "wait",
            ];
            assert!(verbs.iter().any(|verb| to_do.contains(verb)), "{text}");
        }
    }
}

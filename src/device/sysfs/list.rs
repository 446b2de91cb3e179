//! Which disks are candidates, and why the others are not.

use super::{Disk, Identity, Roots, Use, boot_area_of, entries, identity, in_use};
use crate::topology::Transport;
use crate::units::{Bytes, LogicalBlock};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// A disk with what is known of it and what is thought of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The kernel's name.
    pub name: String,
    /// Its node.
    pub path: PathBuf,
    /// Its names in `/dev/disk/by-id`, sorted. Not to be trusted when [`Candidate::twins`] is not
    /// empty.
    pub by_id: Vec<String>,
    /// Its names in `/dev/disk/by-path`, sorted.
    pub by_path: Vec<String>,
    /// Who it is.
    pub identity: Identity,
    /// Its size; zero without a medium.
    pub capacity: Bytes,
    /// Who uses it.
    pub uses: Vec<Use>,
    /// Kernel names of the other disks that report the same identity.
    pub twins: Vec<String>,
    /// Whether it may be chosen.
    pub verdict: Verdict,
}

/// Whether a disk may be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may, with these remarks.
    Eligible(Vec<Note>),
    /// It may not.
    Refused(Refusal),
}

/// A remark on a disk that may be chosen. Each is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Scans are possible, writing is not.
    ReadOnly,
    /// Scans are possible, writing is not.
    InUse(Vec<Use>),
    /// By-id names do not tell it from others.
    SharedIdentity {
        /// The others.
        with: Vec<String>,
        /// Names that do.
        instead: Vec<String>,
    },
    /// The medium is removable in the kernel's eyes, but it is neither USB nor MMC.
    RemovableOnly(Transport),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::ReadOnly => f.write_str(
                "write-protected: it can be scanned; to write, push the slider of the card or adapter and re-insert it",
            ),
            Note::InUse(uses) => {
                let uses: Vec<String> = uses.iter().map(Use::to_string).collect();
                write!(
                    f,
                    "in use ({}): it can be scanned, not written",
                    uses.join(", ")
                )
            }
            Note::SharedIdentity { with, instead } => {
                write!(f, "reports the same identity as {}", with.join(", "))?;
                match instead.first() {
                    Some(name) => write!(f, ": name it by {name}"),
                    None => f.write_str(": unplug the others before writing"),
                }
            }
            Note::RemovableOnly(transport) => {
                write!(f, "a removable medium attached by {transport}")
            }
        }
    }
}

/// Why a disk may not be chosen. Each is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A block device that is no disk of its own.
    Virtual(Virtual),
    /// A boot or replay-protected area of an eMMC.
    BootArea,
    /// A reader without a card.
    NoMedium,
    /// The running system lives on it.
    SystemDisk(Vec<Use>),
    /// Neither USB nor MMC nor removable.
    Internal(Transport),
    /// Neither 512 nor 4096 bytes.
    UnsupportedBlock(Bytes),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Virtual(kind) => write!(f, "{kind}, not a disk of its own"),
            Refusal::BootArea => {
                f.write_str("a hardware area of an eMMC that boot code or keys live in")
            }
            Refusal::NoMedium => f.write_str("no card in this slot"),
            Refusal::SystemDisk(uses) => {
                let uses: Vec<String> = uses.iter().map(Use::to_string).collect();
                write!(f, "the running system lives on it: {}", uses.join(", "))
            }
            Refusal::Internal(Transport::Unknown) => {
                f.write_str("an internal disk: neither USB nor MMC, and not removable")
            }
            Refusal::Internal(transport) => {
                write!(f, "an internal disk ({transport}), and not removable")
            }
            Refusal::UnsupportedBlock(bytes) => {
                write!(
                    f,
                    "logical blocks of {bytes}, only 512 and 4096 bytes are supported"
                )
            }
        }
    }
}

/// Block devices that are no disks of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Virtual {
    /// `loopN`.
    Loop,
    /// `ramN`.
    Ram,
    /// `zramN`.
    Zram,
    /// `srN`.
    Optical,
    /// `fdN`.
    Floppy,
    /// `dm-N`.
    DeviceMapper,
    /// `mdN`.
    Raid,
    /// `nbdN`, `drbdN`, `rbdN`.
    Network,
    /// `bcacheN`.
    Cache,
    /// `mtdblockN`, `ubiblockN_M`.
    RawFlash,
}

impl Virtual {
    /// Judge by the kernel's name; the numbers behind these names are assigned in
    /// Documentation/admin-guide/devices.txt.
    fn of(name: &str) -> Option<Virtual> {
        let kinds = [
            ("loop", Virtual::Loop),
            ("ram", Virtual::Ram),
            ("zram", Virtual::Zram),
            ("sr", Virtual::Optical),
            ("fd", Virtual::Floppy),
            ("dm-", Virtual::DeviceMapper),
            ("md", Virtual::Raid),
            ("nbd", Virtual::Network),
            ("drbd", Virtual::Network),
            ("rbd", Virtual::Network),
            ("bcache", Virtual::Cache),
            ("mtdblock", Virtual::RawFlash),
            ("ubiblock", Virtual::RawFlash),
        ];
        kinds.into_iter().find_map(|(prefix, kind)| {
            let rest = name.strip_prefix(prefix)?;
            // md arrays with names are called md_NAME.
            let named = kind == Virtual::Raid && rest.starts_with('_');
            (named || rest.starts_with(|c: char| c.is_ascii_digit())).then_some(kind)
        })
    }
}

impl fmt::Display for Virtual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Virtual::Loop => "a file shown as a disk (loop device)",
            Virtual::Ram => "a RAM disk",
            Virtual::Zram => "compressed memory (zram)",
            Virtual::Optical => "an optical drive",
            Virtual::Floppy => "a floppy drive",
            Virtual::DeviceMapper => "a device-mapper volume",
            Virtual::Raid => "a RAID array",
            Virtual::Network => "a network block device",
            Virtual::Cache => "a cached volume (bcache)",
            Virtual::RawFlash => "raw flash (MTD)",
        })
    }
}

/// All disks, each with a verdict, sorted by name.
pub fn list(roots: &Roots) -> Vec<Candidate> {
    let disks: Vec<(Disk, Identity)> = Disk::all(roots)
        .into_iter()
        .map(|disk| {
            let who = identity(&disk);
            (disk, who)
        })
        .collect();
    disks
        .iter()
        .map(|(disk, who)| {
            let others = disks.iter().filter(|(other, _)| other != disk);
            let twins = others
                .filter(|(_, other)| is_twin(who, other))
                .map(|(other, _)| other.name().to_owned())
                .collect();
            candidate(roots, disk, who.clone(), twins)
        })
        .collect()
}

fn candidate(roots: &Roots, disk: &Disk, identity: Identity, twins: Vec<String>) -> Candidate {
    let uses = in_use(roots, disk);
    let by_path = by_path_names(roots, disk);
    let capacity = disk.capacity().unwrap_or(Bytes::ZERO);
    let verdict = match refusal(disk, &identity, capacity, &uses) {
        Some(refusal) => Verdict::Refused(refusal),
        None => {
            let mut notes = Vec::new();
            if disk.is_read_only() {
                notes.push(Note::ReadOnly);
            }
            if !uses.is_empty() {
                notes.push(Note::InUse(uses.clone()));
            }
            if !twins.is_empty() {
                notes.push(Note::SharedIdentity {
                    with: twins.clone(),
                    instead: by_path.clone(),
                });
            }
            if !matches!(identity.transport, Transport::Usb | Transport::Mmc) {
                notes.push(Note::RemovableOnly(identity.transport));
            }
            Verdict::Eligible(notes)
        }
    };
    Candidate {
        name: disk.name().to_owned(),
        path: disk.node(roots),
        by_id: by_id_names(roots, disk),
        by_path,
        identity,
        capacity,
        uses,
        twins,
        verdict,
    }
}

fn refusal(disk: &Disk, who: &Identity, capacity: Bytes, uses: &[Use]) -> Option<Refusal> {
    if let Some(kind) = Virtual::of(disk.name()) {
        return Some(Refusal::Virtual(kind));
    }
    if boot_area_of(disk.name()).is_some() {
        return Some(Refusal::BootArea);
    }
    let system: Vec<Use> = uses.iter().filter(|one| one.is_system()).cloned().collect();
    if !system.is_empty() {
        return Some(Refusal::SystemDisk(system));
    }
    // The flag is about the medium: USB disks and SD cards may well have it unset.
    let attached_outside = matches!(who.transport, Transport::Usb | Transport::Mmc);
    if !attached_outside && who.removable != Some(true) {
        return Some(Refusal::Internal(who.transport));
    }
    if capacity == Bytes::ZERO {
        return Some(Refusal::NoMedium);
    }
    let block = disk.logical_block_bytes().unwrap_or(Bytes(512));
    if LogicalBlock::try_from(block.get()).is_err() {
        return Some(Refusal::UnsupportedBlock(block));
    }
    None
}

/// The other disks that report the same identity, so that a by-id name may mean either: udev builds
/// these names from vendor, model, serial and the place behind the USB port
/// (60-persistent-storage.rules), and the last one plugged in takes the link.
pub fn twins(roots: &Roots, disk: &Disk) -> Vec<Disk> {
    let who = identity(disk);
    Disk::all(roots)
        .into_iter()
        .filter(|other| other != disk && is_twin(&who, &identity(other)))
        .collect()
}

fn is_twin(one: &Identity, other: &Identity) -> bool {
    matches!(one.transport, Transport::Usb | Transport::Mmc)
        && one.transport == other.transport
        && one.usb_id == other.usb_id
        && one.vendor == other.vendor
        && one.model == other.model
        && one.serial == other.serial
        && one.slot == other.slot
        && cid(one) == cid(other)
}

fn cid(who: &Identity) -> Option<&str> {
    who.card.as_ref()?.cid.as_deref()
}

/// The names of a disk in `/dev/disk/by-id`, sorted.
pub fn by_id_names(roots: &Roots, disk: &Disk) -> Vec<String> {
    links_to(roots, "disk/by-id", disk)
}

/// The names of a disk in `/dev/disk/by-path`, sorted.
pub fn by_path_names(roots: &Roots, disk: &Disk) -> Vec<String> {
    links_to(roots, "disk/by-path", disk)
}

/// Full paths of the links in a folder of `/dev` that lead to a disk.
fn links_to(roots: &Roots, folder: &str, disk: &Disk) -> Vec<String> {
    let folder = roots.dev.join(folder);
    let node = disk.node(roots);
    let mut names: Vec<String> = entries(&folder)
        .into_iter()
        .map(|name| folder.join(name))
        .filter(|link| fs::canonicalize(link).is_ok_and(|target| target == node))
        .map(|link| link.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

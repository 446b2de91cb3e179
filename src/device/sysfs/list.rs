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
    pub fn of(name: &str) -> Option<Virtual> {
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

impl Virtual {
    /// Whether a partition table may be written to it: a file or a network disk may stand for a
    /// medium, the others are no media that anybody partitions.
    pub const fn may_be_written(self) -> bool {
        matches!(self, Virtual::Loop | Virtual::Network)
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
            let twins = disks
                .iter()
                .filter(|(other, other_who)| are_twins((disk, who), (other, other_who)))
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
        .filter(|other| are_twins((disk, &who), (other, &identity(other))))
        .collect()
}

fn are_twins((disk, one): (&Disk, &Identity), (other_disk, other): (&Disk, &Identity)) -> bool {
    // An eMMC's user area and boot areas are one device, and their names differ.
    disk.device() != other_disk.device()
        && matches!(one.transport, Transport::Usb | Transport::Mmc)
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

#[cfg(test)]
mod tests {
    use super::super::fake::{Tree, UsbDisk};
    use super::*;

    fn verdict(tree: &Tree, name: &str) -> Verdict {
        let all = list(&tree.roots);
        all.into_iter()
            .find(|one| one.name == name)
            .unwrap()
            .verdict
    }

    #[test]
    fn a_usb_disk_that_calls_itself_fixed_is_eligible() {
        let tree = Tree::new();
        let disk = UsbDisk {
            removable: "0",
            ..UsbDisk::new("sda", "8:0", "1-2")
        };
        tree.usb_disk(&disk)
            .link(
                "dev/disk/by-id/usb-Generic-_SD_MMC_058F63666433-0:0",
                "dev/sda",
            )
            .link(
                "dev/disk/by-id/usb-Generic-_SD_MMC_058F63666433-0:0-part1",
                "dev/sda1",
            )
            .link(
                "dev/disk/by-path/pci-0000:00:14.0-usb-0:2:1.0-scsi-0:0:0:0",
                "dev/sda",
            );
        let all = list(&tree.roots);
        assert_eq!(all.len(), 1);
        let stick = &all[0];
        assert_eq!(stick.verdict, Verdict::Eligible(Vec::new()));
        assert_eq!(stick.identity.removable, Some(false));
        assert_eq!(stick.capacity, Bytes(7_829_504 * 512));
        assert_eq!(stick.path, tree.path("dev/sda"));
        let by_id = tree.path("dev/disk/by-id/usb-Generic-_SD_MMC_058F63666433-0:0");
        assert_eq!(stick.by_id, [by_id.to_string_lossy()]);
        assert_eq!(stick.by_path.len(), 1);
    }

    #[test]
    fn an_empty_slot_is_no_candidate_and_the_other_slot_is() {
        let tree = Tree::new();
        let empty = UsbDisk {
            sectors: 0,
            ..UsbDisk::new("sda", "8:0", "1-2")
        };
        let full = UsbDisk {
            lun: 1,
            ..UsbDisk::new("sdb", "8:16", "1-2")
        };
        tree.usb_disk(&empty).usb_disk(&full);
        assert_eq!(verdict(&tree, "sda"), Verdict::Refused(Refusal::NoMedium));
        // Slots of one reader share the serial, and yet their names differ by the slot.
        assert_eq!(verdict(&tree, "sdb"), Verdict::Eligible(Vec::new()));
        assert_eq!(Refusal::NoMedium.to_string(), "no card in this slot");
    }

    #[test]
    fn two_readers_with_one_serial_are_told_apart_by_path() {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .usb_disk(&UsbDisk {
                host: 3,
                ..UsbDisk::new("sdb", "8:16", "1-3")
            })
            .usb_disk(&UsbDisk {
                host: 4,
                serial: "other",
                ..UsbDisk::new("sdc", "8:32", "1-4")
            })
            .link("dev/disk/by-path/usb-2", "dev/sda")
            .link("dev/disk/by-path/usb-3", "dev/sdb");
        let by_path = tree
            .path("dev/disk/by-path/usb-2")
            .to_string_lossy()
            .into_owned();
        let Verdict::Eligible(notes) = verdict(&tree, "sda") else {
            panic!("sda is refused")
        };
        assert_eq!(
            notes,
            [Note::SharedIdentity {
                with: vec!["sdb".into()],
                instead: vec![by_path.clone()]
            }]
        );
        assert_eq!(
            notes[0].to_string(),
            format!("reports the same identity as sdb: name it by {by_path}")
        );
        assert_eq!(verdict(&tree, "sdc"), Verdict::Eligible(Vec::new()));
    }

    #[test]
    fn the_areas_of_an_emmc_are_refused_and_its_user_area_is_not() {
        let tree = Tree::new();
        let device = "platform/soc/mmc_host/mmc0/mmc0:0001";
        tree.disk(device, "mmcblk0", "179:0", 122_142_720)
            .disk(device, "mmcblk0boot0", "179:8", 8192)
            .disk(device, "mmcblk0boot1", "179:16", 8192);
        assert_eq!(verdict(&tree, "mmcblk0"), Verdict::Eligible(Vec::new()));
        for name in ["mmcblk0boot0", "mmcblk0boot1"] {
            assert_eq!(verdict(&tree, name), Verdict::Refused(Refusal::BootArea));
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_own_sentence() {
        let tree = Tree::new();
        let pci = "pci0000:00/0000:00:1f.2";
        tree.disk(&format!("{pci}/nvme/nvme0"), "nvme0n1", "259:0", 1 << 30)
            .disk(&format!("{pci}/nvme/nvme1"), "nvme1n1", "259:1", 1 << 30)
            .disk(
                &format!("{pci}/ata1/host0/target0:0:0/0:0:0:0"),
                "sda",
                "8:0",
                1 << 20,
            )
            .attribute("sda", "removable", "0\n")
            .disk(
                &format!("{pci}/ata2/host1/target1:0:0/1:0:0:0"),
                "sdb",
                "8:16",
                1 << 20,
            )
            .attribute("sdb", "removable", "1\n")
            .usb_disk(&UsbDisk {
                host: 5,
                ..UsbDisk::new("sdc", "8:32", "1-5")
            })
            .attribute("sdc", "queue/logical_block_size", "2048\n");
        let mut minor = 0;
        for name in [
            "loop0",
            "ram1",
            "zram0",
            "sr0",
            "fd0",
            "dm-0",
            "md127",
            "nbd0",
            "bcache0",
            "mtdblock0",
        ] {
            minor += 1;
            tree.virtual_disk(name, &format!("240:{minor}"), 8);
        }
        tree.mounts(&[
            "26 1 259:0 / / rw - ext4 /dev/nvme0n1 rw",
            "27 26 259:1 / /home rw - ext4 /dev/nvme1n1 rw",
        ]);
        let said: Vec<(String, String)> = list(&tree.roots)
            .into_iter()
            .filter_map(|one| match one.verdict {
                Verdict::Refused(refusal) => Some((one.name, refusal.to_string())),
                Verdict::Eligible(_) => None,
            })
            .collect();
        let expected = [
            ("bcache0", "a cached volume (bcache), not a disk of its own"),
            ("dm-0", "a device-mapper volume, not a disk of its own"),
            ("fd0", "a floppy drive, not a disk of its own"),
            (
                "loop0",
                "a file shown as a disk (loop device), not a disk of its own",
            ),
            ("md127", "a RAID array, not a disk of its own"),
            ("mtdblock0", "raw flash (MTD), not a disk of its own"),
            ("nbd0", "a network block device, not a disk of its own"),
            (
                "nvme0n1",
                "the running system lives on it: nvme0n1 mounted at /",
            ),
            (
                "nvme1n1",
                "the running system lives on it: nvme1n1 mounted at /home",
            ),
            ("ram1", "a RAM disk, not a disk of its own"),
            ("sda", "an internal disk (ata), and not removable"),
            (
                "sdc",
                "logical blocks of 2 KiB, only 512 and 4096 bytes are supported",
            ),
            ("sr0", "an optical drive, not a disk of its own"),
            ("zram0", "compressed memory (zram), not a disk of its own"),
        ];
        let mut said = said;
        said.sort();
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(said, expected);
        assert_eq!(
            verdict(&tree, "sdb"),
            Verdict::Eligible(vec![Note::RemovableOnly(Transport::Ata)])
        );
    }

    #[test]
    fn a_locked_or_mounted_stick_may_be_scanned_and_says_so() {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .partition("sda", "sda1", "8:1")
            .attribute("sda", "ro", "1\n")
            .mounts(&["30 26 8:1 / /media/me/X ro - vfat /dev/sda1 ro"]);
        let Verdict::Eligible(notes) = verdict(&tree, "sda") else {
            panic!("sda is refused")
        };
        let said: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert!(
            said[0].starts_with("write-protected: it can be scanned"),
            "{said:?}"
        );
        assert_eq!(
            said[1],
            "in use (sda1 mounted at /media/me/X): it can be scanned, not written"
        );
    }
}

//! What the kernel tells of a disk without opening it: who it is, what it reports, and who uses it.
//!
//! Every function starts from [`Roots`], so a tree of plain files can stand in for `/sys`, `/proc`
//! and `/dev`, and everything here works without any permission on the device itself.

mod card;
#[cfg(test)]
pub(crate) mod fake;
mod identity;
mod list;
mod mounts;
mod reported;
mod ssr;
mod usage;

pub use card::{Card, CardKind, Csd};
pub use identity::{Identity, identity, shared_bus};
pub use list::{
    Candidate, Note, Refusal, Verdict, Virtual, by_id_names, by_path_names, list, twins,
};
pub use reported::{
    AlignmentOffset, adopted_optimal_io, alignment_offset, has_volatile_cache, max_request,
    reported,
};
pub use ssr::{AuSize, au_size};
pub use usage::{Use, UseKind, in_use, loop_device_of};

use crate::topology::Facts;
use crate::units::{ByteRange, Bytes, LogicalBlock};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the three trees are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
}

impl Roots {
    /// The trees of the running system.
    pub fn system() -> Roots {
        Roots::under(Path::new("/"))
    }

    /// Trees under another root.
    pub fn under(root: &Path) -> Roots {
        // Links in sysfs are compared with each other after resolution, so the root has to be
        // resolved as well (a temporary directory is often reached through a link).
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Roots {
            sys: root.join("sys"),
            proc: root.join("proc"),
            dev: root.join("dev"),
        }
    }
}

/// A whole disk as sysfs shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    name: String,
    directory: PathBuf,
}

/// A block device: a disk or one of its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A whole disk.
    Disk(Disk),
    /// A partition of the disk.
    Partition {
        /// The kernel's name of the partition.
        name: String,
        /// The disk it lies on.
        disk: Disk,
    },
}

impl Disk {
    /// The disk of this kernel name (`sda`, `mmcblk0`); `None` for a partition or an unknown name.
    pub fn by_name(roots: &Roots, name: &str) -> Option<Disk> {
        // sysfs writes the slash of names such as cciss/c0d0 as an exclamation mark.
        let link = roots.sys.join("block").join(name.replace('/', "!"));
        Disk::at(&link)
    }

    fn at(link: &Path) -> Option<Disk> {
        let directory = fs::canonicalize(link).ok()?;
        let name = directory.file_name()?.to_str()?.to_owned();
        Some(Disk { name, directory })
    }

    /// All disks, sorted by name with numbers in their order.
    pub fn all(roots: &Roots) -> Vec<Disk> {
        let mut disks: Vec<Disk> = entries(&roots.sys.join("block"))
            .into_iter()
            .filter_map(|name| Disk::by_name(roots, &name))
            .filter(|disk| disk.number_of("hidden") != Some(1))
            .collect();
        disks.sort_by_cached_key(|disk| natural_order(&disk.name));
        disks
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its node (`/dev/sda`).
    pub fn node(&self, roots: &Roots) -> PathBuf {
        roots.dev.join(self.name.replace('!', "/"))
    }

    /// Its partitions' kernel names, sorted.
    pub fn partitions(&self) -> Vec<String> {
        let mut names: Vec<String> = entries(&self.directory)
            .into_iter()
            .filter(|name| self.directory.join(name).join("partition").exists())
            .collect();
        names.sort_by_cached_key(|name| natural_order(name));
        names
    }

    /// The numbers and places of its partitions as the kernel shows them, in the order of their
    /// numbers.
    pub fn partition_ranges(&self) -> Vec<(u32, ByteRange)> {
        let mut ranges: Vec<(u32, ByteRange)> = self
            .partitions()
            .iter()
            .filter_map(|name| {
                let number = |what: &str| self.number_of(&format!("{name}/{what}"));
                // In units of 512 bytes whatever the logical block is.
                let from = number("start")?.checked_mul(512)?;
                let to = from.checked_add(number("size")?.checked_mul(512)?)?;
                let range = ByteRange {
                    from: Bytes(from),
                    to: Bytes(to),
                };
                Some((u32::try_from(number("partition")?).ok()?, range))
            })
            .collect();
        ranges.sort_by_key(|(number, _)| *number);
        ranges
    }

    /// Its size (sysfs counts in units of 512 bytes whatever the logical block is); zero without a
    /// medium.
    pub fn capacity(&self) -> Option<Bytes> {
        self.number_of("size")?.checked_mul(512).map(Bytes)
    }

    /// Its logical block as the kernel reports it, 512 and 4096 or not.
    pub fn logical_block_bytes(&self) -> Option<Bytes> {
        self.number_of("queue/logical_block_size").map(Bytes)
    }

    /// Whether the kernel calls it write-protected.
    pub fn is_read_only(&self) -> bool {
        self.number_of("ro") == Some(1)
    }

    /// Whether it is still plugged in.
    pub fn is_present(&self) -> bool {
        self.directory.exists()
    }

    /// The directory of the device that it is a disk of; `None` for a virtual disk.
    fn device(&self) -> Option<PathBuf> {
        fs::canonicalize(self.directory.join("device")).ok()
    }

    fn text_of(&self, attribute: &str) -> Option<String> {
        text(&self.directory.join(attribute))
    }

    fn number_of(&self, attribute: &str) -> Option<u64> {
        self.text_of(attribute)?.parse().ok()
    }

    fn size_of(&self, attribute: &str) -> Option<Bytes> {
        self.number_of(attribute).filter(|n| *n != 0).map(Bytes)
    }
}

/// The block device of this number.
pub fn by_number(roots: &Roots, major: u64, minor: u64) -> Option<Node> {
    let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
    let directory = fs::canonicalize(link).ok()?;
    if !directory.join("partition").exists() {
        return Disk::at(&directory).map(Node::Disk);
    }
    let name = directory.file_name()?.to_str()?.to_owned();
    let disk = Disk::at(directory.parent()?)?;
    Some(Node::Partition { name, disk })
}

/// The disk whose boot or replay-protected area this name is (`mmcblk0boot1`, `mmcblk12rpmb`).
///
/// These are hardware partitions of an eMMC with their own nodes (drivers/mmc/core/block.c); the
/// replay-protected one must never be probed, since it answers authenticated frames only.
pub fn boot_area_of(name: &str) -> Option<String> {
    let rest = name.strip_prefix("mmcblk")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (number, area) = rest.split_at(digits);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_area = area == "rpmb" || area.strip_prefix("boot").is_some_and(is_number);
    (is_number(number) && is_area).then(|| format!("mmcblk{number}"))
}

/// Everything that is known of a disk without opening it. `path` is the name to show. `None` when
/// its logical block is unknown or not supported.
pub fn facts(disk: &Disk, path: &str) -> Option<Facts> {
    let block = LogicalBlock::try_from(disk.logical_block_bytes()?.get()).ok()?;
    let who = identity(disk);
    let physical_block = disk.size_of("queue/physical_block_size");
    let capacity = disk.capacity();
    Some(Facts {
        path: path.to_owned(),
        capacity,
        real_capacity: None,
        logical_block: block,
        physical_block,
        transport: who.transport,
        removable: who.removable,
        diskseq: disk.number_of("diskseq"),
        max_request: max_request(disk),
        reported: reported(disk, who.card.as_ref()),
        vendor: who.vendor,
        model: who.model,
        serial: who.serial,
        usb_id: who.usb_id,
    })
}

/// The content of an attribute without surrounding blanks and NULs; `None` when it is missing,
/// unreadable or empty.
fn text(path: &Path) -> Option<String> {
    let raw = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&raw);
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// The names in a directory; none when it cannot be read.
fn entries(directory: &Path) -> Vec<String> {
    let Ok(read) = fs::read_dir(directory) else {
        return Vec::new();
    };
    read.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

/// A sorting key that puts `sda` before `sdaa` and `mmcblk2` before `mmcblk10`.
fn natural_order(name: &str) -> (String, usize, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or(0);
    let family = stem.chars().take(2).collect();
    (family, stem.len(), number, stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fake::{Tree, UsbDisk};

    #[test]
    fn a_number_leads_to_the_disk_or_to_the_partition_and_its_disk() {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .partition("sda", "sda1", "8:1")
            .partition("sda", "sda10", "8:10")
            .partition("sda", "sda2", "8:2");
        let sda = tree.get("sda");
        assert_eq!(by_number(&tree.roots, 8, 0), Some(Node::Disk(sda.clone())));
        assert_eq!(
            by_number(&tree.roots, 8, 10),
            Some(Node::Partition {
                name: "sda10".into(),
                disk: sda.clone()
            })
        );
        assert_eq!(by_number(&tree.roots, 8, 16), None);
        assert_eq!(sda.partitions(), ["sda1", "sda2", "sda10"]);
        assert_eq!(sda.node(&tree.roots), tree.path("dev/sda"));
    }

    #[test]
    fn a_name_with_a_slash_has_an_exclamation_mark_in_sysfs() {
        let tree = Tree::new();
        tree.virtual_disk("cciss!c0d0", "104:0", 2048);
        let disk = Disk::by_name(&tree.roots, "cciss/c0d0").unwrap();
        assert_eq!(disk.node(&tree.roots), tree.path("dev/cciss/c0d0"));
    }

    #[test]
    fn disks_are_listed_in_the_order_of_their_numbers_without_hidden_ones() {
        let tree = Tree::new();
        for name in ["mmcblk10", "sdaa", "sdb", "mmcblk2", "nvme0c0n1", "sda"] {
            tree.virtual_disk(
                name,
                &format!(
                    "1:{}",
                    name.len() * 7 + name.as_bytes()[name.len() - 1] as usize
                ),
                8,
            );
        }
        tree.attribute("nvme0c0n1", "hidden", "1\n");
        let names: Vec<String> = Disk::all(&tree.roots)
            .iter()
            .map(|disk| disk.name().to_owned())
            .collect();
        assert_eq!(names, ["mmcblk2", "mmcblk10", "sda", "sdb", "sdaa"]);
    }

    #[test]
    fn boot_areas_are_known_by_their_names() {
        for (name, disk) in [
            ("mmcblk0boot0", "mmcblk0"),
            ("mmcblk0boot1", "mmcblk0"),
            ("mmcblk12boot0", "mmcblk12"),
            ("mmcblk0rpmb", "mmcblk0"),
        ] {
            assert_eq!(boot_area_of(name).as_deref(), Some(disk), "{name}");
        }
        for name in [
            "mmcblk0",
            "mmcblk0p1",
            "mmcblk10p2",
            "mmcblkboot0",
            "mmcblk0boot",
            "sda",
        ] {
            assert_eq!(boot_area_of(name), None, "{name}");
        }
    }

    #[test]
    fn facts_need_no_permission_on_the_device() {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .attribute("sda", "queue/max_sectors_kb", "120\n")
            .attribute("sda", "queue/optimal_io_size", "33553920\n")
            .attribute("sda", "queue/physical_block_size", "512\n")
            .attribute("sda", "queue/discard_granularity", "0\n")
            .attribute("sda", "diskseq", "17\n");
        let facts = facts(&tree.get("sda"), "/dev/sda").unwrap();
        assert_eq!(facts.capacity, Some(Bytes(7_829_504 * 512)));
        assert_eq!(facts.max_request, Some(Bytes::kib(120)));
        assert_eq!(facts.diskseq, Some(17));
        assert_eq!(facts.reported.optimal_io_size, None);
        assert_eq!(facts.reported.optimal_io_quirk, Some(Bytes(33_553_920)));
        assert_eq!(facts.reported.discard_granularity, None);
        assert_eq!(facts.reported.declared(), None);
        assert_eq!(facts.usb_id.as_deref(), Some("058f:6366"));
    }
}

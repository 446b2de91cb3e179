//! Who uses a disk: mounts, swap, and whatever is stacked on it.

use super::mounts::{Mounts, block_names};
use super::{Disk, Roots, entries, text};
use crate::quote::shell_word;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Deeper stacks than this do not exist; it ends the walk through a damaged tree.
const DEEPEST_STACK: usize = 16;

/// One use of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    chain: Vec<String>,
    kind: UseKind,
    release: String,
}

/// In which way it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// A file system on it is mounted here.
    Mounted(PathBuf),
    /// It is a swap area.
    Swap,
    /// A volume (RAID, LVM, dm-crypt, loop) holds it, and is not in use itself.
    Held,
}

impl Use {
    /// From the disk or partition to what is used, such as `sda2`, `md0`, `vg-home`.
    pub fn chain(&self) -> &[String] {
        &self.chain
    }

    /// In which way.
    pub fn kind(&self) -> &UseKind {
        &self.kind
    }

    /// The command that ends this use.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Whether the running system needs it: swap, or mounted at `/`, `/usr`, `/var`, `/home`,
    /// `/efi`, `/boot` or below `/boot` (where firmware partitions are mounted).
    pub fn is_system(&self) -> bool {
        match &self.kind {
            UseKind::Mounted(at) => {
                let exact = ["/", "/usr", "/var", "/home", "/efi"];
                exact.iter().any(|place| at == Path::new(place)) || at.starts_with("/boot")
            }
            UseKind::Swap => true,
            UseKind::Held => false,
        }
    }
}

impl fmt::Display for Use {
    /// `sda2 -> md0 -> vg-home mounted at /home`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = self.chain.join(" -> ");
        match &self.kind {
            UseKind::Mounted(at) => write!(f, "{chain} mounted at {}", at.display()),
            UseKind::Swap => write!(f, "{chain} used as swap"),
            UseKind::Held => write!(f, "{chain} active"),
        }
    }
}

/// Everything that uses the disk or one of its partitions, through any stack of volumes.
///
/// What only claims the device exclusively (ZFS, a virtual machine) does not show in sysfs; an
/// exclusive opening meets it.
pub fn in_use(roots: &Roots, disk: &Disk) -> Vec<Use> {
    let walk = Walk {
        roots,
        mounts: Mounts::read(roots),
        loops: backed_loops(roots)
            .into_iter()
            .chain(twin_loops(roots))
            .collect(),
    };
    let mut found = Vec::new();
    walk.visit(&disk.directory, &disk.name, &mut Vec::new(), &mut found);
    found
}

struct Walk<'a> {
    roots: &'a Roots,
    mounts: Mounts,
    /// (block device, loop device that is backed by it, or by the same file as it).
    loops: Vec<(String, String)>,
}

impl Walk<'_> {
    /// Collect the uses of one block device, its partitions and its holders; tell whether any.
    fn visit(
        &self,
        directory: &Path,
        name: &str,
        below: &mut Vec<Link>,
        found: &mut Vec<Use>,
    ) -> bool {
        if below.len() > DEEPEST_STACK {
            return false;
        }
        let before = found.len();
        below.push(Link::of(directory, name));
        let number = text(&directory.join("dev"));
        for at in self.mounts.of(name, number.as_deref()) {
            let release = format!("sudo umount {}", shell_word(&at));
            found.push(a_use(below, UseKind::Mounted(at), release));
        }
        if self.mounts.is_swap(name) {
            let release = format!("sudo swapoff /dev/{}", name.replace('!', "/"));
            found.push(a_use(below, UseKind::Swap, release));
        }
        for holder in entries(&directory.join("holders")) {
            // The link leads to the holder; where it does not, /sys/block knows the name.
            let link = directory.join("holders").join(&holder);
            let fallback = self.roots.sys.join("block").join(&holder);
            if let Ok(at) = fs::canonicalize(link).or_else(|_| fs::canonicalize(fallback)) {
                self.visit_holder(&at, &holder, below, found);
            }
        }
        for (_, loop_name) in self.loops.iter().filter(|(backing, _)| backing == name) {
            // Twins lead to one another.
            if below.iter().any(|link| link.name == *loop_name) {
                continue;
            }
            let at = self.roots.sys.join("block").join(loop_name);
            self.visit_holder(&at, loop_name, below, found);
        }
        // A partition's own name says which disk it is on: the chain starts with it, unless the
        // disk is itself a volume further up.
        let is_bottom = below.len() == 1;
        let whole = if is_bottom { below.pop() } else { None };
        for partition in entries(directory) {
            let at = directory.join(&partition);
            if at.join("partition").exists() {
                self.visit(&at, &partition, below, found);
            }
        }
        below.extend(whole);
        below.pop();
        found.len() > before
    }

    fn visit_holder(
        &self,
        directory: &Path,
        name: &str,
        below: &mut Vec<Link>,
        found: &mut Vec<Use>,
    ) {
        if below.iter().any(|link| link.name == name) {
            return;
        }
        if !self.visit(directory, name, below, found) {
            let holder = Link::of(directory, name);
            let release = holder.release();
            below.push(holder);
            found.push(a_use(below, UseKind::Held, release));
            below.pop();
        }
    }
}

fn a_use(chain: &[Link], kind: UseKind, release: String) -> Use {
    Use {
        chain: chain.iter().map(|link| link.label.clone()).collect(),
        kind,
        release,
    }
}

/// One block device of a stack.
struct Link {
    name: String,
    /// The name that people know it by: of a device-mapper volume its own, else the kernel's.
    label: String,
    /// The device mapper's uuid, which starts with the owner (`LVM-`, `CRYPT-`).
    owner: Option<String>,
}

impl Link {
    fn of(directory: &Path, name: &str) -> Link {
        Link {
            name: name.to_owned(),
            label: text(&directory.join("dm/name")).unwrap_or_else(|| name.replace('!', "/")),
            owner: text(&directory.join("dm/uuid")),
        }
    }

    /// The command that takes this volume down.
    fn release(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or_default();
        let label = shell_word(&self.label);
        if owner.starts_with("LVM-") {
            format!("sudo lvchange -an /dev/mapper/{label}")
        } else if owner.starts_with("CRYPT-") {
            format!("sudo cryptsetup close {label}")
        } else if self.name.starts_with("dm-") {
            format!("sudo dmsetup remove {label}")
        } else if self.name.starts_with("md") {
            format!("sudo mdadm --stop /dev/{label}")
        } else if self.name.starts_with("loop") {
            format!("sudo losetup -d /dev/{label}")
        } else {
            format!("lsblk -s /dev/{label}")
        }
    }
}

/// The loop device that a regular file is attached to, and the command that detaches it.
pub fn loop_device_of(roots: &Roots, file: &Path) -> Option<(String, String)> {
    let path = fs::canonicalize(file).ok()?;
    // By file, not by name: a file may have several (hard links).
    let id = file_id(file);
    let name = entries(&roots.sys.join("block")).into_iter().find(|name| {
        let backing = roots.sys.join("block").join(name).join("loop/backing_file");
        text(&backing).is_some_and(|backing| {
            let backing = Path::new(&backing);
            backing == path || (id.is_some() && file_id(backing) == id)
        })
    })?;
    let device = format!("/dev/{name}");
    Some((device.clone(), format!("sudo losetup -d {device}")))
}

/// What a file is, whatever it is called: device and inode.
fn file_id(file: &Path) -> Option<(u64, u64)> {
    let data = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    Some((data.dev(), data.ino()))
}

/// All attached loop devices with the name of what is behind them.
fn attached_loops(roots: &Roots) -> Vec<(String, String)> {
    entries(&roots.sys.join("block"))
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| {
            let file = roots.sys.join("block").join(&name);
            Some((text(&file.join("loop/backing_file"))?, name))
        })
        .collect()
}

/// Loop devices on the same file as another: whoever uses one of them uses all.
fn twin_loops(roots: &Roots) -> Vec<(String, String)> {
    let loops: Vec<(String, (u64, u64))> = attached_loops(roots)
        .into_iter()
        .filter_map(|(file, name)| Some((name, file_id(Path::new(&file))?)))
        .collect();
    let mut twins = Vec::new();
    for (name, id) in &loops {
        let others = loops
            .iter()
            .filter(|(other, same)| other != name && same == id);
        twins.extend(others.map(|(other, _)| (name.clone(), other.clone())));
    }
    twins
}

/// Loop devices whose backing "file" is a block device: the kernel lists them as no holders.
fn backed_loops(roots: &Roots) -> Vec<(String, String)> {
    attached_loops(roots)
        .into_iter()
        .flat_map(|(file, name)| {
            let backing = block_names(roots, &file);
            backing
                .into_iter()
                .map(move |backing| (backing, name.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Tree, UsbDisk};
    use super::*;

    fn stick() -> Tree {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .partition("sda", "sda1", "8:1")
            .partition("sda", "sda2", "8:2");
        tree
    }

    fn said(tree: &Tree, disk: &str) -> Vec<String> {
        let uses = in_use(&tree.roots, &tree.get(disk));
        uses.iter().map(Use::to_string).collect()
    }

    #[test]
    fn a_stick_that_nobody_uses_has_no_uses() {
        let tree = stick();
        tree.mounts(&[
            "26 1 254:1 / / rw - ext4 /dev/vda1 rw",
            "27 26 0:21 / /proc rw - proc proc rw",
        ]);
        tree.file(
            "proc/swaps",
            "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 1 0 -2\n",
        );
        assert_eq!(said(&tree, "sda"), Vec::<String>::new());
    }

    #[test]
    fn a_mounted_partition_is_found_by_its_number() {
        let tree = stick();
        tree.mounts(&[r"30 26 8:1 / /media/me/my\040stick rw shared:1 - vfat /dev/gone rw"]);
        let uses = in_use(&tree.roots, &tree.get("sda"));
        assert_eq!(uses[0].to_string(), "sda1 mounted at /media/me/my stick");
        assert_eq!(uses[0].release(), "sudo umount '/media/me/my stick'");
        assert_eq!(
            uses[0].kind(),
            &UseKind::Mounted("/media/me/my stick".into())
        );
        assert!(!uses[0].is_system());
        assert_eq!(uses.len(), 1);
    }

    #[test]
    fn a_mounted_whole_disk_is_in_use() {
        let tree = stick();
        tree.mounts(&["30 26 8:0 / /mnt rw - exfat /dev/sda rw"]);
        assert_eq!(said(&tree, "sda"), ["sda mounted at /mnt"]);
    }

    #[test]
    fn another_mount_namespace_counts_as_well() {
        let tree = stick();
        tree.mounts(&["26 1 254:1 / / rw - ext4 /dev/vda1 rw"]);
        tree.file(
            "proc/1/mountinfo",
            "30 26 8:2 / /mnt rw - ext4 /dev/sda2 rw\n",
        );
        assert_eq!(said(&tree, "sda"), ["sda2 mounted at /mnt"]);
    }

    #[test]
    fn a_chain_of_volumes_is_walked_to_its_mount() {
        let tree = stick();
        tree.virtual_disk("md0", "9:0", 2048)
            .virtual_disk("dm-0", "252:0", 2048)
            .holder("sda/sda2", "md0")
            .holder("md0", "dm-0")
            .attribute("dm-0", "dm/name", "vg-home\n")
            .attribute("dm-0", "dm/uuid", "LVM-abc\n")
            .mounts(&["40 26 252:0 / /home rw - ext4 /dev/mapper/vg-home rw"]);
        let uses = in_use(&tree.roots, &tree.get("sda"));
        assert_eq!(uses.len(), 1);
        assert_eq!(
            uses[0].to_string(),
            "sda2 -> md0 -> vg-home mounted at /home"
        );
        assert!(uses[0].is_system());
        assert_eq!(uses[0].chain(), ["sda2", "md0", "vg-home"]);
    }

    #[test]
    fn an_active_volume_without_a_mount_still_holds_the_disk() {
        let tree = stick();
        tree.virtual_disk("md0", "9:0", 2048)
            .virtual_disk("dm-0", "252:0", 2048)
            .holder("sda/sda2", "md0")
            .holder("md0", "dm-0")
            .attribute("dm-0", "dm/name", "vg-home\n")
            .attribute("dm-0", "dm/uuid", "LVM-abc\n");
        let uses = in_use(&tree.roots, &tree.get("sda"));
        assert_eq!(uses.len(), 1);
        assert_eq!(uses[0].to_string(), "sda2 -> md0 -> vg-home active");
        assert_eq!(uses[0].release(), "sudo lvchange -an /dev/mapper/vg-home");
        assert!(!uses[0].is_system());
    }

    #[test]
    fn the_partitions_of_an_array_are_walked_too() {
        let tree = stick();
        tree.virtual_disk("md0", "9:0", 2048)
            .partition("md0", "md0p1", "259:0")
            .holder("sda", "md0")
            .mounts(&["40 26 259:0 / /srv rw - ext4 /dev/md0p1 rw"]);
        assert_eq!(said(&tree, "sda"), ["sda -> md0 -> md0p1 mounted at /srv"]);
    }

    #[test]
    fn swap_counts_through_a_volume_and_zram_does_not() {
        let tree = stick();
        tree.virtual_disk("dm-1", "252:1", 2048)
            .virtual_disk("zram0", "253:0", 2048)
            .holder("sda/sda1", "dm-1")
            .attribute("dm-1", "dm/name", "cryptswap\n")
            .link("dev/mapper/cryptswap", "dev/dm-1")
            .file("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n/dev/mapper/cryptswap partition 1 0 -2\n");
        let uses = in_use(&tree.roots, &tree.get("sda"));
        assert_eq!(uses.len(), 1);
        assert_eq!(uses[0].to_string(), "sda1 -> cryptswap used as swap");
        assert_eq!(uses[0].kind(), &UseKind::Swap);
        assert!(uses[0].is_system());
        assert_eq!(said(&tree, "zram0"), ["zram0 used as swap"]);
    }

    #[test]
    fn a_btrfs_mount_is_found_on_all_its_members() {
        let tree = stick();
        tree.usb_disk(&UsbDisk {
            host: 3,
            ..UsbDisk::new("sdb", "8:16", "1-3")
        })
        .partition("sdb", "sdb1", "8:17")
        .file("sys/fs/btrfs/1234/devices/sda1", "")
        .file("sys/fs/btrfs/1234/devices/sdb1", "")
        .mounts(&["50 26 0:45 / /data rw - btrfs /dev/sda1 rw,space_cache"]);
        assert_eq!(said(&tree, "sda"), ["sda1 mounted at /data"]);
        assert_eq!(said(&tree, "sdb"), ["sdb1 mounted at /data"]);
    }

    #[test]
    fn a_loop_device_on_the_disk_holds_it() {
        let tree = stick();
        tree.virtual_disk("loop0", "7:0", 2048).attribute(
            "loop0",
            "loop/backing_file",
            "/dev/sda2\n",
        );
        assert_eq!(said(&tree, "sda"), ["sda2 -> loop0 active"]);
        tree.mounts(&["40 26 7:0 / /mnt rw - ext4 /dev/loop0 rw"]);
        assert_eq!(said(&tree, "sda"), ["sda2 -> loop0 mounted at /mnt"]);
    }

    #[test]
    fn holders_in_a_circle_end_the_walk() {
        let tree = stick();
        tree.virtual_disk("dm-0", "252:0", 8)
            .virtual_disk("dm-1", "252:1", 8)
            .holder("sda", "dm-0")
            .holder("dm-0", "dm-1")
            .holder("dm-1", "dm-0");
        assert_eq!(said(&tree, "sda"), ["sda -> dm-0 -> dm-1 active"]);
    }

    #[test]
    fn system_places_are_told_from_other_mounts() {
        for (at, expected) in [
            ("/", true),
            ("/usr", true),
            ("/var", true),
            ("/home", true),
            ("/boot", true),
            ("/boot/efi", true),
            ("/boot/firmware", true),
            ("/home/me/stick", false),
            ("/media/me/X", false),
            ("/mnt", false),
            ("/bootleg", false),
        ] {
            let tree = stick();
            tree.mounts(&[&format!("30 26 8:1 / {at} rw - vfat /dev/sda1 rw")]);
            let uses = in_use(&tree.roots, &tree.get("sda"));
            assert_eq!(uses[0].is_system(), expected, "{at}");
        }
    }
}

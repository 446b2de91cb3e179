//! Who uses a disk: mounts, swap, and whatever is stacked on it.

use super::mounts::{Mounts, block_names};
use super::{Disk, Roots, entries, text};
use crate::device::open_error::shell_word;
use std::fmt;
use std::fs;
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
    /// `/boot` or below `/boot` (where firmware partitions are mounted).
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
        loops: backed_loops(roots),
    };
    let mut found = Vec::new();
    walk.visit(&disk.directory, &disk.name, &mut Vec::new(), &mut found);
    found
}

struct Walk<'a> {
    roots: &'a Roots,
    mounts: Mounts,
    /// (backing block device, loop device).
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
            let release = format!("sudo umount {}", shell_word(&at.to_string_lossy()));
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

/// Loop devices whose backing "file" is a block device: the kernel lists them as no holders.
fn backed_loops(roots: &Roots) -> Vec<(String, String)> {
    entries(&roots.sys.join("block"))
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| {
            let file = roots
                .sys
                .join("block")
                .join(&name)
                .join("loop/backing_file");
            Some((text(&file)?, name))
        })
        .flat_map(|(file, name)| {
            let backing = block_names(roots, &file);
            backing
                .into_iter()
                .map(move |backing| (backing, name.clone()))
        })
        .collect()
}

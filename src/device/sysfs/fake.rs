//! A tree of plain files that stands in for `/sys`, `/proc` and `/dev` in tests.

use super::{Disk, Roots};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The tree; it goes when it is dropped.
pub(crate) struct Tree {
    _directory: TempDir,
    root: PathBuf,
    pub(crate) roots: Roots,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        let directory = TempDir::new().unwrap();
        let roots = Roots::under(directory.path());
        let root = roots.sys.parent().unwrap().to_owned();
        for folder in ["sys/block", "sys/dev/block", "proc/self", "dev/disk/by-id"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        Tree {
            _directory: directory,
            root,
            roots,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Tree {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Tree {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(self.root.join(target), path).unwrap();
        self
    }

    /// A disk whose device lies at `sys/devices/{device}`, of `sectors` * 512 bytes.
    pub(crate) fn disk(&self, device: &str, name: &str, number: &str, sectors: u64) -> &Tree {
        let at = format!("sys/devices/{device}/block/{name}");
        self.block_device(&at, name, number, sectors);
        self.file(&format!("{at}/queue/logical_block_size"), "512\n");
        self.link(&format!("{at}/device"), &format!("sys/devices/{device}"));
        self.link(&format!("sys/block/{name}"), &at);
        self
    }

    /// A disk without a device: dm, md, loop, zram.
    pub(crate) fn virtual_disk(&self, name: &str, number: &str, sectors: u64) -> &Tree {
        let at = format!("sys/devices/virtual/block/{name}");
        self.block_device(&at, name, number, sectors);
        self.file(&format!("{at}/queue/logical_block_size"), "512\n");
        self.link(&format!("sys/block/{name}"), &at)
    }

    /// A partition of a disk that is there already.
    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str) -> &Tree {
        let disk = fs::canonicalize(self.path(&format!("sys/block/{disk}"))).unwrap();
        let disk = disk.strip_prefix(&self.root).unwrap().to_str().unwrap();
        let at = format!("{disk}/{name}");
        self.block_device(&at, name, number, 2048);
        self.file(&format!("{at}/partition"), "1\n")
    }

    fn block_device(&self, at: &str, name: &str, number: &str, sectors: u64) {
        self.file(&format!("{at}/dev"), format!("{number}\n"));
        self.file(&format!("{at}/size"), format!("{sectors}\n"));
        self.link(&format!("sys/dev/block/{number}"), at);
        self.file(&format!("dev/{name}"), "");
    }

    /// An attribute of a disk, below its sysfs directory.
    pub(crate) fn attribute(
        &self,
        disk: &str,
        attribute: &str,
        content: impl AsRef<[u8]>,
    ) -> &Tree {
        self.file(&format!("sys/block/{disk}/{attribute}"), content)
    }

    /// `holder` sits on `block` (`sda2` or `sda/sda2`, as below `/sys/block`).
    pub(crate) fn holder(&self, block: &str, holder: &str) -> &Tree {
        let link = format!("sys/block/{block}/holders/{holder}");
        self.link(&link, &format!("sys/devices/virtual/block/{holder}"))
    }

    pub(crate) fn mounts(&self, lines: &[&str]) -> &Tree {
        self.file("proc/self/mountinfo", lines.join("\n"))
    }

    /// A USB disk in a port of its own.
    pub(crate) fn usb_disk(&self, stick: &UsbDisk) -> &Tree {
        let UsbDisk { name, port, .. } = stick;
        let usb = format!("pci0000:00/0000:00:14.0/usb1/{port}");
        let device = format!(
            "{usb}/{port}:1.0/host{h}/target{h}:0:0/{h}:0:0:{lun}",
            h = stick.host,
            lun = stick.lun
        );
        self.disk(&device, name, stick.number, stick.sectors);
        let (vendor, product) = stick.usb_id.split_once(':').unwrap();
        for (attribute, value) in [
            ("idVendor", vendor),
            ("idProduct", product),
            ("manufacturer", "Maker"),
            ("product", "Product"),
            ("serial", stick.serial),
            ("speed", "480"),
        ] {
            self.file(
                &format!("sys/devices/{usb}/{attribute}"),
                format!("{value}\n"),
            );
        }
        self.file(&format!("sys/devices/{device}/vendor"), "Generic-\n");
        self.file(&format!("sys/devices/{device}/model"), "SD/MMC          \n");
        self.file(&format!("sys/devices/{device}/rev"), "1.00\n");
        self.attribute(name, "removable", stick.removable)
    }

    /// An SD card or eMMC on the kernel's MMC host.
    pub(crate) fn mmc(&self, name: &str, number: &str, kind: &str, bytes: u64) -> &Tree {
        let device = format!("platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:{name}");
        self.disk(&device, name, number, bytes / 512);
        self.attribute(name, "device/type", format!("{kind}\n"))
    }

    pub(crate) fn get(&self, name: &str) -> Disk {
        Disk::by_name(&self.roots, name).unwrap()
    }
}

/// What a USB disk in the tree looks like.
pub(crate) struct UsbDisk {
    pub(crate) name: &'static str,
    pub(crate) number: &'static str,
    pub(crate) port: &'static str,
    pub(crate) host: u32,
    pub(crate) lun: u32,
    pub(crate) usb_id: &'static str,
    pub(crate) serial: &'static str,
    pub(crate) removable: &'static str,
    pub(crate) sectors: u64,
}

impl UsbDisk {
    /// A 4 GB stick at `port`.
    pub(crate) fn new(name: &'static str, number: &'static str, port: &'static str) -> UsbDisk {
        UsbDisk {
            name,
            number,
            port,
            host: 2,
            lun: 0,
            usb_id: "058f:6366",
            serial: "058F63666433",
            removable: "1",
            sectors: 7_829_504,
        }
    }
}

/// Make block nodes in the tree's `/dev`; false, said aloud, when that needs more permission.
pub(crate) fn block_node(path: &Path, major: u64, minor: u64) -> bool {
    use nix::sys::stat::{Mode, SFlag, makedev, mknod};
    let _ = fs::remove_file(path);
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    match mknod(path, SFlag::S_IFBLK, mode, makedev(major, minor)) {
        Ok(()) => true,
        Err(errno) => {
            eprintln!("skipped: needs root to make block nodes ({errno})");
            false
        }
    }
}

//! Opening a device for reading, with a reason when it cannot be.

use super::{ioctl, timed};
use crate::device::open_error::{OpenError, check_size};
use crate::device::sysfs::{self, AlignmentOffset, Disk, Node, Roots};
use crate::device::{AccessError, ReadDevice, check_access};
use crate::topology::Facts;
use crate::units::{Bytes, LogicalBlock};
use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::{major, minor};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A block device, open for reading only: `O_RDONLY | O_DIRECT | O_CLOEXEC`.
#[derive(Debug)]
pub struct BlockDevice {
    pub(super) file: File,
    facts: Facts,
    node: PathBuf,
    disk: Disk,
    capacity: Bytes,
    read_only: bool,
    alignment_offset: Option<AlignmentOffset>,
    clock: Duration,
}

/// Open a whole disk by any of its names for reading. Nothing can be written through the result.
///
/// # Errors
///
/// Everything that is no whole disk with a medium, 512- or 4096-byte blocks and a size worth
/// measuring is refused with its own reason.
pub fn open(path: &Path) -> Result<BlockDevice, OpenError> {
    let target = Target::find(&Roots::system(), path)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC)
        .open(&target.node)
        .map_err(|error| target.explain(&error))?;
    BlockDevice::new(file, target)
}

/// What is known of a disk without opening it: works without permission on the device.
///
/// # Errors
///
/// As [`open`], except those that only an opening meets.
pub fn look(path: &Path) -> Result<(Disk, Facts), OpenError> {
    look_in(&Roots::system(), path)
}

fn look_in(roots: &Roots, path: &Path) -> Result<(Disk, Facts), OpenError> {
    let target = Target::find(roots, path)?;
    let capacity = target.disk.capacity().unwrap_or(Bytes::ZERO);
    if capacity == Bytes::ZERO {
        return Err(target.without_medium());
    }
    let block = target.disk.logical_block_bytes().unwrap_or(Bytes(512));
    let block = check_size(&target.given, capacity, block.get())?;
    let facts = sysfs::facts(&target.disk, &target.given)
        .unwrap_or_else(|| target.bare_facts(capacity, block));
    Ok((target.disk, facts))
}

impl BlockDevice {
    /// Ask an open file everything that is to be known of the disk.
    pub(super) fn new(file: File, target: Target) -> Result<BlockDevice, OpenError> {
        let given = &target.given;
        // The node may have been replaced between the look and the opening.
        let metadata = file.metadata().map_err(|error| target.explain(&error))?;
        if metadata.rdev() != target.number {
            return Err(OpenError::NotFound {
                path: given.clone(),
            });
        }
        let failed = |doing| {
            move |errno: Errno| match errno {
                Errno::ENXIO | Errno::ENODEV => OpenError::NotFound {
                    path: given.clone(),
                },
                Errno::ENOMEDIUM => OpenError::NoMedium {
                    path: given.clone(),
                },
                errno => OpenError::Io {
                    path: given.clone(),
                    doing,
                    reason: errno.desc().to_lowercase(),
                },
            }
        };
        let capacity = Bytes(ioctl::size(&file).map_err(failed("asking for the size"))?);
        if capacity == Bytes::ZERO {
            return Err(target.without_medium());
        }
        let block = ioctl::logical_block(&file).map_err(failed("asking for the logical block"))?;
        let block = check_size(given, capacity, block)?;

        let mut facts =
            sysfs::facts(&target.disk, given).unwrap_or_else(|| target.bare_facts(capacity, block));
        facts.capacity = Some(capacity);
        facts.logical_block = block;
        if let Some(bytes) = ioctl::physical_block(&file).ok().filter(|n| *n != 0) {
            facts.physical_block = Some(Bytes(bytes));
        }
        if let Ok(bytes) = ioctl::optimal_io(&file) {
            let physical = facts.physical_block.unwrap_or(block.bytes());
            (
                facts.reported.optimal_io_size,
                facts.reported.optimal_io_quirk,
            ) = sysfs::adopted_optimal_io(Some(Bytes(bytes)), physical);
        }
        if facts.max_request.is_none() {
            let sectors = ioctl::max_sectors(&file).ok().filter(|n| *n != 0);
            facts.max_request = sectors.map(|sectors| Bytes(sectors * 512));
        }
        facts.diskseq = ioctl::disk_sequence(&file).or(facts.diskseq);
        let alignment_offset = ioctl::alignment_offset(&file).ok();
        Ok(BlockDevice {
            read_only: ioctl::is_read_only(&file).unwrap_or_else(|_| target.disk.is_read_only()),
            alignment_offset: alignment_offset.map(AlignmentOffset::from),
            capacity,
            facts,
            node: target.node,
            disk: target.disk,
            file,
            clock: Duration::ZERO,
        })
    }

    /// The node behind the name it was opened by (`/dev/sda` for a by-id link).
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// The disk in sysfs.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Whether it is write-protected. It can be scanned all the same.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// What the device says of the place of its first block.
    pub fn alignment_offset(&self) -> Option<AlignmentOffset> {
        self.alignment_offset
    }

    /// The sequence number of the present attachment, asked anew: it differs from
    /// `facts().diskseq` when the medium was exchanged.
    pub fn disk_sequence_now(&self) -> Option<u64> {
        ioctl::disk_sequence(&self.file)
    }

    /// Count the time of an access, and look closer at a failed one: a disk that is unplugged first
    /// fails its running requests with EIO, and has lost its size or its sysfs entry by then.
    pub(super) fn settle(
        &mut self,
        result: Result<Duration, AccessError>,
    ) -> Result<Duration, AccessError> {
        match result {
            Ok(took) => {
                self.clock += took;
                Ok(took)
            }
            Err(AccessError::Io { at, .. })
                if ioctl::size(&self.file) != Ok(self.capacity.get())
                    || !self.disk.is_present() =>
            {
                Err(AccessError::Gone { at })
            }
            Err(error) => Err(error),
        }
    }
}

impl ReadDevice for BlockDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        check_access(at, into, self.capacity, self.facts.logical_block)?;
        let result = timed::read(&self.file, at, into);
        self.settle(result)
    }

    fn wait(&mut self, time: Duration) {
        self.clock += timed::wait(time);
    }

    fn clock(&self) -> Duration {
        self.clock
    }
}

/// A whole disk, found by one of its names and not opened yet.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) given: String,
    pub(super) node: PathBuf,
    pub(super) disk: Disk,
    /// The device number of the node.
    number: u64,
}

impl Target {
    /// Find the whole disk behind a name, without opening anything.
    pub(super) fn find(roots: &Roots, path: &Path) -> Result<Target, OpenError> {
        let given = path.to_string_lossy().into_owned();
        // By name and before anything else: the replay-protected area must not even be touched.
        refuse_boot_area(roots, path, &given)?;
        let explain = |error: io::Error| explain(&given, None, &error);
        let node = fs::canonicalize(path).map_err(explain)?;
        refuse_boot_area(roots, &node, &given)?;
        let metadata = fs::metadata(&node).map_err(explain)?;
        let kind = metadata.file_type();
        if !kind.is_block_device() {
            return Err(wrong_kind(given, &kind, "a block device"));
        }
        let number = metadata.rdev();
        let disk = match sysfs::by_number(roots, major(number), minor(number)) {
            // Whether it is set up or not: what is in there is no flash and may be the swap space.
            Some(Node::Disk(disk)) if disk.name().starts_with("zram") => {
                return Err(OpenError::Memory { path: given });
            }
            Some(Node::Disk(disk)) => disk,
            Some(Node::Partition { disk, .. }) => {
                return Err(OpenError::Partition {
                    path: given,
                    disk: disk.node(roots).to_string_lossy().into_owned(),
                });
            }
            None => return Err(OpenError::NotInSysfs { path: given }),
        };
        refuse_ambiguous_name(roots, path, &given, &disk)?;
        Ok(Target {
            given,
            node,
            disk,
            number,
        })
    }

    /// Why opening the node failed.
    pub(super) fn explain(&self, error: &io::Error) -> OpenError {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOMEDIUM) => self.without_medium(),
            _ => explain(&self.given, Some(&self.node), error),
        }
    }

    /// What remains when sysfs tells nothing.
    fn bare_facts(&self, capacity: Bytes, block: LogicalBlock) -> Facts {
        let transport = sysfs::identity(&self.disk).transport;
        Facts::bare(self.given.clone(), transport, Some(capacity), block)
    }

    pub(super) fn without_medium(&self) -> OpenError {
        let path = self.given.clone();
        if self.disk.name().starts_with("loop") {
            OpenError::NothingAttached { path }
        } else {
            OpenError::NoMedium { path }
        }
    }
}

/// What an error of the file system means; `node` is the resolved name, when it is known.
pub(in crate::device) fn explain(given: &str, node: Option<&Path>, error: &io::Error) -> OpenError {
    let path = given.to_owned();
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ENXIO | Errno::ENODEV) => {
            OpenError::NotFound { path }
        }
        Some(Errno::ELOOP) => OpenError::LinkLoop { path },
        Some(Errno::ENAMETOOLONG) => OpenError::NameTooLong { path },
        Some(Errno::EACCES | Errno::EPERM) => OpenError::Permission {
            group: owning_group(node.unwrap_or(Path::new(given))),
            path,
        },
        Some(Errno::ENOMEDIUM) => OpenError::NoMedium { path },
        Some(Errno::EROFS) => OpenError::ReadOnly { path },
        Some(Errno::EINVAL) => OpenError::NoDirectAccess {
            path,
            reason: system_words(error),
        },
        _ => OpenError::Io {
            path,
            doing: "opening",
            reason: system_words(error),
        },
    }
}

/// The refusal of something that is not `wanted`.
pub(in crate::device) fn wrong_kind(
    path: String,
    kind: &fs::FileType,
    wanted: &'static str,
) -> OpenError {
    let found = if kind.is_dir() {
        return OpenError::Directory { path };
    } else if kind.is_char_device() {
        return OpenError::CharacterDevice { path };
    } else if kind.is_block_device() {
        "a block device"
    } else if kind.is_file() {
        "a regular file"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "something else"
    };
    OpenError::WrongKind {
        path,
        found,
        wanted,
    }
}

fn system_words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => Errno::from_raw(code).desc().to_lowercase(),
        None => error.to_string(),
    }
}

fn refuse_boot_area(roots: &Roots, path: &Path, given: &str) -> Result<(), OpenError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    match sysfs::boot_area_of(name) {
        // Any folder may hold an image file of this name; a node lies in /dev.
        Some(disk) if !fs::metadata(path).is_ok_and(|what| what.is_file()) => {
            Err(OpenError::BootArea {
                path: given.to_owned(),
                disk: roots.dev.join(disk).to_string_lossy().into_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Refuse a by-id link when another disk reports the same identity: the link leads to whichever
/// was plugged in last.
fn refuse_ambiguous_name(
    roots: &Roots,
    path: &Path,
    given: &str,
    disk: &Disk,
) -> Result<(), OpenError> {
    let is_by_id = path
        .parent()
        .is_some_and(|folder| folder.ends_with("disk/by-id"));
    if !is_by_id {
        return Ok(());
    }
    let twins = sysfs::twins(roots, disk);
    if twins.is_empty() {
        return Ok(());
    }
    let all: Vec<&Disk> = std::iter::once(disk).chain(&twins).collect();
    let node = |disk: &&Disk| disk.node(roots).to_string_lossy().into_owned();
    let mut instead: Vec<String> = all
        .iter()
        .flat_map(|disk| sysfs::by_path_names(roots, disk))
        .collect();
    let disks: Vec<String> = all.iter().map(node).collect();
    if instead.is_empty() {
        instead.clone_from(&disks);
    }
    Err(OpenError::AmbiguousName {
        path: given.to_owned(),
        disks,
        instead,
    })
}

/// The name of the group that owns a node, unless it is root's own.
fn owning_group(node: &Path) -> Option<String> {
    let group = fs::metadata(node).ok()?.gid();
    if group == 0 {
        return None;
    }
    let number = group.to_string();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let name = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    Some(name.unwrap_or(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::OpenErrorKind;
    use crate::device::sysfs::fake::{Tree, UsbDisk, block_node};

    /// Two readers of one kind with nodes in the tree's `/dev`; `None` without permission.
    fn readers() -> Option<Tree> {
        let tree = Tree::new();
        let other = UsbDisk {
            host: 3,
            serial: "another",
            ..UsbDisk::new("sdb", "8:16", "1-3")
        };
        tree.usb_disk(&UsbDisk::new("sda", "8:0", "1-2"))
            .usb_disk(&other)
            .partition("sda", "sda1", "8:1")
            .link("dev/disk/by-id/usb-Reader-0:0", "dev/sda")
            .link("dev/disk/by-path/port-2", "dev/sda")
            .link("dev/disk/by-path/port-3", "dev/sdb");
        let nodes = [("sda", 0), ("sda1", 1), ("sdb", 16), ("sdz", 400)];
        nodes
            .iter()
            .all(|(name, minor)| block_node(&tree.path("dev").join(name), 8, *minor))
            .then_some(tree)
    }

    #[test]
    fn a_by_id_name_is_resolved_to_its_node_and_disk() {
        let Some(tree) = readers() else { return };
        let by_id = tree.path("dev/disk/by-id/usb-Reader-0:0");
        let target = Target::find(&tree.roots, &by_id).unwrap();
        assert_eq!(target.node, tree.path("dev/sda"));
        assert_eq!(target.disk, tree.get("sda"));
        assert_eq!(target.given, by_id.to_string_lossy());
    }

    #[test]
    fn a_by_id_name_that_two_disks_claim_is_refused() {
        let Some(tree) = readers() else { return };
        let twin = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-3/serial";
        tree.file(twin, "058F63666433\n");
        let by_id = tree.path("dev/disk/by-id/usb-Reader-0:0");
        let error = Target::find(&tree.roots, &by_id).unwrap_err();
        let path = |name: &str| tree.path(name).to_string_lossy().into_owned();
        let expected = OpenError::AmbiguousName {
            path: path("dev/disk/by-id/usb-Reader-0:0"),
            disks: vec![path("dev/sda"), path("dev/sdb")],
            instead: vec![
                path("dev/disk/by-path/port-2"),
                path("dev/disk/by-path/port-3"),
            ],
        };
        assert_eq!(error, expected);
        assert_eq!(error.kind(), OpenErrorKind::Refused);
        assert!(Target::find(&tree.roots, &tree.path("dev/sda")).is_ok());
    }

    #[test]
    fn a_partition_is_refused_with_its_disk() {
        let Some(tree) = readers() else { return };
        let error = Target::find(&tree.roots, &tree.path("dev/sda1")).unwrap_err();
        assert_eq!(error.kind(), OpenErrorKind::Refused);
        let text = error.to_string();
        let disk = tree.path("dev/sda");
        assert!(
            text.ends_with(&format!("name the whole disk instead: {}", disk.display())),
            "{text}"
        );
    }

    #[test]
    fn facts_are_told_without_opening_unless_the_slot_is_empty() {
        let Some(tree) = readers() else { return };
        let path = tree.path("dev/sda");
        let (disk, facts) = look_in(&tree.roots, &path).unwrap();
        assert_eq!(
            (disk.name(), facts.capacity),
            ("sda", Some(Bytes(7_829_504 * 512)))
        );
        tree.attribute("sda", "size", "0\n");
        let error = look_in(&tree.roots, &path).unwrap_err();
        assert!(matches!(error, OpenError::NoMedium { .. }));
        assert_eq!(error.kind(), OpenErrorKind::Refused);
        tree.attribute("sda", "size", "32767\n");
        assert!(matches!(
            look_in(&tree.roots, &path),
            Err(OpenError::TooSmall { .. })
        ));
    }

    #[test]
    fn a_node_without_a_disk_behind_it_is_said_to_be_so() {
        let Some(tree) = readers() else { return };
        let error = Target::find(&tree.roots, &tree.path("dev/sdz")).unwrap_err();
        assert!(matches!(error, OpenError::NotInSysfs { .. }));
    }

    #[test]
    fn boot_areas_are_refused_by_name_before_they_are_touched() {
        let tree = Tree::new();
        for name in ["mmcblk0boot0", "mmcblk0rpmb"] {
            let error = Target::find(&tree.roots, &tree.path("dev").join(name)).unwrap_err();
            assert_eq!(error.kind(), OpenErrorKind::Refused);
            let disk = tree.path("dev/mmcblk0").to_string_lossy().into_owned();
            assert!(matches!(error, OpenError::BootArea { disk: said, .. } if said == disk));
        }
    }

    #[test]
    fn what_is_no_block_device_is_named() {
        let tree = Tree::new();
        tree.file("x.img", "x");
        let find = |path: &Path| Target::find(&tree.roots, path).unwrap_err();
        assert!(matches!(
            find(&tree.path("dev")),
            OpenError::Directory { .. }
        ));
        assert!(matches!(
            find(Path::new("/dev/null")),
            OpenError::CharacterDevice { .. }
        ));
        assert!(matches!(
            find(&tree.path("x.img")),
            OpenError::WrongKind {
                found: "a regular file",
                ..
            }
        ));
        assert!(matches!(
            find(&tree.path("dev/sdq")),
            OpenError::NotFound { .. }
        ));
        assert!(matches!(
            find(&tree.path("x.img/sdq")),
            OpenError::NotFound { .. }
        ));
    }

    #[test]
    fn the_errors_of_an_opening_are_told_apart() {
        let Some(tree) = readers() else { return };
        let target = Target::find(&tree.roots, &tree.path("dev/sda")).unwrap();
        let of = |code| target.explain(&io::Error::from_raw_os_error(code));
        assert!(matches!(of(libc::ENOMEDIUM), OpenError::NoMedium { .. }));
        assert!(matches!(of(libc::ENXIO), OpenError::NotFound { .. }));
        assert!(matches!(of(libc::EROFS), OpenError::ReadOnly { .. }));
        assert!(matches!(of(libc::EINVAL), OpenError::NoDirectAccess { .. }));
        assert_eq!(of(libc::EIO).kind(), OpenErrorKind::Io);
        for code in [libc::EACCES, libc::EPERM] {
            let text = of(code).to_string();
            assert!(text.contains("run: sudo flashfit scan /"), "{text}");
        }
    }
}

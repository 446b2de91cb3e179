//! How does an image file get partitions?
//!
//! Through a loop device, and partitions that are added to it one by one: a kernel need not be able
//! to read tables for that (and the loop devices of some distributions refuse to). Both are done by
//! tools of util-linux; root only.

use super::tools::locate;
use crate::device::sysfs::{Disk, Roots};
use crate::error::Error;
use crate::plan::layout::Layout;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether an image can be attached at all, asked before anything is written.
///
/// # Errors
/// Not root, or tools that are missing.
pub fn check() -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    for name in ["losetup", "addpart", "delpart"] {
        tool(name)?;
    }
    // The owner of this process's directory in /proc is its effective user.
    let root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if root {
        return Ok(());
    }
    Err(
        Error::failed("--mkfs on an image file needs root, for a loop device with partitions")
            .hint(
                "run as root, or leave it out and run the commands of: flashfit plan --format mkfs",
            ),
    )
}

/// A loop device with the partitions of a layout. Detached when dropped.
#[derive(Debug)]
pub struct LoopDisk {
    /// The device, such as `/dev/loop0`.
    path: String,
    losetup: PathBuf,
    delpart: PathBuf,
}

impl LoopDisk {
    /// Attach an image whose table is written.
    ///
    /// # Errors
    /// Not root, no loop devices, or tools that are missing. Nothing stays attached.
    pub fn attach(image: &Path, layout: &Layout) -> Result<LoopDisk, Error> {
        let losetup = tool("losetup")?;
        let addpart = tool("addpart")?;
        let delpart = tool("delpart")?;
        let sector = layout.logical_block.bytes().get().to_string();
        let made = words(
            Command::new(&losetup)
                .args(["--find", "--show", "--sector-size", &sector])
                .arg(image),
        )?;
        let disk = LoopDisk {
            path: made,
            losetup,
            delpart,
        };
        // Partitions that somebody added outlive the file that was behind the device then.
        disk.remove_partitions();
        for (index, partition) in layout.partitions.iter().enumerate() {
            let range = layout.byte_range(partition);
            // addpart counts in sectors of 512 bytes, whatever the logical block.
            let in_sectors = |bytes: u64| (bytes / 512).to_string();
            words(
                Command::new(&addpart)
                    .arg(&disk.path)
                    .arg((index + 1).to_string())
                    .arg(in_sectors(range.from.get()))
                    .arg(in_sectors(range.length().get())),
            )?;
        }
        Ok(disk)
    }

    /// The device, such as `/dev/loop0`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Make the kernel forget all partitions of the device, which is nobody else's. What cannot be forgotten
    /// is in use; whoever adds or makes something there is told so.
    fn remove_partitions(&self) {
        let name = self.path.trim_start_matches("/dev/");
        let Some(disk) = Disk::by_name(&Roots::system(), name) else {
            return;
        };
        for (number, _) in disk.partition_ranges() {
            let _ = Command::new(&self.delpart)
                .args([&self.path, &number.to_string()])
                .output();
        }
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        self.remove_partitions();
        let _ = Command::new(&self.losetup)
            .args(["--detach", &self.path])
            .status();
    }
}

fn tool(name: &str) -> Result<PathBuf, Error> {
    locate(name).ok_or_else(|| {
        Error::failed(format!("{name} is not installed"))
            .hint("install it: sudo apt install util-linux mount")
    })
}

/// What a tool says, or why it failed.
fn words(command: &mut Command) -> Result<String, Error> {
    let failed = |why: String| {
        Error::failed(format!(
            "the image cannot be made a loop device with partitions: {why}"
        ))
        .hint(
            "run as root, or write the table without --mkfs and run the commands of --format mkfs",
        )
    };
    let output = command
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(
        said.lines().next().unwrap_or("no reason given").to_owned(),
    ))
}

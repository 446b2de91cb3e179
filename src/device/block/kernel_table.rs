//! What the running kernel shows of a table: the partition nodes.

use super::exclusive::ExclusiveDevice;
use crate::units::ByteRange;
use nix::errno::Errno;
use std::fmt;
use std::thread;
use std::time::Duration;

/// How long to wait before each further try. udev and desktops open partitions for a moment when
/// they appear, and the kernel reads no table meanwhile; together 2.5 s, which outlasts every probe.
const WAITS: [Duration; 8] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
    Duration::from_millis(320),
    Duration::from_millis(640),
    Duration::from_millis(1230),
];

/// Why the kernel does not show a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelTrouble {
    /// A partition of the old table is in use.
    Busy,
    /// It refused a partition, or shows another one than it was told.
    Differs(String),
}

impl fmt::Display for KernelTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelTrouble::Busy => f.write_str("a partition of the old table is in use"),
            KernelTrouble::Differs(what) => f.write_str(what),
        }
    }
}

impl ExclusiveDevice {
    /// Make the kernel show these partitions (numbers and places) and no others.
    ///
    /// The kernel is asked to read the table first. One without a parser for it (containers, small
    /// systems) or without partition scanning (a loop device made without `--partscan`) shows
    /// nothing then, and is told partition by partition, as `partx` does it.
    ///
    /// # Errors
    /// What it shows afterwards is something else.
    pub fn show_partitions(&self, wanted: &[(u32, ByteRange)]) -> Result<(), KernelTrouble> {
        if self.reread_patiently() == Err(Errno::EBUSY) {
            return Err(KernelTrouble::Busy);
        }
        let shown = self.shown_partitions();
        if shown == wanted {
            return Ok(());
        }
        for (number, _) in shown.iter().filter(|one| !wanted.contains(one)) {
            match self.remove_partition(*number) {
                Ok(()) | Err(Errno::ENXIO) => {}
                Err(Errno::EBUSY) => return Err(KernelTrouble::Busy),
                Err(errno) => return Err(refused("remove", *number, errno)),
            }
        }
        for (number, range) in wanted.iter().filter(|one| !shown.contains(one)) {
            self.add_partition(*number, *range)
                .map_err(|errno| refused("make", *number, errno))?;
        }
        let shown = self.shown_partitions();
        if shown == wanted {
            return Ok(());
        }
        Err(KernelTrouble::Differs(format!(
            "it shows {} partitions where the table has {}",
            shown.len(),
            wanted.len()
        )))
    }

    /// Make the kernel show no partition of the table that was there, and read the present one if
    /// it can.
    ///
    /// # Errors
    /// A partition that it shows is in use.
    pub fn forget_partitions(&self) -> Result<(), KernelTrouble> {
        match self.reread_patiently() {
            Err(Errno::EBUSY) => return Err(KernelTrouble::Busy),
            Ok(()) => return Ok(()),
            Err(_) => {}
        }
        // Without a scan of its own the kernel keeps what it was told partition by partition.
        for (number, _) in self.shown_partitions() {
            self.remove_partition(number)
                .map_err(|_| KernelTrouble::Busy)?;
        }
        Ok(())
    }

    fn reread_patiently(&self) -> Result<(), Errno> {
        let mut answer = self.reread_partitions();
        for wait in WAITS {
            if answer != Err(Errno::EBUSY) {
                break;
            }
            thread::sleep(wait);
            answer = self.reread_partitions();
        }
        answer
    }

    /// The partitions that the kernel shows now.
    pub fn shown_partitions(&self) -> Vec<(u32, ByteRange)> {
        self.as_read_only().disk().partition_ranges()
    }
}

fn refused(what: &str, number: u32, errno: Errno) -> KernelTrouble {
    KernelTrouble::Differs(format!(
        "it refused to {what} partition {number}: {}",
        errno.desc().to_lowercase()
    ))
}

//! Does the kernel show the partition of the plan?

use crate::error::{Error, ExitCode};
use crate::plan::layout::Layout;
use crate::units::{ByteRange, Bytes};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a partition may take to appear: udev makes the names, and on a loaded machine that takes
/// seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// sysfs counts sectors of 512 bytes, whatever the logical block.
const SYSFS_SECTOR: u64 = 512;

/// Make sure that a node is the partition of the plan: same start, same size. A kernel that still
/// shows an old table would have a file system made over other data.
pub fn is_of_plan(layout: &Layout, number: usize, node: &Path) -> Result<(), Error> {
    let Some(partition) = layout.partitions.get(number.saturating_sub(1)) else {
        return Err(Error::failed(format!(
            "the layout has no partition {number}"
        )));
    };
    let planned = layout.byte_range(partition);
    let begun = Instant::now();
    while !node.exists() {
        if begun.elapsed() > PATIENCE {
            return Err(Error::new(
                ExitCode::StaleKernel,
                format!("{} did not appear", node.display()),
            )
            .hint("re-plug the device, then run the mkfs commands by hand"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let shown = shown(node).ok_or_else(|| {
        Error::failed(format!(
            "{} is no partition that the kernel shows",
            node.display()
        ))
    })?;
    if shown == planned {
        return Ok(());
    }
    Err(Error::new(
        ExitCode::StaleKernel,
        format!(
            "the kernel shows {} at bytes {} to {}, the plan has {} to {}",
            node.display(),
            shown.from.get(),
            shown.to.get(),
            planned.from.get(),
            planned.to.get()
        ),
    )
    .hint("re-plug the device, then run the mkfs commands by hand"))
}

/// Where the kernel has this partition.
fn shown(node: &Path) -> Option<ByteRange> {
    // A link below /dev/disk leads to the name that sysfs knows.
    let name = std::fs::canonicalize(node).ok()?;
    let folder = Path::new("/sys/class/block").join(name.file_name()?);
    let number = |file: &str| -> Option<u64> {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse::<u64>().ok()?.checked_mul(SYSFS_SECTOR)
    };
    let from = number("start")?;
    Some(ByteRange {
        from: Bytes(from),
        to: Bytes(from.checked_add(number("size")?)?),
    })
}

/// Bring everything that was written through this node to the medium.
pub fn flush(node: &Path) -> Result<(), Error> {
    File::open(node)
        .and_then(|file| file.sync_all())
        .map_err(|error| Error::io(format!("cannot flush {}: {error}", node.display())))
}

//! The commands that make the file systems of a layout, as a script for a POSIX shell.

use crate::plan::filesystem::command::{UNKNOWN_DISK, mkfs, partition_node};
use crate::plan::filesystem::{Format, Inside};
use crate::plan::layout::Layout;
use crate::quote::in_a_comment;
use std::fmt::Write;

/// The script, with a final line break. `disk` is the whole disk; `None` when the plan was made from
/// something that is none, such as numbers or an image file.
pub fn render(layout: &Layout, disk: Option<&str>) -> String {
    let mut text = String::new();
    let named = disk.unwrap_or(UNKNOWN_DISK);
    // Writing to a String cannot fail, hence the ignored results in this file.
    let _ = writeln!(
        text,
        "# file systems for the partitions of this layout; write the table first"
    );
    if disk.is_none() {
        let _ = writeln!(
            text,
            "# {UNKNOWN_DISK} stands for the disk: {} becomes {} on /dev/mmcblk0",
            partition_node(UNKNOWN_DISK, 1),
            partition_node("/dev/mmcblk0", 1)
        );
    }
    text.push_str("set -e\n");
    for (index, partition) in layout.partitions.iter().enumerate() {
        let number = index + 1;
        let _ = writeln!(text, "\n# partition {number}: {}", partition.filesystem);
        match (&partition.format, mkfs(layout, number, named)) {
            (Some(format), Some(command)) => {
                comment(layout, index, format, &mut text);
                let _ = writeln!(text, "{}", command.line());
            }
            _ => text.push_str("# nothing to make\n"),
        }
    }
    text
}

fn comment(layout: &Layout, index: usize, format: &Format, text: &mut String) {
    let Some(partition) = layout.partitions.get(index) else {
        return;
    };
    let start = layout.byte_range(partition).from;
    let _ = match &format.inside {
        Inside::OnGrid(offset) => writeln!(
            text,
            "# on the grid of {}: byte {} of the disk, {} behind the start",
            layout.alignment.ends(),
            start.get().saturating_add(offset.get()),
            offset
        ),
        Inside::UnitsOnGrid => writeln!(
            text,
            "# what it allocates lies on the grid of {}",
            layout.alignment.ends()
        ),
        Inside::StartOnly(why) => writeln!(text, "# {}", in_a_comment(why)),
    };
    if !format.mount.is_empty() {
        let _ = writeln!(text, "# mount with: -o {}", in_a_comment(&format.mount));
    }
}

//! What the shell scripts share: the checks, and the comments on top.

use crate::plan::layout::Layout;
use crate::quote::in_a_comment;
use std::fmt::Write;

/// The beginning: for what it was made, and what it refuses.
pub(super) fn head(layout: &Layout, tool: &str, text: &mut String) {
    let grid = &layout.alignment;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "#!/bin/sh");
    comment(text, &format!("flashfit partition script for {tool}"));
    comment(
        text,
        "write: sh SCRIPT DEVICE (all that the present table names is lost)",
    );
    comment(
        text,
        &format!(
            "medium: {} bytes, {} sectors of {} bytes",
            layout.capacity_bytes().get(),
            layout.capacity,
            layout.logical_block.bytes().get()
        ),
    );
    comment(
        text,
        &format!(
            "alignment: starts on {}, sizes in units of {}: {}",
            grid.alignment, grid.unit, grid.reason
        ),
    );
    comment(
        text,
        &format!("table: {} ({})", layout.table.word(), layout.table_reason),
    );
    for gap in &layout.gaps {
        comment(
            text,
            &format!("free: {} to {}: {}", gap.from, gap.to, gap.reason),
        );
    }
    for warning in &layout.warnings {
        comment(text, &format!("warning: {}", warning.text));
    }
}

/// The device, and whether it is the one: sectors of another size would put everything elsewhere, and
/// another size means that it is another medium.
/// Names are UTF-8 whatever the locale of the user.
pub(super) fn device(layout: &Layout, text: &mut String) {
    let block = layout.logical_block.bytes().get();
    let sectors = layout.capacity;
    let _ = write!(
        text,
        "set -eu\n\
         export LC_ALL=C.UTF-8\n\
         device=${{1:?name the device}}\n\
         if [ -b \"$device\" ] && [ \"$(blockdev --getss \"$device\")\" != {block} ]; then\n    \
         echo \"$device does not have sectors of {block} bytes\" >&2\n    \
         exit 1\n\
         fi\n\
         size=$(blockdev --getsize64 \"$device\" 2>/dev/null || stat -Lc %s \"$device\")\n\
         if [ $((size / {block})) -ne {sectors} ]; then\n    \
         echo \"$device does not have the {sectors} sectors that this script was made for\" >&2\n    \
         exit 1\n\
         fi\n"
    );
}

/// One line of comment. Reasons may come from a file: a line break in one must not become a command.
pub(super) fn comment(text: &mut String, words: &str) {
    text.push_str("# ");
    text.push_str(&in_a_comment(words));
    text.push('\n');
}

//! A layout as a shell script around sgdisk: GPT only.
//!
//! sgdisk moves starts to multiples of 2048 sectors unless it is told otherwise, so the alignment is
//! set to one sector and every place is given. First and last usable sector are its own choice, and
//! the same as in the layout.

use super::script::{comment, device, head};
use crate::plan::gpt_shape::STANDARD_ENTRIES;
use crate::plan::layout::{Layout, Partition};
use crate::plan::{PartitionType, TableKind};
use crate::quote::script_word;

/// Why there is no such script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sgdisk writes only GPT and this layout is an MBR: use --format sfdisk, or --table gpt")]
pub struct OnlyGpt;

/// The script.
///
/// # Errors
/// An MBR.
pub fn render(layout: &Layout) -> Result<String, OnlyGpt> {
    if layout.table != TableKind::Gpt {
        return Err(OnlyGpt);
    }
    let mut text = String::new();
    head(layout, "sgdisk (gptfdisk 1.0 or newer)", &mut text);
    for (index, partition) in layout.partitions.iter().enumerate() {
        if !storable(&partition.name) {
            comment(
                &mut text,
                &format!(
                    "warning: partition {}: sgdisk cannot store its name, so it gets none",
                    index + 1
                ),
            );
        }
    }
    device(layout, &mut text);
    forget(layout, &mut text);
    let mut words = vec!["--clear".to_owned(), "--set-alignment=1".to_owned()];
    if let Some(shape) = layout.gpt.filter(|shape| shape.entries != STANDARD_ENTRIES) {
        words.push(format!("--resize-table={}", shape.entries));
    }
    words.push(format!("--disk-guid={}", layout.disk_id));
    for (index, partition) in layout.partitions.iter().enumerate() {
        words.extend(of_partition(index + 1, partition));
    }
    text += "sgdisk";
    for word in words {
        text += " \\\n    ";
        text += &script_word(&word);
    }
    text += " \\\n    \"$device\"\n";
    Ok(text)
}

/// Zero what sgdisk would read as a table: it refuses to go on over an MBR, a FAT or two damaged
/// headers. Its own `--zap-all` also zeroes the boot code and 128 entries, among which a loader may
/// lie.
fn forget(layout: &Layout, text: &mut String) {
    let block = layout.logical_block.bytes().get();
    let last = layout.capacity.get().saturating_sub(1);
    comment(
        text,
        "forget the old table: its MBR entries, and the first and the last GPT header",
    );
    for (unit, from, count) in [(1, 446, 66), (block, 1, 1), (block, last, 1)] {
        *text += &format!(
            "dd if=/dev/zero of=\"$device\" bs={unit} seek={from} count={count} conv=notrunc status=none\n"
        );
    }
}

fn of_partition(number: usize, partition: &Partition) -> Vec<String> {
    let mut words = vec![format!(
        "--new={number}:{}:{}",
        partition.first,
        partition.last()
    )];
    if let PartitionType::Gpt(kind) = partition.kind {
        words.push(format!("--typecode={number}:{kind}"));
    }
    if let Some(uuid) = partition.uuid {
        words.push(format!("--partition-guid={number}:{uuid}"));
    }
    // Without a name it would invent one from the type.
    let name = if storable(&partition.name) {
        partition.name.as_str()
    } else {
        ""
    };
    words.push(format!("--change-name={number}:{name}"));
    if partition.attributes != 0 {
        words.push(format!(
            "--attributes={number}:=:{:016x}",
            partition.attributes
        ));
    }
    words
}

/// Whether sgdisk stores the name as it is: it cuts names at a colon.
fn storable(name: &str) -> bool {
    !name.contains(':')
}

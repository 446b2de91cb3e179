//! A layout as JSON, schema `flashfit.layout/1`, and back.
//!
//! Fields that this version does not know are ignored, so that the schema can grow; a schema of
//! another number is refused by name. Every number that is read is checked against every other
//! (see [`Layout::check`]): a layout from a file is written to a disk.

mod read;

use crate::plan::FileSystem;
use crate::plan::filesystem::advice::Advice;
use crate::plan::filesystem::command::UNKNOWN_DISK;
use crate::plan::filesystem::{Format, Inside, Parameters};
use crate::plan::layout::{AlignedBy, Layout, LayoutFault, Partition};
use crate::units::{Bytes, Lba, LogicalBlock, Sectors};
use serde::{Deserialize, Serialize};

/// The schema that is written and read.
pub const SCHEMA: &str = "flashfit.layout/1";

/// Why a text is no layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutFileError {
    /// Not JSON, or a field that is missing or of the wrong type.
    #[error("not a layout file: {0}")]
    Malformed(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error("not a layout file: it has no \"schema\" of the form {SCHEMA}")]
    NoSchema,
    /// Another schema, or another version of this one.
    #[error(
        "schema '{0}' is not known, this version reads {SCHEMA}: make the layout anew with 'flashfit plan --format json'"
    )]
    UnknownSchema(String),
    /// A field that says nothing sensible.
    #[error("layout file: {field}: {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Numbers that contradict each other.
    #[error("layout file contradicts itself: {0}")]
    Fault(#[from] LayoutFault),
}

/// The layout as indented JSON with a final line break.
pub fn render(layout: &Layout) -> String {
    let file = File::from(layout);
    // Strings and integers only: serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

/// The layout that a text describes.
pub fn parse(text: &str) -> Result<Layout, LayoutFileError> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    match value.get("schema").and_then(|schema| schema.as_str()) {
        None => return Err(LayoutFileError::NoSchema),
        Some(SCHEMA) => {}
        Some(other) => {
            let shown = other.chars().filter(|c| !c.is_control()).take(80).collect();
            return Err(LayoutFileError::UnknownSchema(shown));
        }
    }
    if holds_controls(&value) {
        return Err(LayoutFileError::Field {
            field: "a text",
            problem: "it holds characters that control a terminal".to_owned(),
        });
    }
    let file: File = serde_json::from_value(value)?;
    let mut layout = file.into_layout()?;
    layout.check()?;
    layout.check_commands()?;
    if layout.mkfs.is_empty() {
        layout.name_disk(UNKNOWN_DISK);
    }
    Ok(layout)
}

/// Whether a text in it could move the cursor of whoever looks at the layout, or turn the direction
/// of writing: what stands before the question of consent must not be made to look otherwise.
fn holds_controls(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    // The directional formatting characters of the Unicode Bidirectional Algorithm (UAX #9, 2).
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match value {
        Value::String(text) => text.chars().any(|c| c.is_control() || turns(c)),
        Value::Array(items) => items.iter().any(holds_controls),
        Value::Object(fields) => fields.values().any(holds_controls),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: String,
    #[serde(default)]
    version: String,
    table: String,
    #[serde(default)]
    table_reason: String,
    disk_id: String,
    logical_block_size: LogicalBlock,
    capacity_bytes: Bytes,
    capacity_sectors: Option<Sectors>,
    alignment: Grid,
    /// Of a GPT only; the standard shape when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpt: Option<Shape>,
    first_usable_lba: Option<Lba>,
    last_usable_lba: Option<Lba>,
    partitions: Vec<Entry>,
    #[serde(default)]
    keep_out: Vec<Kept>,
    #[serde(default)]
    gaps: Vec<Free>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    warnings: Vec<Note>,
    #[serde(default)]
    mkfs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    advice: Option<Advice>,
}

#[derive(Serialize, Deserialize)]
struct Grid {
    bytes: Bytes,
    #[serde(default)]
    phase_bytes: Bytes,
    /// Sizes are multiples of it; the grain when it is not given.
    size_unit_bytes: Option<Bytes>,
    erase_block_bytes: Option<Bytes>,
    #[serde(default)]
    fallback: bool,
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Shape {
    entries: u32,
    array_lba: Lba,
    backup_array_lba: Lba,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(default)]
    number: usize,
    first_lba: Lba,
    sectors: Sectors,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: String,
    uuid: Option<String>,
    #[serde(default = "no_file_system")]
    filesystem: String,
    label: Option<String>,
    #[serde(default = "start")]
    aligned_by: String,
    aligned_by_reason: Option<String>,
    /// What mkfs is told; absent when the file system has no parameters or they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<Made>,
    /// Written for people. It holds a command that nothing else in the file leads to, so it is not
    /// read: what a file says is not shown as something to run.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    alternative: Option<String>,
    #[serde(default)]
    bootable: bool,
    #[serde(default)]
    attributes: u64,
}

/// How a file system is made.
#[derive(Serialize, Deserialize)]
struct Made {
    parameters: Parameters,
    /// The place, counted from the start of the partition, that lies on the grid; `null` when it is
    /// not told, and when only the start does, which then has a reason.
    data_offset_bytes: Option<Bytes>,
    start_only_reason: Option<String>,
    #[serde(default)]
    mount: String,
}

impl From<&Format> for Made {
    fn from(format: &Format) -> Made {
        let (data_offset_bytes, start_only_reason) = match &format.inside {
            Inside::OnGrid(offset) => (Some(*offset), None),
            Inside::UnitsOnGrid => (None, None),
            Inside::StartOnly(why) => (None, Some(why.clone())),
        };
        Made {
            parameters: format.parameters.clone(),
            data_offset_bytes,
            start_only_reason,
            mount: format.mount.clone(),
        }
    }
}

impl From<Made> for Format {
    fn from(made: Made) -> Format {
        Format {
            parameters: made.parameters,
            inside: match made.data_offset_bytes {
                Some(offset) => Inside::OnGrid(offset),
                None => made
                    .start_only_reason
                    .map_or(Inside::UnitsOnGrid, Inside::StartOnly),
            },
            mount: made.mount,
        }
    }
}

fn no_file_system() -> String {
    FileSystem::None.word().to_owned()
}

fn start() -> String {
    "start".to_owned()
}

#[derive(Serialize, Deserialize)]
struct Kept {
    from_bytes: Bytes,
    to_bytes: Bytes,
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Free {
    first_lba: Lba,
    sectors: Sectors,
    kind: String,
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Note {
    code: String,
    text: String,
}

impl From<&Layout> for File {
    fn from(layout: &Layout) -> File {
        let grid = &layout.alignment;
        File {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            table: layout.table.word().to_owned(),
            table_reason: layout.table_reason.clone(),
            disk_id: layout.disk_id.to_string(),
            logical_block_size: layout.logical_block,
            capacity_bytes: layout.capacity_bytes(),
            capacity_sectors: Some(layout.capacity),
            alignment: Grid {
                bytes: grid.alignment.grain(),
                phase_bytes: grid.alignment.phase(),
                size_unit_bytes: Some(grid.unit),
                erase_block_bytes: grid.erase_block,
                fallback: grid.fallback,
                reason: grid.reason.clone(),
            },
            gpt: layout.gpt.map(|shape| Shape {
                entries: shape.entries,
                array_lba: shape.array_lba,
                backup_array_lba: shape.backup_array_lba,
            }),
            first_usable_lba: Some(layout.first_usable),
            last_usable_lba: Some(layout.last_usable),
            partitions: layout.partitions.iter().enumerate().map(entry).collect(),
            keep_out: layout
                .keep_out
                .iter()
                .map(|kept| Kept {
                    from_bytes: kept.range.from,
                    to_bytes: kept.range.to,
                    reason: kept.reason.clone(),
                })
                .collect(),
            gaps: layout
                .gaps
                .iter()
                .map(|gap| Free {
                    first_lba: gap.from,
                    sectors: Sectors(gap.to.get().saturating_sub(gap.from.get())),
                    kind: gap.kind.word().to_owned(),
                    reason: gap.reason.clone(),
                })
                .collect(),
            notes: layout.notes.clone(),
            warnings: layout
                .warnings
                .iter()
                .map(|warning| Note {
                    code: warning.code.clone(),
                    text: warning.text.clone(),
                })
                .collect(),
            mkfs: layout.mkfs.clone(),
            advice: layout.advice.clone(),
        }
    }
}

fn entry((index, partition): (usize, &Partition)) -> Entry {
    let (aligned_by, aligned_by_reason) = match &partition.aligned_by {
        AlignedBy::Start => ("start", None),
        AlignedBy::DataArea { reason } => ("data_area", Some(reason.clone())),
    };
    Entry {
        number: index + 1,
        first_lba: partition.first,
        sectors: partition.sectors,
        kind: partition.kind.to_string(),
        name: partition.name.clone(),
        uuid: partition.uuid.map(|uuid| uuid.to_string()),
        filesystem: partition.filesystem.word().to_owned(),
        label: partition.label.clone(),
        aligned_by: aligned_by.to_owned(),
        aligned_by_reason,
        format: partition.format.as_ref().map(Made::from),
        alternative: partition.alternative.clone(),
        bootable: partition.bootable,
        attributes: partition.attributes,
    }
}

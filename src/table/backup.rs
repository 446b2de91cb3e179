//! What was there before a write, as a file: JSON, schema `flashfit.backup/1`.
//!
//! Extents stand in the order of writing. Each holds the old bytes, and of every sector the
//! checksum of what was written over it, so that a restore can tell whether somebody else has
//! written there since. A checksum over everything tells a damaged file from a good one. The reader
//! is strict: what it does not fully understand it does not write to a disk.

use super::identity::Identity;
use super::image::{Extent, Part};
use super::read::crc::crc32;
use crate::topology::Transport;
use crate::units::{ByteRange, Bytes, Lba, LogicalBlock, Sectors};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The schema that is written and read.
pub const SCHEMA: &str = "flashfit.backup/1";

/// More than any table and all known signatures take together: bounds what a file may claim.
const MOST: Bytes = Bytes::mib(32);

/// The old content of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Whose it is.
    pub device: Identity,
    /// In the order in which they were written over.
    pub sectors: Vec<Saved>,
}

/// One old sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Where.
    pub at: Lba,
    /// What was written over it.
    pub part: Part,
    /// What it held.
    pub data: Vec<u8>,
    /// The checksum of what was written over it.
    pub replaced_by: u32,
}

impl Saved {
    /// Whether `data` is what was written over it.
    pub fn was_replaced_by(&self, data: &[u8]) -> bool {
        crc32(data) == self.replaced_by
    }
}

/// Why a text is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Not JSON, or a field that is missing or of the wrong type.
    #[error("not a backup file: {0}")]
    Malformed(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error("not a backup file: it has no \"schema\" of the form {SCHEMA}")]
    NoSchema,
    /// Another schema, or another version of this one.
    #[error(
        "schema '{0}' is not known, this version reads {SCHEMA}: use the version that wrote it"
    )]
    UnknownSchema(String),
    /// A field that says nothing sensible.
    #[error("backup file: {0}")]
    Field(&'static str),
    /// The bytes are not those that were saved.
    #[error("the backup file is damaged (its checksum does not fit): look for another copy of it")]
    Checksum,
}

impl Backup {
    /// The old content behind these extents.
    pub(super) fn of(device: Identity, extents: &[Extent]) -> Backup {
        let sectors = extents.iter().map(|extent| Saved {
            at: extent.at,
            part: extent.part,
            data: extent.old.clone(),
            replaced_by: crc32(&extent.new),
        });
        Backup {
            device,
            sectors: sectors.collect(),
        }
    }

    /// The backup as JSON with a final line break. Neighbouring sectors are put together.
    pub fn render(&self) -> String {
        let mut runs: Vec<(Lba, Part, Vec<&Saved>)> = Vec::new();
        for saved in &self.sectors {
            match runs.last_mut() {
                Some((at, part, run))
                    if *part == saved.part && at.get() + run.len() as u64 == saved.at.get() =>
                {
                    run.push(saved);
                }
                _ => runs.push((saved.at, saved.part, vec![saved])),
            }
        }
        let unit = self.device.logical_block.bytes().get();
        let extents = runs.into_iter().map(|(at, part, run)| {
            let data: Vec<u8> = run.iter().flat_map(|saved| &saved.data).copied().collect();
            Run {
                what: part.word().to_owned(),
                at_bytes: Bytes(at.get().saturating_mul(unit)),
                length_bytes: Bytes(data.len() as u64),
                replaced_by_crc32: run.iter().map(|saved| hex(saved.replaced_by)).collect(),
                data: BASE64.encode(data),
            }
        });
        let file = File {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device: Device {
                path: self.device.path.clone(),
                capacity_bytes: self.device.capacity,
                logical_block_size: self.device.logical_block,
                transport: self.device.transport,
                vendor: self.device.vendor.clone(),
                model: self.device.model.clone(),
                serial: self.device.serial.clone(),
                usb_id: self.device.usb_id.clone(),
            },
            extents: extents.collect(),
            sha256: self.checksum(),
        };
        // Strings and integers only: serialising them cannot fail.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The backup that a text describes.
    ///
    /// # Errors
    /// Anything that is not exactly a backup.
    pub fn parse(text: &str) -> Result<Backup, BackupError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("schema").and_then(|schema| schema.as_str()) {
            None => return Err(BackupError::NoSchema),
            Some(SCHEMA) => {}
            Some(other) => {
                let shown = other.chars().filter(|c| !c.is_control()).take(80).collect();
                return Err(BackupError::UnknownSchema(shown));
            }
        }
        let file: File = serde_json::from_value(value)?;
        let sum = file.sha256.clone();
        let backup = file.into_backup()?;
        if backup.checksum() != sum {
            return Err(BackupError::Checksum);
        }
        Ok(backup)
    }

    /// SHA-256 over everything that matters, in an order and form that do not depend on JSON.
    fn checksum(&self) -> String {
        let mut sum = Sha256::new();
        let mut text = |text: &str| {
            sum.update((text.len() as u64).to_le_bytes());
            sum.update(text.as_bytes());
        };
        text(SCHEMA);
        text(&self.device.path);
        text(&self.device.transport.to_string());
        for field in [
            &self.device.vendor,
            &self.device.model,
            &self.device.serial,
            &self.device.usb_id,
        ] {
            // A missing field is not an empty one.
            text(if field.is_some() { "+" } else { "-" });
            text(field.as_deref().unwrap_or_default());
        }
        let capacity = self.device.capacity.unwrap_or(Bytes::ZERO);
        sum.update(capacity.get().to_le_bytes());
        sum.update(self.device.logical_block.bytes().get().to_le_bytes());
        for saved in &self.sectors {
            sum.update(saved.at.get().to_le_bytes());
            sum.update(saved.part.word().as_bytes());
            sum.update(saved.replaced_by.to_le_bytes());
            sum.update(&saved.data);
        }
        sum.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// How many bytes it holds.
    pub fn length(&self) -> Bytes {
        Bytes(
            self.sectors
                .iter()
                .map(|saved| saved.data.len() as u64)
                .sum(),
        )
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    version: String,
    device: Device,
    extents: Vec<Run>,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    path: String,
    capacity_bytes: Option<Bytes>,
    logical_block_size: LogicalBlock,
    transport: Transport,
    vendor: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    usb_id: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    what: String,
    at_bytes: Bytes,
    length_bytes: Bytes,
    /// One for each sector.
    replaced_by_crc32: Vec<String>,
    data: String,
}

fn hex(sum: u32) -> String {
    format!("{sum:08x}")
}

fn unhex(text: &str) -> Result<u32, BackupError> {
    let wrong = BackupError::Field("a checksum is not of eight hex digits");
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    u32::from_str_radix(text, 16).map_err(|_| wrong)
}

impl File {
    fn into_backup(self) -> Result<Backup, BackupError> {
        let block = self.device.logical_block_size;
        let Some(capacity) = self.device.capacity_bytes else {
            return Err(BackupError::Field("capacity_bytes is missing"));
        };
        let mut sectors = Vec::new();
        let mut total = Bytes::ZERO;
        for run in self.extents {
            total = total
                .checked_add(run.length_bytes)
                .filter(|total| *total <= MOST)
                .ok_or(BackupError::Field("the extents are longer than 32 MiB"))?;
            run.split(block, capacity, &mut sectors)?;
        }
        check_overlap(&sectors)?;
        Ok(Backup {
            device: Identity {
                path: self.device.path,
                capacity: Some(capacity),
                logical_block: block,
                transport: self.device.transport,
                vendor: self.device.vendor,
                model: self.device.model,
                serial: self.device.serial,
                usb_id: self.device.usb_id,
            },
            sectors,
        })
    }
}

impl Run {
    /// Its sectors, at the end of `sectors`.
    fn split(
        self,
        block: LogicalBlock,
        capacity: Bytes,
        sectors: &mut Vec<Saved>,
    ) -> Result<(), BackupError> {
        let field = BackupError::Field;
        let part = Part::ALL
            .into_iter()
            .find(|part| part.word() == self.what)
            .ok_or(field("an extent has an unknown \"what\""))?;
        let range = ByteRange {
            from: self.at_bytes,
            to: self
                .at_bytes
                .checked_add(self.length_bytes)
                .filter(|to| *to <= capacity)
                .ok_or(field("an extent passes the end of the device"))?,
        };
        let (Some(Sectors(first)), Some(Sectors(count))) = (
            range.from.to_sectors(block),
            range.length().to_sectors(block),
        ) else {
            return Err(field("an extent is not of whole sectors"));
        };
        let data = BASE64
            .decode(&self.data)
            .map_err(|_| field("the data of an extent is no base64"))?;
        if count == 0 || data.len() as u64 != self.length_bytes.get() {
            return Err(field("the data of an extent is not as long as it says"));
        }
        if self.replaced_by_crc32.len() as u64 != count {
            return Err(field("an extent has not one checksum for each sector"));
        }
        let unit = usize::try_from(block.bytes().get()).unwrap_or(512);
        for ((at, data), sum) in (first..)
            .zip(data.chunks(unit))
            .zip(&self.replaced_by_crc32)
        {
            sectors.push(Saved {
                at: Lba(at),
                part,
                data: data.to_vec(),
                replaced_by: unhex(sum)?,
            });
        }
        Ok(())
    }
}

fn check_overlap(sectors: &[Saved]) -> Result<(), BackupError> {
    let mut places: Vec<Lba> = sectors.iter().map(|saved| saved.at).collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(BackupError::Field("two extents overlap"));
    }
    if sectors.is_empty() {
        return Err(BackupError::Field("it has no extents"));
    }
    if !sectors.is_sorted_by_key(|saved| saved.part) {
        return Err(BackupError::Field(
            "the extents are not in the order of writing",
        ));
    }
    Ok(())
}

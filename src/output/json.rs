//! A report as JSON, schema `flashfit.report/1`, and back.
//!
//! Every key is always there; what is not known is `null`. Reading ignores keys that this version
//! does not know, so that the schema can grow; another schema, or another number of this one, is
//! refused by name. Every number that is read is checked: a layout is made from it.

use super::report::{Cost, Report, Speeds};
use crate::geometry::erase_block::StoppedBy;
use crate::geometry::{Geometry, Warning};
use crate::plan::{AlignmentChoice, alignment};
use crate::topology::{Facts, Origin, PreferredEraseSize, Reported, Transport};
use crate::units::{Alignment, Bytes, LogicalBlock};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The schema that is written and read.
pub const SCHEMA: &str = "flashfit.report/1";

/// Why a text is no report. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ReportFileError {
    /// Not JSON, or a field that is missing or of the wrong type.
    #[error("not a report: {0}; make one with 'flashfit scan DEVICE --report FILE'")]
    Malformed(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error(
        "not a report: it has no \"schema\" of the form {SCHEMA}; make one with 'flashfit scan DEVICE --report FILE'"
    )]
    NoSchema,
    /// Another schema, or another version of this one.
    #[error(
        "schema '{0}' is not known, this version reads {SCHEMA}; make the report anew with 'flashfit scan DEVICE --report FILE'"
    )]
    UnknownSchema(String),
    /// A field that says nothing sensible.
    #[error(
        "report: {field}: {problem}; make the report anew with 'flashfit scan DEVICE --report FILE'"
    )]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// The report as indented JSON with a final line break.
pub fn render(report: &Report) -> String {
    let file = File::from(report);
    // Strings and numbers only, and maps with text keys: serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

/// The report that a text holds.
///
/// # Errors
/// Whatever is no report of this schema, or holds numbers that make no sense.
pub fn parse(text: &str) -> Result<Report, ReportFileError> {
    // In two steps, so that an unknown version is refused by name and not for its unknown fields.
    let head: Head = serde_json::from_str(text)?;
    match head.schema {
        Some(serde_json::Value::String(schema)) if schema == SCHEMA => {}
        Some(serde_json::Value::String(other)) => {
            let shown = other.chars().filter(|c| !c.is_control()).take(80).collect();
            return Err(ReportFileError::UnknownSchema(shown));
        }
        _ => return Err(ReportFileError::NoSchema),
    }
    let file: File = serde_json::from_str(text)?;
    file.check()?;
    file.into_report()
}

#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: String,
    version: String,
    device: Device,
    geometry: Geometry,
    alignment: Grid,
    cost: Spent,
    warnings: Vec<Warning>,
}

#[derive(Serialize, Deserialize)]
struct Device {
    path: String,
    capacity_bytes: Option<Bytes>,
    /// Absent in reports of earlier versions.
    #[serde(default)]
    real_capacity_bytes: Option<Bytes>,
    logical_block_size: LogicalBlock,
    physical_block_size: Option<Bytes>,
    transport: Transport,
    vendor: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    usb_id: Option<String>,
    removable: Option<bool>,
    reported: ReportedSizes,
}

#[derive(Serialize, Deserialize)]
struct ReportedSizes {
    preferred_erase_size: Option<Bytes>,
    ssr_au_size: Option<Bytes>,
    optimal_io_size: Option<Bytes>,
    discard_granularity: Option<Bytes>,
}

#[derive(Serialize, Deserialize)]
struct Grid {
    bytes: Bytes,
    phase_bytes: Bytes,
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Spent {
    device_seconds: f64,
    wall_seconds: f64,
    reads: u64,
    writes: u64,
    bytes_read: Bytes,
    bytes_written: Bytes,
    stopped_by: Option<String>,
}

impl From<&Report> for File {
    fn from(report: &Report) -> File {
        File {
            schema: SCHEMA.to_owned(),
            version: report.version.clone(),
            device: Device::from(&report.device),
            geometry: report.geometry.clone(),
            alignment: Grid {
                bytes: report.alignment.alignment.grain(),
                phase_bytes: report.alignment.alignment.phase(),
                reason: report.alignment.reason.clone(),
            },
            cost: Spent::from(&report.cost),
            warnings: report.warnings.clone(),
        }
    }
}

impl From<&Facts> for Device {
    fn from(facts: &Facts) -> Device {
        let reported = &facts.reported;
        Device {
            path: facts.path.clone(),
            capacity_bytes: facts.capacity,
            real_capacity_bytes: facts.real_capacity,
            logical_block_size: facts.logical_block,
            physical_block_size: facts.physical_block,
            transport: facts.transport,
            vendor: facts.vendor.clone(),
            model: facts.model.clone(),
            serial: facts.serial.clone(),
            usb_id: facts.usb_id.clone(),
            removable: facts.removable,
            reported: ReportedSizes {
                preferred_erase_size: reported.preferred_erase_size.map(|size| size.bytes),
                ssr_au_size: reported.ssr_au_size,
                optimal_io_size: reported.optimal_io_size,
                discard_granularity: reported.discard_granularity,
            },
        }
    }
}

impl From<&Cost> for Spent {
    fn from(cost: &Cost) -> Spent {
        Spent {
            device_seconds: seconds(cost.device_time),
            wall_seconds: seconds(cost.wall_time),
            reads: cost.reads,
            writes: cost.writes,
            bytes_read: cost.bytes_read,
            bytes_written: cost.bytes_written,
            stopped_by: cost.stopped_by.map(|by| by.word().to_owned()),
        }
    }
}

/// Whole microseconds: finer is below what any clock here tells.
fn seconds(time: Duration) -> f64 {
    let micros = time.as_micros();
    micros as f64 / 1e6
}

const STOPS: [StoppedBy; 6] = [
    StoppedBy::Posterior,
    StoppedBy::Futility,
    StoppedBy::TimeLimit,
    StoppedBy::WriteLimit,
    StoppedBy::Interrupted,
    StoppedBy::IoError,
];

fn fault(field: &'static str, problem: impl Into<String>) -> ReportFileError {
    ReportFileError::Field {
        field,
        problem: problem.into(),
    }
}

impl File {
    /// Numbers that no report of a real device has.
    fn check(&self) -> Result<(), ReportFileError> {
        self.device.check()?;
        let geometry = &self.geometry;
        for (field, confidence) in [
            ("erase_block.confidence", geometry.erase_block.confidence),
            ("page.confidence", geometry.page.confidence),
            (
                "open_au.linear.confidence",
                geometry.open_au.linear.confidence,
            ),
            (
                "open_au.random.confidence",
                geometry.open_au.random.count.confidence,
            ),
            ("fat_area.confidence", geometry.fat_area.confidence),
        ] {
            if !(0.0..=1.0).contains(&confidence) {
                return Err(fault(field, format!("{confidence} is not between 0 and 1")));
            }
        }
        self.check_erase_block()?;
        for zone in &geometry.fat_area.zones {
            if zone.from_bytes >= zone.to_bytes {
                return Err(fault("fat_area.zones", "a zone ends before it begins"));
            }
        }
        let block = self.device.logical_block_size.bytes();
        let grid = &self.alignment;
        if grid.bytes == Bytes::ZERO || !grid.bytes.is_multiple_of(block) {
            return Err(fault(
                "alignment.bytes",
                format!("{} is no multiple of the logical block", grid.bytes),
            ));
        }
        if grid.phase_bytes >= grid.bytes || !grid.phase_bytes.is_multiple_of(block) {
            return Err(fault(
                "alignment.phase_bytes",
                format!("{} is no place below {}", grid.phase_bytes, grid.bytes),
            ));
        }
        Ok(())
    }

    fn check_erase_block(&self) -> Result<(), ReportFileError> {
        let found = &self.geometry.erase_block;
        if found.verdict.is_told() && found.bytes.is_none() {
            return Err(fault(
                "erase_block.bytes",
                format!("missing, although the verdict is {}", found.verdict),
            ));
        }
        let block = self.device.logical_block_size.bytes();
        for (field, size) in [
            ("erase_block.bytes", found.bytes),
            ("erase_block.sub_unit_bytes", found.sub_unit_bytes),
            ("erase_block.runner_up_bytes", found.runner_up_bytes),
        ] {
            if size.is_some_and(|size| size == Bytes::ZERO || !size.is_multiple_of(block)) {
                return Err(fault(field, "no multiple of the logical block"));
            }
        }
        let phase = found.phase_bytes.unwrap_or(Bytes::ZERO);
        if found.bytes.is_some_and(|size| phase >= size) {
            return Err(fault(
                "erase_block.phase_bytes",
                format!("{phase} is not smaller than the erase block"),
            ));
        }
        Ok(())
    }

    fn into_report(self) -> Result<Report, ReportFileError> {
        let device = Facts::from(self.device);
        let grid = Alignment::new(self.alignment.bytes, self.alignment.phase_bytes)
            .ok_or_else(|| fault("alignment.bytes", "it is zero"))?;
        let now = alignment(&self.geometry, &device);
        // The file is what was promised to the reader; the unit of sizes is not in it, and the
        // grid itself is one that always fits.
        let alignment = AlignmentChoice {
            unit: if now.alignment == grid {
                now.unit
            } else {
                grid.grain()
            },
            alignment: grid,
            erase_block: now.erase_block,
            reason: self.alignment.reason,
            fallback: now.fallback,
        };
        Ok(Report {
            version: self.version,
            device,
            geometry: self.geometry,
            alignment,
            cost: self.cost.into_cost()?,
            warnings: self.warnings,
            chart: Vec::new(),
            speeds: Speeds::default(),
        })
    }
}

impl Device {
    fn check(&self) -> Result<(), ReportFileError> {
        let reported = &self.reported;
        for (field, size) in [
            ("device.capacity_bytes", self.capacity_bytes),
            ("device.real_capacity_bytes", self.real_capacity_bytes),
            ("device.physical_block_size", self.physical_block_size),
            (
                "device.reported.preferred_erase_size",
                reported.preferred_erase_size,
            ),
            ("device.reported.ssr_au_size", reported.ssr_au_size),
            ("device.reported.optimal_io_size", reported.optimal_io_size),
        ] {
            if size == Some(Bytes::ZERO) {
                return Err(fault(field, "it is zero; what is not known is null"));
            }
        }
        Ok(())
    }
}

impl From<Device> for Facts {
    fn from(device: Device) -> Facts {
        let reported = device.reported;
        Facts {
            path: device.path,
            capacity: device.capacity_bytes,
            real_capacity: device.real_capacity_bytes,
            logical_block: device.logical_block_size,
            physical_block: device.physical_block_size,
            transport: device.transport,
            vendor: device.vendor,
            model: device.model,
            serial: device.serial,
            usb_id: device.usb_id,
            removable: device.removable,
            diskseq: None,
            max_request: None,
            reported: Reported {
                // Whose word it is does not stand in a report: the weaker claim is safe.
                preferred_erase_size: reported.preferred_erase_size.map(|bytes| {
                    PreferredEraseSize {
                        bytes,
                        origin: Origin::CardOrKernelDefault,
                    }
                }),
                ssr_au_size: reported.ssr_au_size,
                optimal_io_size: reported.optimal_io_size,
                optimal_io_quirk: None,
                discard_granularity: reported.discard_granularity,
            },
        }
    }
}

impl Spent {
    fn into_cost(self) -> Result<Cost, ReportFileError> {
        let time = |field, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| fault(field, format!("{seconds} is no time")))
        };
        let stopped_by = match self.stopped_by {
            None => None,
            Some(word) => Some(
                STOPS
                    .into_iter()
                    .find(|by| by.word() == word)
                    .ok_or_else(|| fault("cost.stopped_by", "an unknown word"))?,
            ),
        };
        Ok(Cost {
            device_time: time("cost.device_seconds", self.device_seconds)?,
            wall_time: time("cost.wall_seconds", self.wall_seconds)?,
            reads: self.reads,
            writes: self.writes,
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            stopped_by,
        })
    }
}

#[cfg(test)]
mod tests;

//! A check as JSON, schema `flashfit.check/1`.

use super::check::CheckReport;
use crate::table::check::{Decides, Finding, Item, Place, Weight};
use crate::units::{Bytes, LogicalBlock};
use serde::Serialize;

/// The schema that is written.
pub const SCHEMA: &str = "flashfit.check/1";

/// The check as indented JSON with a final line break.
pub fn render(report: &CheckReport) -> String {
    // Strings, numbers and words only: serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(&File::from(report)).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    version: &'static str,
    device: Device<'a>,
    alignment: Grid<'a>,
    table: Option<Table>,
    partitions: Vec<Entry<'a>>,
    findings: Vec<Found<'a>>,
    on_grid: bool,
    consistent: bool,
}

#[derive(Serialize)]
struct Device<'a> {
    path: &'a str,
    capacity_bytes: Bytes,
    logical_block_size: LogicalBlock,
}

#[derive(Serialize)]
struct Grid<'a> {
    bytes: Bytes,
    phase_bytes: Bytes,
    erase_block_bytes: Option<Bytes>,
    fallback: bool,
    reason: &'a str,
}

#[derive(Serialize)]
struct Table {
    kind: &'static str,
    disk_id: Option<String>,
    sector_bytes: LogicalBlock,
}

#[derive(Serialize)]
struct Entry<'a> {
    /// `null` for a file system that fills the device.
    number: Option<usize>,
    first_lba: Option<u64>,
    sectors: Option<u64>,
    start_bytes: Bytes,
    size_bytes: Bytes,
    #[serde(rename = "type")]
    kind: Option<String>,
    name: &'a str,
    content: Option<&'static str>,
    block_bytes: Option<Bytes>,
    decides: &'static str,
    decides_reason: Option<&'static str>,
    on_grid: bool,
    start: On,
    data_area: Option<Area>,
    end_on_grid: bool,
    good_start_before_bytes: Option<Bytes>,
    good_start_behind_bytes: Option<Bytes>,
    cost: Price,
}

#[derive(Serialize)]
struct On {
    bytes: Bytes,
    past_boundary_bytes: Bytes,
    on_grid: bool,
}

#[derive(Serialize)]
struct Area {
    what: &'static str,
    #[serde(flatten)]
    place: On,
}

#[derive(Serialize)]
struct Price {
    code: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
struct Found<'a> {
    code: &'static str,
    weight: &'static str,
    text: &'a str,
}

impl<'a> From<&'a CheckReport> for File<'a> {
    fn from(report: &'a CheckReport) -> File<'a> {
        let grid = report.choice.ends();
        File {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            device: Device {
                path: &report.path,
                capacity_bytes: report.capacity,
                logical_block_size: report.logical_block,
            },
            alignment: Grid {
                bytes: grid.grain(),
                phase_bytes: grid.phase(),
                erase_block_bytes: report.choice.erase_block,
                fallback: report.choice.fallback,
                reason: &report.choice.reason,
            },
            table: report.table.map(|table| Table {
                kind: table.kind.word(),
                disk_id: table.disk_id.map(|id| id.to_string()),
                sector_bytes: table.sector,
            }),
            partitions: report
                .checked
                .items
                .iter()
                .map(|item| entry(report, item))
                .collect(),
            findings: report.checked.findings.iter().map(found).collect(),
            on_grid: report.checked.is_on_grid(),
            consistent: report.checked.is_consistent(),
        }
    }
}

fn entry<'a>(report: &CheckReport, item: &'a Item) -> Entry<'a> {
    let (decides, decides_reason) = match item.decides {
        Decides::Start => ("start", None),
        Decides::DataArea => ("data_area", None),
        Decides::StartOnly(why) => ("start_only", Some(why)),
        Decides::Later(why) => ("later", Some(why)),
        Decides::Nothing(why) => ("nothing", Some(why)),
    };
    Entry {
        number: item.number,
        first_lba: report.sectors(item.range.from),
        sectors: report.sectors(item.range.length()),
        start_bytes: item.range.from,
        size_bytes: item.range.length(),
        kind: item.kind.map(|kind| kind.to_string()),
        name: &item.name,
        content: item.content,
        block_bytes: item.filesystem.map(|found| found.block),
        decides,
        decides_reason,
        on_grid: item.is_good(),
        start: on(item.start),
        data_area: item.data.map(|(place, what)| Area {
            what,
            place: on(place),
        }),
        end_on_grid: item.end_on_grid,
        good_start_before_bytes: item.good_start_before,
        good_start_behind_bytes: item.good_start_behind,
        cost: Price {
            code: item.cost.word(),
            text: item.cost.sentence(),
        },
    }
}

fn on(place: Place) -> On {
    On {
        bytes: place.at,
        past_boundary_bytes: place.past,
        on_grid: place.is_on_grid(),
    }
}

fn found(finding: &Finding) -> Found<'_> {
    Found {
        code: finding.code,
        weight: match finding.weight {
            Weight::Inconsistent => "inconsistent",
            Weight::Note => "note",
        },
        text: &finding.text,
    }
}

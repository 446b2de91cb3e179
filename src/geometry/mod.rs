//! What the measurements mean.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!                      ^^^^^^^^
//! ```
//!
//! Pure: times and places in, verdicts out. It cannot fail; where the data do not suffice it lowers
//! its confidence and says so. The same samples and the same seed give the same answer.

pub mod capacity;
pub mod erase_block;
pub mod evidence;
pub mod fat_area;
pub mod log;
pub mod open_au;
pub mod page;
pub mod stall_comb;
pub mod stats;
pub mod throughput;

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Posterior at least 0.99 and an independent confirmation on fresh positions.
    Confirmed,
    /// Posterior at least 0.9.
    Likely,
    /// Tested, and nothing could be told.
    NotVisible,
    /// Not tested.
    #[default]
    NotTested,
}

impl Verdict {
    /// Whether the finding may be used: confirmed or likely.
    pub fn is_told(self) -> bool {
        matches!(self, Verdict::Confirmed | Verdict::Likely)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Likely => "likely",
            Verdict::NotVisible => "not visible",
            Verdict::NotTested => "not tested",
        })
    }
}

/// Where a size comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Timed, on this device or in a log.
    Measured,
    /// Reported by card or kernel.
    Reported,
    /// Factored from the capacity.
    Factored,
    /// Given by hand, or nothing at all.
    #[default]
    Assumed,
}

/// Everything that is known of the inside of a stick. Field names are those of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    /// The unit that the stick maps, fills and erases as one.
    pub erase_block: EraseBlock,
    /// The smallest efficient write.
    pub page: Page,
    /// How many allocation units stay open.
    pub open_au: OpenAus,
    /// Whether the first megabytes are special.
    pub fat_area: FatArea,
    /// Rates by request size.
    pub throughput: Throughput,
}

/// The erase block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EraseBlock {
    /// How sure.
    pub verdict: Verdict,
    /// Its size; `None` when it is not told.
    pub bytes: Option<Bytes>,
    /// The first boundary: boundaries lie at `phase + k * bytes`.
    pub phase_bytes: Option<Bytes>,
    /// The smaller unit inside it, when one is seen.
    pub sub_unit_bytes: Option<Bytes>,
    /// Posterior probability of size and phase, 0 to 1.
    pub confidence: f64,
    /// Where the size comes from.
    pub source: Source,
    /// The best other size.
    pub runner_up_bytes: Option<Bytes>,
    /// One sentence each.
    pub evidence: Vec<String>,
}

/// The page: the smallest efficient write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// How sure.
    pub verdict: Verdict,
    /// Its size.
    pub bytes: Option<Bytes>,
    /// The step below it, when one is seen.
    pub sub_page_bytes: Option<Bytes>,
    /// 0 to 1.
    pub confidence: f64,
    /// One sentence each.
    pub evidence: Vec<String>,
}

/// Open allocation units for the two ways of writing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenAus {
    /// Pages of a unit written in order.
    pub linear: OpenAu,
    /// Pages of a unit written in any order.
    pub random: RandomOpenAu,
}

/// How the rate falls beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cutoff {
    /// Every write beyond it costs one garbage collection.
    Hard,
    /// The rate falls at one step and stays down.
    Soft,
    /// The rate falls bit by bit: no limit.
    Gradual,
    /// The rate does not fall.
    None,
}

/// How many allocation units stay open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenAu {
    /// How sure.
    pub verdict: Verdict,
    /// The limit, when it was bracketed: largest fast n, n + 1 slow.
    pub limit: Option<u32>,
    /// The largest n that was still fast.
    pub at_least: Option<u32>,
    /// The largest limit still possible: smallest slow n, minus 1.
    pub at_most: Option<u32>,
    /// How the rate falls.
    pub cutoff: Option<Cutoff>,
    /// What is counted.
    pub unit_bytes: Option<Bytes>,
    /// 0 to 1.
    pub confidence: f64,
    /// One sentence each.
    pub evidence: Vec<String>,
}

/// The same for random writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RandomOpenAu {
    /// The count.
    #[serde(flatten)]
    pub count: OpenAu,
    /// The smallest size at which random writes reach half of the linear rate, when one open unit
    /// is already too many below it.
    pub smallest_efficient_write_bytes: Option<Bytes>,
}

/// Special zones near the start of the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FatArea {
    /// How sure.
    pub verdict: Verdict,
    /// Half-open zones; empty and told means "tested, none".
    pub zones: Vec<Zone>,
    /// 0 to 1.
    pub confidence: f64,
    /// One sentence each.
    pub evidence: Vec<String>,
}

/// One special zone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// The first byte inside.
    pub from_bytes: Bytes,
    /// The first byte outside.
    pub to_bytes: Bytes,
    /// In which way it is special.
    pub kind: ZoneKind,
}

/// In which way a zone is special.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ZoneKind {
    /// Faster at all sizes that differ.
    Faster,
    /// Slower at all sizes that differ.
    Slower,
    /// Faster at some sizes, slower at others.
    Different,
}

/// Something the reader of a report should know, beside the findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}

impl Warning {
    /// A warning.
    pub fn new(code: &str, text: impl Into<String>) -> Warning {
        Warning {
            code: code.to_owned(),
            text: text.into(),
        }
    }
}

/// Rates by request size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Reading.
    pub read: Vec<Rate>,
    /// Writing.
    pub write: Vec<Rate>,
    /// The smallest size that reaches 70 % of the sequential rate.
    pub efficient_bytes: Option<Bytes>,
}

/// One point of a throughput curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Request size.
    pub bytes: Bytes,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

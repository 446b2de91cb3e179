//! Tables `[write]`, `[open_units]`, `[[zones]]`, `[slc_cache]`, `[write_cache]`.

use super::text;
use crate::units::Bytes;
use serde::Deserialize;
use std::time::Duration;

/// Table `[write]`: a write of s bytes takes `base + per_kib * max(s, page)/1024`, and
/// `partial_page` more when it does not fill whole pages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// Cost of any write.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB.
    #[serde(deserialize_with = "text::time")]
    pub per_kib: Duration,
    /// Cost of reading, modifying and writing back a page that is written in part.
    #[serde(deserialize_with = "text::time")]
    pub partial_page: Duration,
    /// Normal noise on writes, relative to the time.
    pub relative_sigma: f64,
    /// Cost of a flush.
    #[serde(deserialize_with = "text::time")]
    pub flush: Duration,
    /// Writes up to this size use a log of their own: they open no unit and never collect.
    #[serde(deserialize_with = "text::optional_size")]
    pub small_path: Option<Bytes>,
}

impl Default for Write {
    /// A plain 20 MB/s stick.
    fn default() -> Self {
        Write {
            base: Duration::from_millis(1),
            per_kib: Duration::from_micros(45),
            partial_page: Duration::ZERO,
            relative_sigma: 0.03,
            flush: Duration::from_micros(500),
            small_path: None,
        }
    }
}

/// Table `[open_units]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenUnits {
    /// What is counted; default the sub-unit, else the erase block.
    #[serde(deserialize_with = "text::optional_size")]
    pub unit: Option<Bytes>,
    /// How many units stay open; absent is unlimited.
    pub linear: Option<u32>,
    /// How many of them may be written out of order; absent is as many as `linear`.
    pub random: Option<u32>,
    /// Which unit is closed.
    pub policy: Policy,
    /// What happens beyond the limit.
    pub cutoff: CutoffKeys,
    /// The cost of closing a unit that is not full, or that was filled out of order.
    #[serde(deserialize_with = "text::time")]
    pub collect: Duration,
    /// The cost of opening a unit.
    #[serde(deserialize_with = "text::time")]
    pub open: Duration,
    /// Soft cut-off: the rate beyond the limit relative to the rate before, at all sizes.
    pub soft_rate: f64,
    /// Units that may be open before the rate sags.
    pub sag_free: u32,
    /// Relative extra time for each open unit beyond `sag_free`.
    pub sag_per_unit: f64,
    /// Out-of-order writes shorter than this...
    #[serde(deserialize_with = "text::optional_size")]
    pub random_below: Option<Bytes>,
    /// ...cost this much more each; default `collect`.
    #[serde(deserialize_with = "text::optional_time")]
    pub random_below_cost: Option<Duration>,
}

impl Default for OpenUnits {
    /// No limit and no cost.
    fn default() -> Self {
        OpenUnits {
            unit: None,
            linear: None,
            random: None,
            policy: Policy::Lru,
            cutoff: CutoffKeys::Hard,
            collect: Duration::ZERO,
            open: Duration::ZERO,
            soft_rate: 0.5,
            sag_free: 0,
            sag_per_unit: 0.0,
            random_below: None,
            random_below_cost: None,
        }
    }
}

/// Which open unit is closed when there are too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The one that was not written for the longest time.
    #[default]
    Lru,
    /// The one that was opened first.
    Fifo,
    /// Any.
    Random,
}

/// What happens when more units are written than stay open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutoffKeys {
    /// One unit is closed first, at the cost of a collection.
    #[default]
    Hard,
    /// All writes become slower by one factor.
    Soft,
}

/// Table `[[zones]]`: a range that is written in another way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneKeys {
    /// The first byte inside.
    #[serde(deserialize_with = "text::size")]
    pub from: Bytes,
    /// The first byte outside.
    #[serde(deserialize_with = "text::size")]
    pub to: Bytes,
    /// Time of in-order writes relative to elsewhere.
    #[serde(default = "one")]
    pub linear: f64,
    /// Time of out-of-order writes relative to elsewhere.
    #[serde(default = "one")]
    pub random: f64,
    /// Writes here open no unit and never collect: mapped by page.
    #[serde(default)]
    pub page_mapped: bool,
}

const fn one() -> f64 {
    1.0
}

/// Table `[slc_cache]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCache {
    /// How much is written at full speed.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// Time of writes once it is full, relative to before.
    pub slower: f64,
    /// How much is freed in each second without writes.
    #[serde(default, deserialize_with = "text::size")]
    pub freed_per_second: Bytes,
}

/// Table `[write_cache]`: writes are acknowledged early while the work behind them is no longer
/// than `depth`; a flush waits for all of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteCache {
    /// The work that may be outstanding.
    #[serde(deserialize_with = "text::time")]
    pub depth: Duration,
    /// The time to acknowledge a write.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// The same for each KiB.
    #[serde(default, deserialize_with = "text::time")]
    pub per_kib: Duration,
}

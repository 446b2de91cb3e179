//! Table `[read]` and what belongs to it.

use super::text;
use crate::units::Bytes;
use serde::Deserialize;
use std::time::Duration;

/// Table `[read]`: a read of s bytes takes `base + per_kib * s/1024 + crossing + extras`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Cost of any read.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB.
    #[serde(default, deserialize_with = "text::time")]
    pub per_kib: Duration,
    /// Cost of every further piece of a read that is longer than `reported.max_request`.
    #[serde(default, deserialize_with = "text::time")]
    pub split_cost: Duration,
    /// What is added to the base at the end of the device, falling linearly to nothing at its start.
    #[serde(default, deserialize_with = "text::time")]
    pub trend: Duration,
    /// A base that differs from region to region.
    pub regions: Option<Regions>,
    /// The first access after a pause.
    pub after_idle: Option<AfterIdle>,
    /// Costs of crossing boundaries.
    #[serde(default)]
    pub crossing: Crossing,
    /// The device's own cache of recently read pages.
    pub cache: Option<ReadCache>,
    /// The device's cache of its mapping table.
    pub map_cache: Option<MapCache>,
}

/// Table `[read.regions]`: every region of this size has its own offset of the base.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regions {
    /// The size of a region.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The standard deviation between regions.
    #[serde(deserialize_with = "text::time")]
    pub spread: Duration,
}

/// Table `[read.after_idle]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterIdle {
    /// A pause at least this long...
    #[serde(deserialize_with = "text::time")]
    pub idle: Duration,
    /// ...makes the next access take this much longer.
    #[serde(deserialize_with = "text::time")]
    pub cost: Duration,
}

/// Table `[read.crossing]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Crossing {
    /// How the levels that one read crosses add up.
    pub combine: Combine,
    /// Cost of crossing an erase-block boundary.
    #[serde(deserialize_with = "text::time")]
    pub erase_block: Duration,
    /// Cost of crossing a sub-unit boundary that is no erase-block boundary.
    #[serde(deserialize_with = "text::time")]
    pub sub_unit: Duration,
    /// Share of the erase-block and sub-unit boundaries that cost nothing.
    pub missed: f64,
    /// Relative standard deviation of the cost from boundary to boundary.
    pub spread: f64,
    /// Levels inside the erase block.
    pub page: Vec<PageLevel>,
}

impl Crossing {
    /// How far the cost of an erase-block boundary rises above that of an ordinary page boundary.
    pub fn visible_step(&self) -> Duration {
        let hidden = match self.combine {
            Combine::Max => self
                .page
                .iter()
                .map(|level| level.cost)
                .max()
                .unwrap_or_default(),
            Combine::Sum => Duration::ZERO,
        };
        self.erase_block.saturating_sub(hidden)
    }
}

/// How the levels that one read crosses add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// The costliest counts.
    #[default]
    Max,
    /// All count, each level once.
    Sum,
}

/// Table `[[read.crossing.page]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLevel {
    /// The distance of the boundaries.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The cost of crossing one or more of them.
    #[serde(deserialize_with = "text::time")]
    pub cost: Duration,
    /// Which multiples.
    #[serde(default)]
    pub at: Multiples,
}

/// Which multiples of a size are boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multiples {
    /// All.
    #[default]
    All,
    /// Only the odd ones: a 16 KiB boundary is then none of the 8 KiB ones.
    Odd,
}

/// Table `[read.cache]`: a read whose pages were all read recently is fast.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCache {
    /// The unit in which it remembers.
    #[serde(deserialize_with = "text::size")]
    pub unit: Bytes,
    /// Its size.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The base of a hit, instead of `read.base`.
    #[serde(deserialize_with = "text::time")]
    pub hit: Duration,
    /// How much behind a read it fetches in advance.
    #[serde(default, deserialize_with = "text::size")]
    pub read_ahead: Bytes,
}

/// Table `[read.map_cache]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCache {
    /// The range that one entry describes.
    #[serde(deserialize_with = "text::size")]
    pub region: Bytes,
    /// How many regions it remembers, least recently used out first.
    pub entries: u32,
    /// The cost of fetching one.
    #[serde(deserialize_with = "text::time")]
    pub miss: Duration,
}

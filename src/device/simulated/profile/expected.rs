//! Table `[expected]`: what a scan of this stick should say. Read by tests only.

use super::text;
use crate::units::Bytes;
use serde::Deserialize;

/// Table `[expected]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// Table `[expected.erase_block]`.
    pub erase_block: Option<ExpectedEraseBlock>,
    /// Table `[expected.page]`.
    pub page: Option<ExpectedPage>,
    /// Tables `[expected.open_au.linear]` and `[expected.open_au.random]`.
    pub open_au: ExpectedOpenAus,
    /// `[[expected.fat_area]]`; an empty list is "none", an absent one is "not told here".
    pub fat_area: Option<Vec<ExpectedZone>>,
}

/// How sure a scan should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedVerdict {
    /// Confirmed.
    Confirmed,
    /// Likely, or better.
    Likely,
    /// Tested, and nothing could be told.
    NotVisible,
}

/// Table `[expected.erase_block]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedEraseBlock {
    /// How sure.
    pub verdict: ExpectedVerdict,
    /// How sure by reads alone, where that is less.
    #[serde(default)]
    pub by_reads: Option<ExpectedVerdict>,
    /// The size; absent when not visible.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub bytes: Option<Bytes>,
    /// The first boundary.
    #[serde(default, deserialize_with = "text::size")]
    pub phase: Bytes,
    /// The smaller unit inside.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub sub_unit: Option<Bytes>,
}

/// Table `[expected.page]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPage {
    /// How sure.
    pub verdict: ExpectedVerdict,
    /// The size; absent when not visible.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub bytes: Option<Bytes>,
}

/// Table `[expected.open_au]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedOpenAus {
    /// Pages of a unit written in order.
    pub linear: Option<ExpectedOpenAu>,
    /// In any order.
    pub random: Option<ExpectedOpenAu>,
}

/// Tables `[expected.open_au.linear]` and `[expected.open_au.random]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedOpenAu {
    /// The limit; absent with `at_least` when there is none.
    pub limit: Option<u32>,
    /// No limit below this.
    pub at_least: Option<u32>,
    /// Whether the cut-off is soft.
    pub soft: bool,
    /// What is counted.
    #[serde(deserialize_with = "text::optional_size")]
    pub unit: Option<Bytes>,
    /// Random only: the smallest efficient write when random writes collect below it.
    #[serde(deserialize_with = "text::optional_size")]
    pub smallest_efficient_write: Option<Bytes>,
}

/// Table `[[expected.fat_area]]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedZone {
    /// The first byte inside.
    #[serde(deserialize_with = "text::size")]
    pub from: Bytes,
    /// The first byte outside.
    #[serde(deserialize_with = "text::size")]
    pub to: Bytes,
    /// In which way it is special.
    pub kind: ExpectedZoneKind,
}

/// In which way a zone is special.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedZoneKind {
    /// Faster at all sizes that differ.
    Faster,
    /// Slower at all sizes that differ.
    Slower,
    /// Faster at some sizes, slower at others.
    Different,
}

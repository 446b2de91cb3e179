//! Tables `[unmapped]`, `[contents]`, `[counterfeit]`: what stands at which place.

use super::text;
use crate::units::{ByteRange, Bytes};
use serde::Deserialize;
use std::time::Duration;

/// Table `[unmapped]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmapped {
    /// Unmapped ranges.
    #[serde(default, deserialize_with = "text::ranges")]
    pub ranges: Vec<ByteRange>,
    /// Share of the chunks that are unmapped besides.
    #[serde(default)]
    pub share: f64,
    /// The size of a chunk; default the erase block.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub chunk: Option<Bytes>,
    /// Cost of a read of an unmapped place, instead of `read.base`.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB, instead of `read.per_kib`.
    #[serde(default, deserialize_with = "text::optional_time")]
    pub per_kib: Option<Duration>,
    /// What it returns.
    #[serde(default)]
    pub content: Constant,
    /// What one write maps; default 4 KiB.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub map_unit: Option<Bytes>,
}

/// A constant content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Constant {
    /// 00.
    #[default]
    Zeros,
    /// FF: erased flash.
    Ones,
}

impl Constant {
    /// The byte.
    pub(in crate::device::simulated) const fn byte(self) -> u8 {
        match self {
            Constant::Zeros => 0,
            Constant::Ones => 0xff,
        }
    }
}

/// Table `[contents]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentsKeys {
    /// What mapped places contain before they are written.
    pub fill: Fill,
    /// Ranges that contain zeros although they are mapped.
    #[serde(deserialize_with = "text::ranges")]
    pub zeros: Vec<ByteRange>,
}

/// What mapped places contain before they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Pseudo-random bytes that depend on place and specimen.
    #[default]
    Random,
    /// 00.
    Zeros,
    /// FF.
    Ones,
}

/// Table `[counterfeit]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterfeit {
    /// What is really there.
    #[serde(deserialize_with = "text::size")]
    pub real: Bytes,
    /// What happens beyond.
    #[serde(default)]
    pub beyond: Beyond,
}

/// What happens beyond the real size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beyond {
    /// Addresses begin again at 0.
    #[default]
    Wrap,
    /// Writes vanish, reads return zeros.
    Vanish,
}

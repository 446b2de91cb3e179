//! Table `[faults]`: things that go wrong.

use super::text;
use crate::units::ByteRange;
use serde::Deserialize;
use std::time::Duration;

/// Table `[faults]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Ranges that cannot be read.
    #[serde(deserialize_with = "text::ranges")]
    pub unreadable: Vec<ByteRange>,
    /// Ranges that cannot be written.
    #[serde(deserialize_with = "text::ranges")]
    pub unwritable: Vec<ByteRange>,
    /// The stick goes away after this many accesses.
    pub vanish_after: Option<u64>,
    /// The power is cut after this many written logical blocks.
    pub power_cut_after: Option<u64>,
    /// What the host sees of the power cut.
    pub power_cut: PowerCut,
    /// One access that hangs.
    pub hang: Option<Hang>,
}

/// What the host sees of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerCut {
    /// Nothing: later writes report success and are lost.
    #[default]
    Lost,
    /// The stick is gone.
    Gone,
}

/// Table `[faults.hang]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// Which access, counted from 1.
    pub at: u64,
    /// How much longer it takes.
    #[serde(deserialize_with = "text::time")]
    pub time: Duration,
}

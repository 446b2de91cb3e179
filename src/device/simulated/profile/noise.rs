//! Table `[noise]`.

use super::text;
use serde::Deserialize;
use std::time::Duration;

/// Table `[noise]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of normal noise on every read.
    #[serde(deserialize_with = "text::time")]
    pub sigma: Duration,
    /// Share of the accesses that take much longer.
    pub outlier_rate: f64,
    /// By how much, on average (exponentially distributed).
    #[serde(deserialize_with = "text::time")]
    pub outlier: Duration,
    /// Background work of the device.
    pub background: Option<Background>,
    /// Relative change of all times per second.
    pub drift_per_second: f64,
    /// A slow wave on all times.
    pub wave: Option<Wave>,
    /// A lasting change of all times.
    pub throttle: Option<Throttle>,
    /// Completions fall on multiples of this on the device's clock (USB 2.0: 125 us).
    #[serde(deserialize_with = "text::time")]
    pub quantum: Duration,
}

/// Table `[noise.background]`: garbage collection that starts by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// The mean time between two starts (exponentially distributed).
    #[serde(deserialize_with = "text::time")]
    pub every: Duration,
    /// How long it takes; an access waits for the end.
    #[serde(deserialize_with = "text::time")]
    pub length: Duration,
}

/// Table `[noise.wave]`: times are multiplied by `1 + amplitude * sin(2π t / period)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// Relative.
    pub amplitude: f64,
    /// On the device's clock.
    #[serde(deserialize_with = "text::time")]
    pub period: Duration,
}

/// Table `[noise.throttle]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// When, on the device's clock.
    #[serde(deserialize_with = "text::time")]
    pub after: Duration,
    /// All times are multiplied by this from then on.
    pub slower: f64,
}

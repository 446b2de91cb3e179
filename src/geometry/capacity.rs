//! Stand-in until the real one is merged.
use crate::topology::Reported;
use crate::units::Bytes;
/// x
pub fn capacity_weight(_: Bytes, _: Bytes) -> f64 {
    1.0
}
/// x
pub fn reported_weight(_: Bytes, _: &Reported) -> f64 {
    1.0
}

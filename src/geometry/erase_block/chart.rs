//! The chart of a search: what a boundary costs against its size.

use super::grid::CELL;
use super::search::AtSize;
use super::signal::{centre, difference};
use crate::units::Bytes;

/// One bar of the chart "cost against boundary size".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartBar {
    /// Places that are multiples of this, seen from the phase, but not of twice it.
    pub boundary: Bytes,
    /// Extra time of a read across such a place, in microseconds.
    pub cost_us: f64,
    /// Places measured.
    pub places: usize,
}

/// Cost by exact divisibility, seen from the phase: from 8 times the unit down to its 32nd part.
pub(super) fn chart(at: &AtSize, unit: Bytes, phase: Bytes) -> Vec<ChartBar> {
    let mut bars = Vec::new();
    let mut boundary = unit.get().saturating_mul(8);
    for _ in 0..9 {
        let costs: Vec<f64> = at
            .triples
            .iter()
            .map(|t| &t.triple)
            .filter(|t| {
                let place = t.site.at.get().wrapping_sub(phase.get());
                place % boundary == 0 && (place / boundary) % 2 == 1
            })
            .map(difference)
            .collect();
        if costs.len() >= 3 {
            bars.push(ChartBar {
                boundary: Bytes(boundary),
                cost_us: centre(&costs, at.ordinary.late()).0 * 1e6,
                places: costs.len(),
            });
        }
        if boundary % 2 == 1 || boundary <= CELL.get() {
            break;
        }
        boundary /= 2;
    }
    bars
}

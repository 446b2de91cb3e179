//! What a stage stands on.

use crate::geometry::Geometry;
use crate::measure::meter::Cost;
use crate::measure::territory::Territory;
use crate::topology::Facts;
use rand::rngs::Xoshiro256PlusPlus;

/// What a stage is given, besides the meter.
pub struct Ground<'a> {
    /// What the device says of itself.
    pub facts: &'a Facts,
    /// What earlier stages found.
    pub geometry: &'a Geometry,
    /// Where it may write.
    pub territory: &'a mut Territory,
    /// Order of places and answer follow from it.
    pub rng: &'a mut Xoshiro256PlusPlus,
    /// Told how the stage stands and what was spent so far.
    pub progress: &'a mut dyn FnMut(&str, Cost),
}

//! A short look whether an erase block that was told beforehand is that of the device at hand.

use super::reads::{largest, read_sizes};
use crate::device::ReadDevice;
use crate::geometry::erase_block::{Fit, FitCheck, Told};
use crate::measure::meter::{Cost, Limits, Meter, Stop};
use crate::measure::{alignment, base_read_size, noise};
use crate::topology::Transport;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What the look may take, on the device's clock. On the built-in simulated sticks whose reads show the
/// erase block, 840 to 890 reads tell that it fits, 200 of them for the noise, in 0.4 to 1.1 s; where half of
/// the places were never written, twice as many.
pub const LOOK: Duration = Duration::from_secs(2);

/// What the look brought.
pub struct Looked {
    /// The answer, as far as the reads told it.
    pub fit: Fit,
    /// What it cost.
    pub cost: Cost,
    /// Why it ended early: the device failed, or Ctrl-C. Never for want of time.
    pub stop: Option<Stop>,
}

/// Look for at most [`LOOK`]. Reads only.
pub fn look(device: &mut dyn ReadDevice, told: Told, seed: u64, interrupt: &AtomicBool) -> Looked {
    let facts = device.facts().clone();
    let mut meter = Meter::new(device, Limits::of_reading(LOOK, interrupt), largest(&facts));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut singles = Vec::new();
    let usb = facts.transport == Transport::Usb;
    if usb {
        meter.set_dither(noise::USB_MICROFRAME);
    }
    let base = base_read_size(facts.logical_block);
    let first = noise::single_reads(&mut meter, base, &mut rng, &mut singles);
    meter.set_dither(noise::dither(&singles, usb));
    let sizes = read_sizes(facts.logical_block, facts.max_request);
    let mut check = FitCheck::new(told, meter.capacity(), &singles, &sizes, seed);
    let ended =
        first.and_then(|()| alignment::run(&mut meter, &mut check, &mut rng, &mut |_, _| {}));
    Looked {
        fit: check.finish(),
        cost: meter.cost(),
        stop: ended.err().filter(Stop::is_final),
    }
}

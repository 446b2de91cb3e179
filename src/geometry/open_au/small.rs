//! Random writes into a single unit that are slow already: from which size on are they not?

use crate::geometry::stats::median;
use crate::measure::meter::Stop;
use crate::measure::open_au::{Order, Sweep, Sweeper};
use crate::units::Bytes;

/// Random writes this much slower than those in order collect, or read and write back, each time.
/// Those of sticks that keep a unit open out of order differ by less than 2 in public logs.
pub const SLOW_ALONE: f64 = 5.0;
/// Random writes are efficient from this share of the linear rate on.
const HALF: f64 = 0.5;
/// Visits for each size.
const VISITS: usize = 4;

/// How long a random write of `size` into a single unit takes, relative to one in order.
pub fn alone(sweeper: &mut dyn Sweeper, size: Bytes) -> Result<f64, Stop> {
    let linear = median(&visits(sweeper, size, Order::Linear, VISITS)?);
    // What the first of them closes or opens is not scored.
    let random = visits(sweeper, size, Order::Random, 2 * VISITS)?;
    let seconds = median(random.get(2..).unwrap_or(&[])) / f64::from(Order::Random.requests());
    Ok(seconds / linear)
}

/// The smallest size from which on random writes reach half of the linear rate; `None` when the
/// largest allowed size does not.
pub fn smallest_efficient(
    sweeper: &mut dyn Sweeper,
    base: Bytes,
    largest: Bytes,
) -> Result<Option<Bytes>, Stop> {
    let mut smallest = None;
    let mut size = base.get().saturating_mul(2);
    while size <= largest.get() {
        sweeper.report(&format!("random writes of {}", Bytes(size)));
        let linear = median(&visits(sweeper, Bytes(size), Order::Linear, VISITS)?);
        let random = median(&visits(sweeper, Bytes(size), Order::Random, VISITS)?)
            / f64::from(Order::Random.requests());
        if random * HALF > linear {
            smallest = None;
        } else if smallest.is_some() {
            // Two sizes in a row.
            return Ok(smallest);
        } else {
            smallest = Some(Bytes(size));
        }
        size *= 2;
    }
    Ok(smallest)
}

fn visits(
    sweeper: &mut dyn Sweeper,
    size: Bytes,
    order: Order,
    count: usize,
) -> Result<Vec<f64>, Stop> {
    sweeper.sweep(&Sweep {
        lanes: vec![0; count],
        order,
        size,
        slow_above: f64::INFINITY,
        give_up: None,
    })
}

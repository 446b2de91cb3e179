//! What an ordinary read looks like on this device: single reads at random places, before anything
//! is compared.

use super::meter::{Content, Meter, Stop};
use crate::device::ReadDevice;
use crate::units::Bytes;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::collections::HashSet;
use std::time::Duration;

/// Single reads of the noise stage. 200 tell the share of blank places to ±7 % (two standard
/// errors of a proportion near one half) and a median to ±9 % of the spread, within 0.2 s at 1 ms
/// a read.
pub const SINGLE_READS: usize = 200;

/// The first reads after a pause meet a device that may be asleep; they are not kept.
const WARM_UP_READS: usize = 8;

/// The microframe of USB 2.0 high speed: completions are seen at multiples of it
/// (USB 2.0 specification, 8.4.3.1).
pub const USB_MICROFRAME: Duration = Duration::from_micros(125);

/// One read at a random place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Single {
    /// Where.
    pub at: Bytes,
    /// How long it took.
    pub time: Duration,
    /// What came back.
    pub content: Content,
}

/// Read at random places on a 64 KiB grid, away from both ends, each place once.
///
/// The places are odd multiples of 32 KiB plus 8 KiB: inside a page and inside an erase block
/// whatever their sizes, and never a place that the scan reads later.
pub fn single_reads<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    size: Bytes,
    rng: &mut Xoshiro256PlusPlus,
    kept: &mut Vec<Single>,
) -> Result<(), Stop> {
    const CELL: u64 = 64 << 10;
    const OFFSET: u64 = 40 << 10;
    let cells = (meter.capacity().get() / CELL).max(1);
    let mut used = HashSet::new();
    for n in 0..WARM_UP_READS + SINGLE_READS {
        let cell = rng.random_range(0..cells);
        // A device of 16 MiB has 256 cells, so fresh ones never run out before the reads do.
        if !used.insert(cell) {
            continue;
        }
        let at = Bytes(cell * CELL + OFFSET);
        let (time, content) = meter.read(at, size, rng)?;
        if n >= WARM_UP_READS {
            kept.push(Single { at, time, content });
        }
    }
    Ok(())
}

/// The random wait that a device needs before each read: one tick when its completions are
/// rounded to the bus clock, nothing otherwise.
///
/// Times are rounded when they crowd at multiples of the tick while spreading over more than one
/// of them, or when they hardly spread at all (then a tick may hide everything below it). `usb` is
/// always dithered.
pub fn dither(singles: &[Single], usb: bool) -> Duration {
    let mut times: Vec<f64> = singles.iter().map(|s| s.time.as_secs_f64()).collect();
    if usb {
        return USB_MICROFRAME;
    }
    if times.len() < 20 {
        return Duration::ZERO;
    }
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[percent * (times.len() - 1) / 100];
    let tick = USB_MICROFRAME.as_secs_f64();
    let spread = at(90) - at(10);
    if spread < 0.01 * at(50) {
        return if at(50) > tick {
            USB_MICROFRAME
        } else {
            Duration::ZERO
        };
    }
    // Resultant length of the times wrapped on the tick (Rayleigh's statistic): near 1 when they
    // crowd at its multiples, near 0 for a spread over many ticks without crowding.
    let (mut c, mut s) = (0.0, 0.0);
    for t in &times {
        let angle = std::f64::consts::TAU * t / tick;
        c += angle.cos();
        s += angle.sin();
    }
    let resultant = c.hypot(s) / times.len() as f64;
    if resultant > 0.6 && spread > 0.8 * tick {
        USB_MICROFRAME
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn singles(times: impl Iterator<Item = f64>) -> Vec<Single> {
        times
            .enumerate()
            .map(|(n, micros)| Single {
                at: Bytes(n as u64 * 65536),
                time: Duration::from_secs_f64(micros * 1e-6),
                content: Content::Data,
            })
            .collect()
    }

    #[test]
    fn times_at_multiples_of_a_microframe_are_dithered() {
        let quantised = singles((0..200).map(|n| 875.0 + 125.0 * f64::from(n % 3)));
        assert_eq!(dither(&quantised, false), USB_MICROFRAME);
    }

    #[test]
    fn a_clean_spread_is_not_dithered() {
        let clean = singles((0..200).map(|n| 800.0 + f64::from(n * 37 % 200) * 2.0));
        assert_eq!(dither(&clean, false), Duration::ZERO);
        let narrow = singles((0..200).map(|n| 90.0 + f64::from(n * 37 % 200) * 0.05));
        assert_eq!(dither(&narrow, false), Duration::ZERO);
    }

    #[test]
    fn times_that_never_vary_may_hide_a_tick() {
        let frozen = singles((0..200).map(|_| 1000.0));
        assert_eq!(dither(&frozen, false), USB_MICROFRAME);
        assert_eq!(dither(&[], true), USB_MICROFRAME);
    }
}

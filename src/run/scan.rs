//! A read-only scan: noise stage, search, verdict.

use crate::device::ReadDevice;
use crate::geometry::Geometry;
use crate::geometry::erase_block::{Found, Search, Setup};
use crate::measure::meter::{Cost, Limits, Meter, Stop};
use crate::measure::{alignment, base_read_size, noise};
use crate::topology::Transport;
use crate::units::{Bytes, LogicalBlock};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to scan.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The longest device time.
    pub time_limit: Duration,
    /// Order of places and answer follow from it.
    pub seed: u64,
    /// The device is mounted or otherwise in use.
    pub in_use: bool,
}

/// What a scan brought.
pub struct Scanned {
    /// All findings.
    pub geometry: Geometry,
    /// Chart and warnings of the search.
    pub found: Found,
    /// What it cost.
    pub cost: Cost,
    /// Reads of the noise stage, which is the part of the cost before the search proper.
    pub noise_reads: u64,
    /// Why it ended early, if it did.
    pub stop: Option<Stop>,
}

/// How far a scan is.
pub struct Progress {
    /// What it is doing.
    pub stage: &'static str,
    /// How it stands.
    pub standing: String,
    /// Spent so far.
    pub cost: Cost,
}

/// Scan a device by reads alone.
pub fn scan(
    device: &mut dyn ReadDevice,
    options: Options,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Scanned {
    let facts = device.facts().clone();
    let capacity = device.capacity();
    let read_sizes = read_sizes(facts.logical_block, facts.max_request);
    let largest = read_sizes
        .iter()
        .copied()
        .max()
        .unwrap_or(base_read_size(facts.logical_block));
    let limits = Limits::of_reading(options.time_limit, interrupt);
    let mut meter = Meter::new(device, limits, largest);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut singles = Vec::new();
    let usb = facts.transport == Transport::Usb;
    if usb {
        meter.set_dither(noise::USB_MICROFRAME);
    }
    let first = noise::single_reads(
        &mut meter,
        base_read_size(facts.logical_block),
        &mut rng,
        &mut singles,
    );
    progress(Progress {
        stage: "noise",
        standing: String::new(),
        cost: meter.cost(),
    });
    meter.set_dither(noise::dither(&singles, usb));
    let mut search = Search::new(Setup {
        facts: &facts,
        capacity,
        singles: &singles,
        read_sizes,
        seed: options.seed,
        may_confirm: !options.in_use,
    });
    let single_reads = meter.cost().reads;
    let stop = match first {
        Err(stop) => Some(stop),
        Ok(()) => alignment::run(&mut meter, &mut search, &mut rng, &mut |meter, inquiry| {
            progress(Progress {
                stage: "boundaries",
                standing: inquiry.standing(),
                cost: meter.cost(),
            });
        })
        .err(),
    };
    let noise_reads = single_reads + 3 * search.pilot_triples();
    let cost = meter.cost();
    let found = search.finish(stop.as_ref());
    let geometry = Geometry {
        erase_block: found.erase_block.clone(),
        ..Geometry::default()
    };
    Scanned {
        geometry,
        found,
        cost,
        noise_reads,
        stop,
    }
}

/// The read sizes to try in turn: some controllers show their boundaries only at certain sizes. At
/// least two logical blocks, so that half a read lies on either side of a boundary, and never more
/// than the kernel passes on in one piece.
fn read_sizes(block: LogicalBlock, max_request: Option<Bytes>) -> Vec<Bytes> {
    let base = base_read_size(block);
    let sizes = match block {
        LogicalBlock::B512 => vec![base, Bytes::kib(1), Bytes::kib(16)],
        LogicalBlock::B4096 => vec![base, Bytes::kib(16)],
    };
    let fits = |size: &Bytes| max_request.is_none_or(|most| *size <= most);
    let fitting: Vec<Bytes> = sizes.into_iter().filter(fits).collect();
    if fitting.is_empty() {
        vec![base]
    } else {
        fitting
    }
}

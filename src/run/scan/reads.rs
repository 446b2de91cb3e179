//! The part of a run that only reads: noise stage, search, verdict; then page and rates.

use super::Narrator;
use crate::device::ReadDevice;
use crate::geometry::erase_block::{Found, Search, Setup};
use crate::geometry::{Geometry, Throughput};
use crate::measure::meter::{Meter, Stop};
use crate::measure::noise::Single;
use crate::measure::{alignment, base_read_size, noise};
use crate::run::stages::reading;
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// What the reads brought.
pub(super) struct Reads {
    /// All findings.
    pub geometry: Geometry,
    /// The reads of the noise stage.
    pub singles: Vec<Single>,
    /// Reads up to the end of the search.
    pub search_reads: u64,
    /// Chart, verdict and warnings of the search.
    pub found: Found,
    /// Reads of the noise stage, which is the part of the cost before the search proper.
    pub noise_reads: u64,
    /// What was being done when it ended early, and why.
    pub stop: Option<(&'static str, Stop)>,
}

/// Tell the erase block by reads alone.
pub(super) fn run<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    facts: &Facts,
    seed: u64,
    may_confirm: bool,
    narrator: &mut Narrator<'_>,
) -> Reads {
    let base = base_read_size(facts.logical_block);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut singles = Vec::new();
    let usb = facts.transport == Transport::Usb;
    if usb {
        meter.set_dither(noise::USB_MICROFRAME);
    }
    let reads_before = meter.cost().reads;
    narrator.stage("noise");
    let first = noise::single_reads(meter, base, &mut rng, &mut singles);
    narrator.tell("", meter.cost());
    meter.set_dither(noise::dither(&singles, usb));
    let mut search = Search::new(Setup {
        facts,
        capacity: meter.capacity(),
        singles: &singles,
        read_sizes: read_sizes(facts.logical_block, facts.max_request),
        seed,
        may_confirm,
        within: None,
    });
    let single_reads = meter.cost().reads - reads_before;
    let stop = match first {
        Err(stop) => Some(("noise", stop)),
        Ok(()) => {
            narrator.stage("boundaries");
            alignment::run(meter, &mut search, &mut rng, &mut |meter, inquiry| {
                narrator.tell(&inquiry.standing(), meter.cost());
            })
            .err()
            .map(|stop| ("boundaries", stop))
        }
    };
    let noise_reads = single_reads + 3 * search.pilot_triples();
    let search_reads = meter.cost().reads - reads_before;
    let found = search.finish(stop.as_ref().map(|(_, stop)| stop));
    let mut reads = Reads {
        geometry: Geometry {
            erase_block: found.erase_block.clone(),
            ..Geometry::default()
        },
        found,
        singles,
        noise_reads,
        search_reads,
        stop,
    };
    if reads.stop.is_none() {
        reads.stop = beside(
            meter,
            facts,
            &mut reads.geometry,
            &reads.singles,
            &mut rng,
            narrator,
        );
    }
    reads
}

/// What reads tell beside the erase block.
fn beside<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    facts: &Facts,
    geometry: &mut Geometry,
    singles: &[Single],
    rng: &mut Xoshiro256PlusPlus,
    narrator: &mut Narrator<'_>,
) -> Option<(&'static str, Stop)> {
    narrator.stage("page");
    let tell = &mut |standing: &str, cost| narrator.tell(standing, cost);
    let (page, stop) = reading::page(meter, facts, singles, &geometry.erase_block, rng, tell);
    geometry.page = page;
    if let Some(stop) = stop {
        return Some(("page", stop));
    }
    narrator.stage("rates");
    narrator.tell("", meter.cost());
    let (read, stop) = reading::read_rates(meter, facts, rng);
    geometry.throughput = Throughput {
        read,
        ..Throughput::default()
    };
    stop.map(|stop| ("rates", stop))
}

/// The read sizes to try in turn: some controllers show their boundaries only at certain sizes. At
/// least two logical blocks, so that half a read lies on either side of a boundary, and never more
/// than the kernel passes on in one piece.
pub(super) fn read_sizes(block: LogicalBlock, max_request: Option<Bytes>) -> Vec<Bytes> {
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

/// The largest single request of a run: what the kernel passes on in one piece, up to 1 MiB, and
/// at least what the reads need.
pub(super) fn largest(facts: &Facts) -> Bytes {
    let base = base_read_size(facts.logical_block);
    let block = facts.logical_block.bytes().get();
    let most = facts
        .max_request
        .unwrap_or(Bytes::mib(1))
        .min(Bytes::mib(1));
    Bytes(most.get() / block * block)
        .max(base)
        .max(reading::largest_request(facts))
}

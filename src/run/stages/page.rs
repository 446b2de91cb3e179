//! The page and write rates by request size, from writes.

use super::{Ground, stretch};
use crate::geometry::page::efficient_size;
use crate::geometry::page::study::{LOOKS, Shift, Study, WRITES_PER_LOOK};
use crate::geometry::throughput::rates;
use crate::geometry::{Page, Rate};
use crate::measure::in_order::InOrder;
use crate::measure::meter::{Stop, WriteMeter};
use crate::measure::page::{
    LARGEST_SHIFTED, Shifts, ladder, ladder_bytes, ladder_sizes, shift_bytes, shifts,
};
use crate::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// What writes tell of the page and of rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The page, from reads and writes together.
    pub page: Page,
    /// Write rates by request size; empty when there was no room to write.
    pub write: Vec<Rate>,
    /// The smallest size that reaches 70 % of the best rate.
    pub efficient_bytes: Option<Bytes>,
}

/// Tests of shifted writes: the page, the size above it, and one wrong guess.
const SHIFT_TESTS: u64 = 3;

/// Write a few MiB in order and tell the page. Of what reads told, `ground.geometry.page` is used.
pub fn run(meter: &mut WriteMeter<'_>, ground: &mut Ground<'_>) -> (Pages, Option<Stop>) {
    let read = ground.geometry.page.clone();
    let block = ground.facts.logical_block.bytes();
    let largest = ground
        .facts
        .max_request
        .map_or(meter.largest(), |most| most.min(meter.largest()));
    let sizes = ladder_sizes(block, largest);
    let shifted = largest.min(LARGEST_SHIFTED);
    let most = LOOKS * WRITES_PER_LOOK;
    let room = |tests: u64, count: usize| {
        Bytes(ladder_bytes(&sizes).get() + tests * shift_bytes(shifted, count).get())
    };
    let capacity = meter.capacity();
    let stretch = [room(SHIFT_TESTS, most), room(1, WRITES_PER_LOOK)]
        .into_iter()
        .find_map(|length| stretch::take(ground, length, capacity));
    let Some(stretch) = stretch else {
        let mut page = read;
        page.evidence
            .push("there is no room for write tests of the page".to_owned());
        let pages = Pages {
            page,
            write: Vec::new(),
            efficient_bytes: None,
        };
        return (pages, None);
    };
    // What is written and in which order are two streams.
    let mut order = Xoshiro256PlusPlus::from_rng(ground.rng);
    let mut timed = Vec::new();
    let mut study = None;
    let mut measure = || -> Result<(), Stop> {
        let mut pen = InOrder::begin(meter, stretch, ground.rng)?;
        let all = ladder(&mut pen, &sizes, &mut order, &mut timed);
        let study = study.insert(Study::new(&timed, &read, block, shifted));
        all?;
        (ground.progress)("write times by size", pen.cost());
        while let Some(size) = study.next() {
            let mut kept = Shifts::default();
            for _ in 0..LOOKS {
                let end = shifts(&mut pen, size, WRITES_PER_LOOK, &mut order, &mut kept);
                (ground.progress)(&format!("writes of {size}"), pen.cost());
                if end.is_err() {
                    study.observe(size, &kept);
                }
                end?;
                if Study::judge(&kept).0 != Shift::Unclear {
                    break;
                }
            }
            study.observe(size, &kept);
        }
        Ok(())
    };
    let stop = measure().err();
    let pages = match study {
        Some(study) => Pages {
            write: rates(study.curve()),
            efficient_bytes: efficient_size(study.curve()),
            page: study.finish(),
        },
        None => Pages {
            page: read,
            write: Vec::new(),
            efficient_bytes: None,
        },
    };
    (pages, stop)
}

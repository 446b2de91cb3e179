//! Logs of cards whose inside is known: the inference may abstain, but it must not be wrong.

mod flashbench_support;

use flashbench_support::{Card, Random, Tally, Writer, format_rate, format_size};
use flashfit::geometry::log::{Inference, infer};
use flashfit::geometry::{Cutoff, Verdict};
use flashfit::measure::flashbench_log::parse;
use flashfit::topology::Reported;
use flashfit::units::Bytes;

const MIB: u64 = 1 << 20;

fn analyze(log: &str, capacity: Option<u64>) -> Inference {
    let log = parse(log.as_bytes()).unwrap();
    infer(&log.runs, capacity.map(Bytes), &Reported::default())
}

/// A card with everything that real ones were seen to do.
fn card(random: &mut Random, erase_block: u64, step: f64) -> Card {
    let base = random.between(3e5, 1.8e6);
    let gigabytes = random.pick(&[2, 4, 8, 16, 32, 64]);
    let whole = random.pick(&[erase_block.max(4 * MIB), 4 * MIB, 4 * MIB, MIB / 2]);
    let capacity = (gigabytes * 1_000_000_000u64) * (940 + random.below(60)) / 1000 / whole * whole;
    let page = random.pick(&[8192, 16384, 16384, 32768]);
    let shelf = random.pick(&[0.0, 0.05, 0.15, 0.3]) * base;
    let two_level = erase_block > 2 * MIB && random.chance(0.15);
    let unit_cost = step * base;
    Card {
        capacity,
        erase_block,
        phase: 0,
        sub_unit: two_level.then(|| if erase_block % 3 == 0 { erase_block / 3 } else { erase_block / 2 }),
        base,
        unit_cost: if two_level { 0.4 * unit_cost } else { unit_cost },
        sub_cost: if two_level { 0.6 * unit_cost } else { 0.0 },
        pages: vec![(page, shelf)],
        noise: random.between(0.005, 0.06) * base,
        place_scatter: random.between(0.0, 0.12),
        far: random.pick(&[1.0, 1.0, 1.0, 0.85, 1.2]),
        outliers: random.pick(&[0.0, 0.0, 0.001]),
    }
}

fn scans(card: &Card, blocksizes: &[u64], random: &mut Random) -> String {
    let count = random.pick(&[8, 50, 100]);
    blocksizes
        .iter()
        .map(|size| {
            format!(
                "$ flashbench -a /dev/sdx --blocksize={size} --count={count}\n{}",
                card.align_scan(*size, count, random)
            )
        })
        .collect()
}

fn tally(seeds: std::ops::Range<u64>, sizes: &[u64], blocksizes: &[u64], step: (f64, f64), with_capacity: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let size = random.pick(sizes);
        let step = random.between(step.0, step.1);
        let card = card(&mut random, size, step);
        let log = scans(&card, blocksizes, &mut random);
        let found = analyze(&log, with_capacity.then_some(card.capacity)).geometry.erase_block;
        let before = tally.wrong;
        tally.count(Some(size), card.sub_unit, found.bytes);
        if std::env::var("SHOW").is_ok() && found.bytes.is_none() { eprintln!("ABST seed {seed}: {size} {card:?} {:#?}", found.evidence); }
        if tally.wrong > before {
            eprintln!("seed {seed}: {size} is told as {:?}: {card:?}\n{log}\n{:#?}", found.bytes, found.evidence);
        }
    }
    eprintln!("{sizes:?} {blocksizes:?} {step:?} capacity {with_capacity}: {tally:?}");
    tally
}

#[test]
fn powers_of_two_are_told_from_repeated_scans() {
    let sizes = [2, 4, 4, 8, 16, 32].map(|n| n * MIB);
    for with_capacity in [true, false] {
        let tally = tally(0..150, &sizes, &[1024, 1024, 1024], (0.12, 0.6), with_capacity);
        assert!(tally.wrong * 100 <= tally.all(), "{tally:?}");
        assert!(tally.right * 100 >= 90 * tally.all(), "{tally:?}");
    }
}

#[test]
fn units_of_three_are_told_from_scans_of_both_ladders() {
    let sizes = [3 * MIB / 2, 3 * MIB, 6 * MIB, 12 * MIB, 24 * MIB];
    for with_capacity in [true, false] {
        let tally = tally(1000..1100, &sizes, &[1024, 3072], (0.15, 0.6), with_capacity);
        assert!(tally.wrong * 100 <= tally.all(), "{tally:?}");
        assert!(tally.right * 100 >= 80 * tally.all(), "{tally:?}");
    }
}

#[test]
fn powers_of_two_survive_a_scan_of_three() {
    let sizes = [2, 4, 8, 16, 32].map(|n| n * MIB);
    let tally = tally(2000..2080, &sizes, &[1024, 3072], (0.12, 0.6), true);
    assert!(tally.wrong * 100 <= tally.all(), "{tally:?}");
    assert!(tally.right * 100 >= 90 * tally.all(), "{tally:?}");
}

#[test]
fn a_faint_step_is_told_or_not_but_never_wrong() {
    let sizes = [2, 4, 8, 16].map(|n| n * MIB);
    let tally = tally(3000..3150, &sizes, &[1024], (0.02, 0.12), true);
    assert!(tally.wrong * 50 <= tally.all(), "{tally:?}");
}

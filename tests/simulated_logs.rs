//! Logs of cards whose inside is known: the inference may abstain, but it must not be wrong.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // tests

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
    let parts = if erase_block.is_multiple_of(3) { 3 } else { 2 };
    let unit_cost = step * base;
    Card {
        capacity,
        erase_block,
        phase: 0,
        sub_unit: two_level.then_some(erase_block / parts),
        base,
        unit_cost: if two_level {
            0.4 * unit_cost
        } else {
            unit_cost
        },
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

fn tally(
    seeds: std::ops::Range<u64>,
    sizes: &[u64],
    blocksizes: &[u64],
    step: (f64, f64),
    with_capacity: bool,
) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let size = random.pick(sizes);
        let step = random.between(step.0, step.1);
        let card = card(&mut random, size, step);
        let log = scans(&card, blocksizes, &mut random);
        let found = analyze(&log, with_capacity.then_some(card.capacity))
            .geometry
            .erase_block;
        let before = tally.wrong;
        tally.count(Some(size), card.sub_unit, found.bytes);
        if tally.wrong > before {
            eprintln!(
                "seed {seed}: {size} is told as {:?}: {card:?}\n{log}\n{:#?}",
                found.bytes, found.evidence
            );
        }
    }
    eprintln!("{sizes:?} {blocksizes:?} {step:?} capacity {with_capacity}: {tally:?}");
    tally
}

#[test]
fn powers_of_two_are_told_from_repeated_scans() {
    let sizes = [2, 4, 4, 8, 16, 32].map(|n| n * MIB);
    for with_capacity in [true, false] {
        let tally = tally(
            0..150,
            &sizes,
            &[1024, 1024, 1024],
            (0.12, 0.6),
            with_capacity,
        );
        assert!(tally.wrong * 100 <= tally.all(), "{tally:?}");
        assert!(tally.right * 100 >= 90 * tally.all(), "{tally:?}");
    }
}

#[test]
fn units_of_three_are_told_from_scans_of_both_ladders() {
    let sizes = [3 * MIB / 2, 3 * MIB, 6 * MIB, 12 * MIB, 24 * MIB];
    for with_capacity in [true, false] {
        let tally = tally(
            1000..1100,
            &sizes,
            &[1024, 3072],
            (0.15, 0.6),
            with_capacity,
        );
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
    // "Likely" means nine out of ten.
    assert!(tally.wrong * 20 <= tally.right, "{tally:?}");
}

#[test]
fn without_boundaries_nothing_is_told() {
    let mut tally = Tally::default();
    for seed in 4000..4120 {
        let mut random = Random::new(seed);
        let mut card = card(&mut random, 4 * MIB, 0.3);
        card.erase_block = 0;
        card.sub_unit = None;
        // From a quiet SSD to reads that wander more than any step.
        card.noise = random.pick(&[0.001, 0.01, 0.1, 0.5]) * card.base;
        let log = scans(&card, &[1024, 1024, 1024], &mut random);
        let capacity = random.chance(0.5).then_some(card.capacity);
        let found = analyze(&log, capacity).geometry.erase_block;
        if let Some(told) = found.bytes {
            eprintln!(
                "seed {seed}: nothing is told as {told}: {card:?}\n{log}\n{:#?}",
                found.evidence
            );
        }
        tally.count(None, None, found.bytes);
    }
    eprintln!("no boundaries: {tally:?}");
    assert!(tally.wrong * 100 <= tally.all(), "{tally:?}");
}

#[test]
fn a_scan_repeated_confirms_and_a_single_one_does_not() {
    let mut confirmed = 0;
    for seed in 5000..5020 {
        let mut random = Random::new(seed);
        let mut card = card(&mut random, 4 * MIB, 0.35);
        card.sub_unit = None;
        card.unit_cost = 0.35 * card.base;
        card.place_scatter = 0.03;
        card.outliers = 0.0;
        let single = scans(&card, &[1024], &mut random);
        let found = analyze(&single, Some(card.capacity)).geometry.erase_block;
        assert_eq!(found.verdict, Verdict::Likely, "seed {seed}: {found:?}");
        let repeated = scans(&card, &[1024, 1024, 3072], &mut random);
        let found = analyze(&repeated, Some(card.capacity)).geometry.erase_block;
        assert!(found.verdict.is_told(), "seed {seed}: {found:?}");
        confirmed += u32::from(found.verdict == Verdict::Confirmed);
        assert!(found.verdict != Verdict::Confirmed || found.confidence >= 0.99);
    }
    assert!(confirmed >= 15, "{confirmed}");
}

fn writer(random: &mut Random) -> Writer {
    let unit = random.pick(&[2 * MIB, 4 * MIB, 4 * MIB, 8 * MIB, 6 * MIB]);
    let rate = random.between(4e6, 25e6);
    let limit = 1 + u32::try_from(random.below(12)).unwrap();
    Writer {
        unit,
        limit: random.chance(0.8).then_some(limit),
        command: random.between(0.2e-3, 2e-3),
        per_byte: 1.0 / rate,
        page: random.pick(&[4096, 8192, 16384, 32768]),
        collection: random.between(0.5, 2.5) * unit as f64 / rate,
        graceful: random.pick(&[1.0, 1.0, 0.95, 0.85, 0.75]),
        soft: random.chance(0.2).then(|| random.between(0.35, 0.58)),
        scatter: random.between(0.005, 0.06),
    }
}

#[test]
fn the_limit_of_open_units_is_found_or_left_open() {
    let (mut right, mut open, mut wrong) = (0, 0, 0);
    for seed in 6000..6400 {
        let mut random = Random::new(seed);
        let writer = writer(&mut random);
        let last = writer.limit.map_or(8, |limit| limit + 2);
        let tried: Vec<u32> = (1..=last).filter(|_| !random.chance(0.15)).collect();
        let is_random = random.chance(0.3);
        let option = if is_random { " --random" } else { "" };
        let log: String = tried
            .iter()
            .map(|open| {
                format!(
                    "$ flashbench -O --erasesize={} --open-au-nr={open} -b 16384 /dev/sdx{option}\n{}",
                    writer.unit,
                    writer.open_au(*open, 16384, &mut random)
                )
            })
            .collect();
        let found = analyze(&log, None).geometry.open_au;
        let found = if is_random {
            found.random.count
        } else {
            found.linear
        };
        let limit = writer.limit.unwrap_or(u32::MAX);
        let contradicts = found.at_least.is_some_and(|least| least > limit)
            || found.at_most.is_some_and(|most| most < limit);
        let before = tried.iter().copied().filter(|n| *n <= limit).max();
        let behind = tried.iter().copied().filter(|n| *n > limit).min();
        if contradicts {
            wrong += 1;
            eprintln!("seed {seed}: {writer:?} told {found:?}\n{log}");
        } else if found.at_least == before && found.at_most == behind.map(|n| n - 1) {
            right += 1;
        } else {
            open += 1;
        }
    }
    eprintln!("open units: {right} right, {open} left open, {wrong} wrong");
    assert!(
        wrong <= 4 && right >= 320,
        "{right} right, {open} left open, {wrong} wrong"
    );
}

#[test]
fn zones_are_found_where_they_are_and_nowhere_else() {
    let (mut right, mut open, mut wrong) = (0, 0, 0);
    for seed in 7000..7300 {
        let mut random = Random::new(seed);
        let blocks = 6 + usize::try_from(random.below(3)).unwrap();
        let rate = random.between(2e6, 18e6);
        // Nothing, a fast second block, a slow prefix; and what must not be taken for one.
        let kind = random.below(5);
        let mut factors = vec![1.0; blocks];
        let mut expected = None;
        match kind {
            0 => {
                factors[1] = random.between(1.8, 2.5);
                expected = Some((4, 8));
            }
            1 => {
                let width = 1 + random.below(3);
                for factor in factors.iter_mut().take(usize::try_from(width).unwrap()) {
                    *factor = random.between(0.2, 0.58);
                }
                expected = Some((0, 4 * width));
            }
            2 => {
                factors[0] = random.between(0.75, 0.95);
                factors[1] = random.between(0.85, 1.0);
            }
            3 => factors[3] = random.between(1.7, 2.2),
            _ => {}
        }
        let repeats = random.pick(&[1, 3]);
        let log: String = (0..repeats)
            .map(|_| {
                let mut text = format!("$ flashbench -f --fat-nr={blocks} -b 1024 /dev/sdx\n");
                let mut size = 4 * MIB;
                while size >= 1024 {
                    text.push_str(&format_size(size));
                    for factor in &factors {
                        let time = 4e-4 + size as f64 / rate / factor;
                        // Now and then one line is slow: clean-up of earlier writes.
                        let stall = if random.chance(0.01) { 3.0 } else { 1.0 };
                        let scatter = (0.03 * random.normal()).exp();
                        text.push_str(&format!(
                            "\t{}",
                            format_rate(size as f64 / time / stall * scatter)
                        ));
                    }
                    text.push('\n');
                    size /= 2;
                }
                text
            })
            .collect();
        let found = analyze(&log, None).geometry.fat_area;
        let zones: Vec<(u64, u64)> = found
            .zones
            .iter()
            .map(|zone| (zone.from_bytes.get() / MIB, zone.to_bytes.get() / MIB))
            .collect();
        if !found.verdict.is_told() {
            open += 1;
        } else if zones == expected.into_iter().collect::<Vec<_>>() {
            right += 1;
        } else {
            wrong += 1;
            eprintln!(
                "seed {seed}: {factors:?} told {zones:?}\n{log}{:#?}",
                found.evidence
            );
        }
    }
    eprintln!("zones: {right} right, {open} left open, {wrong} wrong");
    assert!(
        wrong <= 3 && right >= 260,
        "{right} right, {open} left open, {wrong} wrong"
    );
}

#[test]
fn a_limit_hidden_by_a_slow_link_is_seen_below_it() {
    let link = 1.3e6;
    let log: String = [(3, None), (4, Some(0.16))]
        .iter()
        .map(|(open, collection): &(u32, Option<f64>)| {
            let mut text = format!("$ flashbench -O --open-au-nr={open} -b 16384 /dev/sdx\n");
            let mut size = 4 * MIB;
            while size >= 16384 {
                let time = (size as f64 / link).max(collection.unwrap_or(0.0)) + 1e-3;
                text.push_str(&format!(
                    "{}\t{}\n",
                    format_size(size),
                    format_rate(size as f64 / time)
                ));
                size /= 2;
            }
            text
        })
        .collect();
    let found = analyze(&log, None).geometry.open_au.linear;
    assert_eq!(found.limit, Some(3), "{found:?}");
    assert_eq!(found.cutoff, Some(Cutoff::Hard));
}

/// One scan of powers of two, from its crossing costs in microseconds, the largest alignment first.
fn scan_of(top: u64, base: f64, costs: &[f64]) -> String {
    let mut text = String::from("$ flashbench -a /dev/sdx -b 1024\n");
    for (i, cost) in costs.iter().enumerate() {
        text.push_str(&format!(
            "align {}\tpre {base:.1}µs\ton {:.1}µs\tpost {base:.1}µs\tdiff {cost:.1}µs\n",
            top >> i,
            base + cost
        ));
    }
    text
}

#[test]
fn one_high_line_is_no_page() {
    let costs = [
        0.5, 0.3, -0.4, 0.6, 0.1, -0.2, 0.4, 0.2, -0.3, 0.1, 0.3, -0.1, 0.2, 0.4, 144.0, 0.2, -0.3,
        0.1, 0.2,
    ];
    let page = analyze(&scan_of(512 * MIB, 1000.0, &costs), None)
        .geometry
        .page;
    assert_eq!(page.bytes, None, "{page:?}");
}

#[test]
fn one_high_line_of_the_shelf_does_not_hide_the_page() {
    let costs = [
        480.0, 455.0, 462.0, 450.0, 458.0, 461.0, 452.0, 456.0, 449.0, 460.0, 455.0, 451.0, 457.0,
        170.0, 542.0, 166.0, 160.0, 157.0, 162.0, 158.0, 161.0, 159.0, 2.6,
    ];
    let log = scan_of(8 << 30, 1000.0, &costs);
    let page = analyze(&log, Some(62_550_179_840)).geometry.page;
    assert_eq!(page.bytes, Some(Bytes::kib(4)), "{page:?}");
}

#[test]
fn a_trend_of_distant_places_is_no_unit() {
    let mut costs = vec![765.0, 629.0, 603.0, 629.0, 554.0];
    costs.extend([
        540.0, 566.0, 538.0, 552.0, 545.0, 560.0, 532.0, 549.0, 541.0, 556.0, 536.0,
    ]);
    let found = analyze(&scan_of(512 * MIB, 1500.0, &costs), Some(1_990_000_640));
    assert_eq!(found.geometry.erase_block.bytes, None, "{found:?}");
}

#[test]
fn one_slow_second_block_is_the_state_of_the_card() {
    let mut log = String::from("$ flashbench -f --fat-nr=6 -b 16384 /dev/sdx\n");
    for size in (14..=22).rev().map(|power| 1u64 << power) {
        log.push_str(&format_size(size));
        for factor in [1.0, 0.4, 1.0, 1.0, 1.0, 1.0] {
            log.push_str(&format!("\t{}", format_rate(8e6 * factor)));
        }
        log.push('\n');
    }
    assert_eq!(analyze(&log, None).geometry.fat_area.zones, []);
}

#[test]
fn a_single_slow_unit_is_no_limit_of_none() {
    let log: String = [1, 2]
        .iter()
        .map(|open| {
            let mut text = format!("$ flashbench -O --open-au-nr={open} -b 16384 /dev/sdx\n");
            for size in (14..=22).rev().map(|power| 1u64 << power) {
                let time = 0.4 + size as f64 / 10e6;
                text.push_str(&format!(
                    "{}\t{}\n",
                    format_size(size),
                    format_rate(size as f64 / time)
                ));
            }
            text
        })
        .collect();
    let found = analyze(&log, None).geometry.open_au.linear;
    assert_eq!(found.verdict, Verdict::NotVisible, "{found:?}");
    assert_eq!(found.at_most, None);
}

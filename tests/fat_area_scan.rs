//! Special zones at the start: on the built-in sticks and on invented ones, against what the sticks
//! were made with.

#![allow(clippy::unwrap_used)]

mod common;
mod write_stage;

use common::full;
use flashfit::device::simulated::builtin_names;
use flashfit::device::simulated::profile::Profile;
use flashfit::geometry::{FatArea, Verdict, ZoneKind};
use flashfit::run::stages::fat_area;
use flashfit::units::Bytes;
use write_stage::{Ran, invented, stage};

fn scan(profile: &Profile, seed: u64) -> Ran<fat_area::Found> {
    stage(profile, seed, fat_area::run)
}

/// Zones in MiB.
fn zones(area: &FatArea) -> Vec<(f64, f64, ZoneKind)> {
    let mib = |bytes: Bytes| bytes.get() as f64 / f64::from(1 << 20);
    area.zones
        .iter()
        .map(|zone| (mib(zone.from_bytes), mib(zone.to_bytes), zone.kind))
        .collect()
}

fn expected(profile: &Profile) -> Vec<(f64, f64, ZoneKind)> {
    let mib = |bytes: Bytes| bytes.get() as f64 / f64::from(1 << 20);
    profile
        .expected
        .fat_area
        .iter()
        .flatten()
        .map(|zone| {
            let kind = match format!("{:?}", zone.kind).as_str() {
                "Faster" => ZoneKind::Faster,
                "Slower" => ZoneKind::Slower,
                _ => ZoneKind::Different,
            };
            (mib(zone.from), mib(zone.to), kind)
        })
        .collect()
}

#[test]
fn the_built_in_sticks_show_their_zones_and_no_others() {
    let seeds = if full() { 50 } else { 3 };
    let mut wrong = Vec::new();
    for name in builtin_names() {
        let profile = Profile::builtin(name).unwrap();
        for seed in 1..=seeds {
            let ran = scan(&profile, seed);
            let area = &ran.found.fat_area;
            if seed == 1 {
                println!(
                    "{name}: {:.1} s, {} KiB, {} erases: {} {:?} {:?}",
                    ran.cost.device_time.as_secs_f64(),
                    ran.cost.bytes_written.get() >> 10,
                    ran.wear.erases,
                    area.verdict,
                    zones(area),
                    area.evidence,
                );
            }
            if !area.verdict.is_told() || zones(area) != expected(&profile) {
                wrong.push(format!(
                    "{name} seed {seed}: {} {:?} {:?}",
                    area.verdict,
                    zones(area),
                    area.evidence
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn zones_are_exact_whatever_the_stick_keeps_open() {
    let seeds = if full() { 20 } else { 1 };
    let zone_lines = [
        ("", vec![]),
        (
            r#"zones = [{ from = "0B", to = "4MiB", random = 0.5, page_mapped = true }]"#,
            vec![(0.0, 4.0, ZoneKind::Faster)],
        ),
        (
            r#"zones = [{ from = "4MiB", to = "8MiB", random = 0.4, linear = 0.4 }]"#,
            vec![(4.0, 8.0, ZoneKind::Faster)],
        ),
        (
            r#"zones = [{ from = "0B", to = "12MiB", linear = 2.5, random = 2.5 }]"#,
            vec![(0.0, 12.0, ZoneKind::Slower)],
        ),
        (
            r#"zones = [{ from = "0B", to = "8MiB", linear = 2.0, random = 0.3, page_mapped = true }]"#,
            vec![(0.0, 8.0, ZoneKind::Different)],
        ),
    ];
    let units = [
        r#"open_units = { linear = 1, collect = "0.25s" }"#,
        r#"open_units = { linear = 2, policy = "random", collect = "0.25s" }"#,
        r#"open_units = { linear = 3, random = 1, collect = "0.25s" }"#,
        r#"open_units = { linear = 6, policy = "fifo", collect = "0.25s" }"#,
        "",
    ];
    let mut wrong = Vec::new();
    for (zone, truth) in &zone_lines {
        for unit in units {
            for seed in 1..=seeds {
                let profile = invented(&format!("{unit}\n{zone}"));
                let ran = scan(&profile, seed);
                let area = &ran.found.fat_area;
                if !area.verdict.is_told() || zones(area) != *truth {
                    wrong.push(format!(
                        "{zone}, {unit}, seed {seed}: {} {:?} {:?}",
                        area.verdict,
                        zones(area),
                        area.evidence
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_stick_that_slows_down_by_itself_meanwhile_gets_no_zone() {
    for after in ["0.3s", "0.8s", "2s"] {
        for slower in [2.0, 6.0] {
            let mut profile = invented("");
            profile.noise.throttle = Profile::parse(
                &format!(
                    "capacity = \"8GiB\"\nflash.erase_block = \"4MiB\"\nread.base = \"1ms\"\nnoise.throttle = {{ after = \"{after}\", slower = {slower:?} }}"
                ),
                "throttle",
            )
            .unwrap()
            .noise
            .throttle;
            let ran = scan(&profile, 1);
            let area = &ran.found.fat_area;
            assert_eq!(zones(area), [], "{after} {slower}: {:?}", area.evidence);
            assert_ne!(area.verdict, Verdict::Confirmed);
        }
    }
}

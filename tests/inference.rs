//! The promises about the search for the erase block by reads: how often it is right, how often
//! wrong, and at what cost. Five specimens of every built-in stick, twenty with `FLASHFIT_FULL=1`.

// Helpers of a test may fail as the tests themselves may.
#![allow(clippy::unwrap_used)]

#[path = "../benches/survey/mod.rs"]
mod survey;

use flashfit::device::ReadDevice;
use flashfit::device::simulated::{Profile, SimulatedStick};
use flashfit::geometry::Verdict;
use flashfit::run::scan::{Options, scan};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use survey::{Row, survey, visible};

fn all(sigma: f64) -> Row {
    let seeds = if std::env::var_os("FLASHFIT_FULL").is_some() {
        20
    } else {
        5
    };
    let mut all = Row::default();
    for (name, profile) in visible() {
        let row = survey(&profile, sigma, seeds);
        assert_eq!(row.wrong_confirmed, 0, "{name} at {sigma} sigma");
        all.append(row);
    }
    all
}

/// The share that is right.
fn right(row: &Row) -> f64 {
    (row.confirmed + row.likely) as f64 / row.runs as f64
}

#[test]
fn at_three_sigma_nearly_all_are_right_within_600_reads() {
    let mut row = all(3.0);
    let text = row.text("all");
    assert!(right(&row) >= 0.95, "{}", text);
    assert_eq!(row.wrong, 0, "{}", text);
    let median = row.reads[row.reads.len() / 2];
    assert!(median <= 600, "{}", text);
    assert!(row.noise_reads <= 400, "{}", text);
}

#[test]
fn at_two_sigma_most_are_right_and_none_is_wrong() {
    let mut row = all(2.0);
    let text = row.text("all");
    assert!(right(&row) >= 0.85, "{}", text);
    assert_eq!(row.wrong, 0, "{}", text);
}

#[test]
fn at_one_sigma_at_most_one_in_a_hundred_is_wrong() {
    let mut row = all(1.0);
    let text = row.text("all");
    assert!(row.wrong * 100 <= row.runs, "{}", text);
}

/// What the built-in sticks are expected to show, with their own noise.
#[test]
fn every_built_in_stick_shows_what_it_is_expected_to() {
    for name in flashfit::device::simulated::builtin_names() {
        let profile = Profile::builtin(name).unwrap();
        let Some(expected) = &profile.expected.erase_block else {
            continue;
        };
        let mut stick = SimulatedStick::new(&profile, 1);
        let options = Options {
            time_limit: Duration::from_secs(300),
            seed: 1,
            in_use: false,
        };
        let found = scan(&mut stick, options, &AtomicBool::new(false), &mut |_| {})
            .geometry
            .erase_block;
        match expected.bytes.filter(|_| expected.by_reads.is_none()) {
            Some(bytes) => {
                assert_eq!(found.verdict, Verdict::Confirmed, "{name}: {found:#?}");
                assert_eq!(
                    (found.bytes, found.phase_bytes),
                    (Some(bytes), Some(expected.phase)),
                    "{name}"
                );
                assert_eq!(
                    found.sub_unit_bytes, expected.sub_unit,
                    "{name}: {found:#?}"
                );
            }
            None => assert_eq!(found.verdict, Verdict::NotVisible, "{name}: {found:#?}"),
        }
        assert!(
            stick.clock() < Duration::from_secs(60),
            "{name} takes {:?}",
            stick.clock()
        );
    }
}

//! How many units stay open: on the built-in sticks and on invented ones with every limit,
//! replacement and oddity, against what the sticks were made with.

#![allow(clippy::unwrap_used)]

mod common;
mod write_stage;

use common::full;
use flashfit::device::simulated::builtin_names;
use flashfit::device::simulated::profile::{Policy, Profile};
use flashfit::geometry::open_au::scan::Found;
use flashfit::geometry::{Cutoff, OpenAu, Verdict};
use flashfit::measure::meter::Stop;
use flashfit::run::stages::open_au;
use flashfit::units::Bytes;
use std::time::Duration;
use write_stage::{Ran, invented, stage, within};

fn ran(profile: &Profile, seed: u64) -> Ran<Found> {
    stage(profile, seed, open_au::run)
}

fn with_limit(limit: u32, policy: Policy) -> Profile {
    let mut profile = invented(r#"open_units = { linear = 1, collect = "0.25s" }"#);
    profile.open_units.linear = Some(limit);
    profile.open_units.policy = policy;
    profile
}

fn contains(au: &OpenAu, limit: u32) -> bool {
    au.at_least.is_none_or(|least| least <= limit) && au.at_most.is_none_or(|most| limit <= most)
}

fn line(name: &str, au: &OpenAu) -> String {
    format!(
        "{name}: {} limit {:?} from {:?} to {:?} {:?} of {:?} ({:.3}) {:?}",
        au.verdict,
        au.limit,
        au.at_least,
        au.at_most,
        au.cutoff,
        au.unit_bytes,
        au.confidence,
        au.evidence
    )
}

#[test]
fn the_built_in_sticks_show_what_they_were_made_with() {
    let seeds = if full() { 50 } else { 2 };
    let mut wrong = Vec::new();
    for name in builtin_names() {
        let profile = Profile::builtin(name).unwrap();
        for seed in 1..=seeds {
            let ran = ran(&profile, seed);
            let expected = &profile.expected.open_au;
            let random = &ran.found.open_aus.random;
            let linear = &ran.found.open_aus.linear;
            if seed == 1 {
                println!(
                    "{name} {:.1} s, {} KiB, {} erases, {} collections, {:?}\n   {}\n   {}, {:?}\n {:?}",
                    ran.cost.device_time.as_secs_f64(),
                    ran.cost.bytes_written.get() >> 10,
                    ran.wear.erases,
                    ran.wear.collections,
                    ran.stop,
                    line("linear", linear),
                    line("random", &random.count),
                    random.smallest_efficient_write_bytes,
                    ran.found.warnings,
                );
            }
            for (way, au, expected) in [
                ("linear", linear, expected.linear),
                ("random", &random.count, expected.random),
            ] {
                let Some(expected) = expected else { continue };
                let mut right = au.verdict.is_told();
                if let Some(limit) = expected.limit {
                    right &= contains(au, limit) && au.at_most.is_some();
                    right &= (au.cutoff == Some(Cutoff::Soft)) == expected.soft;
                }
                if let Some(least) = expected.at_least {
                    right &= au.at_least.is_some_and(|n| n >= least) && au.at_most.is_none();
                }
                if expected.unit.is_some() {
                    right &= au.unit_bytes == expected.unit;
                }
                if way == "random" {
                    right &=
                        random.smallest_efficient_write_bytes == expected.smallest_efficient_write;
                }
                if !right {
                    wrong.push(format!("{name} seed {seed}: {}", line(way, au)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_limit_is_found_whatever_is_replaced() {
    let seeds = if full() { 50 } else { 1 };
    let mut wrong = Vec::new();
    for policy in [Policy::Lru, Policy::Fifo, Policy::Random] {
        let (mut exact, mut untold, mut all, mut collections, mut seconds) = (0, 0, 0, 0, 0.0);
        for limit in 1..=25 {
            for seed in 1..=seeds {
                let ran = ran(&with_limit(limit, policy), seed);
                for (way, au) in [
                    ("linear", &ran.found.open_aus.linear),
                    ("random", &ran.found.open_aus.random.count),
                ] {
                    all += 1;
                    exact += usize::from(au.limit == Some(limit));
                    let right = match policy {
                        Policy::Random if !au.verdict.is_told() => {
                            untold += 1;
                            true
                        }
                        Policy::Random => contains(au, limit) && au.at_most.is_some(),
                        _ => au.limit == Some(limit) && au.verdict == Verdict::Confirmed,
                    };
                    if !right {
                        wrong.push(format!("{policy:?} {limit} seed {seed}: {}", line(way, au)));
                    }
                }
                collections += ran.wear.collections;
                seconds += ran.cost.device_time.as_secs_f64();
            }
        }
        // Settling under random replacement may look like stalls of the stick's own: rather untold than
        // wrong.
        assert!(untold * 200 <= all, "{policy:?}: {untold} of {all} untold");
        println!(
            "{policy:?}: {exact} of {all} exact, {untold} untold; {} collections, {:.1} s a run",
            collections / (25 * seeds),
            seconds / (25 * seeds) as f64
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ran_invented(lines: &str, seed: u64) -> Ran<Found> {
    ran(&invented(lines), seed)
}

fn has_warning(found: &Found, code: &str) -> bool {
    found.warnings.iter().any(|warning| warning.code == code)
}

#[test]
fn a_rate_that_sags_unit_by_unit_has_no_limit() {
    for (free, sag) in [(0, 0.05), (1, 0.3), (4, 0.5), (1, 1.0), (3, 2.0)] {
        let ran = ran_invented(
            &format!("open_units = {{ sag_free = {free}, sag_per_unit = {sag:?} }}"),
            1,
        );
        let linear = &ran.found.open_aus.linear;
        assert_eq!(linear.at_most, None, "{}", line("sag", linear));
        assert!(linear.at_least >= Some(28), "{}", line("sag", linear));
        assert_eq!(linear.cutoff, Some(Cutoff::Gradual), "{free} {sag}");
        assert!(!has_warning(&ran.found, "may_be_hidden_by_cache"));
    }
}

#[test]
fn soft_limits_are_found_and_called_soft() {
    for limit in [2, 5, 11, 20] {
        for rate in [0.37, 0.5, 0.59] {
            let ran = ran_invented(
                &format!(
                    "open_units = {{ linear = {limit}, cutoff = \"soft\", soft_rate = {rate:?} }}"
                ),
                limit,
            );
            let linear = &ran.found.open_aus.linear;
            let text = line("soft", linear);
            assert_eq!(linear.limit, u32::try_from(limit).ok(), "{text}");
            assert_eq!(linear.cutoff, Some(Cutoff::Soft), "{text}");
        }
    }
}

#[test]
fn short_collections_are_told_from_a_lower_rate() {
    for (collect, limit) in [("4ms", 5), ("8ms", 9), ("20ms", 3)] {
        let ran = ran_invented(
            &format!("open_units = {{ linear = {limit}, collect = \"{collect}\" }}"),
            1,
        );
        let linear = &ran.found.open_aus.linear;
        let text = line(collect, linear);
        assert_eq!(linear.limit, Some(limit), "{text}");
        assert_eq!(linear.cutoff, Some(Cutoff::Hard), "{text}");
    }
}

#[test]
fn a_log_for_small_writes_does_not_hide_the_limit() {
    let mut profile = invented(r#"open_units = { linear = 7, collect = "0.25s" }"#);
    profile.write.small_path = Some(Bytes::kib(32));
    let hidden = self::ran(&profile, 1);
    let linear = &hidden.found.open_aus.linear;
    assert_eq!(linear.limit, Some(7), "{}", line("small path", linear));
    profile.write.small_path = Some(Bytes::mib(1));
    let hidden = self::ran(&profile, 1);
    let linear = &hidden.found.open_aus.linear;
    assert_eq!((linear.limit, linear.at_most), (None, None));
    assert!(has_warning(&hidden.found, "may_be_hidden_by_cache"));
}

#[test]
fn a_full_fast_cache_is_no_limit() {
    for mib in [1, 2, 4] {
        for unit in ["", r#"open_units = { linear = 9, collect = "0.25s" }"#] {
            let ran = ran_invented(
                &format!("slc_cache = {{ size = \"{mib}MiB\", slower = 2.5 }}\n{unit}"),
                1,
            );
            let linear = &ran.found.open_aus.linear;
            let text = line(unit, linear);
            if unit.is_empty() {
                assert_eq!((linear.limit, linear.at_most), (None, None), "{text}");
            } else {
                assert!(contains(linear, 9) && linear.at_most == Some(9), "{text}");
            }
        }
    }
}

#[test]
fn a_volatile_cache_that_flushes_is_seen_through() {
    let lines = r#"open_units = { linear = 6, collect = "0.25s" }
write_cache = { depth = "0.6s", base = "0.2ms", per_kib = "2us" }"#;
    let ran = ran_invented(lines, 1);
    let linear = &ran.found.open_aus.linear;
    assert_eq!(linear.limit, Some(6), "{}", line("cache", linear));
}

#[test]
fn throttling_and_long_outliers_never_give_a_wrong_limit() {
    let seeds = if full() { 20 } else { 1 };
    for seed in 1..=seeds {
        for noise in [
            r#"noise.throttle = { after = "1s", slower = 4.0 }"#,
            r#"noise.throttle = { after = "5s", slower = 10.0 }"#,
            r#"noise = { sigma = "40us", outlier_rate = 0.05, outlier = "200ms" }"#,
            r#"noise = { sigma = "40us", drift_per_second = 0.01, background = { every = "1s", length = "100ms" } }"#,
            r#"noise = { sigma = "40us", wave = { amplitude = 0.2, period = "3s" }, quantum = "125us" }"#,
        ] {
            for (unit, truth) in [
                ("", None),
                (r#"open_units = { linear = 4, collect = "0.25s" }"#, Some(4)),
                (
                    r#"open_units = { linear = 13, policy = "random", collect = "0.25s" }"#,
                    Some(13),
                ),
            ] {
                let text = format!(
                    r#"
capacity = "8GiB"
flash.erase_block = "4MiB"
flash.page = "16KiB"
read.base = "700us"
expected.erase_block = {{ verdict = "confirmed", bytes = "4MiB" }}
{unit}
{noise}
"#
                );
                let profile = Profile::parse(&text, "noisy").unwrap();
                let ran = ran(&profile, seed);
                for au in [&ran.found.open_aus.linear, &ran.found.open_aus.random.count] {
                    let text = line(&format!("{unit} {noise} {seed}"), au);
                    match truth {
                        Some(limit) => assert!(contains(au, limit), "{text}"),
                        None => assert_eq!(au.at_most, None, "{text}"),
                    }
                }
            }
        }
    }
}

#[test]
fn limits_on_time_and_bytes_are_kept_and_what_is_known_is_told() {
    let profile = with_limit(12, Policy::Lru);
    for mib in [1, 2, 4] {
        let ran = within(
            &profile,
            1,
            Duration::from_secs(3600),
            Bytes::mib(mib),
            open_au::run,
        );
        assert_eq!(ran.stop, Some(Stop::WriteLimit));
        assert!(ran.cost.bytes_written <= Bytes::mib(mib));
        assert!(contains(&ran.found.open_aus.linear, 12));
    }
    let ran = within(
        &profile,
        1,
        Duration::from_secs(2),
        Bytes::gib(1),
        open_au::run,
    );
    assert_eq!(ran.stop, Some(Stop::TimeLimit));
    assert!(ran.cost.device_time < Duration::from_millis(2600));
}

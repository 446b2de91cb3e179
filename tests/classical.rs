//! What a whole run with write tests costs on the stick of the public log, and that it tells all of
//! it; with FLASHFIT_FULL also against flashbench's classical procedure.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "../benches/procedure/mod.rs"]
mod procedure;

use common::full;
use flashfit::device::simulated::Profile;
use flashfit::geometry::Verdict;
use flashfit::units::Bytes;
use procedure::{classical, flashfit};
use std::time::Duration;

#[test]
fn the_voyager_is_known_within_two_minutes_and_34_mib() {
    let profile = Profile::builtin("corsair-voyager").unwrap();
    let seeds = if full() { 20 } else { 2 };
    for seed in 1..=seeds {
        let (scanned, spent) = flashfit(&profile, seed);
        println!(
            "seed {seed}: {:.1} s, {} KiB, {} erases",
            spent.time.as_secs_f64(),
            spent.wear.host_bytes.get() >> 10,
            spent.wear.erases
        );
        assert!(spent.time <= Duration::from_secs(120), "{seed}");
        assert!(
            spent.wear.host_bytes <= Bytes::mib(34),
            "{seed}: {}",
            spent.wear.host_bytes
        );
        assert_eq!(scanned.stop, None);
        let open = &scanned.geometry.open_au;
        assert_eq!(open.linear.limit, Some(18), "{seed}");
        assert_eq!(open.random.count.limit, Some(18), "{seed}");
        assert_eq!(open.linear.unit_bytes, Some(Bytes::mib(8)), "{seed}");
        assert_eq!(open.linear.verdict, Verdict::Confirmed);
        assert_eq!(scanned.geometry.fat_area.zones, [], "{seed}");
        assert!(scanned.geometry.fat_area.verdict.is_told(), "{seed}");
    }
}

#[test]
fn a_hundredth_of_the_time_and_a_five_hundredth_of_the_bytes() {
    if !full() {
        return;
    }
    let profile = Profile::builtin("corsair-voyager").unwrap();
    let (_, own) = flashfit(&profile, 1);
    let [time, bytes, erases] = own.ratios(&classical(&profile, 1, true));
    println!("time 1/{time:.0}, bytes 1/{bytes:.0}, erases 1/{erases:.0}");
    assert!(time >= 100.0 && bytes >= 500.0 && erases >= 100.0);
}

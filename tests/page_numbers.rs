//! The promise about the page: right or "not visible" on every built-in stick, wrong on none, and told by
//! reads wherever they show it at all: not in one scan of a stick and in the next one not. Six specimens of
//! each, fifty with `FLASHFIT_FULL=1`.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod stage_support;

use flashfit::device::simulated::builtin_names;
use flashfit::geometry::{Page, Verdict};
use flashfit::units::Bytes;
use stage_support::{pages, stick, told};

fn seeds() -> u64 {
    if common::full() { 50 } else { 6 }
}

/// Sticks whose pages cost a read so little more that few reads do not tell it from the noise.
const FAINT: [&str; 4] = ["1m5", "corsair-voyager", "kingston-dt101g2", "readme-card"];

/// What is said of the page of one stick, counted.
#[derive(Default, Debug)]
struct Count {
    confirmed: u32,
    likely: u32,
    not_visible: u32,
}

impl Count {
    fn add(&mut self, page: &Page, truth: Option<Bytes>, name: &str) {
        match page.verdict {
            Verdict::Confirmed => self.confirmed += 1,
            Verdict::Likely => self.likely += 1,
            _ => self.not_visible += 1,
        }
        if page.verdict.is_told() {
            assert_eq!(page.bytes, truth, "{name}: {page:#?}");
        } else {
            assert_eq!(page.bytes, None, "{name}");
        }
    }
}

#[test]
fn the_page_is_right_or_not_visible_on_every_built_in_stick_and_wrong_on_none() {
    let mut table = String::new();
    let mut told_by_writes = 0;
    let mut visible = 0;
    for name in builtin_names() {
        let (mut reads, mut both) = (Count::default(), Count::default());
        let (mut seconds, mut written) = (0.0f64, Bytes::ZERO);
        for seed in 1..=seeds() {
            let (profile, mut device) = stick(name, seed);
            let truth = profile.flash.page;
            let run = pages(&mut device, told(&profile), seed);
            assert_eq!(run.stop, None, "{name}");
            reads.add(&run.by_reads, truth, name);
            both.add(&run.pages.page, truth, name);
            seconds = seconds.max(run.seconds);
            written = written.max(run.written);
            assert!(run.pages.write.len() >= 7, "{name}");
            assert!(run.read_rates.len() >= 5, "{name}");
            visible += u32::from(truth.is_some());
            told_by_writes += u32::from(run.pages.page.verdict.is_told());
        }
        let told_by_reads = u64::from(reads.confirmed + reads.likely);
        if FAINT.contains(&name) {
            assert!(told_by_reads * 10 >= seeds() * 9, "{name}: {reads:?}");
        }
        table += &format!("{name:18} reads {reads:?} both {both:?} {seconds:.1} s {written}\n");
        assert!(seconds < 30.0 && written <= Bytes::mib(24), "{table}");
    }
    eprintln!("{table}");
    assert!(told_by_writes * 10 >= visible * 9, "{table}");
}

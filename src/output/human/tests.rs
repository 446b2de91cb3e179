//! What a newcomer reads first, and that it fits the page.

use super::*;
use crate::geometry::erase_block::{ChartBar, StoppedBy};
use crate::geometry::{EraseBlock, Geometry, Source, Verdict, Warning};
use crate::output::report::Cost;
use crate::topology::Facts;
use crate::units::{Bytes, LogicalBlock};
use std::time::Duration;

fn report(transport: Transport, erase_block: EraseBlock) -> Report {
    let mut device = Facts::bare(
        "/dev/sdb",
        transport,
        Some(Bytes(16_012_804_096)),
        LogicalBlock::B512,
    );
    device.vendor = Some("Maker".into());
    device.model = Some("Stick\u{1b}[2J".into());
    let geometry = Geometry {
        erase_block,
        ..Geometry::default()
    };
    let cost = Cost {
        device_time: Duration::from_millis(560),
        reads: 514,
        bytes_read: Bytes::kib(2056),
        stopped_by: Some(StoppedBy::Posterior),
        ..Cost::default()
    };
    Report::new(device, geometry, cost)
}

fn confirmed() -> Report {
    let mut report = report(
        Transport::Usb,
        EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: Some(Bytes::mib(12)),
            phase_bytes: Some(Bytes::mib(4)),
            sub_unit_bytes: Some(Bytes::mib(4)),
            confidence: 0.999,
            source: Source::Measured,
            runner_up_bytes: Some(Bytes::mib(24)),
            evidence: vec!["a read takes 250 µs longer, and this sentence goes on and on until it needs a second line".into()],
        },
    );
    report.chart = [(24, 249.0), (12, 252.0), (4, 81.0), (1, -2.0)]
        .map(|(mib, cost_us)| ChartBar {
            boundary: Bytes::mib(mib),
            cost_us,
            places: 10,
        })
        .to_vec();
    report
}

/// A text whose lines and columns do not matter.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text holds these words in this order.
#[track_caller]
fn in_order(text: &str, words: &[&str]) {
    let flow = flowing(text);
    let mut rest = flow.as_str();
    for word in words {
        let at = rest
            .find(&flowing(word))
            .unwrap_or_else(|| panic!("'{word}' not in order in:\n{text}"));
        rest = &rest[at..];
    }
}

#[track_caller]
fn fits_the_page(text: &str) {
    for line in text.lines() {
        assert!(
            line.len() <= 80 && line.bytes().all(|b| (b' '..=b'~').contains(&b)),
            "{line:?}"
        );
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn a_report_begins_with_the_verdict_and_ends_with_what_to_run_next() {
    let text = render(&confirmed(), None);
    fits_the_page(&text);
    in_order(
        &text,
        &[
            "Maker Stick\\u{1b}[2J (/dev/sdb)",
            "16.0 GB (16012804096 bytes), attached by usb",
            "The erase block is 12 MiB: confirmed.",
            "but 4 MiB behind it.",
            "Why\n  - a read takes 250 us longer",
            "Extra time of a read across a boundary",
            "seen from 4 MiB.",
            "12 MiB  ########################     252 us   10 places  <- erase block",
            "4 MiB  ########                    81.0 us   10 places  <- sub-unit",
            "Sizes\n",
            "smallest efficient write  not tested",
            "erase block               12 MiB (confirmed), boundaries from 4 MiB on, with",
            "alignment to use          12 MiB = 24576 sectors of 512 bytes, beginning at 4 MiB",
            "because: erase block of 12 MiB (confirmed)",
            "Cost: 514 reads, 2056 KiB in all, 0.56 s of reading and waiting.",
            "Measuring wrote nothing.",
            "Next\n  sudo flashfit plan /dev/sdb",
        ],
    );
}

#[test]
fn what_is_not_told_is_said_plainly_and_gets_a_careful_alignment_and_no_bars() {
    let mut unsure = report(
        Transport::Usb,
        EraseBlock {
            verdict: Verdict::NotVisible,
            runner_up_bytes: Some(Bytes::mib(4)),
            evidence: vec!["no step".into()],
            ..EraseBlock::default()
        },
    );
    unsure.chart = confirmed().chart;
    unsure
        .warnings
        .push(Warning::new("unsteady", "the speed jumped"));
    let text = render(&unsure, None);
    fits_the_page(&text);
    in_order(
        &text,
        &[
            "The erase block could not be told.",
            "careful choice",
            "erase block               could not be told",
            "alignment to use          48 MiB = 98304 sectors",
            "Please note\n  - the speed jumped",
        ],
    );
    // Neither the bars nor the size that fits the noise best.
    assert!(!text.contains('#') && !text.contains(" 4 MiB"), "{text}");
}

#[test]
fn likely_says_how_likely_and_where_it_comes_from() {
    let likely = |source| {
        let found = EraseBlock {
            verdict: Verdict::Likely,
            bytes: Some(Bytes::mib(8)),
            confidence: 0.978,
            source,
            ..EraseBlock::default()
        };
        render(&report(Transport::Usb, found), None)
    };
    assert!(likely(Source::Measured).contains("probability of 97 %"));
    assert!(likely(Source::Reported).contains("the device declares it"));
    assert!(likely(Source::Factored).contains("follows from the capacity"));
}

#[test]
fn the_next_command_fits_the_source() {
    let found = || EraseBlock::default();
    let saved = Path::new("my stick.json");
    let simulated = report(Transport::Simulated, found());
    assert!(render(&simulated, None).contains("\n  flashfit plan /dev/sdb "));
    assert!(render(&simulated, Some(saved)).contains("flashfit plan --report 'my stick.json'"));
    let mut log = report(Transport::Log, found());
    log.device.capacity = None;
    let text = render(&log, Some(saved));
    assert!(
        text.contains("Add --capacity SIZE") && text.contains("no device was touched"),
        "{text}"
    );
    fits_the_page(&text);
}

#[test]
fn the_summary_is_the_report_without_reasons_and_next_steps() {
    let text = summary(&confirmed());
    fits_the_page(&text);
    in_order(
        &text,
        &[
            "The erase block is 12 MiB: confirmed.",
            "alignment to use",
            "Measuring wrote nothing.",
        ],
    );
    assert!(
        !text.contains("Why") && !text.contains("Next") && !text.contains('#'),
        "{text}"
    );
}

#[test]
fn how_a_scan_ended_is_told() {
    let mut cut = confirmed();
    for (stop, words) in [
        (StoppedBy::TimeLimit, "The time limit ended it."),
        (StoppedBy::Interrupted, "It was interrupted."),
        (StoppedBy::IoError, "A failed access ended it."),
        (StoppedBy::Futility, "More reads would not have told more."),
    ] {
        cut.cost.stopped_by = Some(stop);
        let text = render(&cut, None).replace('\n', " ");
        assert!(text.contains(words), "{text}");
    }
}

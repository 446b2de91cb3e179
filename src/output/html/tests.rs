//! The page is whole, safe, and says no more than it should.

use super::*;
use crate::geometry::erase_block::ChartBar;
use crate::geometry::{
    EraseBlock, FatArea, Geometry, OpenAu, Rate, Source, Verdict, Warning, Zone, ZoneKind,
};
use crate::geometry::{fat_area, open_au};
use crate::output::report::Cost;
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock};

/// A report with everything that a page can show.
fn full() -> Report {
    let mut device = Facts::bare(
        "/dev/disk/by-id/usb-Maker_Stick_4C530001-0:0",
        Transport::Usb,
        Some(Bytes(16_012_804_096)),
        LogicalBlock::B512,
    );
    device.vendor = Some("Maker".into());
    device.model = Some("<b>Stick</b> & \"co\"\u{202e}".into());
    device.serial = Some("4C530001".into());
    let mut geometry = Geometry {
        erase_block: EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: Some(Bytes::mib(8)),
            confidence: 0.999,
            source: Source::Measured,
            evidence: vec!["a read takes 250 µs longer".into()],
            ..EraseBlock::default()
        },
        ..Geometry::default()
    };
    let rates = |most: f64| {
        [(4, 0.25), (16, 0.7), (64, 1.0)]
            .map(|(kib, share)| Rate {
                bytes: Bytes::kib(kib),
                bytes_per_second: most * share,
            })
            .to_vec()
    };
    geometry.throughput.read = rates(20e6);
    geometry.throughput.write = rates(8e6);
    geometry.throughput.efficient_bytes = Some(Bytes::kib(16));
    geometry.open_au.linear = OpenAu {
        verdict: Verdict::Likely,
        limit: Some(3),
        unit_bytes: Some(Bytes::mib(8)),
        ..OpenAu::default()
    };
    geometry.fat_area = FatArea {
        verdict: Verdict::Likely,
        zones: vec![Zone {
            from_bytes: Bytes::ZERO,
            to_bytes: Bytes::mib(4),
            kind: ZoneKind::Faster,
        }],
        ..FatArea::default()
    };
    let mut report = Report::new(device, geometry, Cost::default());
    report.chart = [(16, 249.0), (8, 252.0), (4, 20.0), (2, -2.0)]
        .map(|(mib, cost_us)| ChartBar {
            boundary: Bytes::mib(mib),
            cost_us,
            places: 10,
        })
        .to_vec();
    report.speeds.linear = (1..=5)
        .map(|open| open_au::scan::Bar {
            open,
            rate: if open <= 3 { 6e6 } else { 1e6 },
        })
        .collect();
    report.speeds.start = (0..8)
        .map(|n| fat_area::scan::Bar {
            from: Bytes::mib(n),
            rates: if n < 4 { [3.0, 2.0, 1.0] } else { [1.0; 3] },
            special: n < 4,
        })
        .collect();
    report.warnings.push(Warning::new(
        "in_use",
        "the device is in use (sdb1 mounted at /media/alice/X): others may disturb the times",
    ));
    report
        .warnings
        .push(Warning::new("unsteady", "scan 4C530001 again"));
    report
}

/// The text of the page without its elements.
fn text(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..];
    let mut inside = false;
    let text: String = body
        .chars()
        .filter_map(|c| match c {
            '<' => {
                inside = true;
                Some(' ')
            }
            '>' => {
                inside = false;
                None
            }
            c => (!inside).then_some(c),
        })
        .collect();
    let text = text.replace("&nbsp;", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every element is closed, in the right order. Gives how many there are of each name.
fn elements(page: &str) -> std::collections::BTreeMap<String, usize> {
    let mut open: Vec<String> = Vec::new();
    let mut count = std::collections::BTreeMap::new();
    let after_style = page.replace(include_str!("style.css"), "");
    for tag in after_style.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed), "{tag}"),
            None if matches!(name, "!DOCTYPE" | "meta") => {}
            None => {
                open.push(name.to_owned());
                *count.entry(name.to_owned()).or_insert(0) += 1;
            }
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    count
}

#[test]
fn every_element_is_closed_and_there_is_a_chart_of_everything_measured() {
    let page = render(&full(), Serial::LeftOut);
    let count = elements(&page);
    // Boundaries, reading, writing, open units, and three ways of writing along the start.
    assert_eq!(count["svg"], 7);
    assert_eq!(count["figure"], 7);
    let text = text(&page);
    for words in [
        "The erase block is 8 MiB: confirmed.",
        "alignment to use 8 MiB = 16384 sectors of 512 bytes",
        "8 MiB erase block",
        "252 µs, 10 places",
        "16 KiB 70 % of the best rate",
        "each in order 3 of 8 MiB (likely)",
        "Up to 3, drawn in another colour, all stay open.",
        "0 B to 4 MiB: faster (likely)",
        "Please note",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_report_of_nothing_is_a_whole_page_without_charts() {
    let device = Facts::bare("x.log", Transport::Log, None, LogicalBlock::B512);
    let report = Report::new(device, Geometry::default(), Cost::default());
    let page = render(&report, Serial::LeftOut);
    let count = elements(&page);
    assert_eq!(count.get("svg"), None);
    assert!(text(&page).contains("The erase block was not tested."));
}

#[test]
fn nothing_is_run_and_nothing_is_loaded() {
    let page = render(&full(), Serial::Told).to_lowercase();
    assert!(page.contains("default-src 'none'"));
    for word in [
        "<script", "http://", "https://", "src=", "href", "url(", "@import", "<link", "<img", "<b>",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("&lt;b&gt;stick&lt;/b&gt; &amp; &quot;co&quot;\\u{202e}"));
}

#[test]
fn serial_number_and_mount_points_are_left_out_unless_asked_for() {
    let page = render(&full(), Serial::LeftOut);
    assert!(!page.contains("4C530001"), "{page}");
    assert!(!page.contains("alice"), "{page}");
    assert!(text(&page).contains("/dev/disk/by-id/[left out]"));
    assert!(text(&page).contains("The serial number is left out."));
    let told = text(&render(&full(), Serial::Told));
    assert!(told.contains("serial number 4C530001"), "{told}");
    assert!(told.contains("usb-Maker_Stick_4C530001-0:0"), "{told}");
    assert!(!told.contains("left out"), "{told}");
}

#[test]
fn the_same_report_gives_the_same_page() {
    assert_eq!(
        render(&full(), Serial::LeftOut),
        render(&full(), Serial::LeftOut)
    );
}

/// How much two colours of the style differ: 1 to 21, as WCAG 2.2 defines the contrast ratio.
fn contrast(a: &str, b: &str) -> f64 {
    let light = |colour: &str| -> f64 {
        let part = |at: usize| -> f64 {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
    };
    let (a, b) = (light(a), light(b));
    a.max(b) / a.min(b)
}

#[test]
fn letters_and_bars_stand_out_from_their_ground_by_day_and_by_night() {
    let style = include_str!("style.css");
    let grounds: Vec<&str> = style.split(":root {").skip(1).collect();
    assert_eq!(grounds.len(), 2, "by day, by night");
    for ground in grounds {
        let colour = |name: &str| {
            let at = ground.find(&format!("--{name}: #")).unwrap() + name.len() + 4;
            &ground[at..at + 7]
        };
        // Level AA: 4.5 for letters, 3 for shapes.
        for (name, least) in [
            ("ink", 4.5),
            ("faint", 4.5),
            ("marked", 4.5),
            ("sure", 4.5),
            ("likely", 4.5),
            ("bar", 3.0),
        ] {
            for behind in ["card", "paper"] {
                let ratio = contrast(colour(name), colour(behind));
                assert!(ratio >= least, "{name} on {behind}: {ratio:.2}");
            }
        }
    }
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
}

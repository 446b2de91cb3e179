//! What is written is the schema, and what is read is checked.

use super::*;
use crate::geometry::erase_block::ChartBar;
use crate::geometry::{
    Cutoff, EraseBlock, OpenAu, Rate, Source, Throughput, Verdict, Zone, ZoneKind,
};
use serde_json::Value;

/// Every key of the schema, as a path. `[]` is an element of a list.
const KEYS: &str = "schema version \
    device.path device.capacity_bytes device.logical_block_size device.physical_block_size \
    device.transport device.vendor device.model device.serial device.usb_id device.removable device.real_capacity_bytes \
    device.reported.preferred_erase_size device.reported.ssr_au_size \
    device.reported.optimal_io_size device.reported.discard_granularity \
    geometry.erase_block.verdict geometry.erase_block.bytes geometry.erase_block.phase_bytes \
    geometry.erase_block.sub_unit_bytes geometry.erase_block.confidence geometry.erase_block.source \
    geometry.erase_block.runner_up_bytes geometry.erase_block.evidence[] \
    geometry.page.verdict geometry.page.bytes geometry.page.sub_page_bytes \
    geometry.page.confidence geometry.page.evidence[] \
    geometry.open_au.linear.verdict geometry.open_au.linear.limit geometry.open_au.linear.at_least \
    geometry.open_au.linear.at_most geometry.open_au.linear.cutoff \
    geometry.open_au.linear.unit_bytes geometry.open_au.linear.confidence \
    geometry.open_au.linear.evidence[] \
    geometry.open_au.random.verdict geometry.open_au.random.limit geometry.open_au.random.at_least \
    geometry.open_au.random.at_most geometry.open_au.random.cutoff \
    geometry.open_au.random.unit_bytes geometry.open_au.random.confidence \
    geometry.open_au.random.evidence[] geometry.open_au.random.smallest_efficient_write_bytes \
    geometry.fat_area.verdict geometry.fat_area.zones[].from_bytes \
    geometry.fat_area.zones[].to_bytes geometry.fat_area.zones[].kind \
    geometry.fat_area.confidence geometry.fat_area.evidence[] \
    geometry.throughput.read[].bytes geometry.throughput.read[].bytes_per_second \
    geometry.throughput.write[].bytes geometry.throughput.write[].bytes_per_second \
    geometry.throughput.efficient_bytes \
    alignment.bytes alignment.phase_bytes alignment.reason \
    cost.device_seconds cost.wall_seconds cost.reads cost.writes cost.bytes_read \
    cost.bytes_written cost.stopped_by \
    warnings[].code warnings[].text";

fn sentence() -> Vec<String> {
    vec!["one µs \"more\"\n".to_owned()]
}

/// A report in which everything is known.
fn full() -> Report {
    let mut device = Facts::bare(
        "/dev/sdb",
        Transport::Usb,
        Some(Bytes(31_914_983_424)),
        LogicalBlock::B512,
    );
    device.physical_block = Some(Bytes(4096));
    device.vendor = Some("Maker".into());
    device.model = Some("Stick".into());
    device.serial = Some("0001".into());
    device.usb_id = Some("1b1c:1a03".into());
    device.removable = Some(true);
    device.reported = Reported {
        preferred_erase_size: Some(PreferredEraseSize {
            bytes: Bytes::mib(4),
            origin: Origin::CardOrKernelDefault,
        }),
        ssr_au_size: Some(Bytes::mib(4)),
        optimal_io_size: Some(Bytes::mib(1)),
        optimal_io_quirk: None,
        discard_granularity: Some(Bytes::mib(4)),
    };
    let open = OpenAu {
        verdict: Verdict::Confirmed,
        limit: Some(18),
        at_least: Some(18),
        at_most: Some(18),
        cutoff: Some(Cutoff::Hard),
        unit_bytes: Some(Bytes::mib(8)),
        confidence: 1.0,
        evidence: sentence(),
    };
    let mut geometry = Geometry {
        erase_block: EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: Some(Bytes::mib(12)),
            phase_bytes: Some(Bytes::mib(4)),
            sub_unit_bytes: Some(Bytes::mib(4)),
            confidence: 0.9987,
            source: Source::Measured,
            runner_up_bytes: Some(Bytes::mib(24)),
            evidence: sentence(),
        },
        ..Geometry::default()
    };
    geometry.page.verdict = Verdict::NotVisible;
    geometry.page.bytes = Some(Bytes::kib(16));
    geometry.page.sub_page_bytes = Some(Bytes::kib(4));
    geometry.page.evidence = sentence();
    geometry.open_au.linear = open.clone();
    geometry.open_au.random.count = open;
    geometry.open_au.random.smallest_efficient_write_bytes = Some(Bytes::kib(64));
    geometry.fat_area.verdict = Verdict::Likely;
    geometry.fat_area.confidence = 0.93;
    geometry.fat_area.evidence = sentence();
    geometry.fat_area.zones = vec![Zone {
        from_bytes: Bytes::ZERO,
        to_bytes: Bytes::mib(4),
        kind: ZoneKind::Faster,
    }];
    let rate = Rate {
        bytes: Bytes::kib(64),
        bytes_per_second: 21.5e6,
    };
    geometry.throughput = Throughput {
        read: vec![rate],
        write: vec![rate],
        efficient_bytes: Some(Bytes::kib(64)),
    };
    let cost = Cost {
        device_time: Duration::from_micros(1_234_567),
        wall_time: Duration::from_millis(1300),
        reads: 514,
        writes: 3,
        bytes_read: Bytes::kib(2056),
        bytes_written: Bytes::kib(3),
        stopped_by: Some(StoppedBy::Posterior),
    };
    let mut report = Report::new(device, geometry, cost);
    report
        .warnings
        .push(Warning::new("in_use", "sdb1 mounted at /media"));
    report
}

/// A report in which nothing is known.
fn empty() -> Report {
    let facts = Facts::bare("a.log", Transport::Log, None, LogicalBlock::B4096);
    Report::new(facts, Geometry::default(), Cost::default())
}

fn keys(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let separator = if path.is_empty() { "" } else { "." };
                keys(value, &format!("{path}{separator}{key}"), into);
            }
        }
        Value::Array(list) => {
            for value in list {
                keys(value, &format!("{path}[]"), into);
            }
        }
        _ => into.push(path.to_owned()),
    }
}

fn keys_of(report: &Report) -> Vec<String> {
    let value: Value = serde_json::from_str(&render(report)).unwrap();
    let mut found = Vec::new();
    keys(&value, "", &mut found);
    found.sort_unstable();
    found
}

#[test]
fn the_keys_are_exactly_those_of_the_schema() {
    let mut schema: Vec<&str> = KEYS.split_whitespace().collect();
    schema.sort_unstable();
    assert_eq!(keys_of(&full()), schema);
    // What is not known is null, not absent; only lists are empty.
    let there = keys_of(&empty());
    let always: Vec<&str> = schema
        .iter()
        .copied()
        .filter(|key| !key.contains("[]"))
        .collect();
    assert_eq!(there, always);
}

#[test]
fn sizes_are_integers_and_words_are_those_of_the_schema() {
    let value: Value = serde_json::from_str(&render(&full())).unwrap();
    assert_eq!(value["schema"], "flashfit.report/1");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(value["device"]["capacity_bytes"], 31_914_983_424_u64);
    assert_eq!(value["device"]["logical_block_size"], 512);
    assert_eq!(value["device"]["transport"], "usb");
    assert_eq!(value["device"]["reported"]["preferred_erase_size"], 4 << 20);
    let found = &value["geometry"]["erase_block"];
    assert_eq!(
        (&found["verdict"], &found["source"]),
        (&"confirmed".into(), &"measured".into())
    );
    assert_eq!(found["confidence"], 0.9987);
    assert_eq!(value["geometry"]["page"]["verdict"], "not_visible");
    assert_eq!(value["geometry"]["open_au"]["random"]["cutoff"], "hard");
    assert_eq!(value["alignment"]["bytes"], 12 << 20);
    assert_eq!(value["alignment"]["phase_bytes"], 4 << 20);
    assert_eq!(value["cost"]["device_seconds"], 1.234_567);
    assert_eq!(value["cost"]["stopped_by"], "posterior");
    let nothing: Value = serde_json::from_str(&render(&empty())).unwrap();
    assert_eq!(nothing["geometry"]["erase_block"]["verdict"], "not_tested");
    assert_eq!(nothing["geometry"]["erase_block"]["source"], "assumed");
    assert_eq!(nothing["device"]["capacity_bytes"], Value::Null);
    assert_eq!(nothing["cost"]["stopped_by"], Value::Null);
}

#[test]
fn a_report_survives_being_saved() {
    let mut report = full();
    assert_eq!(parse(&render(&report)).unwrap(), report);
    assert_eq!(parse(&render(&empty())).unwrap(), empty());
    // The chart is for the eyes of today.
    report.chart = vec![ChartBar {
        boundary: Bytes::mib(8),
        cost_us: 250.0,
        places: 12,
    }];
    assert_eq!(parse(&render(&report)).unwrap().chart, []);
}

#[test]
fn every_reason_to_stop_survives_being_saved() {
    for stop in STOPS {
        let mut report = empty();
        report.cost.stopped_by = Some(stop);
        assert_eq!(parse(&render(&report)).unwrap().cost.stopped_by, Some(stop));
    }
}

#[test]
fn the_grid_of_a_saved_report_is_the_one_that_was_promised() {
    // A card's own word leads the grid, and does not stand in the file.
    let mut device = Facts::bare(
        "/dev/mmcblk0",
        Transport::Mmc,
        Some(Bytes::gib(32)),
        LogicalBlock::B512,
    );
    device.reported.preferred_erase_size = Some(PreferredEraseSize {
        bytes: Bytes::mib(16),
        origin: Origin::Card,
    });
    let report = Report::new(device, Geometry::default(), Cost::default());
    assert_eq!(report.alignment.alignment.grain(), Bytes::mib(48));
    let saved = parse(&render(&report)).unwrap();
    assert_eq!(saved.alignment, report.alignment);
    assert!(saved.alignment.fallback);
}

/// The full report with one value replaced.
fn with(path: &str, new: Value) -> String {
    let mut value: Value = serde_json::from_str(&render(&full())).unwrap();
    *value.pointer_mut(path).unwrap() = new;
    value.to_string()
}

#[track_caller]
fn refused(text: &str, words: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert!(
        error.contains("'flashfit scan DEVICE --report FILE'"),
        "{error}"
    );
}

#[test]
fn what_is_no_report_is_refused_with_the_line_and_a_way_out() {
    refused("", "line 1 column 0");
    refused("{\n\"schema\": \"flashfit.report/1\",\n", "line 3");
    refused("[]", "not a report");
    refused("{}", "no \"schema\"");
    refused("{\"schema\": 1}", "no \"schema\"");
    refused(
        &with("/schema", "flashfit.report/2".into()),
        "schema 'flashfit.report/2' is not known",
    );
    refused(
        &with("/schema", "flashfit.layout/1".into()),
        "schema 'flashfit.layout/1' is not known",
    );
    refused("{\"schema\": \"flashfit.report/1\"}", "missing field");
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_field() {
    for (path, value, words) in [
        (
            "/device/capacity_bytes",
            Value::from(0),
            "device.capacity_bytes: it is zero",
        ),
        ("/device/capacity_bytes", Value::from(-1), "invalid value"),
        ("/device/capacity_bytes", Value::from(0.5), "invalid type"),
        (
            "/device/logical_block_size",
            Value::from(513),
            "logical blocks of 513 bytes",
        ),
        ("/device/transport", Value::from("usb3"), "unknown variant"),
        (
            "/geometry/erase_block/confidence",
            Value::from(1.5),
            "erase_block.confidence: 1.5 is not between",
        ),
        (
            "/geometry/fat_area/confidence",
            Value::from(-0.1),
            "fat_area.confidence",
        ),
        (
            "/geometry/erase_block/bytes",
            Value::Null,
            "erase_block.bytes: missing",
        ),
        (
            "/geometry/erase_block/bytes",
            Value::from(0),
            "erase_block.bytes: no multiple",
        ),
        (
            "/geometry/erase_block/phase_bytes",
            Value::from(12 << 20),
            "is not smaller than the erase block",
        ),
        (
            "/geometry/erase_block/sub_unit_bytes",
            Value::from(1000),
            "erase_block.sub_unit_bytes",
        ),
        (
            "/geometry/erase_block/verdict",
            Value::from("sure"),
            "unknown variant",
        ),
        (
            "/geometry/fat_area/zones/0/to_bytes",
            Value::from(0),
            "a zone ends before it begins",
        ),
        ("/alignment/bytes", Value::from(0), "alignment.bytes"),
        ("/alignment/bytes", Value::from(1000), "alignment.bytes"),
        (
            "/alignment/phase_bytes",
            Value::from(12 << 20),
            "alignment.phase_bytes",
        ),
        (
            "/cost/device_seconds",
            Value::from(-1.0),
            "cost.device_seconds",
        ),
        (
            "/cost/wall_seconds",
            Value::from(1e300),
            "cost.wall_seconds",
        ),
        (
            "/cost/stopped_by",
            Value::from("boredom"),
            "cost.stopped_by: an unknown word",
        ),
    ] {
        refused(&with(path, value), words);
    }
}

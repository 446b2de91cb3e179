//! Damaged and hostile backup, layout and report files: never a panic, and a backup that is taken
//! is the one that was saved. Deterministic; longer with `FLASHFIT_FULL`.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod table_support;

use flashfit::output::report::{Cost, Report};
use flashfit::output::{json, layout_json};
use flashfit::plan::TableKind;
use flashfit::table::Backup;
use flashfit::units::LogicalBlock;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};
use table_support::*;

fn rounds() -> u32 {
    if common::full() { 400_000 } else { 4_000 }
}

/// What hostile numbers look like.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "511",
    "512",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "0.5",
];

/// Words that mean something in these files.
const WORDS: [&str; 10] = [
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "\"mbr\"",
    "\"gpt\"",
    "\"wipe\"",
    "[[[[[[[[",
    "\"\\u0000\"",
];

/// Change a text in a few places.
fn mutated(text: &str, random: &mut impl Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.random_range(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..6) {
            0 => bytes[at] = random.random(),
            1 => {
                bytes.remove(at);
            }
            2 => bytes.truncate(at),
            3 => {
                // A whole number by another one.
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(from) = bytes[at..].iter().position(is_digit).map(|n| at + n) {
                    let length = bytes[from..]
                        .iter()
                        .take_while(|byte| is_digit(byte))
                        .count();
                    let number = NUMBERS[random.random_range(0..NUMBERS.len())];
                    bytes.splice(from..from + length, number.bytes());
                }
            }
            4 => {
                if let Some(from) = bytes[at..].iter().position(|b| *b == b':').map(|n| at + n) {
                    let end = bytes[from..].iter().position(|b| b",\n".contains(b));
                    let end = end.map_or(bytes.len(), |n| from + n);
                    let word = WORDS[random.random_range(0..WORDS.len())];
                    bytes.splice(from + 1..end, word.bytes());
                }
            }
            _ => {
                // A piece twice.
                let length = random.random_range(0..200).min(bytes.len() - at);
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn backups() -> Vec<String> {
    [LogicalBlock::B512, LogicalBlock::B4096]
        .into_iter()
        .flat_map(|block| {
            [TableKind::Mbr, TableKind::Gpt].map(|table| {
                let before = device(block, Old::GptAndFileSystem);
                let new = layout(&before, table, "new", &NEW);
                prepare(&mut before.clone(), &new).1
            })
        })
        .collect()
}

#[test]
fn a_backup_survives_its_file() {
    for text in backups() {
        let backup = Backup::parse(&text).unwrap();
        assert_eq!(backup.render(), text);
        assert!(!backup.sectors.is_empty());
    }
}

#[test]
fn a_changed_backup_is_refused_or_means_the_same() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut taken, mut refused) = (0, 0);
    for text in backups() {
        let good = Backup::parse(&text).unwrap();
        for _ in 0..rounds() / 4 {
            match Backup::parse(&mutated(&text, &mut random)) {
                Ok(other) => {
                    assert_eq!(other, good);
                    taken += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().contains('\n'), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > taken, "{refused} {taken}");
}

#[test]
fn a_backup_is_checked_field_by_field() {
    let text = &backups()[1];
    let good: serde_json::Value = serde_json::from_str(text).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        Backup::parse(&file.to_string()).unwrap_err().to_string()
    };
    for (pointer, value, says) in [
        (
            "/schema",
            "flashfit.backup/2".into(),
            "'flashfit.backup/2' is not known",
        ),
        ("/schema", 1.into(), "no \"schema\""),
        (
            "/device/capacity_bytes",
            serde_json::Value::Null,
            "capacity_bytes",
        ),
        ("/device/capacity_bytes", 512.into(), "end of the device"),
        ("/device/capacity_bytes", (128u64 << 20).into(), "damaged"),
        ("/device/serial", "other".into(), "damaged"),
        ("/device/serial", serde_json::Value::Null, "damaged"),
        ("/device/logical_block_size", 1024.into(), "1024"),
        ("/extents", serde_json::json!([]), "no extents"),
        ("/extents/0/what", "loader".into(), "\"what\""),
        ("/extents/0/at_bytes", 1.into(), "whole sectors"),
        ("/extents/0/at_bytes", u64::MAX.into(), "end of the device"),
        ("/extents/0/length_bytes", 0.into(), "as long as"),
        ("/extents/0/length_bytes", (64u64 << 20).into(), "32 MiB"),
        ("/extents/0/data", "####".into(), "base64"),
        ("/extents/0/data", "".into(), "as long as"),
        (
            "/extents/0/replaced_by_crc32",
            serde_json::json!([]),
            "checksum",
        ),
        ("/extents/0/replaced_by_crc32/0", "+1234567".into(), "hex"),
        (
            "/extents/0/replaced_by_crc32/0",
            "00000000".into(),
            "damaged",
        ),
        ("/sha256", "00".into(), "damaged"),
    ] {
        let error = with(pointer, value);
        assert!(error.contains(says), "{pointer}: {error}");
    }
    let mut more = good.clone();
    more["colour"] = "red".into();
    assert!(Backup::parse(&more.to_string()).is_err());
    let mut twice = good.clone();
    let first = twice["extents"][0].clone();
    twice["extents"].as_array_mut().unwrap().insert(1, first);
    let error = Backup::parse(&twice.to_string()).unwrap_err().to_string();
    assert!(error.contains("overlap"), "{error}");
    let mut turned = good.clone();
    turned["extents"].as_array_mut().unwrap().reverse();
    let error = Backup::parse(&turned.to_string()).unwrap_err().to_string();
    assert!(error.contains("order of writing"), "{error}");
}

#[test]
fn a_changed_layout_file_is_refused_or_consistent() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let device = blank(LogicalBlock::B512);
    for table in [TableKind::Mbr, TableKind::Gpt] {
        let text = layout_json::render(&layout(&device, table, "new", &NEW));
        for _ in 0..rounds() / 2 {
            if let Ok(plan) = layout_json::parse(&mutated(&text, &mut random)) {
                assert_eq!(plan.check(), Ok(()));
            }
        }
    }
}

#[test]
fn a_changed_report_never_panics() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let facts = blank(LogicalBlock::B512);
    let facts = flashfit::device::ReadDevice::facts(&facts).clone();
    let report = Report::new(
        facts,
        flashfit::geometry::Geometry::default(),
        Cost::default(),
    );
    let text = json::render(&report);
    let mut taken = 0;
    for _ in 0..rounds() {
        if let Ok(report) = json::parse(&mutated(&text, &mut random)) {
            taken += 1;
            // What was taken can be told again.
            assert!(json::parse(&json::render(&report)).is_ok());
        }
    }
    assert!(taken > 0);
}

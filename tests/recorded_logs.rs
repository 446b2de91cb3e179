//! Logs of real devices, and what experts read from them.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // tests

use flashfit::geometry::log::infer;
use flashfit::geometry::{Cutoff, Geometry, OpenAu, Verdict};
use flashfit::measure::flashbench_log::parse;
use flashfit::topology::Reported;
use flashfit::units::{Bytes, LogicalBlock, Size};
use std::path::{Path, PathBuf};

fn analyze(path: &Path, capacity: Option<Bytes>) -> Geometry {
    let text = std::fs::read(path).unwrap();
    let log = parse(&text).unwrap();
    infer(&log.runs, capacity, &Reported::default()).geometry
}

fn size(text: &str) -> Option<Bytes> {
    let size: Size = text.parse().ok()?;
    size.in_bytes(LogicalBlock::B512)
}

/// The rows of an expectation file by column name.
fn table(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .zip(line.split('\t').map(str::to_owned))
                .collect()
        })
        .collect()
}

/// The log and, where there is one, the same text run together.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    ["log", "raw"]
        .iter()
        .map(|extension| folder.join(format!("{name}.{extension}")))
        .filter(|path| path.exists())
        .collect()
}

#[test]
fn the_recorded_logs_give_what_their_testers_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/flashbench");
    let rows = table(&folder.join("expected.tsv"));
    assert_eq!(rows.len(), 4);
    for row in rows {
        for path in files(&folder, &row["name"]) {
            let found = analyze(&path, size(&row["capacity"]));
            let name = path.display();
            assert_eq!(found.erase_block.bytes, size(&row["erase_block"]), "{name}");
            assert_eq!(
                found.erase_block.sub_unit_bytes,
                size(&row["sub_unit"]),
                "{name}"
            );
            assert_eq!(found.page.bytes, size(&row["page"]), "{name}");
            check_count(&row["linear"], &found.open_au.linear, &name.to_string());
            match size(&row["random"]) {
                Some(smallest) => assert_eq!(
                    found.open_au.random.smallest_efficient_write_bytes,
                    Some(smallest),
                    "{name}"
                ),
                None => check_count(
                    &row["random"],
                    &found.open_au.random.count,
                    &name.to_string(),
                ),
            }
        }
    }
}

/// `18 hard`, `11 soft`, `16-19`, `130+`, `-`.
fn check_count(expected: &str, found: &OpenAu, name: &str) {
    let number = |text: &str| text.parse::<u32>().ok();
    let words: Vec<&str> = expected.split(' ').collect();
    let (count, cutoff) = (words[0], words.get(1));
    if count == "-" {
        assert_eq!(found.verdict, Verdict::NotTested, "{name}");
    } else if let Some(least) = count.strip_suffix('+') {
        assert_eq!(
            (found.at_least, found.at_most),
            (number(least), None),
            "{name}"
        );
    } else if let Some((least, most)) = count.split_once('-') {
        assert_eq!(
            (found.at_least, found.at_most),
            (number(least), number(most)),
            "{name}"
        );
    } else {
        assert_eq!(found.limit, number(count), "{name}");
    }
    match cutoff {
        Some(&"hard") => assert_eq!(found.cutoff, Some(Cutoff::Hard), "{name}"),
        Some(&"soft") => assert_eq!(found.cutoff, Some(Cutoff::Soft), "{name}"),
        _ => {}
    }
}

/// A larger collection of logs, kept outside the project: a folder with `expected.tsv`.
fn collection() -> Option<PathBuf> {
    let folder = std::env::var_os("FLASHFIT_LOGS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let found = folder.join("expected.tsv").exists();
    if !found {
        eprintln!(
            "skipped: needs a folder of logs with expected.tsv, named by FLASHFIT_LOGS ({} has none)",
            folder.display()
        );
    }
    found.then_some(folder)
}

/// How a finding compares with what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Right,
    Abstained,
    Wrong,
}

fn judge_size(expected: &str, told: Option<Bytes>, shifted: bool) -> Judged {
    if expected == "none" {
        return if told.is_some() {
            Judged::Wrong
        } else {
            Judged::Right
        };
    }
    let weak = expected.starts_with('~');
    match told {
        None if weak => Judged::Right,
        None => Judged::Abstained,
        Some(told) => {
            let allowed = expected
                .trim_start_matches('~')
                .split('|')
                .any(|text| size(text) == Some(told));
            if allowed && !shifted {
                Judged::Right
            } else {
                Judged::Wrong
            }
        }
    }
}

fn judge_count(expected: &str, found: &OpenAu, efficient: Option<Bytes>) -> Judged {
    let (limit, least, most) = (found.limit, found.at_least, found.at_most);
    let right = |right: bool| if right { Judged::Right } else { Judged::Wrong };
    if expected == "gradual" {
        return right(found.cutoff != Some(Cutoff::Hard));
    }
    if let Some(n) = expected.strip_prefix(">=") {
        let weak = n.ends_with('~');
        let n: u32 = n.trim_end_matches('~').parse().unwrap();
        return match (limit, least, most) {
            (Some(limit), _, _) => right(limit > n || (weak && limit == n)),
            (_, _, Some(most)) if most < n => Judged::Wrong,
            (_, Some(least), _) if least >= n => Judged::Right,
            _ => Judged::Abstained,
        };
    }
    if let Some(n) = expected.strip_prefix('=') {
        let n: u32 = n.parse().unwrap();
        return match (limit, least, most) {
            (Some(limit), _, _) => right(limit == n),
            (_, Some(least), _) if least > n => Judged::Wrong,
            (_, _, Some(most)) if most < n => Judged::Wrong,
            _ => Judged::Abstained,
        };
    }
    if let Some(n) = expected.strip_prefix('<') {
        let n: u32 = n.parse().unwrap();
        return match (limit.or(most), least) {
            (Some(top), _) => right(top < n),
            (None, Some(least)) if least >= n => Judged::Wrong,
            _ if efficient.is_some() => Judged::Right,
            _ => Judged::Abstained,
        };
    }
    let (low, high) = expected.split_once('-').unwrap();
    let (low, high): (u32, u32) = (low.parse().unwrap(), high.parse().unwrap());
    match (limit, least, most) {
        (Some(limit), _, _) => right((low..=high).contains(&limit)),
        (_, Some(least), Some(most)) if least >= low && most <= high => Judged::Right,
        _ => Judged::Abstained,
    }
}

fn judge_fat(expected: &str, found: &Geometry) -> Judged {
    let zones = &found.fat_area.zones;
    let told = found.fat_area.verdict.is_told() && !zones.is_empty();
    if expected == "none" {
        return if told { Judged::Wrong } else { Judged::Right };
    }
    if !told {
        return Judged::Abstained;
    }
    let (from, to) = expected.split_once('-').unwrap();
    let from = if from == "0" {
        Some(Bytes::ZERO)
    } else {
        size(from)
    };
    let hit = zones
        .iter()
        .any(|zone| Some(zone.from_bytes) == from && Some(zone.to_bytes) == size(to));
    if hit { Judged::Right } else { Judged::Wrong }
}

#[test]
fn a_whole_collection_is_read_without_a_mistake() {
    let Some(folder) = collection() else { return };
    let mut judged = 0;
    let mut other = Vec::new();
    for row in table(&folder.join("expected.tsv")) {
        for path in files(&folder, &row["name"]) {
            let capacity = row["capacity_bytes"].parse().ok().map(Bytes);
            let found = analyze(&path, capacity);
            let shifted = found
                .erase_block
                .phase_bytes
                .is_some_and(|phase| phase != Bytes::ZERO);
            let random = &found.open_au.random;
            let judge = |name: &str, expected: &str| match name {
                "erase_block" => judge_size(expected, found.erase_block.bytes, shifted),
                "page" => judge_size(expected, found.page.bytes, false),
                "linear" => judge_count(expected, &found.open_au.linear, None),
                "random" => judge_count(
                    expected,
                    &random.count,
                    random.smallest_efficient_write_bytes,
                ),
                _ => judge_fat(expected, &found),
            };
            for name in ["erase_block", "page", "linear", "random", "fat_area"] {
                let expected = row[name].as_str();
                if expected == "?" || expected.is_empty() {
                    continue;
                }
                judged += 1;
                let judgement = judge(name, expected);
                if judgement != Judged::Right {
                    other.push(format!(
                        "{} {name} {expected}: {judgement:?}",
                        path.display()
                    ));
                }
            }
        }
    }
    eprintln!("{judged} fields judged, {} not right", other.len());
    assert!(judged > 0);
    assert_eq!(other, Vec::<String>::new());
}

//! `--html` from outside: a report as a web page.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::flashfit;
use std::fs;

/// The page that these words, with a name after `--html`, write.
#[track_caller]
fn page(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let without = flashfit(words);
    let with = flashfit(&[words, &["--html", path.to_str().unwrap()]].concat());
    // The page comes beside the report, not instead of it.
    assert_eq!((&with.stdout, with.code), (&without.stdout, without.code));
    fs::read_to_string(path).unwrap().replace("&nbsp;", " ")
}

#[track_caller]
fn holds(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "'{word}' is not in:\n{page}");
    }
}

#[test]
fn a_scan_becomes_a_page_that_names_no_serial_number() {
    let page = page(&["scan", "sim:corsair-voyager#4C530001"]);
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</html>\n"));
    holds(
        &page,
        &[
            "<h1>Corsair Voyager 3.0</h1>",
            "The erase block is 8 MiB: confirmed.",
            "Extra time of a read across a boundary",
            "Reading, by request size",
            "The serial number is left out.",
        ],
    );
    assert!(!page.contains("4C530001") && !page.contains("AA04012700007453"));
    // Reads show neither.
    assert!(!page.contains("open units, in order"));
}

#[test]
fn the_serial_number_is_told_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let words = [
        "scan",
        "sim:corsair-voyager#4C530001",
        "--html-serial",
        "--html",
    ];
    let ended = flashfit(&[&words[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    holds(
        &fs::read_to_string(&path).unwrap(),
        &["<dt>serial number</dt><dd>4C530001</dd>"],
    );
    let ended = flashfit(&["scan", "sim:corsair-voyager", "--html-serial"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    assert!(ended.stderr.contains("--html <FILE>"), "{}", ended.stderr);
}

#[test]
fn write_tests_add_their_charts() {
    let page = page(&["scan", "sim:kingston-dt101g2", "--write-tests", "destroy"]);
    holds(
        &page,
        &[
            "Writing in order, by request size",
            "Speed against open units, in order",
            "Allocation units that can be written in turns",
            "Special zones near the start",
            "Random writes",
            "class=\"bar marked\"",
        ],
    );
}

#[test]
fn a_log_and_the_samples_of_a_scan_become_pages_too() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/flashbench/");
    let log = fs::read_dir(log)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .min()
        .unwrap();
    holds(
        &page(&["analyze", log.to_str().unwrap()]),
        &["Read from a log: no device was touched."],
    );
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (samples, first, second) = (at("samples"), at("first.html"), at("second.html"));
    let scan = [
        "scan",
        "sim:tlc-12m",
        "--samples",
        &samples,
        "--html",
        &first,
    ];
    assert_eq!(flashfit(&scan).code, Some(0));
    assert_eq!(
        flashfit(&["analyze", &samples, "--html", &second]).code,
        Some(0)
    );
    assert_eq!(
        fs::read_to_string(first).unwrap(),
        fs::read_to_string(second).unwrap()
    );
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_scan() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, missing) = (at("one"), at("none/page.html"));
    for (words, says, code) in [
        (
            vec!["--html", &missing],
            "name another file after --html",
            1,
        ),
        (
            vec!["--html", &one, "--report", &one],
            "--report and --html name the same file",
            2,
        ),
        (
            vec!["--html", &one, "--samples", &one],
            "--html and --samples name the same file",
            2,
        ),
    ] {
        let ended = flashfit(&[&["scan", "sim:corsair-voyager"], &words[..]].concat());
        assert_eq!(
            (ended.stdout.as_str(), ended.code),
            ("", Some(code)),
            "{words:?}: {}",
            ended.stderr
        );
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(&one, "a log").unwrap();
    let ended = flashfit(&["analyze", &one, "--html", &one]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&one).unwrap(), "a log");
}

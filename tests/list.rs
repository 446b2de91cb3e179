//! `flashfit list` from outside. What devices there are depends on the machine; what is said of
//! made-up ones is tested where the list is made.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::flashfit;

#[test]
fn every_device_is_a_candidate_or_has_a_reason() {
    let ended = flashfit(&["list", "--all", "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    let list = ended.json();
    assert_eq!(list["schema"], "flashfit.list/1");
    for device in list["devices"].as_array().unwrap() {
        assert!(
            device["path"].as_str().unwrap().starts_with("/dev/"),
            "{device}"
        );
        let is_candidate = device["candidate"].as_bool().unwrap();
        assert_eq!(is_candidate, device["reason"].is_null(), "{device}");
    }
}

#[test]
fn without_all_only_candidates_are_listed() {
    let ended = flashfit(&["list", "--json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    let list = ended.json();
    let devices = list["devices"].as_array().unwrap();
    assert!(
        devices.iter().all(|device| device["candidate"] == true),
        "{list}"
    );
    let ended = flashfit(&["list"]);
    assert_eq!(ended.code, Some(0));
    if devices.is_empty() {
        assert_eq!(ended.stdout, "");
        assert!(
            ended
                .stderr
                .starts_with("no device that can be scanned: plug in "),
            "{}",
            ended.stderr
        );
        assert!(
            ended.stderr.ends_with("flashfit list --all\n"),
            "{}",
            ended.stderr
        );
    } else {
        assert!(ended.stdout.starts_with("/dev/"), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn the_text_shows_what_the_json_shows() {
    let list = flashfit(&["list", "--all", "--json"]).json();
    let text = flashfit(&["list", "--all"]).stdout;
    for device in list["devices"].as_array().unwrap() {
        let path = device["path"].as_str().unwrap();
        assert!(
            text.lines().any(|line| line == path) || text.contains(&format!("\n    {path}: ")),
            "{path} not in:\n{text}"
        );
        if let Some(reason) = device["reason"].as_str() {
            assert!(
                text.contains(&format!("not to be scanned: {reason}")),
                "{reason} not in:\n{text}"
            );
        }
    }
}

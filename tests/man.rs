//! The committed man page is the one that the program makes, and formatters accept it.
//!
//! After a change of the command line: `FLASHFIT_UPDATE=1 cargo test --test man`.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use assert_cmd::Command;
use std::process::Output;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/man/flashfit.8");

#[test]
fn the_committed_man_page_is_fresh() {
    let page = flashfit::cli::man::page();
    if std::env::var_os("FLASHFIT_UPDATE").is_some() {
        std::fs::write(COMMITTED, &page).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    assert!(
        committed == page,
        "man/flashfit.8 is stale; write it anew with: FLASHFIT_UPDATE=1 cargo test --test man"
    );
}

/// The page that the program makes, through the formatter.
fn mandoc(options: &[&str]) -> Output {
    Command::new("mandoc")
        .args(options)
        .write_stdin(flashfit::cli::man::page())
        .output()
        .unwrap()
}

#[test]
fn a_strict_formatter_finds_nothing_to_warn_of() {
    if !common::need("mandoc") {
        return;
    }
    let lint = mandoc(&["-T", "lint", "-W", "warning"]);
    let words =
        String::from_utf8_lossy(&lint.stdout).into_owned() + &String::from_utf8_lossy(&lint.stderr);
    assert!(lint.status.success() && words.is_empty(), "{words}");
}

#[test]
fn the_formatted_page_has_the_sections_that_a_reader_looks_for() {
    if !common::need("mandoc") {
        return;
    }
    let page = mandoc(&["-T", "ascii", "-O", "width=100"]);
    // Bold is overstruck in plain text: c, backspace, c.
    let mut text = String::new();
    for c in String::from_utf8(page.stdout).unwrap().chars() {
        if c == '\u{8}' {
            text.pop();
        } else {
            text.push(c);
        }
    }
    for section in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "COMMANDS",
        "SAFETY",
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
        "EXAMPLES",
        "SEE ALSO",
    ] {
        assert!(
            text.lines().any(|line| line == section),
            "{section}:\n{text}"
        );
    }
    assert!(
        text.contains("flashfit - Find out how a USB stick"),
        "{text}"
    );
    assert!(text.contains("flashfit scan [OPTIONS] <DEVICE>"), "{text}");
}

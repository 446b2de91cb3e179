//! How tests skip is itself tested: a suite that skips silently proves nothing.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use std::process::{Command, Output};

/// Set in the child process that plays the test which lacks something.
const PLAY: &str = "FLASHFIT_PLAY_A_SKIP";

/// Run the test of this name, in this very program, as one that plays a skip.
fn play(name: &str, ci: bool, list: &std::path::Path) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", name])
        .env(PLAY, "1")
        .env("FLASHFIT_SKIPS", list);
    if ci {
        child.env("FLASHFIT_CI", "1");
    } else {
        child.env_remove("FLASHFIT_CI");
    }
    child.output().unwrap()
}

#[test]
fn a_missing_tool_is_a_loud_skip_and_in_ci_a_failure() {
    if std::env::var_os(PLAY).is_some() {
        assert!(!common::need("no-such-tool"));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("skips");
    let name = "a_missing_tool_is_a_loud_skip_and_in_ci_a_failure";
    let line = format!("skipped: {name} needs the tool no-such-tool\n");

    let alone = play(name, false, &list);
    assert!(alone.status.success());
    assert_eq!(String::from_utf8(alone.stderr).unwrap(), line);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), line);

    let in_ci = play(name, true, &list);
    assert!(!in_ci.status.success());
    let output = String::from_utf8(in_ci.stdout).unwrap();
    assert!(
        output.contains("needs the tool no-such-tool, and with FLASHFIT_CI"),
        "{output}"
    );
}

#[test]
fn what_the_kernel_lacks_is_a_skip_even_in_ci() {
    if std::env::var_os(PLAY).is_some() {
        assert!(!common::kernel_lacks("time machine"));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("skips");
    let name = "what_the_kernel_lacks_is_a_skip_even_in_ci";
    assert!(play(name, true, &list).status.success());
    assert_eq!(
        std::fs::read_to_string(&list).unwrap(),
        format!("skipped: {name} needs the kernel's time machine\n")
    );
}

#[test]
fn a_tool_is_found_with_its_full_path() {
    let found = common::tool("sh").unwrap();
    assert!(found.is_absolute() && found.ends_with("sh"));
    assert_eq!(common::tool("no-such-tool"), None);
}

//! The command line from outside: stdout, stderr and exit code, all three every time.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use assert_cmd::Command;
use std::process::Stdio;

/// Run flashfit with these words; stdout, stderr and exit code.
fn flashfit(words: &[&str]) -> (String, String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_flashfit"))
        .args(words)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap(),
    )
}

/// A wrong command line: nothing on stdout, one line on stderr, exit code 2.
#[track_caller]
fn usage(words: &[&str], line: &str) {
    let (stdout, stderr, code) = flashfit(words);
    assert_eq!((stdout.as_str(), code), ("", 2), "{words:?}: {stderr}");
    assert_eq!(stderr, format!("flashfit: {line}\n"), "{words:?}");
}

#[test]
fn without_a_command_the_wizard_is_meant_and_it_needs_a_terminal() {
    for words in [&[][..], &["sim:corsair-voyager"], &["wizard"], &["--mkfs"]] {
        let (stdout, stderr, code) = flashfit(words);
        assert_eq!((stdout.as_str(), code), ("", 2), "{words:?}");
        assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
        assert!(
            stderr.contains("no terminal") && stderr.contains("--yes"),
            "{stderr}"
        );
    }
}

#[test]
fn help_and_version_go_to_stdout_and_end_with_0() {
    for words in [
        &["--help"][..],
        &["-h"],
        &["help", "plan"],
        &["scan", "--help"],
    ] {
        let (stdout, stderr, code) = flashfit(words);
        assert_eq!((stderr.as_str(), code), ("", 0), "{words:?}");
        assert!(stdout.contains("Usage: flashfit"), "{stdout}");
    }
    let version = concat!("flashfit ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(flashfit(&["--version"]), (version.into(), String::new(), 0));
}

#[test]
fn every_offered_command_explains_itself() {
    let (help, _, _) = flashfit(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // What does not fit behind a command goes on below, further in.
        .filter_map(|line| {
            line.strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '))
        })
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(
        commands.contains(&"scan") && commands.contains(&"plan"),
        "{help}"
    );
    assert!(!commands.contains(&"man"), "hidden: {help}");
    for name in commands {
        let (stdout, stderr, code) = flashfit(&[name, "--help"]);
        assert_eq!((stderr.as_str(), code), ("", 0), "{name}");
        assert!(
            stdout.contains(&format!("Usage: flashfit {name}")),
            "{stdout}"
        );
    }
}

#[test]
fn a_wrong_command_line_is_one_line_with_what_to_do_and_ends_with_2() {
    usage(
        &["scna"],
        "unrecognized subcommand 'scna'; tip: a similar subcommand exists: 'scan'; see: flashfit --help",
    );
    usage(
        &["scan"],
        "the following required arguments were not provided: <DEVICE>; see: flashfit scan --help",
    );
    usage(
        &["scan", "sim:x", "--time-limit", "5"],
        "invalid value '5' for '--time-limit <DURATION>': it has no unit: write 90s, 5m or 1h; see: flashfit \
         scan --help",
    );
    usage(
        &["analyze", "a.log", "--sector-size", "1024"],
        "invalid value '1024' for '--sector-size <BYTES>' [possible values: 512, 4096]; see: flashfit \
         analyze --help",
    );
    usage(
        &["plan", "sim:x", "--report", "a.json"],
        "the argument '[DEVICE]' cannot be used with '--report <FILE>'; see: flashfit plan --help",
    );
}

#[test]
fn sizes_without_unit_or_beyond_2_to_the_64_are_usage_errors() {
    usage(
        &["plan", "--capacity", "8", "--erase-block", "4MiB"],
        "invalid value '8' for '--capacity <SIZE>': '8' has no unit: write 8MiB, 8MB, 8B or 8s (sectors); \
         see: flashfit plan --help",
    );
    usage(
        &["plan", "sim:x", "--align", "18446744073709551616B"],
        "invalid value '18446744073709551616B' for '--align <SIZE>': '18446744073709551616B' is beyond 2^64; \
         see: flashfit plan --help",
    );
    usage(
        &["plan", "sim:x", "--reserve-end", "1.1KiB"],
        "invalid value '1.1KiB' for '--reserve-end <SIZE>': '1.1KiB' is no whole number of bytes; see: \
         flashfit plan --help",
    );
}

#[test]
fn what_is_typed_cannot_write_to_the_terminal_through_an_error() {
    let (stdout, stderr, code) = flashfit(&["\u{1b}[2Jscan\nflashfit: done"]);
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert_eq!(stderr.matches('\n').count(), 1, "{stderr:?}");
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
}

#[test]
fn a_reader_of_stdout_that_goes_away_is_success() {
    for words in [&["completions", "bash"][..], &["man"], &["--help"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_flashfit"))
            .args(words)
            .stdout(closed_pipe())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut stderr).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!((stderr.as_str(), code), ("", Some(0)), "{words:?}");
    }
}

/// The writing end of a pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(writer)
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    for page in ["man", "--help", "--version"] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_flashfit"))
            .arg(page)
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{page}: {stderr}");
        assert!(
            stderr.starts_with("flashfit: cannot write to stdout: "),
            "{page}: {stderr}"
        );
        assert_eq!(stderr.matches('\n').count(), 1, "{page}: {stderr}");
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    if !common::need("bash") {
        return;
    }
    let (script, stderr, code) = flashfit(&["completions", "bash"]);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let complete = |words: &str| {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _flashfit flashfit \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             echo \"${{COMPREPLY[@]}}\""
        );
        // Reads the script from stdin, where the completion builtins are at hand as well.
        let output = Command::new("bash")
            .args(["--norc", "-s"])
            .write_stdin(ask)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("flashfit sc"), "scan");
    assert_eq!(
        complete("flashfit ma"),
        "",
        "the man page is made by a hidden command"
    );
    assert_eq!(complete("flashfit plan --keep"), "--keep-out");
    assert_eq!(complete("flashfit plan --table g"), "gpt");
}

#[test]
fn there_are_completions_for_each_shell_and_no_other() {
    for shell in ["bash", "zsh", "fish"] {
        let (stdout, stderr, code) = flashfit(&["completions", shell]);
        assert_eq!((stderr.as_str(), code), ("", 0), "{shell}");
        assert!(stdout.contains("require-measured"), "{shell}");
    }
    usage(
        &["completions", "tcsh"],
        "invalid value 'tcsh' for '<SHELL>' [possible values: bash, zsh, fish]; see: flashfit completions --help",
    );
}

//! What README.md shows is what the program does.
//!
//! Every ```` ```console ```` block is typed into a shell: lines that begin with `$ ` are commands (a
//! backslash at the end continues them), the lines below each are what it prints, stdout and stderr
//! together. In them `...` stands for any text, and alone on a line for any number of lines. A
//! command must succeed, unless the block shows another status with `$ echo $?` right after it.
//! The block with the test command is not run, for this is a part of it; it must be what `.ci/run`
//! runs.
//!
//! After a change of what the program prints: `FLASHFIT_UPDATE=1 cargo test --test readme` writes the
//! blocks anew. What differs between two runs (new identifiers) becomes `...`; an output with one
//! `...` line keeps as many lines before and behind it as it had. Look at the result with git diff.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What stands for the program in the text: what a newcomer types in a fresh clone.
const CARGO_RUN: [&str; 2] = ["cargo run --release -q -- ", "cargo run --release -- "];

/// One command and what it prints.
#[derive(Debug, PartialEq)]
struct Example {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The blocks of a text, each with its examples.
fn blocks(text: &str) -> Vec<Vec<Example>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line != "```console" {
            assert!(
                !line.contains("```console"),
                "line {}: indented block",
                number + 1
            );
            continue;
        }
        let mut block: Vec<Example> = Vec::new();
        let mut continued = false;
        for (number, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            match (line.strip_prefix("$ "), block.last_mut()) {
                (_, Some(last)) if continued => last.command.push_str(&format!("\n{line}")),
                (Some(command), _) => block.push(Example {
                    line: number + 1,
                    command: command.to_owned(),
                    output: Vec::new(),
                }),
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("line {}: a block begins with '$ '", number + 1),
            }
            continued = line.ends_with('\\') && (continued || line.starts_with("$ "));
        }
        assert!(!block.is_empty(), "line {}: an empty block", number + 1);
        blocks.push(block);
    }
    blocks
}

/// Whether one line is as shown; `...` stands for any text.
fn line_matches(shown: &str, printed: &str) -> bool {
    match shown.split_once("...") {
        None => shown == printed,
        Some((before, after)) => printed.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

/// Whether all lines are as shown; `...` alone stands for any number of lines.
fn output_matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skip| output_matches(rest, &printed[skip..]))
        }
        Some((first, rest)) => printed.split_first().is_some_and(|(line, others)| {
            line_matches(first, line.trim_end()) && output_matches(rest, others)
        }),
    }
}

fn is_test_command(example: &Example) -> bool {
    example.command.starts_with("cargo test") || example.command.starts_with("cargo nextest")
}

/// Type a block into one shell; for each command what it prints and how it ends.
fn type_in(block: &[Example], directory: &Path) -> Vec<(String, i32)> {
    const MARK: &str = "\u{1}end ";
    let mut script = String::new();
    for example in block {
        let mut command = example.command.clone();
        for cargo in CARGO_RUN {
            command = command.replace(cargo, "flashfit ");
        }
        assert!(
            !command.contains("cargo"),
            "line {}: {command}",
            example.line
        );
        // The last line restores $? for a command that asks for it.
        script.push_str(&format!(
            "{command}\nstatus=$?\nprintf '{MARK}%s\\n' \"$status\"\n(exit \"$status\")\n"
        ));
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_flashfit")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["--norc", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(directory)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut parts = text.split(MARK);
    let mut printed = parts.next().unwrap_or_default().to_owned();
    let mut results = Vec::new();
    for part in parts {
        let (status, next) = part.split_once('\n').unwrap();
        results.push((printed, status.parse().unwrap()));
        printed = next.to_owned();
    }
    results
}

/// What to show of an output, seen in two runs.
fn to_show(shown: &[String], first: &str, second: &str) -> Vec<String> {
    let second: Vec<&str> = second.lines().collect();
    let mut lines: Vec<String> = first
        .lines()
        .enumerate()
        .map(|(n, line)| masked(line, second.get(n).copied().unwrap_or_default()))
        .collect();
    if let Some(before) = shown.iter().position(|line| line == "...") {
        let behind = shown.len() - before - 1;
        if before + behind < lines.len() {
            lines.splice(before..lines.len() - behind, ["...".to_owned()]);
        }
    }
    lines
}

/// A line in which the words that differ in another run are `...`.
fn masked(line: &str, other: &str) -> String {
    let line = line.trim_end();
    let (words, others): (Vec<&str>, Vec<&str>) = (
        line.split(' ').collect(),
        other.trim_end().split(' ').collect(),
    );
    if words.len() != others.len() {
        return "...".to_owned();
    }
    let masked = words
        .iter()
        .zip(others)
        .map(|(word, other)| if *word == other { word } else { "..." });
    masked.collect::<Vec<_>>().join(" ")
}

/// README.md with every output as it is printed now.
fn update(path: &Path, directory: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the end, so that line numbers stay true.
    for block in blocks(&text)
        .iter()
        .rev()
        .filter(|block| !block.iter().any(is_test_command))
    {
        let (first, second) = (type_in(block, directory), type_in(block, directory));
        for ((example, first), second) in block.iter().zip(first).zip(second).rev() {
            let begin = example.line + example.command.matches('\n').count();
            let new = to_show(&example.output, &first.0, &second.0);
            lines.splice(begin..begin + example.output.len(), new);
        }
    }
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    // Commands may save files; they find the fixtures as in a clone.
    let directory = tempfile::tempdir().unwrap();
    for shared in ["fixtures", "man"] {
        std::os::unix::fs::symlink(Path::new(ROOT).join(shared), directory.path().join(shared))
            .unwrap();
    }
    let readme = Path::new(ROOT).join("README.md");
    if std::env::var_os("FLASHFIT_UPDATE").is_some() {
        update(&readme, directory.path());
    }
    let text = std::fs::read_to_string(&readme).unwrap();
    let blocks = blocks(&text);
    let typed: Vec<_> = blocks
        .iter()
        .filter(|block| !block.iter().any(is_test_command))
        .collect();
    assert!(!typed.is_empty(), "README.md shows no command");
    for block in typed {
        let results = type_in(block, directory.path());
        assert_eq!(
            results.len(),
            block.len(),
            "a command of {block:?} ended the shell"
        );
        for (i, (example, (printed, status))) in block.iter().zip(&results).enumerate() {
            let place = format!("README.md:{}: $ {}", example.line, example.command);
            let status_is_shown = block
                .get(i + 1)
                .is_some_and(|next| next.command == "echo $?");
            assert!(
                *status == 0 || status_is_shown,
                "{place}\nends with {status}:\n{printed}"
            );
            let lines: Vec<&str> = printed.lines().collect();
            assert!(
                output_matches(&example.output, &lines),
                "{place}\nshown:\n{}\nprinted:\n{printed}\nif that is right: FLASHFIT_UPDATE=1 cargo test --test readme",
                example.output.join("\n")
            );
        }
    }
}

#[test]
fn the_test_command_of_the_readme_is_the_one_that_ci_runs() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let ci = std::fs::read_to_string(Path::new(ROOT).join(".ci/run")).unwrap();
    let commands: Vec<String> = blocks(&text)
        .into_iter()
        .flatten()
        .filter(is_test_command)
        .map(|example| example.command)
        .collect();
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(
        ci.lines().any(|line| line == commands[0]),
        ".ci/run does not run '{}'",
        commands[0]
    );
}

#[test]
fn blocks_and_wildcards_are_read_as_documented() {
    let text = "a\n```console\n$ one \\\n  two\nout\n$ three\n```\n```sh\n$ four\n```\n";
    let example = |line, command: &str, output: &[&str]| Example {
        line,
        command: command.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        blocks(text),
        [[
            example(3, "one \\\n  two", &["out"]),
            example(6, "three", &[])
        ]]
    );
    let matches =
        |shown: &[&str], printed: &[&str]| output_matches(&example(0, "", shown).output, printed);
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(matches(&["...", "d", "..."], &["d"]));
    assert!(matches(&["took ... s of ..."], &["took 0.1 s of 5"]));
    assert!(!matches(&["a"], &["a", "b"]));
    assert!(!matches(&["a", "b"], &["a"]));
    assert!(!matches(&["took ... s"], &["took 0.1 ms"]));
    assert!(!matches(&[], &["a"]));
}

#[test]
fn a_block_is_typed_into_one_shell_that_knows_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let text = "```console\n$ cargo run --release -q -- --version\n$ x=5\n$ echo $x >&2\n$ flashfit nonsense\n\
                $ echo $?\n```\n";
    let results = type_in(&blocks(text)[0], directory.path());
    let version = concat!("flashfit ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(results[0], (version.to_owned(), 0));
    assert_eq!(results[2], ("5\n".to_owned(), 0));
    assert_eq!(results[3].1, 2);
    assert_eq!(results[4], ("2\n".to_owned(), 0));
}

#[test]
fn an_updated_output_masks_what_changes_and_keeps_what_was_cut() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let one = "a\nid: 0x12, kept  \nb\nc\nd\n";
    let other = "a\nid: 0x34, kept\nb\nc\nd\n";
    assert_eq!(to_show(&[], one, other), lines("a\nid: ... kept\nb\nc\nd"));
    assert_eq!(
        to_show(&lines("x\n...\ny\nz"), one, other),
        lines("a\n...\nc\nd")
    );
    assert_eq!(to_show(&lines("..."), one, other), lines("..."));
    assert_eq!(masked("one two", "one"), "...");
}

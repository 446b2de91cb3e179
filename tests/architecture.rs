//! Who may import whom, and who may touch what: the rules that `src/lib.rs` states, held by reading
//! the source.
//!
//! The rules hold for shipped code. Test modules inside `src` may print (to skip aloud) and make
//! files; what they import is their own affair.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod source;

use source::{Source, sources};

/// Every top-level module, and which others it may import.
const IMPORTS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("topology", &[]),
    ("quote", &[]),
    ("device", &[]),
    ("measure", &["device"]),
    ("geometry", &["measure"]),
    ("plan", &["geometry"]),
    ("table", &["geometry", "plan", "device"]),
    ("output", &["measure", "geometry", "plan", "table"]),
    ("wizard", &["geometry", "plan", "output"]),
    ("error", &[]),
    // The man page lists the exit codes.
    ("cli", &["error"]),
    (
        "run",
        &[
            "cli", "device", "error", "geometry", "measure", "output", "plan", "table", "wizard",
        ],
    ),
    ("main", &["cli", "error", "run"]),
];

/// Free for all.
const VOCABULARY: [&str; 3] = ["units", "topology", "quote"];

/// Stages: their `mod.rs` opens with the arrow.
const STAGES: [&str; 5] = ["device", "measure", "geometry", "plan", "table"];

/// A word of the language or library, who may use it, and why the others must not.
struct Reserved {
    words: &'static [&'static str],
    /// Files and folders (ending in `/`) below `src`.
    allowed: &'static [&'static str],
    why: &'static str,
}

const RESERVED: &[Reserved] = &[
    Reserved {
        words: &["unsafe"],
        allowed: &["device/block.rs"],
        why: "ioctls are the only thing that needs it, and they live there",
    },
    Reserved {
        words: &["Instant", "SystemTime"],
        allowed: &[
            "device/block.rs",
            "device/block/",
            "device/image.rs",
            "run.rs",
            "run/",
            "wizard/terminal.rs",
        ],
        why: "stages know no other clock than the device's, so that a simulated stick runs in virtual time",
    },
    Reserved {
        words: &[
            "println!",
            "eprintln!",
            "print!",
            "eprint!",
            "stdout()",
            "stderr()",
            "stdin()",
        ],
        allowed: &[
            "main.rs",
            "run.rs",
            "run/",
            "wizard/terminal.rs",
            "wizard/terminal/",
        ],
        why: "libraries never print",
    },
    Reserved {
        words: &["std::fs", "fs::", "OpenOptions"],
        allowed: &["device/", "run.rs", "run/"],
        why: "only the devices and the runner know files",
    },
    Reserved {
        words: &["libc", "nix"],
        allowed: &["device/", "wizard/terminal/"],
        why: "only the devices know the kernel, and the terminal its own modes",
    },
    Reserved {
        words: &["signal_hook", "indicatif"],
        allowed: &["run.rs", "run/", "wizard/terminal.rs"],
        why: "signals and progress are the runner's",
    },
    Reserved {
        words: &["process::Command", "Command::new"],
        allowed: &["cli.rs", "cli/", "run.rs", "run/"],
        why: "a stage runs no program",
    },
];

#[test]
fn a_stage_imports_only_from_its_left() {
    let mut wrong = Vec::new();
    for file in sources("src") {
        let module = file.module();
        let allowed = IMPORTS.iter().find(|(name, _)| *name == module);
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = allowed else {
            wrong.push(format!(
                "{}: module '{module}' is not in IMPORTS",
                file.path
            ));
            continue;
        };
        for (line, import) in file.shipped_imports() {
            let known = IMPORTS.iter().any(|(name, _)| *name == import);
            let free = import == module || VOCABULARY.contains(&import.as_str());
            if known && !free && !allowed.contains(&import.as_str()) {
                wrong.push(format!(
                    "src/{}:{line}: '{module}' imports '{import}', but may import only {allowed:?}",
                    file.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reserved_words_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for file in sources("src").iter().filter(|file| !file.is_test()) {
        for rule in RESERVED {
            let inside = rule
                .allowed
                .iter()
                .any(|place| match place.strip_suffix('/') {
                    Some(_) => file.path.starts_with(place),
                    None => file.path == *place,
                });
            if inside {
                continue;
            }
            for word in rule.words {
                for line in file.shipped_lines_with(word) {
                    wrong.push(format!(
                        "src/{}:{line}: '{word}' only in {:?}: {}",
                        file.path, rule.allowed, rule.why
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_stage_opens_with_its_arrow() {
    let files = sources("src");
    for stage in STAGES {
        let Some(file) = files
            .iter()
            .find(|file| file.path == format!("{stage}/mod.rs"))
        else {
            continue;
        };
        let header: String = file
            .text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        assert!(
            header.contains("device -> measure -> geometry -> plan -> table -> device"),
            "src/{stage}/mod.rs does not open with the arrow"
        );
    }
}

#[test]
fn nothing_is_left_for_later() {
    // In two pieces, so that this file does not find itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("db", "g!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in sources(folder) {
            for (number, line) in file.text.lines().enumerate() {
                for word in words.iter().filter(|word| line.contains(**word)) {
                    wrong.push(format!("{folder}/{}:{}: {word}", file.path, number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_can_be_read_in_one_sitting() {
    // About 500 lines outside of test modules.
    const LIMIT: usize = 550;
    // Longer ones, each with the reason why it is one question all the same.
    const LONGER: &[(&str, &str)] = &[];
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in sources(folder) {
            let path = format!("{folder}/{}", file.path);
            let lines = file.lines_without_tests();
            let excused = LONGER.iter().any(|(name, _)| *name == path);
            if lines > LIMIT && !excused {
                wrong.push(format!("{path}: {lines} lines, more than {LIMIT}"));
            }
            if lines <= LIMIT && excused {
                wrong.push(format!("{path}: {lines} lines: take it off the list"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nlonger on purpose: {LONGER:?}",
        wrong.join("\n")
    );
}

#[test]
fn the_rules_see_what_they_forbid() {
    let guilty = Source::new(
        "plan/layout.rs",
        r##"
//! Mentions crate::run and unsafe in prose.
use crate::{geometry::Verdict, device::{self, ReadDevice}};
const TEXT: &str = "crate::output unsafe \" OpenOptions";
const RAW: &str = r#"println!(" crate::table "#;
/* unsafe /* OpenOptions */ crate::table */
fn f<'a>(c: char, x: &'a str) -> crate::measure::Sample {
    let quote = '"'; // crate::output
    let _ = super::super::wizard::ask(x, '\'');
    std::fs::read(x)
}
#[cfg(test)]
mod tests {
    use crate::run::run;
    fn g() { println!("{}", '{'); }
}
fn after() { eprintln!(); }
"##,
    );
    let imports: Vec<(usize, String)> = guilty.shipped_imports();
    let names: Vec<&str> = imports.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["geometry", "device", "measure", "wizard"]);
    assert_eq!(imports[1].0, 3);
    assert_eq!(guilty.shipped_lines_with("unsafe"), []);
    assert_eq!(guilty.shipped_lines_with("OpenOptions"), []);
    assert_eq!(guilty.shipped_lines_with("std::fs"), [10]);
    assert_eq!(guilty.shipped_lines_with("println!"), []);
    assert_eq!(guilty.shipped_lines_with("eprintln!"), [17]);
    assert_eq!(guilty.module(), "plan");
    assert_eq!(guilty.lines_without_tests(), 12);
    let parent = Source::new(
        "cli.rs",
        "#[cfg(test)]\nmod fake;\nmod real;\n#[cfg(test)]\nmod t { }",
    );
    assert_eq!(parent.test_files(), ["cli/fake.rs", "cli/fake/"]);
    assert_eq!(Source::new("cli/man.rs", "").module(), "cli");
    assert_eq!(
        Source::new("main.rs", "use flashfit::run;").shipped_imports()[0].1,
        "run"
    );
}

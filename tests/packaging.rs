//! What a package takes along is there, and what it takes along fits: completions, licences, the
//! oldest Rust. Making a package and installing it takes minutes: `packaging/try-deb` does it.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).unwrap()
}

fn toml(name: &str) -> toml::Table {
    read(name).parse().unwrap()
}

/// What the script `packaging/completions` makes.
fn completions() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let ended = Command::new(Path::new(ROOT).join("packaging/completions"))
        .arg(env!("CARGO_BIN_EXE_flashfit"))
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    folder
}

/// What a script prints in bash.
fn bash(script: &str) -> String {
    let ended = Command::new("bash")
        .args(["--norc", "-c", script])
        .output()
        .unwrap();
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{ended:?}"
    );
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn everything_that_the_debian_package_takes_along_is_there() {
    let made = completions();
    let cargo = toml("Cargo.toml");
    let assets = cargo["package"]["metadata"]["deb"]["assets"]
        .as_array()
        .unwrap();
    let mut goals = BTreeSet::new();
    for asset in assets {
        let [from, to, mode] = asset.as_array().unwrap().as_slice() else {
            panic!("{asset}")
        };
        let (from, to, mode) = (from.as_str().unwrap(), to.as_str().unwrap(), mode.as_str());
        assert_eq!(
            mode,
            Some(if to == "usr/bin/" { "755" } else { "644" }),
            "{from}"
        );
        assert!(goals.insert((from, to)), "{from} twice");
        if let Some(name) = from.strip_prefix("target/packaging/") {
            assert!(
                made.path().join(name).is_file(),
                "packaging/completions makes no {name}"
            );
        } else if let Some(folder) = from.strip_suffix("/*.toml") {
            assert!(Path::new(ROOT).join(folder).is_dir(), "{from}");
        } else if from != "target/release/flashfit" {
            assert!(Path::new(ROOT).join(from).is_file(), "{from}");
        }
    }
    // The names are those that the shells look for, and the manual's section is the page's.
    for goal in [
        (
            "target/packaging/flashfit.bash",
            "usr/share/bash-completion/completions/flashfit",
        ),
        (
            "target/packaging/_flashfit",
            "usr/share/zsh/vendor-completions/",
        ),
        (
            "target/packaging/flashfit.fish",
            "usr/share/fish/vendor_completions.d/",
        ),
        ("man/flashfit.8", "usr/share/man/man8/"),
    ] {
        assert!(goals.contains(&goal), "{goal:?}");
    }
    let page = fs::read_to_string(made.path().join("flashfit.8")).unwrap();
    assert!(page.contains(".TH FLASHFIT 8 "), "{page}");
}

#[test]
fn the_shells_complete_commands_options_and_values() {
    let made = completions();
    let script = made.path().join("flashfit.bash");
    let complete = |words: &str| {
        bash(&format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _flashfit flashfit \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\" || true; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display()
        ))
    };
    assert_eq!(complete("flashfit sc"), "scan\n");
    assert_eq!(complete("flashfit scan --write-t"), "--write-tests\n");
    assert_eq!(complete("flashfit scan --write-tests pr"), "preserve\n");
    for (name, words) in [
        (
            "_flashfit",
            ["#compdef flashfit", "--write-tests", "preserve"],
        ),
        (
            "flashfit.fish",
            ["complete -c flashfit", "-l write-tests", "preserve"],
        ),
    ] {
        let text = fs::read_to_string(made.path().join(name)).unwrap();
        for word in words {
            assert!(text.contains(word), "{name} knows no {word}");
        }
    }
}

#[test]
fn the_scripts_are_scripts_that_bash_understands() {
    let mut count = 0;
    for entry in fs::read_dir(Path::new(ROOT).join("packaging")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some() {
            continue;
        }
        count += 1;
        assert_eq!(bash(&format!("bash -n '{}'", path.display())), "");
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert!(mode & 0o111 != 0, "{} cannot be run", path.display());
    }
    assert!(count >= 4, "{count}");
}

/// Every package that the program is built of, as cargo tells it.
fn packages() -> Vec<serde_json::Value> {
    let ended = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let all: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let built: BTreeSet<&str> = all["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    let packages: Vec<serde_json::Value> = all["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| built.contains(package["id"].as_str().unwrap()))
        .cloned()
        .collect();
    assert!(packages.len() > 20, "{}", packages.len());
    packages
}

#[test]
fn no_dependency_needs_a_newer_rust_than_the_one_that_is_stated() {
    // The third number is about repairs, not about what the language can.
    let number = |version: &str| -> Vec<u32> {
        let parts = version.split('.').map(|part| part.parse().unwrap());
        parts.take(2).collect()
    };
    let cargo = toml("Cargo.toml");
    let stated = cargo["package"]["rust-version"].as_str().unwrap();
    for package in packages() {
        if let Some(needed) = package["rust_version"].as_str() {
            assert!(
                number(needed) <= number(stated),
                "{} needs Rust {needed}, and Cargo.toml says {stated}",
                package["name"]
            );
        }
    }
    assert!(read("README.md").contains(&format!("Rust {stated} or newer")));
}

/// Whether one of the allowed licences is enough: SPDX expressions without brackets inside brackets,
/// and the old form with a slash.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let flat = expression.replace('/', " OR ");
    if let (Some(open), Some(close)) = (flat.find('('), flat.rfind(')')) {
        let inner = if is_allowed(&flat[open + 1..close], allowed) {
            "yes"
        } else {
            "no"
        };
        return is_allowed(
            &format!("{}{inner}{}", &flat[..open], &flat[close + 1..]),
            allowed,
        );
    }
    flat.split(" OR ").any(|all| {
        all.split(" AND ")
            .map(str::trim)
            .all(|licence| licence == "yes" || allowed.contains(licence))
    })
}

#[test]
fn every_dependency_has_a_licence_that_deny_toml_allows() {
    let deny = toml("deny.toml");
    let words = |value: &toml::Value| -> BTreeSet<String> {
        let list = value.as_array().unwrap();
        list.iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    let allowed = words(&deny["licenses"]["allow"]);
    let exceptions = deny["licenses"]["exceptions"].as_array().unwrap();
    assert_eq!(exceptions.len(), 1, "one exception, with its reason");
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let expression = package["license"].as_str().unwrap_or_default();
        let excepted = exceptions
            .iter()
            .filter(|exception| exception["crate"].as_str() == Some(name))
            .any(|exception| is_allowed(expression, &(&allowed | &words(&exception["allow"]))));
        assert!(
            excepted || is_allowed(expression, &allowed),
            "{name} is under '{expression}'"
        );
    }
}

#[test]
fn licences_are_read_as_spdx_means_them() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
    for (expression, good) in [
        ("MIT", true),
        ("MIT OR Apache-2.0", true),
        ("Apache-2.0/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(GPL-3.0 OR Apache-2.0) AND Unicode-3.0", false),
        ("MIT AND GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), good, "{expression}");
    }
}

//! Which options make no sense together, told before any device is touched.

use crate::cli::{WizardArgs, WriteTests};
use crate::error::Error;
use crate::run::read_file::STDIN;
use crate::run::source::SIMULATED;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Refuse what cannot be meant.
///
/// # Errors
/// A usage error that names the option.
pub fn nonsense(args: &WizardArgs) -> Result<(), Error> {
    if args.devices.is_empty() {
        return Err(Error::usage("--yes: nobody is asked which device is meant")
            .hint("name it: flashfit wizard DEVICE --yes; see what there is with: flashfit list"));
    }
    if args.profile.as_deref() == Some(Path::new(STDIN)) {
        return Err(
            Error::usage("--yes: stdin is not read, so --profile - brings nothing")
                .hint("save the profile to a file"),
        );
    }
    let writes = args
        .write_tests
        .is_some_and(|tests| tests != WriteTests::None);
    if args.write_limit.is_some() && !writes {
        return Err(
            Error::usage("--write-limit is for write tests, and none are made")
                .hint("leave it out, or add --write-tests preserve or --write-tests destroy"),
        );
    }
    if args.devices.len() > 1 {
        of_one_device(args)?;
    }
    twice(&args.devices)
}

/// Refuse what only one device can have.
fn of_one_device(args: &WizardArgs) -> Result<(), Error> {
    let of_one = [
        (
            "--report",
            args.report.is_some(),
            "use --json, which prints one line for each",
        ),
        ("--html", args.html.is_some(), "leave it out"),
        ("--samples", args.samples.is_some(), "leave it out"),
        (
            "--backup",
            args.backup.is_some(),
            "leave it out, each gets a file of its own in $XDG_STATE_HOME/flashfit",
        ),
    ];
    if let Some((option, _, hint)) = of_one.iter().find(|(_, given, _)| *given) {
        return Err(Error::usage(format!(
            "{option} names one file, and there are several devices"
        ))
        .hint(*hint));
    }
    let fixed = !["random", "keep"].contains(&args.intent.disk_id.as_str());
    let same = [
        ("--id-seed", args.intent.id_seed.is_some()),
        ("--disk-id", fixed),
    ];
    if let Some((option, _)) = same.iter().find(|(_, given)| *given) {
        return Err(Error::usage(format!(
            "{option} would give all devices the same identifiers, and no computer tells them apart then"
        ))
        .hint("do one device at a time, or leave it out"));
    }
    Ok(())
}

/// Refuse a device that is named twice, by whatever names.
fn twice(devices: &[String]) -> Result<(), Error> {
    let mut seen: Vec<(Known, &String)> = Vec::new();
    for name in devices {
        let known = Known::of(name);
        if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == known) {
            return Err(
                Error::usage(format!("{other} and {name} are the same device"))
                    .hint("name it once"),
            );
        }
        seen.push((known, name));
    }
    Ok(())
}

/// What makes two names one device.
#[derive(PartialEq, Eq)]
enum Known {
    /// The number of a block device.
    Device(u64),
    /// File system and inode of an image.
    File(u64, u64),
    /// The rest: names as they are, links followed.
    Name(PathBuf),
}

impl Known {
    fn of(name: &str) -> Known {
        let by_name = || Known::Name(fs::canonicalize(name).unwrap_or_else(|_| name.into()));
        if name.starts_with(SIMULATED) {
            return Known::Name(name.into());
        }
        match fs::metadata(name) {
            Ok(found) if found.is_file() => Known::File(found.dev(), found.ino()),
            Ok(found) if found.rdev() != 0 => Known::Device(found.rdev()),
            _ => by_name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn refused(line: &str) -> String {
        let words = ["flashfit", "wizard", "--yes"]
            .into_iter()
            .chain(line.split_whitespace());
        let Command::Wizard(args) = Cli::try_parse_from(words).unwrap().command else {
            panic!("{line}")
        };
        match nonsense(&args) {
            Ok(()) => String::new(),
            Err(error) => {
                assert_eq!(error.exit_code().number(), 2, "{line}");
                error.to_string()
            }
        }
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (line, says) in [
            ("", "which device"),
            ("sim:a --profile -", "stdin"),
            ("sim:a --write-limit 1GiB", "--write-limit"),
            (
                "sim:a --write-tests none --write-limit 1GiB",
                "--write-limit",
            ),
            ("sim:a sim:b --report r", "--report"),
            ("sim:a sim:b --backup r", "--backup"),
            ("sim:a sim:b --samples r", "--samples"),
            ("sim:a sim:b --id-seed x", "--id-seed"),
            ("sim:a sim:b --disk-id 0x12345678", "--disk-id"),
            ("sim:a sim:b sim:a", "sim:a and sim:a are the same"),
        ] {
            assert!(refused(line).contains(says), "{line}: {}", refused(line));
        }
        for line in [
            "sim:a --report r --backup b --samples s --id-seed x",
            "sim:a sim:b --disk-id keep",
            "sim:a#1 sim:a#2 --json",
            "sim:a --write-tests preserve --write-limit 1GiB",
        ] {
            assert_eq!(refused(line), "", "{line}");
        }
    }

    #[test]
    fn an_image_is_the_same_by_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("a.img"), "x").unwrap();
        fs::write(path("b.img"), "x").unwrap();
        fs::hard_link(path("a.img"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("a.img"), path("soft")).unwrap();
        for other in ["hard", "soft", "./a.img"] {
            let error = twice(&[path("a.img"), path(other)])
                .unwrap_err()
                .to_string();
            assert!(error.contains("are the same device"), "{error}");
        }
        assert_eq!(twice(&[path("a.img"), path("b.img")]), Ok(()));
    }
}

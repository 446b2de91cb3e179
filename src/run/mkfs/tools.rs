//! Is the tool there, and new enough?

use crate::error::Error;
use crate::plan::filesystem::command::Tool;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where tools of the administrator live, which not every login has in its path.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The path of a tool that is new enough.
pub fn find(tool: &Tool) -> Result<PathBuf, Error> {
    let path = locate(tool.program).ok_or_else(|| {
        Error::failed(format!("{} is not installed", tool.program))
            .hint(format!("install it: sudo apt install {}", tool.package))
    })?;
    let told = version(&path, tool.version_option);
    // A version that it does not tell is left to what is read back afterwards.
    if let Some(told) = told
        && told.as_slice() < tool.oldest
    {
        return Err(Error::failed(format!(
            "{} {} is too old: {}",
            tool.program,
            told.iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join("."),
            tool.why
        ))
        .hint(format!("update the package {}", tool.package)));
    }
    Ok(path)
}

/// The full path of a program.
pub fn locate(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

fn version(program: &Path, option: &str) -> Option<Vec<u64>> {
    let output = Command::new(program)
        .arg(option)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    first_version(&said)
}

/// The first word of a text that looks like a version: numbers with points between.
fn first_version(text: &str) -> Option<Vec<u64>> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .map(|word| word.trim_start_matches('v'))
        .find_map(|word| {
            let numbers: Option<Vec<u64>> = word.split('.').map(|n| n.parse().ok()).collect();
            numbers.filter(|numbers| numbers.len() > 1)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        for (text, numbers) in [
            ("mkfs.fat 4.2 (2021-01-31)\n", &[4, 2][..]),
            ("exfatprogs version : 1.2.0", &[1, 2, 0]),
            ("mke2fs 1.47.0 (5-Feb-2023)", &[1, 47, 0]),
            ("mkfs.f2fs 1.15.0 (2022-05-13)", &[1, 15, 0]),
            ("mkfs.btrfs, part of btrfs-progs v6.2", &[6, 2]),
            ("mkntfs v2022.10.3 (libntfs-3g)", &[2022, 10, 3]),
            ("mkswap from util-linux 2.38.1", &[2, 38, 1]),
        ] {
            assert_eq!(first_version(text), Some(numbers.to_vec()), "{text}");
        }
        assert_eq!(first_version("usage: mkfs [options]"), None);
    }

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let tool = Tool {
            program: "mkfs.no-such",
            package: "no-such-progs",
            version_option: "-V",
            oldest: &[1],
            why: "of no reason",
        };
        let error = find(&tool).unwrap_err().to_string();
        assert_eq!(
            error,
            "mkfs.no-such is not installed; install it: sudo apt install no-such-progs"
        );
    }

    #[test]
    fn a_tool_that_is_too_old_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("mkfs.old");
        std::fs::write(&old, "#!/bin/sh\necho mkfs.old 1.2.3\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&old, mode).unwrap();
        let tool = |oldest| Tool {
            program: Box::leak(old.to_str().unwrap().to_owned().into_boxed_str()),
            package: "old-progs",
            version_option: "-V",
            oldest,
            why: "the number behind -s was an exponent",
        };
        let error = find(&tool(&[1, 6, 1])).unwrap_err().to_string();
        assert!(
            error.ends_with("1.2.3 is too old: the number behind -s was an exponent; update the package old-progs"),
            "{error}"
        );
        assert_eq!(find(&tool(&[1, 2])).unwrap(), old);
    }
}

//! What the tests of the commands that write share: loop devices, and what other tools say.

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use crate::common::program::{Ended, command, ended, image};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program with these words, keeping its backups in a folder.
pub fn writing(folder: &Path, words: &[&str]) -> Command {
    let mut command = command(words);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command
}

/// Run it.
pub fn run(folder: &Path, words: &[&str]) -> Ended {
    ended(&writing(folder, words).output().unwrap())
}

/// The backups that were kept there, oldest first.
pub fn backups(folder: &Path) -> Vec<String> {
    let Ok(files) = fs::read_dir(folder.join("state/flashfit")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Two contents with the same number are the same for all that happens here: every word and its
/// place counts. (A cryptographic sum takes seconds without optimisation.)
pub fn checksum(path: &str) -> u64 {
    let mut file = File::open(path).unwrap();
    let mut sum = 0u64;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return sum,
            length => {
                for word in buffer[..length].chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..word.len()].copy_from_slice(word);
                    let word = u64::from_le_bytes(bytes);
                    sum = (sum ^ word)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .rotate_left(29);
                }
            }
        }
    }
}

/// What a tool says.
pub fn tool(name: &str, words: &[&str]) -> Output {
    let path = crate::common::tool(name).unwrap_or_else(|| panic!("no {name}"));
    Command::new(path)
        .args(words)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What a tool prints when it succeeds.
#[track_caller]
pub fn says(name: &str, words: &[&str]) -> String {
    let output = tool(name, words);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name} {words:?}: {output:?}");
    text
}

/// A loop device on a file; both go when it is dropped.
pub struct Loop {
    pub device: String,
    pub folder: tempfile::TempDir,
}

impl Loop {
    /// With these options for losetup, on a sparse file.
    pub fn new(size: u64, options: &[&str]) -> Loop {
        let folder = tempfile::tempdir().unwrap();
        let file = image(folder.path(), "backing", size);
        let mut words = vec!["--find", "--show", "--direct-io=on"];
        words.extend(options);
        words.push(&file);
        let device = says("losetup", &words).trim().to_owned();
        // Partitions of a former file stay behind when nobody removed them.
        let _ = Command::new("partx").args(["-d", &device]).output();
        Loop { device, folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its size, as an option takes it.
    pub fn size(&self) -> String {
        format!("{}B", fs::metadata(self.backing()).unwrap().len())
    }

    pub fn backing(&self) -> String {
        self.path().join("backing").to_str().unwrap().to_owned()
    }

    /// Its partitions as the kernel shows them: number, first sector and length of 512 bytes.
    pub fn shown(&self) -> Vec<(u64, u64, u64)> {
        let name = self.device.rsplit('/').next().unwrap();
        let block = PathBuf::from("/sys/block").join(name);
        let mut found = Vec::new();
        for entry in fs::read_dir(&block).unwrap() {
            let at = entry.unwrap().path();
            let number = |what: &str| {
                let text = fs::read_to_string(at.join(what)).ok()?;
                text.trim().parse::<u64>().ok()
            };
            if let Some(partition) = number("partition") {
                found.push((partition, number("start").unwrap(), number("size").unwrap()));
            }
        }
        found.sort_unstable();
        found
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Partitions told to the kernel one by one would keep the device.
        let _ = Command::new("partx").args(["-d", &self.device]).output();
        let _ = Command::new("losetup").args(["-d", &self.device]).output();
    }
}

/// A device of this size in most tests: room for four partitions on a grid of 12 MiB.
pub const DISK: u64 = 192 << 20;

/// Write to a loop device, with consent.
pub fn write_disk(disk: &Loop, words: &[&str]) -> Ended {
    let size = disk.size();
    let yes = ["--yes", "--expect-size", &size];
    let all = [&["write", disk.device.as_str()], words, &yes].concat();
    run(disk.path(), &all)
}

/// Consent for an image of 64 MiB.
pub const YES: [&str; 3] = ["--yes", "--expect-size", "64MiB"];

/// What is asked for in most tests on images.
pub const TABLE: [&str; 8] = [
    "--erase-block",
    "4MiB",
    "--table",
    "gpt",
    "--partition",
    "8MiB:fat16:BOOT",
    "--partition",
    "rest:ext4:root",
];

/// Words of a command line, put together.
pub fn words<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// An image whose every sector differs, so that any changed byte shows.
pub fn patterned(folder: &Path, name: &str) -> String {
    let path = image(folder, name, 64 << 20);
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    for n in 1..=(64u64 << 20) / 512 {
        bytes.extend_from_slice(
            &n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes()
                .repeat(64),
        );
    }
    file.write_all(&bytes).unwrap();
    path
}

/// Write the usual table to an image of 64 MiB, with consent.
pub fn write_image(folder: &Path, image: &str, more: &[&str]) -> Ended {
    run(folder, &words(&[&["write", image], &TABLE, &YES, more]))
}

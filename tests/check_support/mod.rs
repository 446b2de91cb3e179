//! What the tests of `flashfit check` share: images with tables and file systems of the real tools.

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use crate::common;
use common::program::{Ended, flashfit};
use flashfit::units::MIB;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An image in a folder of its own; both vanish with the value.
pub struct Image {
    pub path: PathBuf,
    pub folder: tempfile::TempDir,
}

impl Image {
    pub fn new(size: u64) -> Image {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(size).unwrap();
        Image { path, folder }
    }

    /// One with this table.
    pub fn with(size: u64, script: &str) -> Image {
        let image = Image::new(size);
        image.sfdisk(&[], script);
        image
    }

    pub fn sfdisk(&self, words: &[&str], script: &str) {
        sfdisk(&self.path, words, script);
    }

    pub fn write(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    pub fn read(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        File::open(&self.path)
            .unwrap()
            .read_exact_at(&mut bytes, at)
            .unwrap();
        bytes
    }

    pub fn resize(&self, size: u64) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.set_len(size).unwrap();
    }

    /// A file system of `size` bytes at `at`: made in a file beside, of which the first megabytes,
    /// where all superblocks lie, are copied.
    pub fn make_fs(&self, at: u64, size: u64, tool: &str, words: &[&str]) {
        let beside = self.folder.path().join("fs");
        File::create(&beside).unwrap().set_len(size).unwrap();
        run(tool, words, &beside);
        let mut head = vec![0; 4 << 20];
        File::open(&beside)
            .unwrap()
            .read_exact_at(&mut head, 0)
            .unwrap();
        self.write(at, &head);
    }

    pub fn check(&self, words: &[&str]) -> Ended {
        let mut all = vec!["check", self.path.to_str().unwrap()];
        all.extend(words);
        flashfit(&all)
    }

    /// As JSON on a grid, with the exit code that belongs to it.
    pub fn json(&self, erase_block: &str) -> Value {
        let ended = self.check(&["--json", "--erase-block", erase_block]);
        assert_eq!(ended.stderr, "");
        let json = ended.json();
        let good = json["on_grid"] == true && json["consistent"] == true;
        assert_eq!(ended.code, Some(if good { 0 } else { 8 }), "{json:#}");
        json
    }
}

pub fn sfdisk(path: &Path, words: &[&str], script: &str) {
    let mut child = Command::new(common::tool("sfdisk").unwrap())
        .args(["--quiet", "--no-tell-kernel", "--no-reread"])
        .args(words)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success(), "{script}");
}

pub fn run(tool: &str, words: &[&str], image: &Path) {
    let done = Command::new(common::tool(tool).unwrap())
        .args(words)
        .arg(image)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{tool}: {said}");
}

/// The codes of the findings of this weight.
pub fn codes(json: &Value, weight: &str) -> Vec<String> {
    json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["weight"] == weight)
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
pub fn assert_codes(json: &Value, inconsistent: &[&str], notes: &[&str]) {
    assert_eq!(codes(json, "inconsistent"), inconsistent, "{json:#}");
    assert_eq!(codes(json, "note"), notes, "{json:#}");
}

/// A file system made for a partition at `start` MiB of an image of `size` MiB.
pub fn with_fs(size: u64, start: u64, kind: &str, tool: &str, words: &[&str]) -> Image {
    let script = format!("label: dos\nstart={},type={kind}\n", start * 2048);
    let image = Image::with(size * MIB, &script);
    image.make_fs(start * MIB, (size - start) * MIB, tool, words);
    image
}

/// A loop device, released with the value.
pub struct Looped {
    pub path: PathBuf,
}

impl Looped {
    pub fn new(image: &Path, sector: &str) -> Looped {
        let made = Command::new(common::tool("losetup").unwrap())
            .args(["--find", "--show", "--sector-size", sector])
            .arg(image)
            .output()
            .unwrap();
        assert!(made.status.success());
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        Looped { path }
    }
}

impl Drop for Looped {
    fn drop(&mut self) {
        let _ = Command::new(common::tool("losetup").unwrap())
            .arg("--detach")
            .arg(&self.path)
            .status();
    }
}

//! A simulated stick as a real block device: the example `virtual_stick`.

use super::{need, need_fuse, need_loop};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A virtual stick; gone when the test ends in whatever way.
pub struct Stick {
    child: Child,
    pub device: String,
    _folder: tempfile::TempDir,
}

impl Stick {
    /// `None`, said aloud, where none can be made.
    pub fn new(profile: &str) -> Option<Stick> {
        Stick::start(profile, &["--read-only"])
    }

    /// The same, for tests that write to it.
    pub fn writable(profile: &str) -> Option<Stick> {
        Stick::start(profile, &[])
    }

    fn start(profile: &str, more: &[&str]) -> Option<Stick> {
        if !(need_loop() && need_fuse() && need("unshare")) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stick.toml");
        std::fs::write(&path, profile).unwrap();
        let mut child = Command::new(example())
            .arg(&path)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let stick = Stick {
            child,
            device: line.trim().to_owned(),
            _folder: folder,
        };
        assert!(stick.device.starts_with("/dev/loop"), "{line:?}");
        Some(stick)
    }
}

impl Drop for Stick {
    fn drop(&mut self) {
        // Partitions told to the kernel one by one outlive what is behind the device.
        let _ = Command::new("partx").args(["-d", &self.device]).output();
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &pid]).status();
        let _ = self.child.wait();
    }
}

/// The example, built the way this test was.
pub fn example() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let target = this.parent().unwrap().parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args([
        "build",
        "--quiet",
        "--offline",
        "--example",
        "virtual_stick",
    ]);
    if target.ends_with("release") {
        build.arg("--release");
    }
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().unwrap().success());
    target.join("examples/virtual_stick")
}

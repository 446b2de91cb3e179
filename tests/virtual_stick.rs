//! The simulated stick as a real block device: what arrives at the model, and that nothing stays
//! behind. Needs root, /dev/fuse and loop devices; without them the tests say so and pass.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test, its helpers included

mod common;

use common::virtual_stick::example;
use common::{need, need_fuse, need_loop};
use flashfit::device::simulated;
use flashfit::device::{AlignedBuffer, ReadDevice};
use flashfit::units::Bytes;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// A read takes 2 ms, one across a 4 MiB boundary 6 ms: told apart on the busiest machine.
const PROFILE: &str = r#"
capacity = "1000MiB"
[flash]
erase_block = "4MiB"
[read]
base = "2ms"
crossing.erase_block = "4ms"
[write]
base = "3ms"
"#;

/// Whether a virtual stick can be made here.
fn can_run() -> bool {
    need_loop() && need_fuse() && need("unshare")
}

/// A running virtual stick; killed when the test ends in whatever way.
struct Running {
    child: Child,
    device: PathBuf,
}

impl Running {
    fn start(profile: &Path, more: &[&str]) -> Running {
        let mut child = Command::new(example())
            .arg(profile)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let device = PathBuf::from(line.trim());
        let running = Running { child, device };
        assert!(running.device.starts_with("/dev"), "first line: {line:?}");
        running
    }

    fn open(&self) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_DIRECT);
        options.open(&self.device).unwrap()
    }

    fn sysfs(&self, attribute: &str) -> PathBuf {
        let name = self.device.file_name().unwrap();
        Path::new("/sys/block").join(name).join(attribute)
    }

    fn is_attached(&self) -> bool {
        let file = std::fs::read_to_string(self.sysfs("loop/backing_file"));
        file.is_ok_and(|file| file.contains("virtual-stick"))
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn profile(folder: &Path, more: &str) -> PathBuf {
    let path = folder.join("stick.toml");
    std::fs::write(&path, format!("{more}\n{PROFILE}")).unwrap();
    path
}

fn timed_read(device: &File, at: u64, buffer: &mut [u8]) -> Duration {
    let start = Instant::now();
    device.read_exact_at(buffer, at).unwrap();
    start.elapsed()
}

/// Wait for a thing that takes a moment.
fn soon(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn direct_reads_and_writes_arrive_one_to_one_and_take_the_time_of_the_model() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = profile(folder.path(), "");
    let trace = folder.path().join("trace");
    let stick = Running::start(&path, &["--trace", trace.to_str().unwrap()]);
    let device = stick.open();

    let mut expected = Vec::new();
    let mut fastest = [Duration::MAX; 2];
    let mut buffer = AlignedBuffer::new(1024);
    for i in 1..25 {
        for (across, at) in [(0, i * 8 * MIB), (1, i * 8 * MIB - 512)] {
            let time = timed_read(&device, at, &mut buffer);
            fastest[across] = fastest[across].min(time);
            expected.push(format!("read {at} 1024"));
        }
    }
    for length in [512, 4096, 65536, 120 * 1024] {
        let mut buffer = AlignedBuffer::new(length);
        timed_read(&device, 3 * MIB, &mut buffer);
        expected.push(format!("read {} {length}", 3 * MIB));
    }
    let mut written = AlignedBuffer::new(65536);
    written.fill(0xa5);
    device.write_all_at(&written, 5 * MIB).unwrap();
    expected.push(format!("write {} 65536", 5 * MIB));
    let mut found = AlignedBuffer::new(65536);
    timed_read(&device, 5 * MIB, &mut found);
    expected.push(format!("read {} 65536", 5 * MIB));
    assert!(found[..] == written[..]);

    let trace = std::fs::read_to_string(trace).unwrap();
    let seen: Vec<String> = trace
        .lines()
        .filter(|line| !line.starts_with("flush"))
        .map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(seen, expected);
    // The fastest of 24 escapes what else runs on the machine.
    let [plain, across] = fastest;
    assert!(
        plain >= Duration::from_millis(2) && plain < Duration::from_millis(4),
        "{plain:?}"
    );
    assert!(
        across >= Duration::from_millis(6) && across < Duration::from_millis(9),
        "{across:?}"
    );

    // The same bytes as in process.
    let mut model = simulated::open(path.to_str().unwrap(), 7).unwrap();
    let mut here = AlignedBuffer::new(4096);
    let mut there = AlignedBuffer::new(4096);
    model.read(Bytes(64 * MIB), &mut here).unwrap();
    timed_read(&device, 64 * MIB, &mut there);
    assert!(here[..] == there[..]);
}

#[test]
fn the_logical_block_and_the_largest_request_are_those_of_the_profile() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = profile(
        folder.path(),
        "logical_block = 4096\nreported.max_request = \"120KiB\"",
    );
    let stick = Running::start(&path, &["--read-only"]);
    let number = |attribute: &str| -> u64 {
        let text = std::fs::read_to_string(stick.sysfs(attribute)).unwrap();
        text.trim().parse().unwrap()
    };
    assert_eq!(number("queue/logical_block_size"), 4096);
    assert_eq!(number("queue/max_sectors_kb"), 120);
    assert_eq!(number("size") * 512, 1000 * MIB);
    assert_eq!(number("loop/dio"), 1);
    assert_eq!(number("ro"), 1);
}

#[test]
fn nothing_stays_behind_after_any_signal() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = profile(folder.path(), "");
    for (signal, in_order) in [
        ("TERM", true),
        ("INT", true),
        ("HUP", true),
        ("KILL", false),
    ] {
        let mut stick = Running::start(&path, &[]);
        assert!(stick.is_attached());
        stick.signal(signal);
        let status = stick.child.wait().unwrap();
        assert_eq!(status.success(), in_order, "{signal}: {status}");
        soon("the loop device stays attached", || !stick.is_attached());
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains("virtual-stick"), "{signal}");
    }
}

#[test]
fn a_bad_profile_is_refused_before_anything_is_made() {
    if !can_run() {
        return;
    }
    let output = Command::new(example())
        .arg("no-such-stick")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(
        words.contains("no-such-stick") && words.contains("corsair-voyager"),
        "{words}"
    );
}

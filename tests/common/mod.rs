//! What integration tests need of the machine, and how they skip when it is not there.
//!
//! A test that cannot run skips aloud: on stderr past the capture of the test runner, and in the
//! file that `FLASHFIT_SKIPS` names, from which `.ci/run` prints a list. With `FLASHFIT_CI` set,
//! which `.ci/run` does as root, a missing tool or right is a failure instead of a skip, so that a
//! green run means that everything ran; only what the kernel itself lacks stays a skip.
//!
//! ```ignore
//! if !(need("sfdisk") && need_loop()) {
//!     return;
//! }
//! ```
//!
//! Long matrices run only with `FLASHFIT_FULL` set ([`full`]): `bash .ci/run --full`.

// Every test file uses only some of these.
#![allow(dead_code)]

pub mod program;
pub mod virtual_stick;

use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether the long matrices shall run too.
pub fn full() -> bool {
    std::env::var_os("FLASHFIT_FULL").is_some()
}

/// The full path of a tool, also when the directories of the administrator's tools are not in the
/// path, as for most users.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// Whether this tool is installed.
pub fn need(name: &str) -> bool {
    tool(name).is_some() || skip(&format!("the tool {name}"))
}

/// Whether the test runs as root.
pub fn need_root() -> bool {
    // The owner of this process's directory in /proc is its effective user.
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    root || skip("root")
}

/// Whether loop devices can be made.
pub fn need_loop() -> bool {
    need_root() && need("losetup") && need_device("/dev/loop-control", "loop devices")
}

/// Whether FUSE file systems can be mounted.
pub fn need_fuse() -> bool {
    need_root() && need("fusermount3") && need_device("/dev/fuse", "FUSE")
}

/// Whether the kernel offers this device node. Without it the test skips everywhere: no package can
/// be installed against it.
fn need_device(node: &str, what: &str) -> bool {
    Path::new(node).exists() || kernel_lacks(what)
}

/// Skip because the kernel does not offer something; never a failure. Gives `false`.
pub fn kernel_lacks(what: &str) -> bool {
    say(&format!("the kernel's {what}"));
    false
}

/// Skip for want of something that could be installed or granted. Gives `false`.
fn skip(what: &str) -> bool {
    assert!(
        std::env::var_os("FLASHFIT_CI").is_none(),
        "needs {what}, and with FLASHFIT_CI nothing may be skipped for want of it"
    );
    say(what);
    false
}

fn say(what: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped: {test} needs {what}\n");
    // Not eprintln: the test runner would swallow it, as the test passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("FLASHFIT_SKIPS") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(list);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The checksum of GPT headers and entries, bit by bit, as the IEEE polynomial defines it: another
/// than the program's own.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

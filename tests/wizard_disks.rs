//! The wizard at a pseudo-terminal, on virtual sticks that the kernel takes for disks: the write and its
//! file system, Ctrl-C while something is going on, and a stick that is pulled.
//!
//! Needs root, /dev/fuse and loop devices.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;
mod pty_support;
mod write_support;

use common::program::flashfit;
use common::virtual_stick::Stick;
use common::{need, need_loop};
use pty_support::{CTRL_C, ENTER, QUESTIONS, Session, TALL, is_untouched, wizard};
use std::fs::File;
use std::io::Read;
use write_support::{Loop, backups, says};

/// A stick of the kernel, whose scan takes some seconds: a crossing costs more than the machine
/// scatters.
const REAL: &str = r#"
capacity = "1000MiB"
[flash]
erase_block = "4MiB"
[read]
base = "1ms"
crossing.erase_block = "2ms"
[write]
base = "2ms"
"#;

/// Such a stick, and a folder for what is kept.
fn real() -> Option<(tempfile::TempDir, Stick)> {
    let stick = Stick::writable(REAL)?;
    need("setsid").then(|| (tempfile::tempdir().unwrap(), stick))
}

#[test]
fn a_stick_of_the_kernel_gets_its_table_and_its_file_system() {
    if !need("mkfs.ext4") {
        return;
    }
    let Some((folder, stick)) = real() else {
        return;
    };
    let device = stick.device.as_str();
    let words = ["wizard", device, "--fs", "ext4"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    // What the scan told is another test's affair: on a busy machine it may be nothing.
    session.answer(QUESTIONS[0], ENTER);
    session.answer("What next?", ENTER);
    session.answer("Is this the layout that you want?", ENTER);
    session.answer("Write this?", ENTER);
    let name = device.rsplit('/').next().unwrap();
    session.expect("type its name").press(&format!("{name}\r"));
    session.expect("written and verified");
    let shown = session.end().with(0);
    assert!(shown.contains("partition 1: "), "{shown}");
    assert!(shown.contains("put it in again"), "{shown}");
    let report = backups(folder.path())
        .into_iter()
        .find(|file| file.ends_with(".report.json"))
        .unwrap();
    let check = flashfit(&["check", device, "--report", &report]);
    assert_eq!(check.code, Some(0), "{}", check.stdout);
}

#[test]
fn ctrl_c_during_the_write_puts_back_what_was_there() {
    // A GPT is some seventy sectors: the write takes seconds.
    let slow = REAL.replace("base = \"2ms\"", "base = \"40ms\"");
    let Some(stick) = Stick::writable(&slow) else {
        return;
    };
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let device = stick.device.as_str();
    let before = start_of(device);
    let words = ["wizard", device, "--fs", "ext4", "--table", "gpt"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    session.answer(QUESTIONS[0], ENTER);
    session.answer("What next?", ENTER);
    session.answer("Is this the layout that you want?", ENTER);
    session.expect("Write this?").expect("] ");
    let only = session.number_of("write the table only");
    session.press(&only);
    let name = device.rsplit('/').next().unwrap();
    session.expect("type its name").press(&format!("{name}\r"));
    session.expect("writing, and reading back").press(CTRL_C);
    let shown = session.end().with(130);
    assert!(start_of(device) == before, "{shown}");
    // What was there is kept all the same.
    assert!(!is_untouched(folder.path()));
}

#[test]
fn ctrl_c_during_a_scan_ends_it_with_what_is_known() {
    let Some((folder, stick)) = real() else {
        return;
    };
    let mut session = wizard(folder.path(), &stick.device);
    session.answer(QUESTIONS[0], ENTER);
    session.expect("boundaries").press(CTRL_C);
    let shown = session.end().with(130);
    assert!(shown.contains("interrupted while"), "{shown}");
    assert!(is_untouched(folder.path()));
}

/// The first megabytes of a device; the whole of it takes minutes.
fn start_of(device: &str) -> Vec<u8> {
    let mut start = vec![0; 8 << 20];
    File::open(device).unwrap().read_exact(&mut start).unwrap();
    start
}

#[test]
fn ctrl_c_during_write_tests_puts_everything_back() {
    let Some((folder, stick)) = real() else {
        return;
    };
    let device = stick.device.clone();
    let before = start_of(&device);
    let mut session = wizard(folder.path(), &device);
    // Consent can be put off, and then be given after all.
    session.answer(QUESTIONS[0], "2");
    session.expect("was there is saved first").expect("quit): ");
    session.press("b\r");
    session.answer(QUESTIONS[0], "2");
    let name = device.rsplit('/').next().unwrap();
    session.expect("type its name").press(&format!("{name}\r"));
    // The first of its stages writes already.
    session.expect("/10 ").press(CTRL_C);
    session.end().with(130);
    assert!(start_of(&device) == before);
    assert!(is_untouched(folder.path()), "{:?}", backups(folder.path()));
}

#[test]
fn a_stick_that_is_pulled_before_the_write_is_told_and_the_terminal_is_left_sane() {
    let Some((folder, stick)) = real() else {
        return;
    };
    let device = stick.device.clone();
    let words = ["wizard", &device, "--fs", "ext4"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    session.answer(QUESTIONS[0], ENTER);
    session.answer("What next?", ENTER);
    session.answer("Is this the layout that you want?", ENTER);
    session.expect("Write this?").expect("] ");
    let only = session.number_of("write the table only");
    session.press(&only);
    let name = device.rsplit('/').next().unwrap();
    session.expect("type its name").expect("): ");
    drop(stick);
    session.press(&format!("{name}\r"));
    let ended = session.end();
    assert!(
        matches!(ended.code, Some(4 | 6)),
        "{:?}: {}",
        ended.code,
        ended.shown
    );
}

#[test]
fn a_mounted_disk_is_only_read_until_it_is_released() {
    if !(need_loop() && need("setsid") && need("mkfs.ext4") && need("mount") && need("umount")) {
        return;
    }
    let disk = Loop::new(64 << 20, &[]);
    says("mkfs.ext4", &["-q", &disk.device]);
    let at = disk.path().join("at").display().to_string();
    std::fs::create_dir(&at).unwrap();
    says("mount", &[&disk.device, &at]);
    let mut session = wizard(disk.path(), &disk.device);
    session.expect("ext4").expect(&at);
    session.expect("It cannot be written now.").expect("] ");
    // Still mounted: the same again.
    session.press("1").expect("It cannot be written now.");
    session.expect("] ");
    says("umount", &[&at]);
    session.press("1");
    session.answer(QUESTIONS[0], "q");
    session.end().with(5);
    assert!(is_untouched(disk.path()));
}

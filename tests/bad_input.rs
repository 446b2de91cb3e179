//! What cannot be scanned: each a line that says what to do next, and its exit code. What goes wrong
//! in the middle of a scan is in `scan.rs`, what is wrong with a command line in `cli.rs`, with a
//! report in `plan_command.rs`.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{PLAIN, command, ended, flashfit, image, stick};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A scan and a plan of it fail alike: nothing on stdout, this line, this code.
#[track_caller]
fn refused(name: &str, code: i32, line: &str) {
    for command in ["scan", "plan"] {
        assert_eq!(flashfit(&[command, name]).failure(code), line);
    }
}

#[test]
fn no_such_device() {
    refused(
        "/dev/no-such-device",
        1,
        "/dev/no-such-device: no such device; plug it in, then run: flashfit list",
    );
}

#[test]
fn a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    refused(
        name,
        1,
        &format!("{name} is a directory, not a device; run: flashfit list"),
    );
}

#[test]
fn a_character_device() {
    refused(
        "/dev/null",
        1,
        "/dev/null is a character device, not a disk; run: flashfit list",
    );
}

#[test]
fn an_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let name = image(folder.path(), "empty.img", 0);
    refused(
        &name,
        1,
        &format!("{name} is an empty file; give it a size first, such as: truncate -s 4G {name}"),
    );
}

#[test]
fn smaller_than_16_mib() {
    let folder = tempfile::tempdir().unwrap();
    let too_small = "has only 15 MiB, the least that can be measured is 16 MiB; run 'flashfit list' for other devices";
    let name = image(folder.path(), "small.img", 15 << 20);
    refused(&name, 1, &format!("{name} {too_small}"));
    let profile = "capacity = \"15MiB\"\nflash.erase_block = \"1MiB\"\nread.base = \"1ms\"\n";
    let name = stick(folder.path(), "small", profile);
    refused(&name, 1, &format!("{name} {too_small}"));
}

#[test]
fn a_profile_with_a_typo() {
    let folder = tempfile::tempdir().unwrap();
    let profile = "capacity = \"8GB\"\nflash.erase_block = \"8MiB\"\nread.bse = \"1ms\"\n";
    let name = stick(folder.path(), "typo", profile);
    let line = flashfit(&["scan", &name]).failure(1);
    assert!(
        line.contains("line 3 (read.bse = \"1ms\"): unknown field `bse`"),
        "{line}"
    );
    assert!(
        line.ends_with("fixtures/README.md explains every key"),
        "{line}"
    );
}

#[test]
fn a_simulated_stick_that_is_not_built_in() {
    let line = flashfit(&["scan", "sim:corsair"]).failure(1);
    assert!(line.starts_with("no simulated stick is called 'corsair': use a path such as sim:./corsair.toml, or one of "), "{line}");
    assert!(line.contains("corsair-voyager"), "{line}");
    let line = flashfit(&["scan", "sim:./no-such.toml"]).failure(1);
    assert!(
        line.starts_with("cannot read the profile ./no-such.toml: "),
        "{line}"
    );
}

#[test]
fn an_emmc_boot_area() {
    refused(
        "/dev/mmcblk0boot0",
        4,
        "/dev/mmcblk0boot0 is a hardware area of the eMMC that boot code or keys live in, never a target; \
         name the user area instead: /dev/mmcblk0",
    );
    refused(
        "/dev/mmcblk9rpmb",
        4,
        "/dev/mmcblk9rpmb is a hardware area of the eMMC that boot code or keys live in, never a target; \
         name the user area instead: /dev/mmcblk9",
    );
}

/// The last loop device that no file is attached to.
fn empty_loop() -> Option<PathBuf> {
    (0..8)
        .rev()
        .map(|n| (n, Path::new("/sys/block").join(format!("loop{n}"))))
        .find(|(_, node)| node.exists() && !node.join("loop/backing_file").exists())
        .map(|(n, _)| PathBuf::from(format!("/dev/loop{n}")))
}

#[test]
fn no_medium() {
    // A loop device without a file is to the kernel what a reader without a card is.
    if !common::need_loop() {
        return;
    }
    let Some(device) = empty_loop() else {
        common::kernel_lacks("free loop devices");
        return;
    };
    let name = device.to_str().unwrap();
    refused(
        name,
        4,
        &format!("{name}: no file is attached to this loop device; run: losetup {name} FILE"),
    );
}

/// A loop device on a file; detached when it is dropped.
struct Loop(String);

impl Loop {
    fn new(file: &str) -> Loop {
        let output = Command::new(common::tool("losetup").unwrap())
            .args(["--find", "--show", file])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for (tool, option) in [("partx", "--delete"), ("losetup", "--detach")] {
            let mut command = Command::new(common::tool(tool).unwrap());
            let _ = command.args([option, &self.0]).output();
        }
    }
}

#[test]
fn a_partition() {
    if !(common::need_loop() && common::need("sfdisk") && common::need("partx")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = image(folder.path(), "disk.img", 64 << 20);
    let made = assert_cmd::Command::new(common::tool("sfdisk").unwrap())
        .args(["-q", &file])
        .write_stdin("label: dos\nstart=8192, type=c\n")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let disk = Loop::new(&file);
    // partx reads the table itself, so that a kernel without partition parsers will do.
    let partx = Command::new(common::tool("partx").unwrap())
        .args(["--add", &disk.0])
        .output()
        .unwrap();
    let name = format!("{}p1", disk.0);
    if !partx.status.success() || !Path::new(&name).exists() {
        common::kernel_lacks("partitions on loop devices, in a /dev that it fills");
        return;
    }
    refused(
        &name,
        4,
        &format!(
            "{name} is a partition; name the whole disk instead: {}",
            disk.0
        ),
    );
}

#[test]
fn no_permission() {
    if !(common::need_root() && common::need("setpriv")) {
        return;
    }
    // Where nobody may look, but not read.
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(folder.path(), 0o755);
    let program = folder.path().join("flashfit");
    std::fs::copy(env!("CARGO_BIN_EXE_flashfit"), &program).unwrap();
    open(&program, 0o755);
    let file = image(folder.path(), "secret.img", 64 << 20);
    open(Path::new(&file), 0o600);
    let as_nobody = |words: &[&str]| {
        let output = Command::new(common::tool("setpriv").unwrap())
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(words)
            .output()
            .unwrap();
        ended(&output)
    };
    let line = as_nobody(&["scan", &file]).failure(1);
    assert_eq!(
        line,
        format!("no permission to open {file}; run: sudo flashfit scan {file}")
    );
    // A block device as well, where there is one that only root may open.
    let disk = Path::new("/dev/loop0");
    if disk.exists() {
        let line = as_nobody(&["scan", "/dev/loop0"]).failure(1);
        assert!(
            line.starts_with("no permission to open /dev/loop0"),
            "{line}"
        );
        assert!(
            line.ends_with("run: sudo flashfit scan /dev/loop0"),
            "{line}"
        );
    }
    // Nothing but reading it needs the permission: a list works for everybody.
    assert_eq!(as_nobody(&["list", "--all", "--json"]).code, Some(0));
}

#[test]
fn a_name_that_would_write_to_the_terminal_is_shown_escaped() {
    let line = flashfit(&["scan", "/dev/\u{1b}[2Jx\ny"]).failure(1);
    assert!(
        line.starts_with("/dev/\\u{1b}[2Jx\\ny: no such device"),
        "{line}"
    );
}

#[test]
fn a_reader_of_stdout_that_goes_away_is_success_and_the_report_is_saved_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stick.json");
    let saved = path.to_str().unwrap();
    for words in [
        &["scan", "sim:corsair-voyager", "--report", saved][..],
        &["plan", "sim:corsair-voyager"],
        &["list", "--all"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(words).stdout(writer).output().unwrap();
        let ended = ended(&output);
        assert_eq!(
            (ended.stderr.as_str(), ended.code),
            ("", Some(0)),
            "{words:?}"
        );
    }
    let report = std::fs::read_to_string(&path).unwrap();
    assert!(flashfit::output::json::parse(&report).unwrap().is_told());
}

#[test]
fn a_report_is_never_written_to_a_device() {
    if !common::need_loop() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = image(folder.path(), "disk.img", 64 << 20);
    let disk = Loop::new(&file);
    let line = flashfit(&["scan", "sim:corsair-voyager", "--report", &disk.0]).failure(1);
    assert!(
        line.starts_with(&format!("cannot write {}: it is a device", disk.0)),
        "{line}"
    );
    assert!(std::fs::read(&file).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_report_never_replaces_what_is_being_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let disk = image(folder.path(), "disk.img", 64 << 20);
    let profile = stick(folder.path(), "plain", PLAIN);
    let log = at("a.log");
    std::fs::write(&log, "not even a log").unwrap();
    std::os::unix::fs::symlink(&disk, at("link")).unwrap();
    std::fs::hard_link(&log, at("hard")).unwrap();
    let file = profile.strip_prefix("sim:").unwrap();
    let serial = format!("{profile}#7");
    let kept = |path: &str| std::fs::read(path).unwrap();
    let before = [kept(&disk), kept(file), kept(&log)];
    for words in [
        ["scan", &disk, "--report", &disk],
        ["scan", &disk, "--report", &at("link")],
        ["scan", &at("link"), "--report", &disk],
        ["scan", &profile, "--report", file],
        ["scan", &serial, "--report", file],
        ["analyze", &log, "--report", &log],
        ["analyze", &log, "--report", &at("hard")],
    ] {
        let line = flashfit(&words).failure(2);
        assert!(
            line.contains("would replace") && line.ends_with("name another file after --report"),
            "{line}"
        );
    }
    let input = std::fs::File::open(&log).unwrap();
    let output = command(&["analyze", "-", "--report", &log])
        .stdin(input)
        .output();
    ended(&output.unwrap()).failure(2);
    assert!([kept(&disk), kept(file), kept(&log)] == before);
}

#[test]
fn a_report_that_could_not_be_saved_is_refused_before_the_scan() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (path, says) in [
        (at("none/report.json"), "No such file"),
        (at(""), "it is a directory"),
        ("/dev/null".to_owned(), "it is a device"),
        (at("pipe"), "it is a pipe"),
        (at("socket"), "it is a socket"),
        ("/proc/report.json".to_owned(), "cannot write"),
    ] {
        // Nothing on stdout: it was not scanned.
        let line = flashfit(&["scan", "sim:corsair-voyager", "--report", &path]).failure(1);
        assert!(line.contains(says), "{path}: {line}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_profile_is_a_regular_file_of_at_most_1_mib() {
    let folder = tempfile::tempdir().unwrap();
    let long = image(folder.path(), "long.toml", (1 << 20) + 1);
    for (name, says) in [
        ("sim:/dev/zero".to_owned(), "it is not a regular file"),
        ("sim:/dev/urandom".to_owned(), "it is not a regular file"),
        (format!("sim:{long}"), "it is longer than 1 MiB"),
    ] {
        let line = flashfit(&["scan", &name]).failure(1);
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn names_that_lead_nowhere_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let circle = folder.path().join("circle");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    let long = format!("/dev/{}", "x".repeat(5000));
    for (name, code, says) in [
        (circle.to_str().unwrap(), 1, "lead in a circle"),
        (&long, 1, "this name is too long"),
        ("", 2, "the name of the device is empty; run: flashfit list"),
        ("sim:", 1, "use a path such as sim:./my.toml"),
        ("sim:..", 1, "use a path such as sim:./my.toml"),
        (
            "/proc/self/mem",
            1,
            "is a file of the kernel, not a disk or an image; run: flashfit list",
        ),
    ] {
        let line = flashfit(&["scan", name]).failure(code);
        assert!(line.contains(says) && line.len() < 800, "{line}");
    }
    if Path::new("/sys/block/zram0").exists() && Path::new("/dev/zram0").exists() {
        let line = flashfit(&["scan", "/dev/zram0"]).failure(4);
        assert!(line.contains("never a target"), "{line}");
    }
}

#[test]
fn what_is_no_file_is_refused_before_it_is_opened_for_a_pipe_would_wait() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe").to_str().unwrap().to_owned();
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let disk = image(folder.path(), "disk.img", 64 << 20);
    let consent = ["--yes", "--expect-size", "64MiB"];
    for words in [
        vec!["plan", "--report", &pipe],
        vec!["plan", "--layout", &pipe],
        vec!["check", &disk, "--report", &pipe],
        [&["write", &disk, "--report", &pipe], &consent[..]].concat(),
        [&["write", &disk, "--layout", &pipe], &consent[..]].concat(),
        [&["restore", &disk, "--backup", &pipe], &consent[..]].concat(),
        [&["wizard", &disk, "--profile", &pipe], &consent[..]].concat(),
    ] {
        let line = flashfit(&words).failure(1);
        assert!(line.contains("it is no regular file"), "{words:?}: {line}");
    }
    let line = flashfit(&["plan", "--report", "/dev/zero"]).failure(1);
    assert!(line.contains("it is no regular file"), "{line}");
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let consent = "--expect-size";
    for (words, option) in [
        (
            &["scan", "sim:3m", "--write-limit", "1GiB"][..],
            "--write-limit",
        ),
        (
            &["scan", "sim:3m", "--write-tests", "none", "--backup", "x"],
            "--backup",
        ),
        (&["scan", "sim:3m", "--yes"], "--yes"),
        (&["scan", "sim:3m", "--expect", "x"], "--expect"),
        (&["scan", "sim:3m", consent, "8GB"], consent),
    ] {
        let line = flashfit(words).failure(2);
        assert!(
            line.starts_with(&format!("{option} is for write tests")),
            "{line}"
        );
    }
    for words in [
        &[
            "write",
            "sim:3m",
            "--sector-size",
            "512",
            "--yes",
            "--expect",
            "x",
        ][..],
        &[
            "wizard",
            "sim:3m",
            "--sector-size",
            "4096",
            "--yes",
            "--expect",
            "x",
        ],
    ] {
        let ended = flashfit(words);
        assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
        let says = "--sector-size is for image files, a device tells its own";
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
}

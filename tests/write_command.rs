//! `write` on image files, from outside: what it shows, what it takes its layout from.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::ended;
use common::{need, need_root};
use std::fs;
use std::process::{Command, Stdio};
use write_support::*;

const MIB: u64 = 1 << 20;

#[test]
fn a_written_image_is_restored_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let done = write_image(folder.path(), &image, &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stdout
            .contains("GPT table with 2 partitions written and verified")
    );
    assert_ne!(checksum(&image), before);
    // The line that undoes it works as it is printed.
    let undo = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("to undo: flashfit "));
    let mut undo: Vec<&str> = undo.unwrap().split(' ').collect();
    undo.extend(YES);
    let restored = run(folder.path(), &undo);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(
        restored.stdout.contains("hold the old bytes again"),
        "{}",
        restored.stdout
    );
    assert_eq!(checksum(&image), before);
    let again = run(folder.path(), &undo);
    assert!(
        again.stdout.contains(", 0 were written"),
        "{}",
        again.stdout
    );
}

#[test]
fn a_dry_run_shows_every_sector_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = (
        checksum(&image),
        fs::metadata(&image).unwrap().modified().unwrap(),
    );
    let shown = run(
        folder.path(),
        &words(&[&["write", &image, "--dry-run"], &TABLE]),
    )
    .success();
    for text in [
        "before: no table",
        "after:",
        "131039 to 131070 (32): GPT second copy, entries; 32 over data",
        "0 to 0 (1): protective MBR; 1 over data",
        "dry run: nothing was written",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let after = (
        checksum(&image),
        fs::metadata(&image).unwrap().modified().unwrap(),
    );
    assert_eq!(after, before);
    assert_eq!(backups(folder.path()), [""; 0]);
}

#[test]
fn a_dry_run_opens_the_image_for_reading_only() {
    if !need("strace") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let trace = folder.path().join("trace");
    let status = Command::new("strace")
        .args(["-f", "-e", "trace=open,openat,pwrite64,write,ioctl", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_flashfit"))
        .args(words(&[&["write", &image, "--dry-run"], &TABLE]))
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let trace = fs::read_to_string(trace).unwrap();
    let opened: Vec<&str> = trace
        .lines()
        .filter(|line| line.contains("open") && line.contains("a.img\""))
        .collect();
    assert!(!opened.is_empty());
    assert!(
        opened.iter().all(|line| line.contains("O_RDONLY")),
        "{opened:?}"
    );
    assert!(!trace.contains("pwrite64"), "{trace}");
}

#[test]
fn a_report_or_layout_of_another_device_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let other = common::program::image(folder.path(), "b.img", 65 * MIB);
    let before = checksum(&image);
    let report = folder
        .path()
        .join("report.json")
        .to_str()
        .unwrap()
        .to_owned();
    let scan = run(folder.path(), &["scan", &other, "--report", &report]);
    assert_eq!(scan.code, Some(3), "{}", scan.stderr);
    let plan = [
        "plan",
        "--capacity",
        "65MiB",
        "--erase-block",
        "4MiB",
        "--format",
        "json",
    ];
    let layout = folder
        .path()
        .join("layout.json")
        .to_str()
        .unwrap()
        .to_owned();
    fs::write(&layout, run(folder.path(), &plan).success()).unwrap();
    for (source, says) in [
        (["--report", &report], "another device than"),
        (
            ["--layout", &layout],
            "is made for a device of 68157440 bytes",
        ),
    ] {
        let refused = run(folder.path(), &words(&[&["write", &image], &source, &YES]));
        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    let capacity = write_image(folder.path(), &image, &["--capacity", "65MiB"]);
    assert_eq!(capacity.code, Some(4), "{}", capacity.stderr);
    assert_eq!(checksum(&image), before);
    assert_eq!(backups(folder.path()), [""; 0]);
}

#[test]
fn a_report_of_the_same_device_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let report = folder
        .path()
        .join("report.json")
        .to_str()
        .unwrap()
        .to_owned();
    run(folder.path(), &["scan", &image, "--report", &report]);
    let done = run(
        folder.path(),
        &words(&[
            &["write", &image, "--report", &report, "--fs", "ext4"],
            &YES,
        ]),
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let measured = run(
        folder.path(),
        &words(&[
            &["write", &image, "--report", &report, "--require-measured"],
            &YES,
        ]),
    );
    assert_eq!(measured.code, Some(3), "{}", measured.stderr);
}

#[test]
fn a_saved_layout_is_printed_in_every_form_and_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let plan = words(&[
        &["plan", "--capacity", "64MiB"],
        &TABLE,
        &["--id-seed", "x"],
    ]);
    let json = run(folder.path(), &words(&[&plan, &["--format", "json"]])).success();
    let layout = folder
        .path()
        .join("layout.json")
        .to_str()
        .unwrap()
        .to_owned();
    fs::write(&layout, &json).unwrap();
    let again = |format| {
        run(
            folder.path(),
            &["plan", "--layout", &layout, "--format", format],
        )
    };
    assert_eq!(again("json").success(), json);
    let script = run(folder.path(), &words(&[&plan, &["--format", "sfdisk"]])).success();
    assert_eq!(again("sfdisk").success(), script);
    let done = run(
        folder.path(),
        &words(&[&["write", &image, "--layout", &layout], &YES]),
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let direct = patterned(folder.path(), "b.img");
    assert_eq!(
        write_image(folder.path(), &direct, &["--id-seed", "x"]).code,
        Some(0)
    );
    assert_eq!(checksum(&image), checksum(&direct));
    let missing = run(folder.path(), &["plan", "--layout", "/no/such/file"]);
    assert_eq!(missing.code, Some(1));
}

#[test]
fn a_kept_identifier_is_that_of_the_present_table() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let blank = write_image(folder.path(), &image, &["--disk-id", "keep"]);
    assert_eq!(blank.code, Some(1), "{}", blank.stderr);
    assert!(
        blank.stderr.contains("bears no disk identifier"),
        "{}",
        blank.stderr
    );
    let id = "0CF7E848-1111-4222-8333-444455556666";
    assert_eq!(
        write_image(folder.path(), &image, &["--disk-id", id]).code,
        Some(0)
    );
    let kept = write_image(
        folder.path(),
        &image,
        &["--disk-id", "keep", "--align", "1MiB"],
    );
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    assert!(
        kept.stderr
            .contains(&format!("GPT table, disk identifier {id}")),
        "{}",
        kept.stderr
    );
    let plan = run(
        folder.path(),
        &["plan", &image, "--disk-id", "keep", "--format", "json"],
    );
    assert!(plan.stdout.contains(id), "{}", plan.stdout);
    let given = [
        "plan",
        "--capacity",
        "64MiB",
        "--erase-block",
        "4MiB",
        "--disk-id",
        "keep",
    ];
    assert_eq!(run(folder.path(), &given).code, Some(2));
}

#[test]
fn an_image_gets_the_sectors_that_it_is_meant_for() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    // A FAT16 of so large sectors needs more room than this image has.
    let table = ["--erase-block", "4MiB", "--table", "gpt", "--fs", "ext4"];
    let sectors = ["--sector-size", "4096"];
    let all = words(&[&["write", &image], &table, &sectors, &YES]);
    let done = run(folder.path(), &all);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mut header = [0; 8];
    use std::os::unix::fs::FileExt;
    let file = fs::File::open(&image).unwrap();
    file.read_exact_at(&mut header, 4096).unwrap();
    assert_eq!(&header, b"EFI PART");
    let backup = backups(folder.path()).pop().unwrap();
    let restored = run(
        folder.path(),
        &words(&[&["restore", &image, "--backup", &backup], &YES]),
    );
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert_eq!(checksum(&image), before);
}

#[test]
fn a_reader_that_goes_away_does_not_undo_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let mut child = writing(folder.path(), &words(&[&["write", &image], &TABLE, &YES]))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    let found = ended(
        &Command::new(env!("CARGO_BIN_EXE_flashfit"))
            .args(["write", &image, "--erase-block", "4MiB", "--dry-run"])
            .output()
            .unwrap(),
    );
    assert!(
        found.stdout.contains("before: GPT table"),
        "{}",
        found.stdout
    );
}

#[test]
fn a_full_disk_behind_stdout_does_not_hide_that_the_table_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let output = writing(folder.path(), &words(&[&["write", &image], &TABLE, &YES]))
        .stdout(full.unwrap())
        .output()
        .unwrap();
    let found = ended(&output);
    let kept = backups(folder.path());
    assert_eq!((found.code, kept.len()), (Some(1), 1), "{}", found.stderr);
    let told = format!(
        "cannot write to stdout: No space left on device (os error 28); the table is written and verified; to undo: \
         flashfit restore {image} --backup {}\n",
        kept[0]
    );
    assert!(found.stderr.ends_with(&told), "{}", found.stderr);
}

#[test]
fn the_command_that_undoes_a_write_is_one_line_whatever_the_names_hold() {
    if !need("bash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "it's\na \u{1b}[2J\u{202e}.img");
    let before = checksum(&image);
    let written = run(folder.path(), &words(&[&["write", &image], &TABLE, &YES]));
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for line in written.stdout.lines().chain(written.stderr.lines()) {
        assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
    }
    let undo = written
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("to undo: flashfit "))
        .unwrap_or_else(|| panic!("{}", written.stdout));
    let program = env!("CARGO_BIN_EXE_flashfit");
    let command = format!("{program} {undo} {}", YES.join(" "));
    let status = Command::new("bash").args(["-c", &command]).status();
    assert!(status.unwrap().success(), "{command}");
    assert_eq!(checksum(&image), before);
}

#[test]
fn an_image_that_cannot_be_written_is_refused_before_the_scan() {
    if !need_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    // The only mark on a file that root heeds.
    let marked = tool("chattr", &["+i", &image]);
    if !marked.status.success() {
        common::kernel_lacks("immutable files on this file system");
        return;
    }
    let refused = run(
        folder.path(),
        &words(&[&["wizard", &image], &["--fs", "exfat"], &YES]),
    );
    let _ = tool("chattr", &["-i", &image]);
    assert!(matches!(refused.code, Some(1 | 4)), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains(&image), "{}", refused.stderr);
}

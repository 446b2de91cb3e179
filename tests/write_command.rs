//! `write` and `restore` on image files and simulated sticks, from outside.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::program::{Ended, ended, image};
use common::{full, need, need_root};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use write_support::*;

const MIB: u64 = 1 << 20;

/// Consent for an image of 64 MiB.
const YES: [&str; 3] = ["--yes", "--expect-size", "64MiB"];

/// What is asked for in most tests.
const TABLE: [&str; 8] = [
    "--erase-block",
    "4MiB",
    "--table",
    "gpt",
    "--partition",
    "8MiB:fat32:BOOT",
    "--partition",
    "rest:ext4:root",
];

fn words<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// An image whose every sector differs, so that any changed byte shows.
fn patterned(folder: &Path, name: &str) -> String {
    let path = image(folder, name, 64 * MIB);
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    for n in 1..=64 * MIB / 512 {
        bytes.extend_from_slice(
            &n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes()
                .repeat(64),
        );
    }
    file.write_all(&bytes).unwrap();
    path
}

fn write(folder: &Path, image: &str, more: &[&str]) -> Ended {
    run(folder, &words(&[&["write", image], &TABLE, &YES, more]))
}

#[test]
fn a_written_image_is_restored_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let done = write(folder.path(), &image, &[]);
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
fn nobody_is_asked_in_vain() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    for (consent, code, says) in [
        (&[][..], 2, "no terminal to ask at"),
        (&["--expect-size", "64MiB"], 2, "give --yes"),
        (&["--yes"], 2, "--expect SERIAL or --expect-size SIZE"),
        (
            &["--yes", "--expect-size", "65MiB"],
            4,
            "68157440 bytes were expected",
        ),
        (
            &["--yes", "--expect-size", "~128MiB"],
            4,
            "give or take a tenth",
        ),
        (&["--yes", "--expect", "4C53"], 4, "tells no serial number"),
    ] {
        let refused = run(
            folder.path(),
            &words(&[&["write", &image], &TABLE, consent]),
        );
        assert_eq!(refused.code, Some(code), "{consent:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(says),
            "{consent:?}: {}",
            refused.stderr
        );
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(checksum(&image), before);
    assert_eq!(backups(folder.path()), [""; 0]);
}

/// Run at a terminal, with these lines typed.
fn typed(folder: &Path, image: &str, lines: &str) -> (String, Option<i32>) {
    let line = words(&[&[env!("CARGO_BIN_EXE_flashfit"), "write", image], &TABLE]).join(" ");
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.code(),
    )
}

#[test]
fn a_person_types_the_name_or_the_size_or_declines() {
    if !need("script") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let (said, code) = typed(folder.path(), &image, "y\nyes\nb.img\n");
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("type its name (a.img) or its size (67108864)"),
        "{said}"
    );
    assert!(said.contains("declined, nothing was written"), "{said}");
    assert_eq!(checksum(&image), before);
    for answer in ["a.img\n", "what?\n67108864\n"] {
        let (said, code) = typed(folder.path(), &image, answer);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("written and verified"), "{said}");
    }
}

#[test]
fn a_backup_goes_where_it_is_told_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let file = folder.path().join("kept.json").to_str().unwrap().to_owned();
    for taken in [&file, &image, &folder.path().to_str().unwrap().to_owned()] {
        fs::write(&file, "precious").unwrap();
        let refused = write(folder.path(), &image, &["--backup", taken]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("never replaces"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }
    let nowhere = write(folder.path(), &image, &["--backup", "/no/such/folder/x"]);
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert!(
        nowhere.stderr.contains("nothing was written"),
        "{}",
        nowhere.stderr
    );
    assert_eq!(checksum(&image), before);
    fs::remove_file(&file).unwrap();
    assert_eq!(
        write(folder.path(), &image, &["--backup", &file]).code,
        Some(0)
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("flashfit.backup/1")
    );
    assert_eq!(backups(folder.path()), [""; 0]);
}

#[test]
fn a_full_disk_for_the_backup_ends_it_before_the_first_byte() {
    if !(need_root() && need("mount") && need("umount")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let at = small.to_str().unwrap();
    says("mount", &["-t", "tmpfs", "-o", "size=16k", "tmpfs", at]);
    let file = small.join("backup.json").to_str().unwrap().to_owned();
    let ended = write(folder.path(), &image, &["--backup", &file]);
    let left = fs::read_dir(&small).unwrap().count();
    says("umount", &[at]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("nothing was written to the device"),
        "{}",
        ended.stderr
    );
    assert_eq!(left, 0);
    assert_eq!(checksum(&image), before);
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
    let capacity = write(folder.path(), &image, &["--capacity", "65MiB"]);
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
        write(folder.path(), &direct, &["--id-seed", "x"]).code,
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
    let blank = write(folder.path(), &image, &["--disk-id", "keep"]);
    assert_eq!(blank.code, Some(1), "{}", blank.stderr);
    assert!(
        blank.stderr.contains("bears no disk identifier"),
        "{}",
        blank.stderr
    );
    let id = "0CF7E848-1111-4222-8333-444455556666";
    assert_eq!(
        write(folder.path(), &image, &["--disk-id", id]).code,
        Some(0)
    );
    let kept = write(
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
fn only_the_backup_of_this_device_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    assert_eq!(write(folder.path(), &image, &[]).code, Some(0));
    let written = checksum(&image);
    let backup = backups(folder.path()).pop().unwrap();
    let text = fs::read_to_string(&backup).unwrap();
    let other = common::program::image(folder.path(), "b.img", 65 * MIB);
    let refused = run(
        folder.path(),
        &[
            "restore",
            &other,
            "--backup",
            &backup,
            "--yes",
            "--expect-size",
            "65MiB",
        ],
    );
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("backup is of another device: size"),
        "{}",
        refused.stderr
    );
    let bad = folder.path().join("bad.json").to_str().unwrap().to_owned();
    for (content, says) in [
        ("", "not a backup file"),
        ("{}", "no \"schema\""),
        (
            "{\"schema\":\"flashfit.backup/9\"}",
            "'flashfit.backup/9' is not known",
        ),
        (&text[..text.len() / 2], "not a backup file"),
        (&text.replacen("AAAA", "AAAB", 1), "damaged"),
        (
            &text.replacen("\"sha256\": \"", "\"sha256\": \"0", 1),
            "damaged",
        ),
    ] {
        fs::write(&bad, content).unwrap();
        let refused = run(
            folder.path(),
            &words(&[&["restore", &image, "--backup", &bad], &YES]),
        );
        let line = refused.failure(1);
        assert!(line.contains(says), "{line}");
    }
    let shown = run(
        folder.path(),
        &["restore", &image, "--backup", &backup, "--dry-run"],
    )
    .success();
    assert!(shown.contains("67 sectors (34304 bytes)"), "{shown}");
    assert!(shown.contains("dry run: nothing was written"), "{shown}");
    assert_eq!(checksum(&image), written);
}

#[test]
fn a_simulated_stick_is_written_when_its_serial_number_fits() {
    let folder = tempfile::tempdir().unwrap();
    let write = |serial: &str| {
        run(
            folder.path(),
            &[
                "write",
                "sim:3m#S1",
                "--erase-block",
                "3MiB",
                "--yes",
                "--expect",
                serial,
            ],
        )
    };
    let refused = write("S2");
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("its serial number is 'S1'"),
        "{}",
        refused.stderr
    );
    let done = write("S1");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(backups(folder.path()).len(), 1);
}

#[test]
fn an_image_gets_the_sectors_that_it_is_meant_for() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let done = write(folder.path(), &image, &["--sector-size", "4096"]);
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
fn a_locked_image_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let file = fs::File::open(&image).unwrap();
    file.lock().unwrap();
    let refused = write(folder.path(), &image, &[]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("is locked by another program"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_kill_at_any_moment_is_undone_by_restore() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let rounds = if full() { 50 } else { 8 };
    let line = words(&[&["write", &image], &TABLE, &YES]);
    // How long it takes when nobody kills it.
    let began = std::time::Instant::now();
    let whole = writing(folder.path(), &line).output().unwrap();
    assert!(whole.status.success());
    let whole = began.elapsed();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut killed = 0;
    for _ in 0..rounds {
        // Anywhere in the run (xorshift64, Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let moment = whole.mul_f64((state % 1000) as f64 / 1000.0);
        for backup in backups(folder.path()) {
            fs::remove_file(backup).unwrap();
        }
        patterned(folder.path(), "a.img");
        let began = std::time::Instant::now();
        let mut child = writing(folder.path(), &line)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while began.elapsed() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        let Some(backup) = backups(folder.path()).pop() else {
            assert_eq!(checksum(&image), before);
            continue;
        };
        let restored = run(
            folder.path(),
            &words(&[&["restore", &image, "--backup", &backup], &YES]),
        );
        // A backup that was cut short itself is refused, and nothing was written then.
        assert!(matches!(restored.code, Some(0 | 1)), "{}", restored.stderr);
        assert_eq!(checksum(&image), before, "{}", restored.stderr);
    }
    assert!(killed > 0);
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

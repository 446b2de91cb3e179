//! Who says yes to a write, and where what was there is kept.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::{need, need_root};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use write_support::*;

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
        (&["--yes", "--expect", ""], 2, "a value is required"),
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
fn a_backup_goes_where_it_is_told_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    let before = checksum(&image);
    let file = folder.path().join("kept.json").to_str().unwrap().to_owned();
    for taken in [&file, &image, &folder.path().to_str().unwrap().to_owned()] {
        fs::write(&file, "precious").unwrap();
        let refused = write_image(folder.path(), &image, &["--backup", taken]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("never replaces"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }
    let nowhere = write_image(folder.path(), &image, &["--backup", "/no/such/folder/x"]);
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert!(
        nowhere.stderr.contains("nothing was written"),
        "{}",
        nowhere.stderr
    );
    assert_eq!(checksum(&image), before);
    fs::remove_file(&file).unwrap();
    assert_eq!(
        write_image(folder.path(), &image, &["--backup", &file]).code,
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
    let ended = write_image(folder.path(), &image, &["--backup", &file]);
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

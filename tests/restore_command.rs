//! `restore` on image files, from outside, also after a kill in the middle of a write.

#![allow(clippy::unwrap_used)] // tests

mod common;
mod write_support;

use common::full;
use std::fs;
use std::process::Stdio;
use write_support::*;

const MIB: u64 = 1 << 20;

#[test]
fn unattended_a_device_that_holds_nothing_of_the_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    assert_eq!(write_image(folder.path(), &image, &[]).code, Some(0));
    let backup = backups(folder.path()).pop().unwrap();
    // Another medium of the same size: every sector that the write touched holds something else.
    let size = fs::metadata(&image).unwrap().len();
    fs::write(&image, vec![0xa5; usize::try_from(size).unwrap()]).unwrap();
    let other = checksum(&image);
    let words = words(&[&["restore", &image, "--backup", &backup], &YES]);
    let refused = run(folder.path(), &words);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("may be another device"),
        "{}",
        refused.stderr
    );
    assert_eq!(checksum(&image), other);
}

#[test]
fn only_the_backup_of_this_device_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let image = patterned(folder.path(), "a.img");
    assert_eq!(write_image(folder.path(), &image, &[]).code, Some(0));
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
    let data = text.find("\"data\": \"").unwrap() + 9;
    let swapped = if text[data..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    let other_byte = format!("{}{swapped}{}", &text[..data], &text[data + 1..]);
    for (content, says) in [
        ("", "not a backup file"),
        ("{}", "no \"schema\""),
        (
            "{\"schema\":\"flashfit.backup/9\"}",
            "'flashfit.backup/9' is not known, this version restores flashfit.backup/1; use the version",
        ),
        (
            "{\"schema\":\"flashfit.layout/1\"}",
            "'flashfit.layout/1' is not known, this version restores flashfit.backup/1; name the file",
        ),
        (&text[..text.len() / 2], "not a backup file"),
        // Another first byte.
        (
            &text.replacen("\"data\": \"", "\"data\": \"////", 1),
            "as long as",
        ),
        (&other_byte, "damaged"),
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

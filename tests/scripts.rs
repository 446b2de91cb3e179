//! The scripts for sgdisk and parted, run through the real tools, give the table that the script
//! for sfdisk gives: on image files with 512-byte sectors and on loop devices with 4096.

// Helpers of a test may fail and speak as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "plan_support/mod.rs"]
mod plan_support;

use common::{need, need_loop};
use flashfit::output::{parted, sfdisk, sgdisk};
use flashfit::plan::intent::TableChoice;
use flashfit::plan::{Board, Layout, Medium, TableKind, alignment_of, layout};
use flashfit::units::{Bytes, LogicalBlock};
use plan_support::*;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CARD: u64 = 31_914_983_424;

/// A sparse file, perhaps under a loop device; both vanish with the value.
struct Disk {
    path: PathBuf,
    looped: bool,
    folder: tempfile::TempDir,
}

impl Disk {
    fn new(block: LogicalBlock) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        File::create(&image).unwrap().set_len(CARD).unwrap();
        if block == LogicalBlock::B512 {
            return Disk {
                path: image,
                looped: false,
                folder,
            };
        }
        let made = Command::new(common::tool("losetup").unwrap())
            .args(["--find", "--show", "--sector-size", "4096"])
            .arg(&image)
            .output()
            .unwrap();
        assert!(made.status.success());
        Disk {
            path: PathBuf::from(String::from_utf8(made.stdout).unwrap().trim()),
            looped: true,
            folder,
        }
    }

    /// Run a shell script on it.
    fn shell(&self, script: &str) {
        let file = self.folder.path().join("script.sh");
        std::fs::write(&file, script).unwrap();
        let done = Command::new("sh")
            .arg(&file)
            .arg(&self.path)
            .env("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}{}\n{script}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn sfdisk(&self, script: &str) {
        let mut child = Command::new(common::tool("sfdisk").unwrap())
            .args(["--no-reread", "--no-tell-kernel", "--quiet"])
            .arg(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success(), "{script}");
    }

    fn table(&self) -> Value {
        table(&self.path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.looped {
            // A tool may have made partitions, which would outlive the file behind them.
            let _ = Command::new("partx").arg("-d").arg(&self.path).output();
            let _ = Command::new(common::tool("losetup").unwrap())
                .arg("--detach")
                .arg(&self.path)
                .status();
        }
    }
}

fn table(path: &Path) -> Value {
    let read = Command::new(common::tool("sfdisk").unwrap())
        .arg("--json")
        .arg(path)
        .output()
        .unwrap();
    assert!(read.status.success());
    let mut json: Value = serde_json::from_slice(&read.stdout).unwrap();
    json["partitiontable"].take()
}

fn make(block: LogicalBlock, table: TableKind, erase_block: Bytes, phase: Bytes) -> Layout {
    let facts = facts(CARD, block);
    let mut wish = intent(&[
        "300MiB:fat32:BOOT",
        "513MiB:swap:swap space",
        "rest:ext4:it's $HOME",
        "64MiB:exfat:X",
    ]);
    wish.table = TableChoice::Kind(table);
    wish.partitions[0].bootable = true;
    let choice = alignment_of(erase_block, phase, &facts).unwrap();
    layout(
        &Medium::from_facts(&facts).unwrap(),
        &choice,
        &wish,
        ENTROPY,
    )
    .unwrap()
}

/// Grids with and without phase, in KiB.
const GRIDS: [(u64, u64); 6] = [
    (1536, 0),
    (4096, 1024),
    (6144, 0),
    (12288, 4096),
    (24576, 0),
    (65536, 0),
];

/// The same without what parted makes itself.
fn without_identifiers(mut table: Value) -> Value {
    table.as_object_mut().unwrap().remove("id");
    for partition in table["partitions"].as_array_mut().unwrap() {
        partition.as_object_mut().unwrap().remove("uuid");
    }
    table
}

fn matrix(block: LogicalBlock) {
    for (erase_block, phase) in GRIDS {
        for kind in [TableKind::Gpt, TableKind::Mbr] {
            let plan = make(block, kind, Bytes::kib(erase_block), Bytes::kib(phase));
            let disk = Disk::new(block);
            disk.sfdisk(&sfdisk::render(&plan));
            let wanted = disk.table();
            if kind == TableKind::Gpt {
                // Onto the old table, then onto nothing.
                disk.shell(&sgdisk::render(&plan).unwrap());
                assert_eq!(disk.table(), wanted);
                let fresh = Disk::new(block);
                fresh.shell(&sgdisk::render(&plan).unwrap());
                let mut made = fresh.table();
                rename(&mut made, &wanted);
                assert_eq!(made, wanted);
            }
            disk.shell(&parted::render(&plan).unwrap());
            assert_eq!(
                without_identifiers(disk.table()),
                without_identifiers(wanted)
            );
        }
    }
}

/// Another file has other names of its partitions.
fn rename(table: &mut Value, like: &Value) {
    table["device"] = like["device"].clone();
    let names = like["partitions"].as_array().unwrap();
    for (partition, name) in table["partitions"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(names)
    {
        partition["node"] = name["node"].clone();
    }
}

#[test]
fn both_scripts_make_the_table_of_sfdisk_with_512_byte_sectors() {
    if need("sfdisk") && need("sgdisk") && need("parted") {
        matrix(LogicalBlock::B512);
    }
}

#[test]
fn both_scripts_make_the_table_of_sfdisk_with_4096_byte_sectors() {
    if need("sfdisk") && need("sgdisk") && need("parted") && need_loop() {
        matrix(LogicalBlock::B4096);
    }
}

#[test]
fn whatever_was_there_before_is_replaced() {
    if !(need("sfdisk") && need("sgdisk") && need("parted") && need("mkfs.fat")) {
        return;
    }
    let wish = with_table(TableKind::Gpt, &["64MiB:fat32:boot", "rest:ext4"]);
    let plan = plan(CARD, Bytes::mib(4), &wish).unwrap();
    let disk = Disk::new(LogicalBlock::B512);
    disk.sfdisk(&sfdisk::render(&plan));
    let wanted = disk.table();
    let write = |at: u64| {
        use std::os::unix::fs::FileExt;
        let image = File::options().write(true).open(&disk.path).unwrap();
        image.write_all_at(&[0xff; 16], at).unwrap();
    };
    let before: [(&str, &dyn Fn()); 5] = [
        ("an MBR", &|| {
            disk.sfdisk("label: dos\nstart=2048,size=2048,type=7\n")
        }),
        ("logical partitions", &|| {
            disk.sfdisk(
                "label: dos\nstart=10000,size=50000,type=5\nstart=12000,size=100,type=83\n",
            );
        }),
        ("a damaged first GPT", &|| write(560)),
        ("two damaged GPTs", &|| {
            write(560);
            write(CARD - 512 + 48);
        }),
        ("a file system", &|| {
            let done = Command::new(common::tool("mkfs.fat").unwrap())
                .args(["-F", "32", "-I"])
                .arg(&disk.path)
                .output()
                .unwrap();
            assert!(done.status.success());
        }),
    ];
    for (what, prepare) in before {
        prepare();
        disk.shell(&sgdisk::render(&plan).unwrap());
        assert_eq!(disk.table(), wanted, "sgdisk over {what}");
        prepare();
        disk.shell(&parted::render(&plan).unwrap());
        let made = without_identifiers(disk.table());
        assert_eq!(
            made,
            without_identifiers(wanted.clone()),
            "parted over {what}"
        );
    }
}

#[test]
fn names_survive_the_shell_and_both_tools() {
    if !(need("sfdisk") && need("sgdisk") && need("parted")) {
        return;
    }
    let disk = Disk::new(LogicalBlock::B512);
    for name in [
        "two words",
        "a \"quoted\" name",
        "back\\slash",
        "\\x41",
        "$HOME `id` $(id) 'x'",
        "comma, semicolon; # = : *",
        " padded ",
        "größe 漢字",
        "123456789012345678901234567890123456",
        "'",
        "\"",
        "\\",
        "-x",
    ] {
        let wish = with_table(TableKind::Gpt, &[&format!("8MiB:none:{name}")]);
        let plan = plan(CARD, Bytes::mib(4), &wish).unwrap();
        let script = sgdisk::render(&plan).unwrap();
        disk.shell(&script);
        let stored = disk.table()["partitions"][0]["name"].clone();
        if name.contains(':') {
            assert_eq!(stored.as_str().unwrap_or(""), "");
            assert!(script.contains("sgdisk cannot store its name"));
        } else {
            assert_eq!(stored, name, "sgdisk");
        }
        disk.shell(&parted::render(&plan).unwrap());
        assert_eq!(disk.table()["partitions"][0]["name"], name, "parted");
    }
}

#[test]
fn a_line_break_in_a_reason_does_not_become_a_command() {
    let mut plan = make(
        LogicalBlock::B512,
        TableKind::Gpt,
        Bytes::mib(4),
        Bytes::ZERO,
    );
    plan.alignment.reason = "a\nrm -rf x\r\nb".to_owned();
    plan.table_reason = "c\u{85}\nid".to_owned();
    for script in [
        sgdisk::render(&plan).unwrap(),
        parted::render(&plan).unwrap(),
    ] {
        assert!(
            !script.contains("\nrm") && !script.contains("\nid"),
            "{script}"
        );
    }
}

#[test]
fn sgdisk_is_refused_for_an_mbr_and_parted_for_a_short_gpt() {
    let mbr = make(
        LogicalBlock::B512,
        TableKind::Mbr,
        Bytes::mib(4),
        Bytes::ZERO,
    );
    let error = sgdisk::render(&mbr).unwrap_err().to_string();
    assert!(error.contains("use --format sfdisk"), "{error}");
    let mut wish = with_table(TableKind::Gpt, &["64MiB:fat32:boot", "rest:ext4"]);
    wish.boot = Board::Allwinner;
    let short = plan(CARD, Bytes::mib(4), &wish).unwrap();
    let error = parted::render(&short).unwrap_err().to_string();
    assert!(error.contains("56") && error.contains("sgdisk"), "{error}");
    if !(need("sfdisk") && need("sgdisk")) {
        return;
    }
    // The other two make it, and leave the loader alone.
    let disk = Disk::new(LogicalBlock::B512);
    let loader = || {
        use std::os::unix::fs::FileExt;
        let mut bytes = [0; 512];
        let image = File::open(&disk.path).unwrap();
        image.read_exact_at(&mut bytes, 8192).unwrap();
        bytes
    };
    {
        use std::os::unix::fs::FileExt;
        let image = File::options().write(true).open(&disk.path).unwrap();
        image.write_all_at(&[0xee; 1 << 20], 8192).unwrap();
    }
    disk.sfdisk(&sfdisk::render(&short));
    let wanted = disk.table();
    assert_eq!(wanted["firstlba"], 16);
    assert_eq!(loader(), [0xee; 512]);
    disk.shell(&sgdisk::render(&short).unwrap());
    assert_eq!(disk.table(), wanted);
    assert_eq!(loader(), [0xee; 512]);
}

#[test]
fn a_device_with_other_sectors_is_refused_by_the_script_itself() {
    if !(need("sgdisk") && need("blockdev") && need_loop()) {
        return;
    }
    let disk = Disk::new(LogicalBlock::B4096);
    assert_scripts_refuse(&disk, "does not have sectors of 512 bytes");
}

/// The scripts for a card of 512-byte sectors refuse this disk, and say so; without a disk they
/// refuse as well.
fn assert_scripts_refuse(disk: &Disk, because: &str) {
    let plan = make(
        LogicalBlock::B512,
        TableKind::Gpt,
        Bytes::mib(4),
        Bytes::ZERO,
    );
    for script in [
        sgdisk::render(&plan).unwrap(),
        parted::render(&plan).unwrap(),
    ] {
        let file = disk.folder.path().join("script.sh");
        std::fs::write(&file, script).unwrap();
        let run = |command: &mut Command| command.output().unwrap();
        let done = run(Command::new("sh").arg(&file).arg(&disk.path));
        assert_eq!(done.status.code(), Some(1));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(said.contains(because), "{said}");
        assert!(!run(Command::new("sh").arg(&file)).status.success());
    }
}

#[test]
fn a_medium_of_another_size_is_refused_untouched() {
    if !need("blockdev") {
        return;
    }
    let disk = Disk::new(LogicalBlock::B512);
    let image = File::options().write(true).open(&disk.path).unwrap();
    image.set_len(CARD - 512).unwrap();
    assert_scripts_refuse(&disk, "does not have the 62333952 sectors");
    assert_eq!(std::fs::metadata(&disk.path).unwrap().len(), CARD - 512);
}

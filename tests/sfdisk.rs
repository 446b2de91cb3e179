//! The emitted script, run through the real sfdisk, gives the planned table: sector for sector,
//! name for name. On image files with 512-byte sectors and, as root, on loop devices with 4096.

// Helpers of a test may fail and speak as the tests themselves may.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use flashfit::output::sfdisk;
use flashfit::plan::intent::{Intent, TableChoice};
use flashfit::plan::layout::{AlignedBy, Layout, Warning};
use flashfit::plan::{Medium, PartitionType, TableKind, alignment_of, layout};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, Lba, LogicalBlock, Sectors};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Capacities of real media (a 32 GB and a 4 GB card, a 16 GB and an 8 GB stick): multiples of
/// 512 KiB, of 1 MiB or of neither.
const CAPACITIES: [u64; 4] = [31_914_983_424, 3_965_190_144, 16_012_804_096, 7_902_068_736];

/// Erase blocks in KiB, with a phase in KiB for the runs that have one.
const GRIDS: [(u64, u64); 7] = [
    (1536, 512),
    (3072, 1024),
    (4096, 1024),
    (6144, 2048),
    (8192, 4096),
    (12288, 4096),
    (24576, 8192),
];

fn tool(name: &str) -> bool {
    let found = Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: needs {name}");
    }
    found
}

/// A sparse file, perhaps under a loop device; both vanish with the value.
struct Disk {
    path: PathBuf,
    looped: bool,
    _directory: tempfile::TempDir,
}

impl Disk {
    fn new(capacity: u64, block: LogicalBlock) -> Option<Disk> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("disk.img");
        File::create(&image).unwrap().set_len(capacity).unwrap();
        if block == LogicalBlock::B512 {
            return Some(Disk {
                path: image,
                looped: false,
                _directory: directory,
            });
        }
        let made = Command::new("losetup")
            .args(["--find", "--show", "--sector-size", "4096"])
            .arg(&image)
            .output();
        let path = made.ok().filter(|made| made.status.success()).map(|made| {
            let text = String::from_utf8(made.stdout).unwrap();
            PathBuf::from(text.trim())
        });
        if path.is_none() {
            eprintln!("skipped: needs root and losetup for 4096-byte sectors");
        }
        path.map(|path| Disk {
            path,
            looped: true,
            _directory: directory,
        })
    }

    /// Feed a script; the words of sfdisk on failure.
    fn apply(&self, script: &str) -> Result<(), String> {
        // No --force: whatever sfdisk objects to is a fault of the script. The kernel here may have
        // no partition parsers, so it is not asked to look.
        let mut child = Command::new("sfdisk")
            .args(["--no-reread", "--no-tell-kernel", "--quiet"])
            .arg(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        // A warning would mean that sfdisk changed something.
        if done.status.success() && said.is_empty() {
            Ok(())
        } else {
            Err(said)
        }
    }

    fn table(&self) -> Value {
        read_table(&self.path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.looped {
            // A tool may have made partitions, which would outlive the file behind them.
            let _ = Command::new("partx").arg("-d").arg(&self.path).output();
            let _ = Command::new("losetup")
                .arg("--detach")
                .arg(&self.path)
                .status();
        }
    }
}

fn read_table(path: &Path) -> Value {
    let read = Command::new("sfdisk")
        .arg("--json")
        .arg(path)
        .output()
        .unwrap();
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    let mut json: Value = serde_json::from_slice(&read.stdout).unwrap();
    json["partitiontable"].take()
}

fn plan(
    capacity: u64,
    block: LogicalBlock,
    grid: (Bytes, Bytes),
    table: TableKind,
    partitions: &[&str],
) -> Layout {
    let facts = Facts::bare("test", Transport::Image, Some(Bytes(capacity)), block);
    let intent = Intent {
        table: TableChoice::Kind(table),
        partitions: partitions.iter().map(|p| p.parse().unwrap()).collect(),
        ..Intent::default()
    };
    let choice = alignment_of(grid.0, grid.1, &facts).unwrap();
    layout(
        &Medium::from_facts(&facts).unwrap(),
        &choice,
        &intent,
        [0x5a; 16],
    )
    .unwrap()
}

/// Compare everything that a table holds.
fn assert_same(layout: &Layout, table: &Value) {
    let (label, ids) = match layout.table {
        TableKind::Mbr => ("dos", layout.disk_id.to_string()),
        TableKind::Gpt => ("gpt", layout.disk_id.to_string()),
    };
    assert_eq!(table["label"], label);
    assert_eq!(table["id"], ids.as_str());
    assert_eq!(table["sectorsize"], layout.logical_block.bytes().get());
    if layout.table == TableKind::Gpt {
        assert_eq!(table["firstlba"], layout.first_usable.get());
        assert_eq!(table["lastlba"], layout.last_usable.get());
    }
    let found = table["partitions"].as_array().unwrap();
    assert_eq!(found.len(), layout.partitions.len());
    for (planned, found) in layout.partitions.iter().zip(found) {
        assert_eq!(found["start"], planned.first.get());
        assert_eq!(found["size"], planned.sectors.get());
        let kind = match planned.kind {
            PartitionType::Mbr(code) => format!("{code:x}"),
            PartitionType::Gpt(guid) => guid.to_string(),
        };
        assert_eq!(found["type"], kind.as_str());
        assert_eq!(found["name"].as_str().unwrap_or(""), planned.name);
        let uuid = planned.uuid.map(|uuid| uuid.to_string());
        assert_eq!(found["uuid"].as_str(), uuid.as_deref());
        assert_eq!(
            found["bootable"].as_bool().unwrap_or(false),
            planned.bootable
        );
        let attributes = found["attrs"].as_str().unwrap_or("");
        assert_eq!(
            attributes.contains("LegacyBIOSBootable"),
            planned.attributes & 4 != 0
        );
        assert_eq!(
            attributes.contains("GUID:60,63"),
            planned.attributes >> 60 == 0b1001
        );
    }
}

fn matrix(block: LogicalBlock) {
    if !tool("sfdisk") {
        return;
    }
    for capacity in CAPACITIES {
        let Some(disk) = Disk::new(capacity, block) else {
            return;
        };
        for (erase_block, phase) in GRIDS {
            for phase in [0, phase] {
                for table in [TableKind::Mbr, TableKind::Gpt] {
                    let wishes = [
                        "300MiB:fat32:BOOT",
                        "513MiB:swap:swap",
                        "rest:ext4:data",
                        "64MiB:exfat:X",
                    ];
                    let grid = (Bytes::kib(erase_block), Bytes::kib(phase));
                    let mut plan = plan(capacity, block, grid, table, &wishes);
                    match table {
                        TableKind::Mbr => plan.partitions[0].bootable = true,
                        TableKind::Gpt => plan.partitions[0].attributes = 1 << 60 | 1 << 63 | 4,
                    }
                    plan.check().unwrap();
                    let script = sfdisk::render(&plan);
                    disk.apply(&script)
                        .unwrap_or_else(|said| panic!("{said}\n{script}"));
                    assert_same(&plan, &disk.table());
                }
            }
        }
    }
}

#[test]
fn sfdisk_makes_the_planned_table_with_512_byte_sectors() {
    matrix(LogicalBlock::B512);
}

#[test]
fn sfdisk_makes_the_planned_table_with_4096_byte_sectors() {
    matrix(LogicalBlock::B4096);
}

#[test]
fn names_survive_quoting() {
    if !tool("sfdisk") {
        return;
    }
    let disk = Disk::new(CAPACITIES[1], LogicalBlock::B512).unwrap();
    for name in [
        "two words",
        "a \"quoted\" name",
        "back\\slash",
        "\\x41",
        "$HOME `id` 'x'",
        "comma, semicolon; # =",
        " padded ",
        "größe 漢字",
        "123456789012345678901234567890123456",
        "\"",
        "\\",
    ] {
        let wish = format!("8MiB:none:{name}");
        let grid = (Bytes::mib(4), Bytes::ZERO);
        let plan = plan(
            CAPACITIES[1],
            LogicalBlock::B512,
            grid,
            TableKind::Gpt,
            &[&wish],
        );
        assert_eq!(plan.partitions[0].name, name);
        let script = sfdisk::render(&plan);
        disk.apply(&script)
            .unwrap_or_else(|said| panic!("{said}\n{script}"));
        assert_same(&plan, &disk.table());
    }
}

#[test]
fn starts_below_1_mib_are_taken_literally() {
    if !tool("sfdisk") {
        return;
    }
    for table in [TableKind::Mbr, TableKind::Gpt] {
        let disk = Disk::new(CAPACITIES[3], LogicalBlock::B512).unwrap();
        let grid = (Bytes::mib(4), Bytes::ZERO);
        let mut plan = plan(
            CAPACITIES[3],
            LogicalBlock::B512,
            grid,
            table,
            &["rest:fat32"],
        );
        let end = plan.partitions[0].end().get();
        // The file allocation table in front of the grid, its data area on it; other parameters than
        // the plan chose.
        plan.partitions[0].format = None;
        plan.partitions[0].first = Lba(256);
        plan.partitions[0].sectors = Sectors(end - 256);
        plan.partitions[0].aligned_by = AlignedBy::DataArea {
            reason: "test".to_owned(),
        };
        plan.gaps[0].to = Lba(256);
        plan.check().unwrap();
        disk.apply(&sfdisk::render(&plan)).unwrap();
        assert_same(&plan, &disk.table());
    }
}

#[test]
fn a_line_break_in_a_reason_does_not_become_a_command() {
    if !tool("sfdisk") {
        return;
    }
    let disk = Disk::new(CAPACITIES[1], LogicalBlock::B512).unwrap();
    let grid = (Bytes::mib(4), Bytes::ZERO);
    let mut plan = plan(
        CAPACITIES[1],
        LogicalBlock::B512,
        grid,
        TableKind::Mbr,
        &["rest:fat32"],
    );
    plan.alignment.reason = "a\nlabel: gpt\r\nb".to_owned();
    plan.table_reason = "c\u{85}\u{2028}start=1".to_owned();
    plan.warnings.push(Warning {
        code: "test".to_owned(),
        text: "\nstart=2048, size=5, type=83".to_owned(),
    });
    plan.warnings.push(Warning {
        code: "test".to_owned(),
        text: "ü, start=2048 ".repeat(1000),
    });
    disk.apply(&sfdisk::render(&plan)).unwrap();
    assert_same(&plan, &disk.table());
}

#[test]
fn a_script_for_the_other_sector_size_is_noticed() {
    if !tool("sfdisk") {
        return;
    }
    let Some(disk) = Disk::new(CAPACITIES[1], LogicalBlock::B4096) else {
        return;
    };
    let grid = (Bytes::mib(4), Bytes::ZERO);
    let plan = plan(
        CAPACITIES[1],
        LogicalBlock::B512,
        grid,
        TableKind::Mbr,
        &["64MiB:fat32"],
    );
    let said = disk.apply(&sfdisk::render(&plan)).unwrap_err();
    assert!(said.contains("sector size"), "{said}");
}

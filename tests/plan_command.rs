//! `flashfit plan` from outside: three sources, three formats, and what cannot be planned.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::{flashfit, flowing, image};
use flashfit::output::layout_json;
use flashfit::plan::layout::{Layout, Partition};
use flashfit::units::{Bytes, Lba};
use std::path::Path;

/// Numbers of a card, given by hand.
const GIVEN: [&str; 5] = [
    "plan",
    "--capacity",
    "31914983424B",
    "--erase-block",
    "8MiB",
];

fn given(more: &[&str]) -> Vec<&'static str> {
    // Test words live as long as the test program.
    GIVEN
        .into_iter()
        .chain(
            more.iter()
                .map(|word| &*Box::leak((*word).to_owned().into_boxed_str())),
        )
        .collect()
}

/// A saved report on a simulated stick.
fn report(folder: &Path, stick: &str) -> String {
    let path = folder.join("stick.json");
    let saved = path.to_str().unwrap().to_owned();
    let ended = flashfit(&["scan", stick, "--report", &saved]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    saved
}

#[test]
fn one_command_prints_report_layout_and_script() {
    let text = flashfit(&["plan", "sim:corsair-voyager"]).success();
    let flow = flowing(&text);
    let mut rest = flow.as_str();
    for words in [
        "Corsair Voyager 3.0 (sim:corsair-voyager)",
        "The erase block is 8 MiB: ",
        "alignment to use          8 MiB = 16384 sectors",
        "Measuring wrote nothing.",
        "\nLayout\n",
        "MBR table, disk identifier 0x",
        "16384  31260671  31244288",
        "not covered by partitions:",
        "table and alignment to 8 MiB",
        "grid tail",
        "\nScript for sfdisk",
        "label: dos\n",
        "start=16384, size=31244288, type=c\n",
    ] {
        let at = rest
            .find(&flowing(words))
            .unwrap_or_else(|| panic!("'{words}' not in order in:\n{text}"));
        rest = &rest[at..];
    }
}

#[test]
fn a_script_or_json_stands_alone_on_stdout_and_the_report_on_stderr() {
    for (format, first) in [
        ("sfdisk", "# flashfit partition script"),
        ("json", "{\n  \"schema\": \"flashfit.layout/1\""),
    ] {
        let ended = flashfit(&["plan", "sim:corsair-voyager", "--format", format]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
        assert!(
            !ended.stdout.contains("The erase block is"),
            "{}",
            ended.stdout
        );
        assert!(
            ended.stderr.contains("The erase block is 8 MiB: "),
            "{}",
            ended.stderr
        );
        assert!(
            flowing(&ended.stderr).contains("Measuring wrote nothing."),
            "{}",
            ended.stderr
        );
    }
    let ended = flashfit(&["plan", "sim:corsair-voyager", "--format", "json"]);
    let layout = layout_json::parse(&ended.stdout).unwrap();
    assert_eq!(layout.partitions[0].first, Lba(16384));
    assert_eq!(layout.alignment.erase_block, Some(Bytes::mib(8)));
}

#[test]
fn all_three_sources_give_the_same_layout() {
    let folder = tempfile::tempdir().unwrap();
    let saved = report(folder.path(), "sim:corsair-voyager");
    let layout = |words: &[&str]| {
        let more = [
            "--format",
            "json",
            "--id-seed",
            "x",
            "--partition",
            "1GiB:fat32:BOOT",
            "--partition",
            "rest:ext4",
        ];
        let ended = flashfit(&[&["plan"], words, &more].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        layout_json::parse(&ended.stdout).unwrap()
    };
    let scanned = layout(&["sim:corsair-voyager"]);
    assert_eq!(layout(&["--report", &saved]), scanned);
    let by_hand = layout(&["--capacity", "16012804096B", "--erase-block", "8MiB"]);
    // The insides of file systems differ: only a scan knows the page.
    let places = |layout: &Layout| -> Vec<_> {
        let place = |p: &Partition| (p.first, p.sectors, p.kind, p.uuid);
        layout.partitions.iter().map(place).collect()
    };
    assert_eq!(places(&by_hand), places(&scanned));
    assert_eq!(by_hand.disk_id, scanned.disk_id);
}

#[test]
fn numbers_given_by_hand_lead_to_a_layout_without_report() {
    let text = flashfit(&given(&["--phase", "4MiB", "--fs", "ext4"])).success();
    assert!(
        text.contains("starts on a grid of 8 MiB at phase 4 MiB"),
        "{text}"
    );
    assert!(!text.contains("The erase block"), "{text}");
    let four = flashfit(&given(&["--sector-size", "4096", "--format", "sfdisk"])).success();
    assert!(
        four.contains("sector-size: 4096\n") && four.contains("start=2048,"),
        "{four}"
    );
    // In sectors, as fdisk prints it.
    let sectors = flashfit(&[
        "plan",
        "--capacity",
        "62333952s",
        "--erase-block",
        "16384s",
        "--id-seed",
        "x",
    ]);
    assert_eq!(
        sectors.success(),
        flashfit(&given(&["--id-seed", "x"])).success()
    );
}

#[test]
fn the_intent_reaches_the_layout() {
    let words = given(&[
        "--format",
        "json",
        "--table",
        "gpt",
        "--partition",
        "256MiB:fat32:BOOT",
        "--partition",
        "rest:ext4:root",
        "--align",
        "24MiB",
        "--keep-out",
        "1GiB-2GiB",
        "--reserve-end",
        "1GiB",
        "--max-size",
        "16GiB",
        "--disk-id",
        "12345678-9ABC-4DEF-8123-456789ABCDEF",
    ]);
    let text = flashfit(&words).success();
    let layout = layout_json::parse(&text).unwrap();
    assert_eq!(layout.table.word(), "gpt");
    assert_eq!(
        layout.disk_id.to_string(),
        "12345678-9ABC-4DEF-8123-456789ABCDEF"
    );
    assert_eq!(layout.alignment.alignment.grain(), Bytes::mib(24));
    assert_eq!(layout.partitions.len(), 2);
    assert_eq!(layout.partitions[0].filesystem.word(), "fat32");
    assert_eq!(layout.partitions[1].label.as_deref(), Some("root"));
    assert_eq!(layout.keep_out[0].range.from, Bytes::gib(1));
    let end = layout.byte_range(&layout.partitions[1]).to;
    assert!(end <= Bytes::gib(16), "{end}");
}

#[test]
fn identifiers_are_new_each_time_unless_they_are_derived_from_a_text() {
    let script = |seed: &[&str]| {
        flashfit(&given(
            &[&["--format", "sfdisk", "--table", "gpt"], seed].concat(),
        ))
        .success()
    };
    assert_ne!(script(&[]), script(&[]));
    let seeded = script(&["--id-seed", "my stick"]);
    assert_eq!(seeded, script(&["--id-seed", "my stick"]));
    assert_ne!(seeded, script(&["--id-seed", "yours"]));
}

#[test]
fn a_grid_that_was_not_measured_is_a_plan_unless_measuring_is_required() {
    let text = flashfit(&["plan", "sim:intel-x25"]).success();
    assert!(
        text.contains("The erase block could not be told.")
            && text.contains("starts on a grid of 48 MiB"),
        "{text}"
    );
    let ended = flashfit(&["plan", "sim:intel-x25", "--require-measured"]);
    assert_eq!(ended.code, Some(3));
    assert!(
        ended.stdout.contains("The erase block could not be told.")
            && !ended.stdout.contains("Layout"),
        "{}",
        ended.stdout
    );
    let line = ended.one_line();
    assert!(
        line.starts_with("the erase block is neither confirmed nor likely"),
        "{line}"
    );
    let folder = tempfile::tempdir().unwrap();
    let saved = report(folder.path(), "sim:intel-x25");
    assert_eq!(flashfit(&["plan", "--report", &saved]).code, Some(0));
    assert_eq!(
        flashfit(&["plan", "--report", &saved, "--require-measured"]).code,
        Some(3)
    );
    // What was measured, or given by hand, passes.
    assert_eq!(
        flashfit(&["plan", "sim:corsair-voyager", "--require-measured"]).code,
        Some(0)
    );
    assert_eq!(flashfit(&given(&["--require-measured"])).code, Some(0));
}

#[test]
fn an_image_file_gets_a_layout_on_a_careful_grid() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "card.img", 4_000_000_000);
    let text = flashfit(&["plan", &path]).success();
    assert!(
        text.contains("this is an image file") && text.contains("starts on a grid of 12 MiB"),
        "{text}"
    );
}

#[test]
fn the_script_makes_the_planned_table() {
    if !common::need("sfdisk") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "stick.img", 16_012_804_096);
    let script = flashfit(&[
        "plan",
        "sim:corsair-voyager",
        "--format",
        "sfdisk",
        "--id-seed",
        "x",
    ])
    .stdout;
    let sfdisk = common::tool("sfdisk").unwrap();
    let run = assert_cmd::Command::new(&sfdisk)
        .args(["--no-reread", "-q", &path])
        .write_stdin(script.clone())
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let dump = std::process::Command::new(&sfdisk)
        .args(["--dump", &path])
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    let id = script
        .lines()
        .find(|line| line.starts_with("label-id: "))
        .unwrap();
    assert!(dump.contains(id), "{dump}");
    let squeezed: String = dump.chars().filter(|c| *c != ' ').collect();
    assert!(
        squeezed.contains("start=16384,size=31244288,type=c\n"),
        "{dump}"
    );
}

#[test]
fn options_that_contradict_the_device_are_usage_errors() {
    for (more, words) in [
        (&["--partition", "1:ext4"][..], "'1' has no unit"),
        (&["--partition", "1GiB:zfs"], "unknown file system 'zfs'"),
        (
            &["--partition", "rest", "--partition", "rest"],
            "both ask for 'rest'",
        ),
        (&["--disk-id", "0x123"], "is no disk identifier"),
        (
            &["--disk-id", "keep"],
            "without a device there is no identifier to keep",
        ),
        (
            &["--disk-id", "0x12345678", "--table", "gpt"],
            "belongs to an MBR table",
        ),
        (&["--align", "513B"], "no multiple of the physical block"),
        (&["--keep-out", "0s-2048s"], "the MBR table itself needs"),
        (&["--keep-out", "31GiB-33GiB"], "ends beyond the medium"),
        (&["--phase", "100B"], "no multiple of the sector size"),
        (
            &["--phase", "9MiB"],
            "--phase 9 MiB is not smaller than --erase-block 8 MiB; the boundaries repeat, so this means the same: --phase 1048576B",
        ),
    ] {
        let line = flashfit(&given(more)).failure(2);
        assert!(line.contains(words), "{more:?}: {line}");
    }
}

#[test]
fn what_does_not_fit_the_device_fails() {
    for (more, words) in [
        (
            &["--partition", "40GiB:ext4"][..],
            "make it smaller, or use 'rest'",
        ),
        (
            &["--max-size", "4MiB"],
            "--max-size leaves no room for a partition",
        ),
        (
            &["--reserve-end", "99GiB"],
            "--reserve-end leaves no room for a partition",
        ),
        (&["--align", "64GiB"], "has no room for a partition"),
    ] {
        let line = flashfit(&given(more)).failure(1);
        assert!(line.contains(words), "{more:?}: {line}");
    }
}

#[test]
fn numbers_given_by_hand_must_be_whole_sectors_and_enough_of_them() {
    for (capacity, erase_block, block, code, words) in [
        (
            "8000000001B",
            "4MiB",
            "512",
            2,
            "--capacity of 8000000001 bytes is no multiple of the sector size of 512 bytes",
        ),
        (
            "8GB",
            "4000B",
            "512",
            2,
            "--erase-block of 4000 bytes is no multiple",
        ),
        (
            "8GiB",
            "512B",
            "4096",
            2,
            "--erase-block of 512 bytes is no multiple",
        ),
        (
            "15MiB",
            "1MiB",
            "512",
            1,
            "15 MiB is too small for a layout, the least is 16 MiB",
        ),
    ] {
        let line = flashfit(&[
            "plan",
            "--capacity",
            capacity,
            "--erase-block",
            erase_block,
            "--sector-size",
            block,
        ])
        .failure(code);
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn an_identifier_of_the_other_table_and_one_that_is_none_are_named_rightly() {
    let guid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    let line = flashfit(&given(&["--disk-id", guid, "--table", "mbr"])).failure(2);
    assert!(line.contains("belongs to a GPT table"), "{line}");
    let line = flashfit(&given(&["--disk-id", "0x123"])).failure(2);
    assert!(
        !line.contains("keep") && line.contains("or random"),
        "{line}"
    );
}

#[test]
fn what_is_wrong_whatever_the_device_is_said_before_the_scan() {
    let line = flashfit(&["plan", "sim:corsair-voyager", "--partition", "0MiB"]).failure(2);
    assert!(
        line.contains("has size zero") && line.ends_with("see: flashfit plan --help"),
        "{line}"
    );
}

#[test]
fn a_report_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let saved = report(folder.path(), "sim:corsair-voyager");
    let good = std::fs::read_to_string(&saved).unwrap();
    let refused = |text: &str, words: &str| {
        std::fs::write(&saved, text).unwrap();
        let line = flashfit(&["plan", "--report", &saved]).failure(1);
        assert!(
            line.starts_with(&format!("{saved}: ")) && line.contains(words),
            "{line}"
        );
    };
    refused(
        &good.replace("report/1", "report/2"),
        "schema 'flashfit.report/2' is not known, this version reads flashfit.report/1; make",
    );
    refused(&good.replace("\"reads\":", "\"reads\""), "line");
    refused(
        &good.replace("\"confidence\": 0", "\"confidence\": 7"),
        "is not between 0 and 1",
    );
    refused("", "line 1");
    let line = flashfit(&["plan", "--report", "/no/such.json"]).failure(1);
    assert_eq!(
        line,
        "cannot read /no/such.json: no such file; check the name"
    );
}

#[test]
fn a_scan_that_ends_early_gives_no_layout() {
    let folder = tempfile::tempdir().unwrap();
    let profile = format!("{}[faults]\nvanish_after = 50\n", common::program::PLAIN);
    let name = common::program::stick(folder.path(), "pulled", &profile);
    let ended = flashfit(&["plan", &name]);
    assert_eq!(ended.code, Some(6));
    assert!(
        flowing(&ended.stdout).contains("A failed access ended it.")
            && !ended.stdout.contains("Layout"),
        "{}",
        ended.stdout
    );
    assert!(ended.one_line().contains("the device went away"));
}

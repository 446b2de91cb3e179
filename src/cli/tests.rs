//! What is accepted, what is refused, and with which words.

use super::*;
use crate::units::Bytes;
use clap::error::ErrorKind;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = std::iter::once("flashfit").chain(line.split_whitespace());
    Cli::try_parse_from(words).map(|cli| cli.command)
}

fn plan(line: &str) -> PlanArgs {
    match parse(line) {
        Ok(Command::Plan(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn refused(line: &str, kind: ErrorKind, words: &str) {
    let error = parse(line).unwrap_err();
    assert_eq!(error.kind(), kind, "{line}: {error}");
    assert!(error.to_string().contains(words), "{line}: {error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn the_definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_scan_has_a_limit_and_a_seed_without_being_asked() {
    match parse("scan /dev/sdx").unwrap() {
        Command::Scan(args) => {
            assert_eq!(args.device, "/dev/sdx");
            assert_eq!(args.time_limit, Duration::from_secs(300));
            assert_eq!(args.seed, 1);
            assert_eq!(args.output, ReportArgs::default());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_has_exactly_one_source() {
    assert_eq!(plan("plan sim:x").source(), PlanSource::Device("sim:x"));
    assert_eq!(
        plan("plan --report a.json").source(),
        PlanSource::Report(Path::new("a.json"))
    );
    assert_eq!(
        plan("plan --capacity 8GB --erase-block 12MiB --phase 4MiB --sector-size 4096").source(),
        PlanSource::Given {
            capacity: Size::Bytes(Bytes(8_000_000_000)),
            erase_block: Size::Bytes(Bytes::mib(12)),
            phase: Some(Size::Bytes(Bytes::mib(4))),
            sector_size: LogicalBlock::B4096,
        }
    );
    refused(
        "plan",
        ErrorKind::MissingRequiredArgument,
        "<DEVICE|--report",
    );
    for line in [
        "plan sim:x --report a.json",
        "plan sim:x --capacity 8GB --erase-block 4MiB",
        "plan --report a.json --capacity 8GB --erase-block 4MiB",
        "plan sim:x --erase-block 4MiB",
        "plan --report a.json --phase 4MiB",
        "plan sim:x --sector-size 512",
        "plan --report a.json --seed 3",
        "plan --capacity 8GB --erase-block 4MiB --time-limit 5m",
    ] {
        refused(line, ErrorKind::ArgumentConflict, "cannot be used with");
    }
    for line in [
        "plan --capacity 8GB",
        "plan --erase-block 4MiB",
        "plan --phase 4MiB --capacity 8GB",
    ] {
        refused(line, ErrorKind::MissingRequiredArgument, "required");
    }
}

#[test]
fn the_intent_is_kept_as_typed() {
    let intent = plan(
        "plan sim:x --table gpt --partition 256MiB:fat32:BOOT --partition rest --keep-out 0s-2048s \
         --keep-out 1GiB-2GiB --reserve-end 1GiB --max-size 8GB --align 1.5MiB --disk-id 0x12345678 \
         --id-seed a --require-measured --format sfdisk",
    )
    .intent;
    assert_eq!(intent.table, TableChoice::Gpt);
    assert_eq!(intent.partitions, ["256MiB:fat32:BOOT", "rest"]);
    assert_eq!(intent.keep_out.len(), 2);
    assert_eq!(intent.align, Some(Size::Bytes(Bytes(3 << 19))));
    assert_eq!(intent.disk_id, "0x12345678");
    assert_eq!(intent.id_seed.as_deref(), Some("a"));
    assert!(intent.require_measured);
    let default = plan("plan sim:x").intent;
    assert_eq!(default.table, TableChoice::Auto);
    assert_eq!(default.disk_id, "random");
}

#[test]
fn one_file_system_for_all_excludes_single_partitions() {
    refused(
        "plan sim:x --fs ext4 --partition rest",
        ErrorKind::ArgumentConflict,
        "cannot be used with",
    );
    refused(
        "plan sim:x --fs zfs",
        ErrorKind::InvalidValue,
        "fat16, fat32",
    );
}

#[test]
fn sizes_and_times_say_what_is_wrong_with_them() {
    use ErrorKind::ValueValidation;
    refused(
        "plan --capacity 8 --erase-block 4MiB",
        ValueValidation,
        "'8' has no unit",
    );
    refused(
        "plan sim:x --align 0MiB",
        ValueValidation,
        "must not be zero",
    );
    refused(
        "plan sim:x --align 1.1KiB",
        ValueValidation,
        "no whole number of bytes",
    );
    refused(
        "plan sim:x --max-size 16777216TiB",
        ValueValidation,
        "beyond 2^64",
    );
    refused(
        "plan sim:x --keep-out 2MiB-1MiB",
        ValueValidation,
        "FROM must be smaller",
    );
    refused("scan sim:x --time-limit 5", ValueValidation, "no unit");
    refused("scan sim:x --seed -1", ErrorKind::UnknownArgument, "-1");
    refused("analyze", ErrorKind::MissingRequiredArgument, "FILE");
    refused(
        "analyze a.log --sector-size 1024",
        ErrorKind::InvalidValue,
        "512, 4096",
    );
}

fn write(line: &str) -> WriteArgs {
    match parse(line) {
        Ok(Command::Write(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_write_scans_unless_it_is_told_where_the_layout_comes_from() {
    assert_eq!(write("write sim:x").source(), WriteSource::Scan);
    let report = write("write sim:x --report a.json --fs ext4");
    assert_eq!(report.source(), WriteSource::Report(Path::new("a.json")));
    let layout = write("write sim:x --layout a.json");
    assert_eq!(layout.source(), WriteSource::Layout(Path::new("a.json")));
    let given = write("write sim:x --erase-block 4MiB --capacity 8GB");
    assert!(matches!(
        given.source(),
        WriteSource::Given { phase: None, .. }
    ));
    for line in [
        "write sim:x --report a --layout b",
        "write sim:x --report a --erase-block 4MiB",
        "write sim:x --layout a --erase-block 4MiB",
        "write sim:x --layout a --fs ext4",
        "write sim:x --layout a --disk-id keep",
        "write sim:x --layout a --table gpt",
        "write sim:x --layout a --seed 2",
        "write sim:x --erase-block 4MiB --time-limit 5m",
        "plan sim:x --layout a",
        "plan --layout a --align 4MiB",
        "plan --layout a --capacity 8GB --erase-block 4MiB",
    ] {
        refused(line, ErrorKind::ArgumentConflict, "cannot be used with");
    }
    for line in [
        "write",
        "write sim:x --phase 4MiB",
        "write sim:x --capacity 8GB",
        "restore x",
    ] {
        refused(line, ErrorKind::MissingRequiredArgument, "required");
    }
}

#[test]
fn consent_is_kept_as_typed() {
    let consent = write("write sim:x --yes --expect A --expect B --expect-size ~32GB").consent;
    assert!(consent.yes);
    assert_eq!(consent.expect, ["A", "B"]);
    let gigabytes = Size::Bytes(Bytes(32_000_000_000));
    assert_eq!(consent.expect_size, Some(ExpectedSize::About(gigabytes)));
    refused(
        "write sim:x --expect-size 32",
        ErrorKind::ValueValidation,
        "has no unit",
    );
}

fn wizard(line: &str) -> WizardArgs {
    match parse(line) {
        Ok(Command::Wizard(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_wizard_takes_any_number_of_devices() {
    let none = wizard("wizard");
    assert!(none.devices.is_empty() && !none.consent.yes);
    assert_eq!((none.write_tests, none.log), (None, LogForm::Text));
    let two = wizard("wizard /dev/sdb sim:x#1 --yes --expect 1 --log json --fs exfat --mkfs");
    assert_eq!(two.devices, ["/dev/sdb", "sim:x#1"]);
    assert!(two.consent.yes && two.mkfs && two.log == LogForm::Json);
}

#[test]
fn a_profile_stands_in_for_measuring_and_only_a_profile_is_verified() {
    let profile = wizard("wizard sim:x --profile a.json --verify-profile --seed 2").profile;
    assert_eq!(profile.as_deref(), Some(Path::new("a.json")));
    for line in [
        "wizard sim:x --profile a.json --write-tests none",
        "wizard sim:x --profile a.json --time-limit 5m",
        "wizard sim:x --profile a.json --write-limit 1GiB",
        "wizard sim:x --profile a.json --samples a",
    ] {
        refused(line, ErrorKind::ArgumentConflict, "cannot be used with");
    }
    refused(
        "wizard sim:x --log json",
        ErrorKind::MissingRequiredArgument,
        "--yes",
    );
    refused(
        "wizard sim:x --verify-profile",
        ErrorKind::MissingRequiredArgument,
        "--profile",
    );
}

use super::*;

#[test]
fn a_counterfeit_stick_wraps_its_addresses() {
    let stick = &mut stick("counterfeit.real = \"16MiB\"");
    fill(stick, MIB, 4096, 1).unwrap();
    assert_eq!(bytes(stick, 17 * MIB, 4096), [1; 4096]);
    fill(stick, 49 * MIB, 4096, 2).unwrap();
    assert_eq!(bytes(stick, MIB, 4096), [2; 4096]);
    // Across the end of what is real.
    fill(stick, 16 * MIB - 4096, 8192, 3).unwrap();
    assert_eq!(bytes(stick, 0, 4096), [3; 4096]);
    assert_ne!(bytes(stick, 4096, 4096), [3; 4096]);
}

#[test]
fn a_counterfeit_stick_may_also_lose_what_lies_beyond() {
    let stick = &mut stick("counterfeit = { real = \"16MiB\", beyond = \"vanish\" }");
    let start = bytes(stick, 0, 4096);
    fill(stick, 16 * MIB - 4096, 8192, 3).unwrap();
    assert_eq!(bytes(stick, 16 * MIB - 4096, 4096), [3; 4096]);
    assert_eq!(bytes(stick, 16 * MIB, 4096), [0; 4096]);
    assert_eq!(bytes(stick, 0, 4096), start);
}

#[test]
fn bad_ranges_cannot_be_read_or_written() {
    let stick =
        &mut stick("faults.unreadable = [\"1MiB-2MiB\"]\nfaults.unwritable = [\"3MiB-4MiB\"]");
    let error = stick.read(Bytes(MIB - 4096), &mut AlignedBuffer::new(8192));
    assert!(
        matches!(error, Err(AccessError::Io { at: MIB, .. })),
        "{error:?}"
    );
    fill(stick, MIB, 4096, 1).unwrap();
    read(stick, 3 * MIB, 4096);
    let before = bytes(stick, 3 * MIB, 4096);
    assert!(matches!(
        fill(stick, 3 * MIB, 4096, 1),
        Err(AccessError::Io { .. })
    ));
    assert_eq!(bytes(stick, 3 * MIB, 4096), before);
}

#[test]
fn a_pulled_stick_is_gone_until_it_is_plugged_in_again() {
    let stick = &mut stick("faults.vanish_after = 3");
    for _ in 0..3 {
        read(stick, 0, 512);
    }
    for _ in 0..2 {
        let gone = stick.read(Bytes(512), &mut AlignedBuffer::new(512));
        assert_eq!(gone, Err(AccessError::Gone { at: 512 }));
    }
    stick.replug();
    read(stick, 512, 512);
}

#[test]
fn after_a_power_cut_the_rest_of_the_write_and_all_later_ones_are_lost() {
    let stick = &mut stick("faults.power_cut_after = 3");
    let before = bytes(stick, 0, 8192);
    fill(stick, 0, 1024, 1).unwrap();
    fill(stick, 1024, 1024, 2).unwrap();
    fill(stick, 4096, 512, 3).unwrap();
    assert_eq!(bytes(stick, 0, 1024), [1; 1024]);
    assert_eq!(bytes(stick, 1024, 512), [2; 512], "the write was torn");
    assert_eq!(bytes(stick, 1536, 6656), before[1536..]);
}

#[test]
fn a_power_cut_may_be_noticed_and_the_next_opening_finds_what_survived() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.toml");
    let text = "capacity = \"64MiB\"\nflash.erase_block = \"4MiB\"\nread.base = \"1ms\"\n\
                faults = { power_cut_after = 1, power_cut = \"gone\" }\n";
    std::fs::write(&path, text).unwrap();
    let spec = path.to_str().unwrap();
    let first = &mut open(spec, 1).unwrap();
    assert_eq!(fill(first, 0, 1024, 1), Err(AccessError::Gone { at: 0 }));
    assert_eq!(first.flush(), Err(AccessError::Gone { at: 0 }));
    let again = &mut open(spec, 1).unwrap();
    assert_eq!(bytes(again, 0, 512), [1; 512]);
    assert_ne!(bytes(again, 512, 512), [1; 512]);
    fill(again, 0, 8192, 4).unwrap();
    assert_eq!(bytes(again, 0, 8192), [4; 8192]);
}

#[test]
fn one_access_hangs() {
    let stick = &mut stick("faults.hang = { at = 2, time = \"30s\" }");
    assert_eq!(read(stick, 0, 512), 1000);
    assert_eq!(read(stick, 0, 512), 30_001_000);
    assert_eq!(read(stick, 0, 512), 1000);
}

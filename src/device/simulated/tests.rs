use super::*;
use crate::device::AlignedBuffer;
use proptest::prelude::*;

mod faults;
mod reading;
mod writing;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A stick without noise, built from these lines and what every profile needs: 64 MiB, 1 ms per
/// read, 4 MiB erase blocks; 2 ms per write.
fn stick(lines: &str) -> SimulatedStick {
    SimulatedStick::new(&profile(lines), 1)
}

fn profile(lines: &str) -> Profile {
    let common = [
        ("capacity", "capacity = \"64MiB\""),
        ("flash.erase_block", "flash.erase_block = \"4MiB\""),
        ("read.base", "read.base = \"1ms\""),
        ("write.base", "write.base = \"2ms\""),
        ("write.per_kib", "write.per_kib = \"0us\""),
        ("write.relative_sigma", "write.relative_sigma = 0.0"),
        ("write.flush", "write.flush = \"0us\""),
    ];
    let mut text = String::new();
    for (key, line) in common {
        if !lines
            .lines()
            .any(|l| l.trim_start().starts_with(&format!("{key} ")))
        {
            text += line;
            text += "\n";
        }
    }
    text += lines;
    Profile::parse(&text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The time of one read, in microseconds.
fn read(stick: &mut impl ReadDevice, at: u64, length: u64) -> u128 {
    let mut buffer = AlignedBuffer::new(usize::try_from(length).unwrap());
    stick.read(Bytes(at), &mut buffer).unwrap().as_micros()
}

/// The time of one write, in microseconds.
fn write(stick: &mut impl Device, at: u64, length: u64) -> u128 {
    let buffer = AlignedBuffer::new(usize::try_from(length).unwrap());
    stick.write(Bytes(at), &buffer).unwrap().as_micros()
}

/// What stands at `at`.
fn bytes(stick: &mut impl ReadDevice, at: u64, length: u64) -> Vec<u8> {
    let mut buffer = AlignedBuffer::new(usize::try_from(length).unwrap());
    stick.read(Bytes(at), &mut buffer).unwrap();
    buffer.to_vec()
}

/// Write `byte` everywhere in a range.
fn fill(stick: &mut impl Device, at: u64, length: u64, byte: u8) -> Result<Duration, AccessError> {
    let mut buffer = AlignedBuffer::new(usize::try_from(length).unwrap());
    buffer.fill(byte);
    stick.write(Bytes(at), &buffer)
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_seed_others() {
    let profile = Profile::builtin("corsair-voyager").unwrap();
    let run = |seed| {
        let stick = &mut SimulatedStick::new(&profile, seed);
        let times = (0..50).map(|i| {
            let at = i * MIB;
            read(stick, at, 1024) + write(stick, at + 64 * KIB, 4096)
        });
        times.collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn the_seed_changes_neither_contents_nor_boundaries_but_the_specimen_does() {
    let lines = "flash.erase_block = \"512KiB\"\nread.crossing.erase_block = \"100us\"\nread.crossing.missed = 0.5";
    let look = |profile: &Profile, seed| {
        let stick = &mut SimulatedStick::new(profile, seed);
        let times: Vec<u128> = (1..100)
            .map(|i| read(stick, i * 512 * KIB - 512, 1024))
            .collect();
        (times, bytes(stick, 0, 4096))
    };
    let first = profile(lines);
    assert_eq!(look(&first, 1), look(&first, 2));
    let other = first.clone().with_individual(1);
    assert_ne!(look(&first, 1).0, look(&other, 1).0);
    assert_ne!(look(&first, 1).1, look(&other, 1).1);
    let renamed = first.clone().with_serial("X");
    assert_ne!(look(&first, 1).1, look(&renamed, 1).1);
}

#[test]
fn misaligned_and_overlong_accesses_are_refused_and_take_no_time() {
    let stick = &mut stick("logical_block = 4096");
    let mut buffer = AlignedBuffer::new(8192);
    for (at, length) in [
        (512, 4096),
        (4096, 512),
        (0, 0),
        (64 * MIB - 4096, 8192),
        (u64::MAX - 4095, 4096),
    ] {
        let refused = stick.read(Bytes(at), &mut buffer[..length]);
        assert!(
            matches!(refused, Err(AccessError::Unaligned { .. })),
            "{at} {length}"
        );
        let refused = stick.write(Bytes(at), &buffer[..length]);
        assert!(
            matches!(refused, Err(AccessError::Unaligned { .. })),
            "{at} {length}"
        );
    }
    assert_eq!(stick.clock(), Duration::ZERO);
    assert_eq!(stick.logical_block().bytes(), Bytes(4096));
}

#[test]
fn the_clock_is_the_sum_of_accesses_and_waits() {
    let stick = &mut SimulatedStick::new(&Profile::builtin("sandisk-32g").unwrap(), 3);
    let mut sum = Duration::ZERO;
    for i in 0..20 {
        let pause = Duration::from_micros(i * 37);
        stick.wait(pause);
        let at = Bytes(i * MIB);
        sum += pause + stick.read(at, &mut AlignedBuffer::new(4096)).unwrap();
        sum += stick.write(at, &AlignedBuffer::new(4096)).unwrap();
        sum += stick.flush().unwrap();
    }
    assert_eq!(stick.clock(), sum);
}

#[test]
fn what_was_written_is_found_when_the_same_stick_is_opened_again() {
    let mut first = open("3m#opened-twice", 1).unwrap();
    fill(&mut first, 4096, 4096, 7).unwrap();
    let mut again = open("3m#opened-twice", 2).unwrap();
    assert_eq!(bytes(&mut again, 4096, 4096), [7; 4096]);
    let mut other = open("3m#another", 1).unwrap();
    assert_ne!(bytes(&mut other, 4096, 4096), [7; 4096]);
    assert_eq!(again.facts().serial.as_deref(), Some("opened-twice"));
    assert_eq!(again.facts().path, "sim:3m#opened-twice");
}

#[test]
fn a_profile_is_opened_by_its_path_and_an_unknown_name_lists_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    let text = "capacity = \"1GiB\"\n[flash]\nerase_block = \"2MiB\"\n[read]\nbase = \"1ms\"\n";
    std::fs::write(&path, text).unwrap();
    let mine = open(path.to_str().unwrap(), 1).unwrap();
    assert_eq!(mine.capacity(), Bytes::gib(1));

    let error = |spec: &str| open(spec, 1).err().map(|e| e.to_string()).unwrap();
    let unknown = error("corsair");
    assert!(
        unknown.contains("'corsair'") && unknown.contains("corsair-voyager, "),
        "{unknown}"
    );
    let missing = error("./no-such.toml");
    assert!(missing.contains("./no-such.toml"), "{missing}");
}

#[test]
fn two_terabytes_that_are_only_read_cost_no_memory() {
    let lines = "capacity = \"2TiB\"\nflash.erase_block = \"64MiB\"\nread.crossing.erase_block = \"100us\"\n\
                 unmapped = { share = 0.3, base = \"100us\" }";
    let stick = &mut stick(lines);
    let stride = (2 << 40) / 1000 / 4096 * 4096;
    for i in 0..1000 {
        read(stick, i * stride, 4096);
    }
    read(stick, (2 << 40) - 4096, 4096);
    assert_eq!(stick.medium.store().stored_pages(), 0);
    write(stick, 1 << 40, 8192);
    assert_eq!(stick.medium.store().stored_pages(), 2);
}

/// One step of the round-trip property.
#[derive(Clone, Debug)]
enum Step {
    Write { block: u64, blocks: u64, byte: u8 },
    Read { block: u64, blocks: u64 },
    Flush,
}

fn step(device_blocks: u64) -> impl Strategy<Value = Step> {
    let range = move || {
        (0..device_blocks, 1..40u64)
            .prop_map(move |(block, n)| (block, n.min(device_blocks - block)))
    };
    prop_oneof![
        (range(), any::<u8>()).prop_map(|((block, blocks), byte)| Step::Write {
            block,
            blocks,
            byte
        }),
        range().prop_map(|(block, blocks)| Step::Read { block, blocks }),
        Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_data_read_back_and_nothing_else_changes(
        steps in proptest::collection::vec(step(2048), 1..60),
        unmapped in any::<bool>(),
    ) {
        let extra = if unmapped { "unmapped = { share = 0.5, chunk = \"64KiB\", base = \"1us\" }" } else { "" };
        let stick = &mut stick(&format!("capacity = \"1MiB\"\nflash.erase_block = \"128KiB\"\n{extra}"));
        let mut expected = bytes(stick, 0, MIB);
        for step in steps {
            match step {
                Step::Write { block, blocks, byte } => {
                    fill(stick, block * 512, blocks * 512, byte).unwrap();
                    let from = usize::try_from(block * 512).unwrap();
                    let to = usize::try_from((block + blocks) * 512).unwrap();
                    expected[from..to].fill(byte);
                }
                Step::Read { block, blocks } => {
                    let from = usize::try_from(block * 512).unwrap();
                    let to = usize::try_from((block + blocks) * 512).unwrap();
                    prop_assert_eq!(&bytes(stick, block * 512, blocks * 512)[..], &expected[from..to]);
                }
                Step::Flush => {
                    stick.flush().unwrap();
                }
            }
        }
        prop_assert_eq!(bytes(stick, 0, MIB), expected);
    }
}

use super::*;
use crate::device::AlignedBuffer;

/// A plain stick without noise: 1 ms per read, 4 MiB erase blocks that cost 200 us.
fn plain(more: &str) -> Profile {
    let text = format!(
        "capacity = \"64MiB\"\nflash.erase_block = \"4MiB\"\nread.base = \"1ms\"\n\
         read.crossing.erase_block = \"200us\"\n{more}"
    );
    Profile::parse(&text, "test").unwrap()
}

fn read_us(stick: &mut SimulatedStick, at: u64, length: usize) -> u128 {
    let mut buffer = AlignedBuffer::new(length);
    let time = stick.read(Bytes(at), &mut buffer).unwrap();
    time.as_micros()
}

const MIB: u64 = 1 << 20;

#[test]
fn a_read_pays_for_a_boundary_inside_it_but_not_at_its_ends() {
    let stick = &mut SimulatedStick::new(&plain(""), 1);
    assert_eq!(read_us(stick, 4 * MIB - 1024, 1024), 1000);
    assert_eq!(read_us(stick, 4 * MIB - 512, 1024), 1200);
    assert_eq!(read_us(stick, 4 * MIB, 1024), 1000);
    assert_eq!(read_us(stick, 6 * MIB - 512, 1024), 1000);
    assert_eq!(stick.clock(), Duration::from_micros(4200));
}

#[test]
fn boundaries_follow_the_phase_and_the_sub_unit() {
    let profile = plain(
        "flash.phase = \"3MiB\"\nflash.sub_unit = \"2MiB\"\nread.crossing.sub_unit = \"90us\"",
    );
    let stick = &mut SimulatedStick::new(&profile, 1);
    for (mib, expected) in [
        (1, 1090),
        (2, 1000),
        (3, 1200),
        (4, 1000),
        (5, 1090),
        (7, 1200),
        (8, 1000),
    ] {
        assert_eq!(read_us(stick, mib * MIB - 512, 1024), expected, "{mib} MiB");
    }
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_seed_others() {
    let profile = Profile::builtin("corsair-voyager").unwrap();
    let run = |seed| {
        let stick = &mut SimulatedStick::new(&profile, seed);
        (0..50)
            .map(|i| read_us(stick, i * MIB, 1024))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

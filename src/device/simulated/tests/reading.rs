use super::*;

#[test]
fn a_read_pays_for_a_boundary_inside_it_but_not_at_its_ends() {
    let stick = &mut stick("read.crossing.erase_block = \"200us\"\nread.per_kib = \"10us\"");
    assert_eq!(read(stick, 4 * MIB - 1024, 1024), 1010);
    assert_eq!(read(stick, 4 * MIB - 512, 1024), 1210);
    assert_eq!(read(stick, 4 * MIB, 1024), 1010);
    assert_eq!(read(stick, 6 * MIB - 512, 1024), 1010);
    assert_eq!(read(stick, 0, 64 * KIB), 1640);
}

#[test]
fn boundaries_follow_the_phase_and_the_sub_unit() {
    let lines = "flash.phase = \"3MiB\"\nflash.sub_unit = \"2MiB\"\nread.crossing.erase_block = \"200us\"\n\
                 read.crossing.sub_unit = \"90us\"";
    let stick = &mut stick(lines);
    let expected = [
        (1, 1090),
        (2, 1000),
        (3, 1200),
        (4, 1000),
        (5, 1090),
        (6, 1000),
        (7, 1200),
        (63, 1200),
    ];
    for (mib, time) in expected {
        assert_eq!(read(stick, mib * MIB - 512, 1024), time, "{mib} MiB");
    }
}

#[test]
fn an_erase_block_need_not_be_a_power_of_two() {
    let lines = "flash.erase_block = \"1.5MiB\"\nread.crossing.erase_block = \"200us\"";
    let stick = &mut stick(lines);
    for half_mib in 1..100 {
        let time = if half_mib % 3 == 0 { 1200 } else { 1000 };
        assert_eq!(
            read(stick, half_mib * MIB / 2 - 512, 1024),
            time,
            "{half_mib}"
        );
    }
}

#[test]
fn with_max_the_costliest_level_counts_and_with_sum_all_do() {
    let levels = "read.crossing.page = [{ size = \"16KiB\", cost = \"160us\" }, { size = \"8KiB\", cost = \"53us\" }]\n\
                  read.crossing.erase_block = \"300us\"";
    let max = &mut stick(levels);
    let sum = &mut stick(&format!("{levels}\nread.crossing.combine = \"sum\""));
    for (at, in_max, in_sum) in [
        (4 * MIB, 1300, 1513),
        (MIB, 1160, 1213),
        (8 * KIB, 1053, 1053),
        (4 * KIB, 1000, 1000),
    ] {
        assert_eq!(read(max, at - 512, 1024), in_max, "{at}");
        assert_eq!(read(sum, at - 512, 1024), in_sum, "{at}");
    }
}

#[test]
fn odd_multiples_make_a_profile_that_is_not_monotone() {
    let lines = "read.crossing.page = [{ size = \"8KiB\", cost = \"127us\", at = \"odd\" }, { size = \"4KiB\", cost = \"101us\", at = \"odd\" }]";
    let stick = &mut stick(lines);
    for (kib, time) in [
        (4, 1101),
        (8, 1127),
        (12, 1101),
        (16, 1000),
        (24, 1127),
        (32, 1000),
        (48, 1000),
    ] {
        assert_eq!(read(stick, kib * KIB - 512, 1024), time, "{kib} KiB");
    }
}

#[test]
fn the_missed_share_belongs_to_the_places_not_to_the_accesses() {
    let lines = "capacity = \"4GiB\"\nread.crossing.erase_block = \"200us\"\nread.crossing.missed = 0.1\n\
                 read.crossing.spread = 0.1";
    let stick = &mut stick(lines);
    let look = |stick: &mut SimulatedStick| -> Vec<u128> {
        (1..1024)
            .map(|i| read(stick, i * 4 * MIB - 512, 1024))
            .collect()
    };
    let first = look(stick);
    assert_eq!(first, look(stick));
    let missed = first.iter().filter(|&&t| t == 1000).count();
    assert!((70..135).contains(&missed), "{missed}");
    let shown: Vec<f64> = first
        .iter()
        .filter(|&&t| t > 1000)
        .map(|&t| t as f64 - 1000.0)
        .collect();
    let mean = shown.iter().sum::<f64>() / shown.len() as f64;
    let sigma = (shown.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / shown.len() as f64).sqrt();
    assert!(
        (mean - 200.0).abs() < 3.0 && (sigma - 20.0).abs() < 3.0,
        "{mean} {sigma}"
    );
}

#[test]
fn times_are_multiples_of_the_quantum_until_a_wait_shifts_the_phase() {
    let stick = &mut stick("read.base = \"860us\"\nnoise.quantum = \"125us\"");
    assert_eq!(read(stick, 0, 512), 875);
    assert_eq!(read(stick, 0, 512), 875);
    stick.wait(Duration::from_micros(100));
    assert_eq!(read(stick, 0, 512), 900);
    // Dithered over a whole quantum the mean is the true time plus half a quantum.
    let mut sum = 0;
    for i in 0..1250u64 {
        stick.wait(Duration::from_nanos(i * 100 + 13));
        sum += read(stick, 0, 512);
    }
    let mean = sum as f64 / 1250.0;
    assert!((mean - 922.5).abs() < 3.0, "{mean}");
}

#[test]
fn unmapped_places_are_fast_constant_and_without_boundaries() {
    let lines = "unmapped = { ranges = [\"8MiB-16MiB\"], base = \"300us\", per_kib = \"1us\", content = \"ones\", map_unit = \"16KiB\" }\n\
                 read.crossing.erase_block = \"200us\"";
    let stick = &mut stick(lines);
    assert_eq!(read(stick, 12 * MIB - 512, 1024), 301);
    assert_eq!(bytes(stick, 12 * MIB, 4096), [0xff; 4096]);
    assert_eq!(
        read(stick, 8 * MIB - 512, 1024),
        1000,
        "flash on one side only"
    );
    assert_eq!(read(stick, 20 * MIB - 512, 1024), 1200);
    assert_ne!(bytes(stick, 20 * MIB, 512), [0xff; 512]);

    // Writing one block maps its unit; the rest of the unit keeps its content.
    fill(stick, 12 * MIB, 512, 5).unwrap();
    fill(stick, 12 * MIB - 512, 512, 5).unwrap();
    assert_eq!(read(stick, 12 * MIB - 512, 1024), 1200);
    assert_eq!(read(stick, 12 * MIB + 15 * KIB, 1024), 1000);
    assert_eq!(read(stick, 12 * MIB + 16 * KIB, 1024), 301);
    assert_eq!(bytes(stick, 12 * MIB + 512, 1024), [0xff; 1024]);
}

#[test]
fn a_share_of_the_chunks_is_unmapped() {
    let lines =
        "capacity = \"4GiB\"\nunmapped = { share = 0.4, chunk = \"8MiB\", base = \"300us\" }";
    let stick = &mut stick(lines);
    let fast = (0..512)
        .filter(|i| read(stick, i * 8 * MIB + 4096, 4096) == 300)
        .count();
    assert!((160..250).contains(&fast), "{fast}");
    for chunk in 0..32 {
        let first = read(stick, chunk * 8 * MIB, 4096);
        assert_eq!(
            read(stick, (chunk + 1) * 8 * MIB - 4096, 4096),
            first,
            "{chunk}"
        );
    }
}

#[test]
fn mapped_places_may_be_filled_with_zeros() {
    let stick = &mut stick("contents.zeros = [\"1MiB-2MiB\"]");
    assert_eq!(bytes(stick, MIB, 4096), [0; 4096]);
    assert_ne!(bytes(stick, 2 * MIB, 4096), [0; 4096]);
    assert_eq!(read(stick, MIB, 4096), 1000);
}

#[test]
fn the_read_cache_makes_a_second_read_fast_until_it_is_pushed_out_or_written() {
    let lines = "read.cache = { unit = \"4KiB\", size = \"16KiB\", hit = \"200us\", read_ahead = \"4KiB\" }";
    let stick = &mut stick(lines);
    assert_eq!(read(stick, 0, 4096), 1000);
    assert_eq!(read(stick, 0, 4096), 200);
    assert_eq!(read(stick, 4096, 512), 200, "read ahead");
    assert_eq!(read(stick, 12 * KIB, 4096), 1000);
    write(stick, 0, 512);
    assert_eq!(read(stick, 0, 4096), 1000, "written meanwhile");
    for i in 10..14 {
        read(stick, i * MIB, 512);
    }
    assert_eq!(read(stick, 0, 4096), 1000, "pushed out");
}

#[test]
fn the_first_access_to_a_region_loads_its_map() {
    let lines = "read.map_cache = { region = \"4MiB\", entries = 2, miss = \"70us\" }";
    let stick = &mut stick(lines);
    assert_eq!(read(stick, 0, 512), 1070);
    assert_eq!(read(stick, MIB, 512), 1000);
    assert_eq!(read(stick, 8 * MIB - 512, 1024), 1140, "two regions");
    assert_eq!(read(stick, 0, 512), 1070, "two others came since");
}

#[test]
fn the_base_follows_trend_and_region_and_the_pause_before() {
    let stick_with = |lines: &str| stick(lines);
    let trend = &mut stick_with("read.trend = \"64us\"");
    assert_eq!(read(trend, 0, 512), 1000);
    assert_eq!(read(trend, 32 * MIB, 512), 1032);

    let regions = &mut stick_with("read.regions = { size = \"1MiB\", spread = \"20us\" }");
    let times: Vec<u128> = (0..64).map(|i| read(regions, i * MIB, 512)).collect();
    assert_eq!(times[5], read(regions, 5 * MIB + 512 * KIB, 512));
    assert!(times.iter().any(|t| *t > 1010) && times.iter().any(|t| *t < 990));

    let idle = &mut stick_with("read.after_idle = { idle = \"1s\", cost = \"5ms\" }");
    read(idle, 0, 512);
    assert_eq!(read(idle, 0, 512), 1000);
    idle.wait(Duration::from_secs(1));
    assert_eq!(read(idle, 0, 512), 6000);
    idle.wait(Duration::from_secs(1));
    assert_eq!(write(idle, 0, 512), 7000);
}

#[test]
fn a_read_beyond_the_largest_request_pays_for_every_further_piece() {
    let stick = &mut stick("reported.max_request = \"120KiB\"\nread.split_cost = \"100us\"");
    assert_eq!(read(stick, 0, 120 * KIB), 1000);
    assert_eq!(read(stick, 0, 121 * KIB), 1100);
    assert_eq!(read(stick, 0, 512 * KIB), 1400);
}

#[test]
fn throttling_lifts_all_times_at_once() {
    let stick = &mut stick("noise.throttle = { after = \"1s\", slower = 1.5 }");
    assert_eq!(read(stick, 0, 512), 1000);
    stick.wait(Duration::from_secs(1));
    assert_eq!(read(stick, 0, 512), 1500);
    assert_eq!(write(stick, 0, 512), 3000);
}

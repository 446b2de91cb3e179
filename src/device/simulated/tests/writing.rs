use super::*;

/// One page into each of these units, continuing where the last write to it ended; the times.
fn sweep(stick: &mut SimulatedStick, next: &mut [u64], units: &[usize]) -> Vec<u128> {
    let page = 16 * KIB;
    units
        .iter()
        .map(|&unit| {
            let at = unit as u64 * MIB + next[unit] * page;
            next[unit] += 1;
            write(stick, at, page)
        })
        .collect()
}

/// 1 MiB units of which 3 stay open; a collection costs 100 ms, a write 2 ms.
fn three_open(more: &str) -> SimulatedStick {
    stick(&format!(
        "flash.erase_block = \"1MiB\"\nopen_units.linear = 3\nopen_units.collect = \"100ms\"\n{more}"
    ))
}

#[test]
fn a_write_costs_whole_pages_and_more_when_it_fills_them_in_part() {
    let lines = "flash.page = \"16KiB\"\nwrite.per_kib = \"10us\"\nwrite.partial_page = \"300us\"";
    let stick = &mut stick(lines);
    assert_eq!(write(stick, 0, 16 * KIB), 2160);
    assert_eq!(write(stick, 16 * KIB, 64 * KIB), 2640);
    assert_eq!(write(stick, 96 * KIB, 4 * KIB), 2460);
    assert_eq!(
        write(stick, 104 * KIB, 16 * KIB),
        2920,
        "two pages, both in part"
    );
    assert_eq!(
        write(stick, 120 * KIB, 24 * KIB),
        2620,
        "two pages, one in part"
    );
    assert_eq!(stick.wear().host_bytes, Bytes::kib(16 + 64 + 4 + 16 + 24));
    assert_eq!(
        stick.wear().physical_bytes,
        Bytes::kib(16 + 64 + 16 + 32 + 32)
    );
}

#[test]
fn as_many_units_as_stay_open_are_fast_and_one_more_is_slow_in_every_pass() {
    let stick = &mut three_open("");
    let mut next = [0; 8];
    for _ in 0..3 {
        assert_eq!(sweep(stick, &mut next, &[0, 1, 2]), [2000; 3]);
    }
    assert_eq!(stick.wear().collections, 0);
    for _ in 0..3 {
        assert_eq!(sweep(stick, &mut next, &[3, 0, 1, 2]), [102_000; 4]);
    }
    assert_eq!(stick.wear().collections, 12);
    // Three opened at first, then one for each collection; every collection erases one, too.
    assert_eq!(stick.wear().erases, 3 + 12 + 12);
}

#[test]
fn lru_keeps_what_was_used_last_and_fifo_what_was_opened_last() {
    for (policy, keeps_zero) in [("lru", true), ("fifo", false)] {
        let stick = &mut three_open(&format!("open_units.policy = \"{policy}\""));
        let mut next = [0; 8];
        sweep(stick, &mut next, &[0, 1, 2, 0]);
        assert_eq!(sweep(stick, &mut next, &[3]), [102_000]);
        let kept = if keeps_zero { 2000 } else { 102_000 };
        assert_eq!(sweep(stick, &mut next, &[0]), [kept], "{policy}");
    }
}

#[test]
fn random_replacement_misses_at_least_once_a_pass_and_seldom_every_time() {
    let stick = &mut three_open("open_units.policy = \"random\"");
    let mut next = [0; 8];
    let mut misses = 0;
    for _ in 0..50 {
        let slow = sweep(stick, &mut next, &[0, 1, 2, 3])
            .iter()
            .filter(|&&t| t > 50_000)
            .count();
        assert!(slow >= 1 || stick.wear().collections == 1);
        misses += slow;
    }
    assert!((60..180).contains(&misses), "{misses}");
}

#[test]
fn a_unit_filled_in_order_is_closed_for_nothing_and_one_filled_otherwise_is_collected() {
    let stick = &mut three_open("");
    for i in 0..64 {
        assert_eq!(write(stick, i * 16 * KIB, 16 * KIB), 2000);
    }
    assert_eq!(stick.wear().collections, 0);
    // The order 1, 0, 3, 2, ...: the last page closes the unit.
    let times: Vec<u128> = (0..64)
        .map(|i| write(stick, MIB + (i ^ 1) * 16 * KIB, 16 * KIB))
        .collect();
    assert_eq!(times[..63], [2000; 63]);
    assert_eq!(times[63], 102_000);
}

#[test]
fn fewer_units_may_be_open_for_random_writes() {
    let stick = &mut three_open("open_units.random = 1");
    let page = 16 * KIB;
    // Two units at random places: the second one pushes the first out, again and again.
    write(stick, 32 * page, page);
    write(stick, MIB + 32 * page, page);
    assert_eq!(write(stick, 5 * page, page), 2000);
    assert_eq!(write(stick, MIB + 5 * page, page), 102_000);
    assert_eq!(
        write(stick, 9 * page, page),
        2000,
        "opened again, in order so far"
    );
    assert_eq!(write(stick, 7 * page, page), 102_000);
    // In order, three are still fine.
    let mut next = [0; 8];
    for _ in 0..3 {
        sweep(stick, &mut next, &[4, 5, 6]);
    }
    assert_eq!(sweep(stick, &mut next, &[4, 5, 6]), [2000; 3]);
}

#[test]
fn without_random_units_every_write_out_of_order_is_collected() {
    let stick = &mut three_open("open_units.random = 0");
    let page = 16 * KIB;
    assert_eq!(write(stick, 8 * page, page), 2000);
    for place in [5, 3, 20, 2] {
        assert_eq!(write(stick, place * page, page), 102_000);
    }
    assert_eq!(write(stick, 3 * page, page), 2000, "behind the last one");
}

#[test]
fn random_writes_below_a_size_may_cost_their_own_price() {
    let lines = "open_units.random_below = \"64KiB\"\nopen_units.random_below_cost = \"20ms\"\nopen_units.unit = \"1MiB\"";
    let stick = &mut stick(lines);
    assert_eq!(write(stick, 0, 16 * KIB), 2000);
    assert_eq!(write(stick, 512 * KIB, 16 * KIB), 22_000);
    assert_eq!(write(stick, 528 * KIB, 16 * KIB), 2000, "in order");
    assert_eq!(write(stick, 256 * KIB, 64 * KIB), 2000, "large enough");
}

#[test]
fn beyond_a_soft_limit_all_sizes_fall_by_one_factor_and_recover_later() {
    let lines = "flash.erase_block = \"1MiB\"\nopen_units = { linear = 3, cutoff = \"soft\", soft_rate = 0.5 }";
    let stick = &mut stick(lines);
    let mut next = [0; 8];
    for _ in 0..3 {
        assert_eq!(sweep(stick, &mut next, &[0, 1, 2]), [2000; 3]);
    }
    sweep(stick, &mut next, &[3]);
    for _ in 0..3 {
        assert_eq!(sweep(stick, &mut next, &[2, 1, 0, 3]), [4000; 4]);
    }
    for _ in 0..6 {
        sweep(stick, &mut next, &[0, 1]);
    }
    assert_eq!(sweep(stick, &mut next, &[0, 1]), [2000; 2]);
    assert_eq!(stick.wear().collections, 0);
}

#[test]
fn a_graceful_stick_sags_with_every_unit_and_has_no_limit() {
    let lines = "flash.erase_block = \"1MiB\"\nopen_units = { sag_free = 2, sag_per_unit = 0.25 }";
    let stick = &mut stick(lines);
    // No unit is filled: 50 of its 64 pages are written at most.
    let mut next = [0; 25];
    let mut last = 0;
    for n in 1..=25 {
        let units: Vec<usize> = (0..n).collect();
        sweep(stick, &mut next, &units);
        last = *sweep(stick, &mut next, &units).last().unwrap();
        if n <= 2 {
            assert_eq!(last, 2000);
        }
        if n == 6 {
            assert_eq!(last, 4000);
        }
    }
    assert_eq!(last, 13_500);
}

#[test]
fn opening_a_unit_may_stall_the_write() {
    let lines = "flash.erase_block = \"1MiB\"\nopen_units.open = \"30ms\"";
    let stick = &mut stick(lines);
    let stalls: Vec<u64> = (0..256)
        .filter(|i| write(stick, i * 16 * KIB, 16 * KIB) > 20_000)
        .collect();
    assert_eq!(stalls, [0, 64, 128, 192]);
}

#[test]
fn zones_change_linear_and_random_writes_and_may_need_no_unit() {
    let lines = "flash.erase_block = \"1MiB\"\nopen_units = { linear = 1, collect = \"100ms\" }\n\
                 zones = [{ from = \"0B\", to = \"2MiB\", random = 0.5, page_mapped = true }, { from = \"4MiB\", to = \"8MiB\", linear = 3.0 }]";
    let stick = &mut stick(lines);
    write(stick, 20 * MIB, 16 * KIB);
    assert_eq!(write(stick, 0, 16 * KIB), 2000);
    assert_eq!(write(stick, 512 * KIB, 16 * KIB), 1000);
    assert_eq!(write(stick, MIB + 512 * KIB, 16 * KIB), 1000);
    assert_eq!(
        write(stick, 20 * MIB + 16 * KIB, 16 * KIB),
        2000,
        "still open"
    );
    assert_eq!(write(stick, 4 * MIB, 16 * KIB), 106_000);
    assert_eq!(write(stick, 4 * MIB + 16 * KIB, 16 * KIB), 6000);
}

#[test]
fn small_writes_may_take_a_path_of_their_own() {
    let stick = &mut three_open("write.small_path = \"4KiB\"");
    for i in 0..10 {
        assert_eq!(write(stick, i * MIB, 4 * KIB), 2000);
    }
    let slow = (0..10)
        .filter(|i| write(stick, i * MIB, 8 * KIB) > 50_000)
        .count();
    assert_eq!(slow, 7);
}

#[test]
fn the_slc_cache_is_fast_until_it_is_full_and_recovers_with_rest() {
    let lines = "slc_cache = { size = \"1MiB\", slower = 3.0, freed_per_second = \"512KiB\" }\nflash.erase_block = \"16MiB\"";
    let stick = &mut stick(lines);
    let mut at = 0;
    let mut next = |stick: &mut SimulatedStick| {
        at += 64 * KIB;
        write(stick, at, 64 * KIB)
    };
    for _ in 0..16 {
        assert_eq!(next(stick), 2000);
    }
    assert_eq!(next(stick), 6000);
    stick.wait(Duration::from_secs(1));
    for _ in 0..8 {
        assert_eq!(next(stick), 2000);
    }
    assert_eq!(next(stick), 6000);
}

#[test]
fn the_write_cache_hides_work_until_it_is_full_and_a_flush_waits_for_it() {
    let lines = "write_cache = { depth = \"9ms\", base = \"100us\" }\nwrite.flush = \"500us\"";
    let stick = &mut stick(lines);
    let times: Vec<u128> = (0..8)
        .map(|i| write(stick, i * 16 * KIB, 16 * KIB))
        .collect();
    assert_eq!(times[..4], [100; 4]);
    // 2 ms of work each against 0.1 ms: from the fifth on the cache is full.
    assert_eq!(times[4], 600);
    assert_eq!(times[5..], [2000; 3]);
    assert_eq!(stick.flush().unwrap(), Duration::from_micros(9500));
    assert_eq!(stick.flush().unwrap(), Duration::from_micros(500));
    write(stick, 0, 4096);
    stick.wait(Duration::from_secs(1));
    assert_eq!(stick.flush().unwrap(), Duration::from_micros(500));
}

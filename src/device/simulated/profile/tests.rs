use super::*;

const SMALLEST: &str = "capacity = \"1GiB\"\nflash.erase_block = \"4MiB\"\nread.base = \"1ms\"\n";

fn error(lines: &str) -> String {
    let text = format!("{SMALLEST}{lines}");
    match Profile::parse(&text, "my.toml") {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted: {lines}"),
    }
}

#[test]
fn every_profile_in_fixtures_is_built_in_and_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/profiles");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, builtin_names());
    for name in names {
        let text = builtin::text(&name).unwrap();
        let profile = Profile::parse(text, &name).unwrap_or_else(|e| panic!("{e}"));
        assert!(!profile.description.is_empty(), "{name}");
        assert!(profile.facts().serial.is_some(), "{name}");
    }
}

#[test]
fn what_a_built_in_profile_expects_is_what_its_flash_is() {
    for name in builtin_names() {
        let profile = Profile::builtin(name).unwrap();
        let flash = &profile.flash;
        let step = profile.read.crossing.erase_block.as_secs_f64();
        let sigma = profile.noise.sigma.as_secs_f64();
        let expected = profile
            .expected
            .erase_block
            .unwrap_or_else(|| panic!("{name}"));
        if expected.verdict == ExpectedVerdict::NotVisible {
            assert_eq!(expected.bytes, None, "{name}");
            assert!(step < sigma / 2.0, "{name}: the step could be seen");
        } else {
            assert_eq!(expected.bytes, Some(flash.erase_block), "{name}");
            assert_eq!(expected.phase, flash.phase, "{name}");
            assert_eq!(expected.sub_unit, flash.sub_unit, "{name}");
            assert!(step > 3.0 * sigma, "{name}: the step is hard to see");
        }
        let units = &profile.open_units;
        for (expected, limit) in [
            (profile.expected.open_au.linear, units.linear),
            (
                profile.expected.open_au.random,
                units.random.or(units.linear),
            ),
        ] {
            let Some(expected) = expected else { continue };
            match (expected.at_least, expected.smallest_efficient_write) {
                (Some(_), _) => assert_eq!(limit, None, "{name}"),
                (None, Some(size)) => assert_eq!(units.random_below, Some(size), "{name}"),
                (None, None) => assert_eq!(expected.limit, limit, "{name}"),
            }
            assert_eq!(
                expected.soft,
                units.cutoff == CutoffKeys::Soft && expected.limit.is_some(),
                "{name}"
            );
            if let Some(unit) = expected.unit {
                assert_eq!(unit, units.unit.unwrap_or(flash.finest_unit()), "{name}");
            }
        }
        if let Some(page) = profile.expected.page.and_then(|page| page.bytes) {
            assert_eq!(flash.page, Some(page), "{name}");
        }
        let zones: Vec<_> = profile.zones.iter().map(|z| (z.from, z.to)).collect();
        if let Some(expected) = &profile.expected.fat_area {
            let expected: Vec<_> = expected.iter().map(|z| (z.from, z.to)).collect();
            assert_eq!(expected, zones, "{name}");
        }
    }
}

#[test]
fn a_typo_is_an_error_that_names_file_line_and_key() {
    for (lines, words) in [
        (
            "[noise]\nsgima = \"3us\"",
            &["my.toml, line 5", "unknown field `sgima`", "`sigma`"][..],
        ),
        (
            "[read.crossing]\npage = [{ size = \"8KiB\", price = \"1us\" }]",
            &["unknown field `price`"],
        ),
        ("capacitty = \"1GiB\"", &["line 4", "`capacitty`"]),
        (
            "individual = \"x\"",
            &["line 4 (individual = \"x\")", "invalid type"],
        ),
        (
            "write.base = \"3\"",
            &["(write.base = \"3\")", "'3' has no unit"],
        ),
        ("write.base = \"3 furlongs\"", &["unknown unit 'furlongs'"]),
        ("flash.page = \"8s\"", &["counts sectors"]),
        (
            "flash.page = 8192",
            &["(flash.page = 8192)", "expected a string"],
        ),
        ("logical_block = 520", &["logical blocks of 520 bytes"]),
        (
            "open_units.policy = \"mru\"",
            &["unknown variant `mru`", "`fifo`"],
        ),
        ("capacity =", &["line 4"]),
    ] {
        let message = error(lines);
        for word in words {
            assert!(message.contains(word), "{message}\nlacks {word}");
        }
        assert!(!message.contains('\n'), "{message}");
    }
    let missing = Profile::parse("capacity = \"1GiB\"\nread.base = \"1ms\"", "my.toml");
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("missing field `flash`")
    );
}

#[test]
fn values_that_make_no_sense_together_are_refused_by_key() {
    for (lines, key) in [
        ("flash.phase = \"4MiB\"", "flash.phase"),
        ("flash.sub_unit = \"3MiB\"", "flash.sub_unit"),
        ("flash.page = \"100B\"", "flash.page"),
        ("read.crossing.sub_unit = \"1us\"", "read.crossing.sub_unit"),
        ("read.crossing.missed = 1.5", "read.crossing.missed"),
        ("read.crossing.spread = 0.9", "read.crossing.spread"),
        ("noise.outlier_rate = -0.1", "noise.outlier_rate"),
        (
            "noise.throttle = { after = \"1s\", slower = 0.0 }",
            "noise.throttle.slower",
        ),
        (
            "noise.background = { every = \"1s\", length = \"2s\" }",
            "noise.background.every",
        ),
        (
            "open_units = { linear = 2, random = 3 }",
            "open_units.random",
        ),
        ("open_units.linear = 0", "open_units.linear"),
        ("counterfeit.real = \"2GiB\"", "counterfeit.real"),
        (
            "unmapped = { base = \"1us\", ranges = [\"0B-2GiB\"] }",
            "unmapped.ranges",
        ),
        ("zones = [{ from = \"0B\", to = \"2GiB\" }]", "zones"),
    ] {
        let message = error(lines);
        assert!(
            message.starts_with(&format!("profile my.toml: {key}: ")),
            "{message}"
        );
    }
    let odd = SMALLEST.replace("1GiB", "1000000B");
    let message = Profile::parse(&odd, "my.toml").unwrap_err().to_string();
    assert!(message.contains("capacity"), "{message}");
}

#[test]
fn the_identity_reaches_the_facts_and_an_odd_optimal_size_does_not() {
    let text = format!(
        "{SMALLEST}identity = {{ vendor = \"V\", serial = \"S\", usb_id = \"1234:abcd\", removable = false }}\n\
         reported = {{ preferred_erase_size = \"4MiB\", declared_by_card = true, optimal_io_size = \"33553920B\" }}"
    );
    let facts = Profile::parse(&text, "my.toml").unwrap().facts();
    assert_eq!(facts.path, "sim:my.toml");
    assert_eq!(facts.transport, Transport::Simulated);
    assert_eq!(facts.vendor.as_deref(), Some("V"));
    assert_eq!(facts.usb_id.as_deref(), Some("1234:abcd"));
    assert_eq!(facts.removable, Some(false));
    assert_eq!(facts.capacity, Some(Bytes::gib(1)));
    assert_eq!(facts.reported.declared(), Some(Bytes::mib(4)));
    assert_eq!(facts.reported.optimal_io_size, None);
    assert_eq!(facts.reported.optimal_io_quirk, Some(Bytes(33_553_920)));
}

#[test]
fn noise_can_be_scaled_to_the_step() {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let plain = Profile::builtin("sandisk-32g")
        .unwrap()
        .with_step_over_sigma(3.0);
    assert!((us(plain.noise.sigma) - 140.0).abs() < 0.01);

    // 125 us make 36 us of the 83: the rest is normal.
    let usb = Profile::builtin("corsair-voyager")
        .unwrap()
        .with_step_over_sigma(3.0);
    assert_eq!(usb.noise.quantum, Duration::from_micros(125));
    let total = us(usb.noise.sigma).hypot(125.0 / 12f64.sqrt());
    assert!((total - 250.0 / 3.0).abs() < 0.01, "{total}");

    // For a tenth of the step 125 us are too coarse.
    let fine = Profile::builtin("corsair-voyager")
        .unwrap()
        .with_step_over_sigma(10.0);
    assert!(fine.noise.quantum < Duration::from_micros(125));
    let total = us(fine.noise.sigma).hypot(us(fine.noise.quantum) / 12f64.sqrt());
    assert!((total - 25.0).abs() < 0.01, "{total}");
}

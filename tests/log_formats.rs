//! The same log in other clothes: whatever terminals, mailers and wikis do to it, the runs in it are
//! the same; and no text at all makes the reader fail.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // tests

mod flashbench_support;

use flashbench_support::Random;
use flashfit::geometry::log::infer;
use flashfit::measure::flashbench_log::{Log, Run, parse};
use flashfit::topology::Reported;
use flashfit::units::Bytes;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All logs at hand: the recorded ones, and a larger collection if there is one.
fn logs() -> Vec<(String, String)> {
    let collection =
        std::env::var_os("FLASHFIT_LOGS").map_or_else(|| folder("../shared/corpus"), PathBuf::from);
    if !collection.exists() {
        eprintln!("skipped in part: {} is not there", collection.display());
    }
    let mut all = Vec::new();
    for folder in [folder("fixtures/flashbench"), collection] {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.extension().is_some_and(|extension| extension == "log") {
                all.push((
                    path.display().to_string(),
                    std::fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    assert!(all.len() >= 4);
    all
}

/// The runs, without what a change of clothes may change: the device's name.
fn runs(text: &[u8]) -> Vec<Run> {
    let mut runs = parse(text).unwrap_or_default().runs;
    for run in &mut runs {
        match run {
            Run::Align(scan) => scan.request.device = None,
            Run::OpenAu(run) => run.request.device = None,
            Run::FindFat(run) => run.request.device = None,
        }
    }
    runs
}

fn is_command(line: &str) -> bool {
    line.contains("flashb")
}

fn each_line(text: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
    text.lines()
        .map(|line| change(line) + "\n")
        .collect::<String>()
        .into_bytes()
}

/// Lines that carry results.
fn is_result(line: &str) -> bool {
    line.starts_with("align ")
        || line.contains("iB\t")
        || line.contains("iB ")
        || line.contains("M/s")
}

/// A name, and what it does to a text.
type Clothing = (&'static str, fn(&str) -> Vec<u8>);

/// Everything that was seen to happen to a log.
fn clothes() -> Vec<Clothing> {
    vec![
        ("Greek mu", |t| t.replace('µ', "μ").into_bytes()),
        ("u for micro", |t| {
            t.replace("µs", "us").replace('µ', "u").into_bytes()
        }),
        ("wrongly decoded", |t| t.replace('µ', "Âµ").into_bytes()),
        ("wrongly decoded twice", |t| {
            t.replace('µ', "Ã‚Âµ").into_bytes()
        }),
        ("question mark for micro", |t| {
            t.replace('µ', "?").into_bytes()
        }),
        ("HTML", |t| {
            t.replace('µ', "&micro;")
                .replace('\t', "&nbsp;")
                .into_bytes()
        }),
        ("Latin-1", |t| {
            t.chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect()
        }),
        ("UTF-16", |t| {
            let text = format!("\u{feff}{t}");
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }),
        ("Windows line ends", |t| {
            t.replace('\n', "\r\n").into_bytes()
        }),
        ("old Mac line ends", |t| t.replace('\n', "\r").into_bytes()),
        ("no-break spaces", |t| {
            t.replace(['\t', ' '], "\u{a0}").into_bytes()
        }),
        ("single blanks", |t| {
            each_line(t, |line| {
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            })
        }),
        ("wide columns and a trailing blank", |t| {
            each_line(t, |line| {
                if is_result(line) {
                    line.replace([' ', '\t'], "    ") + " \t"
                } else {
                    line.to_owned()
                }
            })
        }),
        ("all in one line", |t| t.replace('\n', " ").into_bytes()),
        ("results behind their command", |t| {
            t.lines()
                .fold(String::new(), |all, line| {
                    all + if line.starts_with('$') { "\n" } else { " " } + line
                })
                .into_bytes()
        }),
        ("quoted", |t| each_line(t, |line| format!("> > {line}"))),
        ("bullets", |t| {
            each_line(t, |line| {
                if is_command(line) {
                    line.to_owned()
                } else {
                    format!("- {line}")
                }
            })
        }),
        ("table", |t| {
            each_line(t, |line| {
                if is_result(line) {
                    format!("| {} | |", line.replace('\t', " | "))
                } else {
                    line.to_owned()
                }
            })
        }),
        ("line numbers", |t| {
            let mut number = 0;
            t.lines()
                .map(|line| {
                    number += 1;
                    format!("| {number} | {line}\n")
                })
                .collect::<String>()
                .into_bytes()
        }),
        ("padded with question marks", |t| {
            each_line(t, |line| {
                if is_result(line) {
                    line.replace(['\t', ' '], " ?")
                } else {
                    line.to_owned()
                }
            })
        }),
        ("root's prompt", |t| t.replace("$ ", "# ").into_bytes()),
        ("long prompt", |t| {
            t.replace("$ ", "user@host:~/flash$ ").into_bytes()
        }),
        ("address hidden in the prompt", |t| {
            t.replace("$ ", "user at host:~/flash$ ").into_bytes()
        }),
        ("time in the prompt", |t| {
            t.replace("$ ", "@12:03:52 # ").into_bytes()
        }),
        ("no prompt", |t| t.replace("$ ", "").into_bytes()),
        ("sudo and a path", |t| {
            t.replace("sudo ", "")
                .replace("./flashbench", "flashbench")
                .replace("flashbench ", "sudo ~/src/flashbench ")
                .into_bytes()
        }),
        ("misspelt", |t| {
            t.replace("flashbench", "flashbanch").into_bytes()
        }),
        ("values apart from options", |t| {
            each_line(t, |line| {
                if is_command(line) {
                    line.replace('=', " ")
                } else {
                    line.to_owned()
                }
            })
        }),
        ("double parentheses", |t| {
            t.replace("$[", "$((").replace(']', "))").into_bytes()
        }),
        ("dashes made pretty", |t| t.replace("--", "—").into_bytes()),
        ("continued commands", |t| {
            each_line(t, |line| {
                if is_command(line) {
                    line.replace(" --", " \\\n  --")
                } else {
                    line.to_owned()
                }
            })
        }),
        ("wrapped by a mailer", |t| {
            each_line(t, |line| {
                if is_command(line) {
                    line.replace(" --", "\n> --")
                } else {
                    line.replace(" diff", "\n> diff")
                }
            })
        }),
        ("a warning behind each command", |t| {
            each_line(t, |line| {
                if is_command(line) {
                    format!("{line}\nsched_setscheduler: Operation not permitted")
                } else {
                    line.to_owned()
                }
            })
        }),
        ("other tools between", |t| {
            each_line(t, |line| {
                if line.starts_with('$') {
                    format!(
                        "$ fdisk -l /dev/sdx\nДиск /dev/sdx: 7902 МБ, 7902068736 байт\n/dev/sdx1 8192 15433727 7712768 c W95 FAT32 (LBA)\n$ hdparm -W0 /dev/sdx\n write-caching =  0 (off)\n$ factor 7902068736\n7902068736: 2 2 2 3 157\n{line}"
                    )
                } else {
                    line.to_owned()
                }
            })
        }),
    ]
}

#[test]
fn a_log_in_other_clothes_has_the_same_runs() {
    for (name, text) in logs() {
        let plain = runs(text.as_bytes());
        assert!(!plain.is_empty(), "{name}");
        for (clothing, change) in clothes() {
            let changed = runs(&change(&text));
            assert_eq!(changed.len(), plain.len(), "{name}, {clothing}");
            for (changed, plain) in changed.iter().zip(&plain) {
                assert_eq!(changed, plain, "{name}, {clothing}");
            }
        }
    }
}

/// With the micro sign lost, `diff 308s` stands beside milliseconds; what is restored from rounded
/// reads may be rounded, but says the same.
#[test]
fn lost_micro_signs_change_no_finding() {
    for (name, text) in logs() {
        let told = |text: &str| {
            let geometry = infer(&runs(text.as_bytes()), None, &Reported::default()).geometry;
            (geometry.erase_block.bytes, geometry.page.bytes)
        };
        let lost = text.replace("µs", "s").replace('µ', "");
        assert_eq!(told(&lost), told(&text), "{name}");
    }
}

#[test]
fn two_commands_in_one_line_are_two_runs() {
    let text = "$ flashbench -O --open-au-nr=1 /dev/sdb 4MiB 22M/s 2MiB 21M/s @12:03:52 # flashbench -O -r --open-au-nr=3 /dev/sdb 4MiB 8.22M/s 2MiB 5.84M/s Terminated (killed)";
    let runs = runs(text.as_bytes());
    let [Run::OpenAu(first), Run::OpenAu(second)] = &runs[..] else {
        panic!("{runs:?}");
    };
    assert_eq!(
        (first.nr, first.random, first.broken_off),
        (Some(1), Some(false), false)
    );
    assert_eq!(
        (second.nr, second.random, second.broken_off),
        (Some(3), Some(true), true)
    );
    assert_eq!((first.lines.len(), second.lines.len()), (2, 2));
}

#[test]
fn the_tables_of_a_loop_get_its_values() {
    let text = "$ for i in 1 2 5; do flashbench -O --erasesize=$[4*1024*1024] --open-au-nr=$i /dev/sdb; done\n4MiB 5M/s\n2MiB 5M/s\n4MiB 4M/s\n2MiB 4M/s\n4MiB 3M/s\n2MiB 1M/s\n";
    let numbers: Vec<Option<u64>> = runs(text.as_bytes())
        .iter()
        .map(|run| match run {
            Run::OpenAu(run) => run.nr,
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(5)]);
    let unknown = runs(text.replace("for i", "for k").as_bytes());
    assert!(
        unknown
            .iter()
            .all(|run| matches!(run, Run::OpenAu(run) if run.nr.is_none()))
    );
}

#[test]
fn defaults_stand_where_options_are_absent_but_not_in_fragments() {
    let with = runs(b"flashbench -O /dev/mmcblk0\n4MiB 5.8M/s\n2MiB 3.71M/s\n");
    let Run::OpenAu(run) = &with[0] else { panic!() };
    assert_eq!((run.nr, run.random), (Some(2), Some(false)));
    assert_eq!(run.request.erasesize, Some(Bytes::mib(4)));
    assert_eq!(run.request.blocksize, Some(Bytes::kib(16)));
    let without = runs(b"4MiB 5.8M/s\n2MiB 3.71M/s\n");
    let Run::OpenAu(run) = &without[0] else {
        panic!()
    };
    assert_eq!(
        (run.nr, run.random, run.request.erasesize),
        (None, None, None)
    );
}

#[test]
fn odd_sizes_are_restored_by_halving() {
    let text = b"flashbench -O -e 15728640 -b 61440\n15MiB 5M/s\n7.5MiB 5M/s\n3.75MiB 5M/s\n1.88MiB 5M/s\n960KiB 5M/s\n";
    let runs = runs(text);
    let Run::OpenAu(run) = &runs[0] else { panic!() };
    assert_eq!(run.lines[3].size, Bytes::kib(1920));
    assert_eq!(run.lines[4].size, Bytes::kib(960));
}

#[test]
fn a_text_without_results_is_an_error_that_names_the_remedy() {
    for text in [
        &b""[..],
        b"hello world",
        b"$ flashbench -a /dev/sdb --blocksize=1024\n",
        b"align the partition to 4 MiB, then diff the two\n4MiB of memory at 100 percent",
        b"\xff\xfe\x00\x00align 4096 pre",
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains("flashbench -a"), "{error}");
    }
}

#[test]
fn a_quoted_table_is_no_repetition() {
    let path = folder("fixtures/flashbench/sandisk-32g-sd.log");
    let text = std::fs::read_to_string(path).unwrap();
    let quoted = format!(
        "{text}\n{}",
        text.lines().map(|l| format!("> {l}\n")).collect::<String>()
    );
    let capacity = Some(Bytes(31_914_983_424));
    let once = infer(&runs(text.as_bytes()), capacity, &Reported::default());
    let twice = infer(&runs(quoted.as_bytes()), capacity, &Reported::default());
    assert_eq!(once.geometry.erase_block, twice.geometry.erase_block);
}

/// CPU time of this thread in seconds: elapsed time would count whatever else the machine does.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}

/// Reading must be linear in the length of the text, whatever the text is.
#[test]
fn megabytes_of_garbage_are_read_in_no_time() {
    let mut random = Random::new(7);
    let alphabet = b"$[(?\xc2\xb5 \n\t0123456789.eMKiB/s|>-\\alignpreonpostdiffflashbench";
    let size = 2 << 20;
    let garbage: Vec<u8> = (0..size)
        .map(|_| alphabet[usize::try_from(random.below(alphabet.len() as u64)).unwrap()])
        .collect();
    for text in [
        garbage,
        vec![b'$'; size],
        b"$[".repeat(size / 2),
        vec![b'9'; size],
        b"?".repeat(size),
    ] {
        let start = thread_seconds();
        let log = parse(&text).unwrap_or_default();
        let seconds = thread_seconds() - start;
        assert!(seconds < 10.0, "{seconds} s");
        drop(infer(&log.runs, None, &Reported::default()));
    }
}

#[test]
fn the_memory_for_lines_is_bounded() {
    let text = "align 4096 pre 1ms on 1ms post 1ms diff 1ns\n".repeat(300_000);
    let log: Log = parse(text.as_bytes()).unwrap();
    assert!(log.cut_short);
    let kept: usize = log
        .runs
        .iter()
        .map(|run| match run {
            Run::Align(scan) => scan.lines.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(kept, flashfit::measure::flashbench_log::MOST_LINES);
}

/// Not only reading: a log with thousands of runs is answered in bounded time.
#[test]
fn thousands_of_runs_are_answered_in_bounded_time() {
    let mut random = Random::new(3);
    let mut text = String::new();
    for run in 0..4000 {
        let mut align = 1u64 << (20 + random.below(20));
        text.push_str(&format!(
            "flashbench -a -b {}\n",
            512 * (1 + random.below(9))
        ));
        for _ in 0..12 {
            let diff = random.below(300);
            text.push_str(&format!(
                "align {align} pre 1ms on 1.{diff:03}ms post 1ms diff {diff}us\n"
            ));
            align = align * 2 / 3;
        }
        text.push_str(&format!("flashbench -O --open-au-nr={}\n", 1 + run % 1500));
        for k in 0..8 {
            text.push_str(&format!("{}KiB {}K/s\n", 4096 >> k, 1 + random.below(9999)));
        }
    }
    // A single scan without end.
    for line in 0..50_000u64 {
        text.push_str(&format!(
            "align {} pre 1ms on 1ms post 1ms diff 1us\n",
            1_000_000_000 - 2 * line
        ));
    }
    let log = parse(text.as_bytes()).unwrap();
    let start = Instant::now();
    let found = infer(&log.runs, None, &Reported::default());
    let seconds = start.elapsed().as_secs_f64();
    assert!(found.notes.iter().any(|note| note.code == "runs_left_out"));
    assert!(seconds < 60.0, "{seconds} s");
}

/// Change bytes of real logs at random: nothing panics, and the answer stays finite.
#[test]
fn damaged_logs_are_read_as_far_as_they_go() {
    let mut random = Random::new(11);
    for (_, text) in logs() {
        for _ in 0..6 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random.below(200) {
                let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
                match random.below(3) {
                    0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"\n $9?.-"[usize::try_from(random.below(7)).unwrap()]),
                }
            }
            let log = parse(&bytes).unwrap_or_default();
            let capacity = random
                .chance(0.5)
                .then(|| Bytes(random.next() >> random.below(64)));
            let found = infer(&log.runs, capacity, &Reported::default()).geometry;
            assert!(
                (0.0..=1.0).contains(&found.erase_block.confidence),
                "{found:?}"
            );
        }
    }
}

/// Words that mean something to the reader, in any order.
fn soup() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("align".to_owned()),
        Just("pre".to_owned()),
        Just("on".to_owned()),
        Just("post".to_owned()),
        Just("diff".to_owned()),
        Just("flashbench".to_owned()),
        Just("--open-au-nr=$i".to_owned()),
        Just("--erasesize".to_owned()),
        Just("-a".to_owned()),
        Just("-Of".to_owned()),
        Just("for i in {1..9}; do".to_owned()),
        Just("seq".to_owned()),
        Just("\n".to_owned()),
        Just("$[".to_owned()),
        Just("^C".to_owned()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<u32>().prop_map(|n| format!("{n}µs")),
        any::<u16>().prop_map(|n| format!("-{n}n")),
        any::<f64>().prop_map(|n| format!("{n}ms")),
        any::<u32>().prop_map(|n| format!("{n}MiB")),
        any::<u16>().prop_map(|n| format!("{n}KiB {n}M/s")),
        (0u32..64).prop_map(|n| format!("align {} pre 1ms on 1.{n}ms post 1ms", 1u64 << n)),
        any::<f32>().prop_map(|n| format!("{n}K/s")),
        ".{0,12}",
    ];
    proptest::collection::vec(word, 0..120).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in soup(), capacity in proptest::option::of(any::<u64>())) {
        let log = parse(text.as_bytes()).unwrap_or_default();
        let found = infer(&log.runs, capacity.map(Bytes), &Reported::default()).geometry;
        let sure = found.erase_block.confidence;
        prop_assert!((0.0..=1.0).contains(&sure), "{sure}");
        prop_assert!(found.page.confidence.is_finite() && found.fat_area.confidence.is_finite());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let log = parse(&bytes).unwrap_or_default();
        drop(infer(&log.runs, None, &Reported::default()));
    }
}

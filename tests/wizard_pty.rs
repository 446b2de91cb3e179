//! The wizard at a pseudo-terminal: every way through it, and every way out of it.
//!
//! After each the modes of the terminal are those of before and the cursor is shown
//! ([`pty_support::Session::end`]), and the device is untouched, complete, or can be restored.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

#[path = "wizard/arrows.rs"]
mod arrows;
mod common;
mod pty_support;
mod write_support;

use common::need;
use common::program::{flashfit, flowing, image, stick};
use pty_support::{CTRL_C, CTRL_D, ENTER, ESCAPE, QUESTIONS, Session, TALL, is_untouched, wizard};
use std::fs;
use write_support::{backups, checksum, patterned, run};

/// A stick whose erase block shows well; its scan is over at once.
const STICK: &str = r#"
capacity = "4000000000B"
[flash]
erase_block = "4MiB"
[read]
base = "500us"
crossing.erase_block = "400us"
[noise]
sigma = "10us"
"#;

/// A simulated stick with this profile, in a folder of its own.
fn simulated() -> Option<(tempfile::TempDir, String)> {
    if !need("setsid") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = stick(folder.path(), "stick", STICK);
    Some((folder, name))
}

#[test]
fn enter_and_the_name_of_the_device_lead_to_a_stick_that_fits() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    session
        .expect("type its name (stick.toml)")
        .press("stick.toml\r");
    session.expect("written and verified");
    let shown = flowing(&session.end().with(0));
    for part in [
        "nothing that is recognised",
        "The erase block is 4 MiB: confirmed.",
        "Extra time of a read across a boundary",
        "recommended for that",
        "the start, enlarged",
        "sectors to write, in this order:",
        "no partitions that a tool could open",
        "what was there is saved in ",
        "to undo: flashfit restore ",
        "The whole report is kept in ",
        "What next",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let kept = backups(folder.path());
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept.iter().any(|file| file.ends_with(".report.json")));
}

#[test]
fn without_a_device_the_wizard_begins_with_what_is_plugged_in() {
    let Some((folder, _)) = simulated() else {
        return;
    };
    let mut session = Session::start(folder.path(), &[], TALL, &[]);
    session.expect("Which device?").expect("] ");
    // Looking again asks again.
    session.press("r").expect("Which device?").expect("] ");
    let number = session.number_of("a simulated stick");
    session.press(&number);
    session.answer(QUESTIONS[0], "b");
    session.expect("Which device?").expect("] ").press("q");
    let shown = session.end().with(5);
    assert!(shown.contains("sim:corsair-voyager"), "{shown}");
    assert!(is_untouched(folder.path()));
}

#[test]
fn every_step_goes_back_to_the_one_before() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    session.expect("type its name").press("b\r");
    for title in QUESTIONS.into_iter().rev() {
        session.answer(title, if title == QUESTIONS[0] { "q" } else { "b" });
    }
    let shown = session.end().with(5);
    assert!(
        shown.contains("left by you, no table was written"),
        "{shown}"
    );
    assert!(is_untouched(folder.path()));
}

#[test]
fn another_way_can_be_taken_after_going_back() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    session.answer(QUESTIONS[0], "2");
    // With write tests there is nothing closer to look.
    session.expect("Only writes show");
    session.answer(QUESTIONS[1], "w").expect("Why");
    session.answer(QUESTIONS[1], ENTER);
    session.answer(QUESTIONS[2], "3");
    session
        .answer(QUESTIONS[3], "w")
        .expect("What misalignment costs");
    session.answer(QUESTIONS[3], "b").answer(QUESTIONS[2], "5");
    session
        .answer(QUESTIONS[3], "1")
        .expect("the start, enlarged");
    session
        .answer(QUESTIONS[4], "d")
        .expect("not covered by partitions");
    session.answer(QUESTIONS[4], "2");
    let shown = session.end().with(0);
    assert!(shown.contains("usual for this size"), "{shown}");
    assert!(is_untouched(folder.path()));
}

/// Leave at each question in turn by this key.
fn leave_everywhere(key: &str, code: i32, says: &str) {
    for (last, question) in QUESTIONS.iter().enumerate() {
        let Some((folder, name)) = simulated() else {
            return;
        };
        let mut session = wizard(folder.path(), &name);
        for title in &QUESTIONS[..last] {
            session.answer(title, ENTER);
        }
        session.answer(question, key);
        let shown = session.end().with(code);
        assert!(shown.contains(says), "{question}: {shown}");
        assert!(is_untouched(folder.path()), "{question}");
    }
    // And where the name is to be typed.
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    let key = if key == "q" { "q\r" } else { key };
    session
        .expect("type its name")
        .expect("q quit): ")
        .press(key);
    session.end().with(code);
    assert!(is_untouched(folder.path()));
}

#[test]
fn q_leaves_at_every_prompt() {
    leave_everywhere("q", 5, "left by you, no table was written");
}

#[test]
fn esc_leaves_at_every_prompt() {
    leave_everywhere(ESCAPE, 5, "left by you, no table was written");
}

#[test]
fn ctrl_c_leaves_at_every_prompt() {
    leave_everywhere(CTRL_C, 130, "interrupted, no table was written");
}

#[test]
fn the_end_of_the_input_leaves_and_arrows_do_not() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    session.answer(QUESTIONS[0], "\u{1b}[A\u{1b}[B\u{1b}OPxy7");
    session.press(CTRL_D);
    session.end().with(5);
}

#[test]
fn signals_leave_at_a_prompt_and_while_a_line_is_typed() {
    for (signal, questions) in [("TERM", 0), ("HUP", 1), ("INT", QUESTIONS.len())] {
        let Some((folder, name)) = simulated() else {
            return;
        };
        let mut session = wizard(folder.path(), &name);
        for title in &QUESTIONS[..questions] {
            session.answer(title, ENTER);
        }
        match QUESTIONS.get(questions) {
            Some(title) => session.expect(title).expect("] "),
            None => session.expect("type its name").press("sti").expect("sti"),
        };
        session.signal(signal);
        session.end().with(130);
        assert!(is_untouched(folder.path()));
    }
}

#[test]
fn a_wrong_name_three_times_writes_nothing() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    session.expect("type its name").expect("): ").press("yes\r");
    session.expect("that is not it").expect("): ").press("\r");
    // Erased and typed anew, and still wrong.
    session
        .expect("that is not it")
        .expect("): ")
        .press("stick.tomX\u{7f}\r");
    let shown = session.end().with(5);
    assert!(shown.contains("declined, nothing was written"), "{shown}");
    assert!(is_untouched(folder.path()));
}

#[test]
fn a_slip_is_erased_and_the_right_name_writes() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    session.expect("): ").press("stick.tomm\u{7f}l\r");
    session.expect("written and verified");
    session.end().with(0);
}

/// The happy way in a window of 80 by 24, with these variables.
fn in_a_small_window(variables: &[(&str, &str)]) -> Option<String> {
    let (folder, name) = simulated()?;
    let words = ["wizard", name.as_str()];
    let mut session = Session::start(folder.path(), &words, 24, variables);
    for _ in 0..60 {
        match session.expect_one_of(&["-- more", "; Enter is ", "type its name"]) {
            0 => session.expect("quits -- ").press(" "),
            1 => session.expect("] ").press(ENTER),
            _ => {
                session.press("stick.toml\r").expect("written and verified");
                return Some(session.end().with(0));
            }
        };
    }
    panic!("it never comes to the writing");
}

/// The lines without escapes, which take no room; what was redrawn in place is in one line still, with
/// carriage returns between.
fn lines(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut characters = shown.chars();
    while let Some(c) = characters.next() {
        if c == '\u{1b}' {
            let _ = characters.find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
        .replace("\r\n", "\n")
        .split('\n')
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_window_of_80_by_24_is_enough() {
    let Some(shown) = in_a_small_window(&[]) else {
        return;
    };
    // Commands, file names and the line to type in are never broken.
    let whole = ["flashfit ", "/", "type its name", "/dev/sdX"];
    for line in lines(&shown) {
        let is_whole = whole.iter().any(|part| line.contains(part));
        let widest = line.split('\r').map(str::len).max().unwrap_or(0);
        assert!(widest <= 80 || is_whole, "{line:?}");
        assert!(line.is_ascii(), "{line:?}");
    }
    // No more than the window between two prompts.
    let mut height = 0;
    for line in lines(&shown) {
        height += 1;
        assert!(height <= 24, "{line:?} is {height} lines below a prompt");
        if line.contains("-- more") || line.contains("; Enter is ") || line.contains("): ") {
            height = 0;
        }
        // What follows the consent is the result, and is not waited for.
        if line.contains("type its name") {
            break;
        }
    }
}

#[test]
fn a_dumb_terminal_gets_no_escapes_and_without_colours_there_are_none() {
    let Some(shown) = in_a_small_window(&[("TERM", "dumb")]) else {
        return;
    };
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let Some(shown) = in_a_small_window(&[("NO_COLOR", "1"), ("TERM", "vt100")]) else {
        return;
    };
    for (at, _) in shown.match_indices("\u{1b}[") {
        let end = shown[at + 2..].find(|c: char| c.is_ascii_alphabetic());
        let last = end.and_then(|end| shown[at + 2 + end..].chars().next());
        assert_ne!(last, Some('m'), "{shown:?}");
    }
}

#[test]
fn a_device_that_vanishes_during_the_scan_ends_it_with_what_is_known() {
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let profile = format!("{STICK}\n[faults]\nvanish_after = 300\n");
    let name = stick(folder.path(), "stick", &profile);
    let mut session = wizard(folder.path(), &name);
    session.answer(QUESTIONS[0], ENTER);
    let shown = session.end().with(6);
    assert!(shown.contains("went away"), "{shown}");
    assert!(is_untouched(folder.path()));
}

#[test]
fn of_several_devices_one_is_picked_and_the_others_are_told() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let words = ["wizard", "sim:no-such-stick", &name, "sim:corsair-voyager"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    session
        .answer("Which device?", "o")
        .expect("not to be scanned");
    session.expect("Which device?").expect("] ");
    let number = session.number_of("Corsair Voyager 3.0");
    session.press(&number);
    session.answer(QUESTIONS[0], "b");
    session.answer("Which device?", CTRL_C);
    session.end().with(130);
}

#[test]
fn a_saved_report_of_the_model_stands_in_for_the_scan() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let report = folder.path().join("model.json").display().to_string();
    assert_eq!(
        flashfit(&["scan", &name, "--report", &report]).code,
        Some(0)
    );
    let page = folder.path().join("stick.html").display().to_string();
    let words = [
        &["wizard", &name, "--html", &page][..],
        &["--profile", &report, "--verify-profile"],
    ]
    .concat();
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    session.expect("this device was not measured");
    session.answer(QUESTIONS[1], "3");
    session.end().with(0);
    assert!(fs::read_to_string(&page).unwrap().contains("</html>"));
}

#[test]
fn what_must_be_measured_and_cannot_be_ends_it() {
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let flat = STICK.replace("crossing.erase_block = \"400us\"", "");
    let name = stick(folder.path(), "stick", &flat);
    let words = [
        "wizard",
        &name,
        "--require-measured",
        "--write-tests",
        "none",
    ];
    let shown = Session::start(folder.path(), &words, TALL, &[])
        .end()
        .with(3);
    assert!(shown.contains("--require-measured was given"), "{shown}");
}

#[test]
fn a_device_that_is_not_there_is_told_and_ends_it() {
    let Some((folder, _)) = simulated() else {
        return;
    };
    let shown = wizard(folder.path(), "/dev/no-such-device").end().with(1);
    assert!(shown.contains("/dev/no-such-device"), "{shown}");
}

#[test]
fn without_a_terminal_nobody_is_asked_and_yes_is_named() {
    for words in [&[][..], &["wizard"], &["wizard", "sim:x"], &["sim:x"]] {
        let line = flashfit(words).failure(2);
        assert!(
            line.contains("no terminal") && line.contains("--yes"),
            "{line}"
        );
    }
}

#[test]
fn what_is_written_to_an_image_is_undone_by_the_command_that_was_told() {
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let device = patterned(folder.path(), "card.img");
    let before = checksum(&device);
    let words = ["wizard", device.as_str(), "--fs", "ext4"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    // Nothing can be timed, and the file system is known.
    session.answer("What next?", ENTER);
    session.answer("Is this the layout that you want?", ENTER);
    session
        .answer("Write this?", "d")
        .expect("sectors to write");
    session.expect("Write this?").expect("] ");
    let only = session.number_of("write the table only");
    session.press(&only);
    session
        .expect("type its name (card.img)")
        .press("card.img\r");
    let shown = session.end().with(0);
    assert_ne!(checksum(&device), before);
    let undo = shown
        .lines()
        .find_map(|line| line.trim().strip_prefix("to undo: flashfit "))
        .unwrap();
    let undo: Vec<&str> = undo
        .split_whitespace()
        .chain(["--yes", "--expect-size", "64MiB"])
        .collect();
    assert_eq!(run(folder.path(), &undo).code, Some(0));
    assert_eq!(checksum(&device), before);
}

#[test]
fn an_image_that_is_too_small_is_told_so() {
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let device = image(folder.path(), "tiny.img", 4096);
    wizard(folder.path(), &device).end().with(1);
    assert_eq!(fs::metadata(&device).unwrap().len(), 4096);
}

#[test]
fn a_power_cut_during_the_write_names_the_way_back() {
    if !need("setsid") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let profile = format!("{STICK}\n[faults]\npower_cut_after = 3\npower_cut = \"gone\"\n");
    let name = stick(folder.path(), "stick", &profile);
    let words = ["wizard", &name, "--fs", "ext4", "--table", "gpt"];
    let mut session = Session::start(folder.path(), &words, TALL, &[]);
    session.answer(QUESTIONS[0], ENTER);
    session.answer("What next?", ENTER);
    session.answer("Is this the layout that you want?", ENTER);
    session.answer("Write this?", ENTER);
    session.expect("type its name").press("stick.toml\r");
    let shown = session.end().with(6);
    assert!(
        shown.contains("put it back with: flashfit restore"),
        "{shown}"
    );
    assert!(!is_untouched(folder.path()));
}

/// Lines of README.md between its marks, which stand in this order in what is shown.
#[test]
fn the_conversation_in_the_readme_is_one_that_was_held() {
    let readme = include_str!("../README.md");
    let picture = readme
        .split_once("<!-- wizard -->\n```text\n$ sudo flashfit\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .unwrap()
        .0;
    let Some((folder, _)) = simulated() else {
        return;
    };
    let name = "sim:kingston-dt101g2";
    let mut session = wizard(folder.path(), name);
    for title in QUESTIONS {
        session.answer(title, ENTER);
    }
    session.expect("q quit): ").press(&format!("{name}\r"));
    let shown = lines(&session.end().with(0));
    let mut left = shown.iter();
    for line in picture.lines().filter(|line| !["", "..."].contains(line)) {
        assert!(
            left.any(|shown| shown.trim_end() == line),
            "README.md shows this, the program does not, or earlier: {line}"
        );
    }
}

//! The same conversation in a window, where answers are chosen with the arrow keys.

use super::common::program::flowing;
use super::pty_support::{CTRL_C, ENTER, ESCAPE, QUESTIONS, Session, TALL, is_untouched};
use super::simulated;
use std::path::Path;

const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";

fn wizard(folder: &Path, device: &str) -> Session {
    let window = [("TERM", "xterm-256color")];
    Session::start(folder, &["wizard", device], TALL, &window)
}

/// Wait until the whole list of this question stands there.
#[track_caller]
fn list<'a>(session: &'a mut Session, title: &str) -> &'a mut Session {
    session
        .expect(title)
        .expect("(arrows and Enter; q quits)")
        .expect(" quit\r\n")
}

#[test]
fn enter_and_the_name_of_the_device_lead_to_a_stick_that_fits() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in QUESTIONS {
        list(&mut session, title).press(ENTER);
    }
    session.expect("type its name").press("stick.toml\r");
    session.expect("written and verified");
    let shown = flowing(&session.end().with(0));
    assert!(
        shown.contains("The erase block is 4 MiB: confirmed."),
        "{shown}"
    );
    assert!(!is_untouched(folder.path()));
}

#[test]
fn arrows_lead_to_every_answer_and_round_to_the_ways_out() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    for title in &QUESTIONS[..3] {
        list(&mut session, title).press(ENTER);
    }
    list(&mut session, QUESTIONS[3]).press(&format!("{DOWN}{ENTER}"));
    session.expect(&format!("{} exfat", QUESTIONS[3]));
    session.expect("1  exfat");
    // Upwards from the first answer: quit, and back above it.
    list(&mut session, QUESTIONS[4]).press(&format!("{UP}{UP}{ENTER}"));
    session.expect(&format!("{} back", QUESTIONS[4]));
    list(&mut session, QUESTIONS[3]).press(&format!("{UP}{ENTER}"));
    let shown = session.end().with(5);
    assert!(
        shown.contains("left by you, no table was written"),
        "{shown}"
    );
    assert!(is_untouched(folder.path()));
}

#[test]
fn q_esc_and_ctrl_c_leave_every_list() {
    for (key, code) in [("q", 5), (ESCAPE, 5), (CTRL_C, 130)] {
        for last in 0..QUESTIONS.len() {
            let Some((folder, name)) = simulated() else {
                return;
            };
            let mut session = wizard(folder.path(), &name);
            for title in &QUESTIONS[..last] {
                list(&mut session, title).press(ENTER);
            }
            list(&mut session, QUESTIONS[last]).press(key);
            session.end().with(code);
            assert!(is_untouched(folder.path()), "{}", QUESTIONS[last]);
        }
    }
}

#[test]
fn what_was_typed_before_a_list_stood_there_answers_nothing() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let mut session = wizard(folder.path(), &name);
    list(&mut session, QUESTIONS[0]).press(&format!("{ENTER}{ENTER}{ENTER}"));
    list(&mut session, QUESTIONS[1]).press("q");
    session.end().with(5);
}

#[test]
fn a_list_that_is_higher_than_the_window_is_asked_plainly() {
    let Some((folder, name)) = simulated() else {
        return;
    };
    let window = [("TERM", "xterm-256color")];
    let mut session = Session::start(folder.path(), &["wizard", &name], 12, &window);
    session.expect("quits -- ").press(" ");
    session.answer(QUESTIONS[0], "q");
    session.end().with(5);
}

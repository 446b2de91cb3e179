//! The conversation with scripted answers, and a device that only exists in these tests.

use super::*;
use crate::plan::intent::PartitionIntent;
use crate::wizard::{Ask, Scripted};

/// Runs a conversation as the program does, without any device. Gives what was done, in order.
struct Run {
    talk: Conversation,
    person: Scripted,
    done: Vec<String>,
    /// What to say of the device.
    looked: Looked,
    /// Looks, plans and openings that fail, by the word that is noted for them.
    refused: Vec<&'static str>,
}

impl Run {
    fn new(given: Given, keys: &[&str]) -> Run {
        Run {
            talk: Conversation::new(given),
            person: Scripted::new(keys),
            done: Vec::new(),
            looked: fake::looked("/dev/sdb"),
            refused: Vec::new(),
        }
    }

    /// To the end, or to the write. Bounded: every round asks or does something.
    fn run_to_the_end(mut self) -> (Vec<String>, Option<End>) {
        for _ in 0..200 {
            match self.talk.next() {
                Next::Ask(question) => {
                    self.done.push(question.title.clone());
                    self.talk.answer(self.person.choose(&question));
                }
                Next::Find(_) => {
                    self.done.push("find".to_owned());
                    self.talk
                        .found(vec![fake::candidate("/dev/sdb")], Vec::new());
                }
                Next::Look(name) => {
                    self.note("look", &name, |run| {
                        let looked = run.looked.clone();
                        run.talk.looked(looked);
                    });
                }
                Next::Scan { device, depth } => {
                    self.done.push(format!("scan {depth:?}"));
                    self.talk.scanned(fake::report(&device), None);
                }
                Next::Plan(intent) => {
                    let what = intent.partitions.first().map(|it| it.filesystem.word());
                    self.note("plan", what.unwrap_or("by purpose"), |run| {
                        run.talk.planned(fake::arranged(&intent));
                    });
                }
                Next::Prepare => self.note("prepare", "", |run| {
                    run.talk.prepared(Preview {
                        text: "before: no table".to_owned(),
                        details: "every sector".to_owned(),
                        format: Ok(vec!["mkfs.exfat /dev/sdb1".to_owned()]),
                    });
                }),
                Next::Release => {
                    self.done.push("release".to_owned());
                    self.talk.released();
                }
                Next::Write { format } => {
                    self.done.push(format!("write, format {format}"));
                    return (self.done, None);
                }
                Next::End(end) => return (self.done, Some(end)),
            }
        }
        panic!("it goes round and round: {:?}", self.done);
    }

    fn note(&mut self, what: &'static str, which: &str, then: impl FnOnce(&mut Run)) {
        self.done.push(format!("{what} {which}").trim().to_owned());
        // Fails once.
        if let Some(at) = self.refused.iter().position(|it| *it == what) {
            self.refused.remove(at);
            assert!(self.talk.failed("of a reason"), "{:?}", self.done);
        } else {
            then(self);
        }
    }
}

fn given(device: &str) -> Given {
    Given {
        devices: vec![device.to_owned()],
        ..Given::default()
    }
}

#[test]
fn enter_alone_leads_from_the_device_to_the_write() {
    let (done, end) = Run::new(Given::default(), &[""; 9]).run_to_the_end();
    assert_eq!(end, None);
    assert_eq!(
        done,
        [
            "find",
            "Which device?",
            "look /dev/sdb",
            "How closely shall it be looked at?",
            "scan Read",
            "What next?",
            "What will it be used for?",
            "plan by purpose",
            "Which file system?",
            "plan exfat",
            "Is this the layout that you want?",
            "prepare",
            "Write this? Nothing is written before you type the device's name.",
            "write, format true",
        ]
    );
}

#[test]
fn q_and_esc_end_it_at_every_question_and_nothing_is_written() {
    for quit in ["q", "Q", "\u{1b}"] {
        for answered in 0..7 {
            let mut keys = vec![""; answered];
            keys.push(quit);
            let (done, end) = Run::new(Given::default(), &keys).run_to_the_end();
            assert_eq!(end, Some(End::Quit), "{answered}: {done:?}");
            assert!(!done.iter().any(|it| it.starts_with("write")), "{done:?}");
        }
    }
}

#[test]
fn ctrl_c_ends_it_at_every_question() {
    for answered in 0..7 {
        let mut keys = vec![""; answered];
        keys.push("\u{3}");
        let (_, end) = Run::new(Given::default(), &keys).run_to_the_end();
        assert_eq!(end, Some(End::Interrupted));
    }
}

#[test]
fn b_goes_back_one_question_at_a_time_up_to_the_first() {
    let forward = [""; 6];
    let back = ["b"; 9];
    let keys: Vec<&str> = forward.into_iter().chain(back).chain(["q"]).collect();
    let (done, end) = Run::new(Given::default(), &keys).run_to_the_end();
    assert_eq!(end, Some(End::Quit));
    let questions: Vec<&str> = done
        .iter()
        .skip_while(|it| !it.starts_with("prepare"))
        .filter(|it| it.contains('?'))
        .map(String::as_str)
        .collect();
    assert_eq!(
        questions[..7],
        [
            "Write this? Nothing is written before you type the device's name.",
            "Is this the layout that you want?",
            "Which file system?",
            "What will it be used for?",
            "What next?",
            "How closely shall it be looked at?",
            "Which device?",
        ]
    );
    // The open device was let go of before the next question.
    let confirm = done
        .iter()
        .position(|it| it.starts_with("Write this"))
        .unwrap();
    assert_eq!(done[confirm + 1], "release");
}

#[test]
fn another_file_system_makes_another_layout() {
    // Device, depth, findings, purpose; then exFAT, back, and the second file system.
    let keys = ["", "", "", "", "1", "b", "2", "", "2", ""];
    let (done, end) = Run::new(Given::default(), &keys).run_to_the_end();
    assert_eq!(end, None);
    let plans: Vec<&str> = done
        .iter()
        .filter_map(|it| it.strip_prefix("plan "))
        .collect();
    assert_eq!(plans.len(), 4, "{plans:?}");
    assert_eq!(
        (plans[0], plans[1], plans[2]),
        ("by purpose", "exfat", "by purpose")
    );
    assert_ne!(plans[3], "exfat");
    assert_eq!(done.last().unwrap(), "write, format false");
}

#[test]
fn what_was_given_is_not_asked() {
    let partition: PartitionIntent = "rest:ext4:root".parse().unwrap();
    let all = Given {
        depth: Some(Depth::Preserve),
        intent: Intent {
            partitions: vec![partition],
            ..Intent::default()
        },
        ..given("sim:x")
    };
    let (done, end) = Run::new(all, &[""; 3]).run_to_the_end();
    assert_eq!(end, None);
    assert_eq!(
        done,
        [
            "look sim:x",
            "scan Preserve",
            "What next?",
            "plan ext4",
            "Is this the layout that you want?",
            "prepare",
            "Write this? Nothing is written before you type the device's name.",
            "write, format true",
        ]
    );
    let purpose = Given {
        intent: Intent {
            purpose: Some(Purpose::Camera),
            ..Intent::default()
        },
        ..given("sim:x")
    };
    let (done, _) = Run::new(purpose, &["", "", "q"]).run_to_the_end();
    assert_eq!(done.last().unwrap(), "Which file system?");
}

#[test]
fn a_mounted_stick_is_looked_at_again_or_only_read() {
    let busy = Looked {
        obstacle: Some("sdb1 is mounted".to_owned()),
        ..fake::looked("/dev/sdb")
    };
    let mut run = Run::new(given("/dev/sdb"), &["1", "2", "1", "", "", "1"]);
    run.looked = busy;
    let (done, end) = run.run_to_the_end();
    assert_eq!(done.iter().filter(|it| it.starts_with("look")).count(), 2);
    // The one answer of the layout is to stop.
    assert_eq!(end, Some(End::Stopped), "{done:?}");
    assert_eq!(done.last().unwrap(), "Is this the layout that you want?");
}

#[test]
fn looking_closer_scans_again_and_leads_on_from_there() {
    let mut run = Run::new(given("/dev/sdb"), &["1", "2", "2", "q"]);
    run.looked = fake::looked("/dev/sdb");
    let (done, _) = run.run_to_the_end();
    let scans: Vec<&str> = done
        .iter()
        .filter_map(|it| it.strip_prefix("scan "))
        .collect();
    assert_eq!(scans, ["Read", "Preserve"]);
    assert_eq!(done.last().unwrap(), "What next?");
}

#[test]
fn what_fails_is_told_above_the_question_that_led_there() {
    for (what, question) in [
        ("look", "Which device?"),
        ("prepare", "Is this the layout that you want?"),
        ("plan", "What will it be used for?"),
    ] {
        let mut run = Run::new(Given::default(), &[""; 12]);
        run.refused = vec![what];
        let (done, end) = run.run_to_the_end();
        assert_eq!(end, None, "{what}: {done:?}");
        let failed = done.iter().position(|it| it.starts_with(what)).unwrap();
        let after = done[failed + 1..].iter().find(|it| it.contains('?'));
        assert_eq!(after.unwrap(), question, "{done:?}");
    }
    // With nothing to go back to it is the end.
    let mut talk = Conversation::new(given("/dev/none"));
    assert!(!talk.failed("no such device"));
}

#[test]
fn reasons_are_one_key_away_and_the_question_comes_again() {
    let mut talk = Conversation::new(given("/dev/sdb"));
    talk.looked(fake::looked("/dev/sdb"));
    talk.answer(Reply::Chosen(0));
    talk.scanned(fake::report("/dev/sdb"), None);
    talk.answer(Reply::Extra(findings::WHY));
    let Next::Ask(question) = talk.next() else {
        panic!("{:?}", talk.next())
    };
    assert!(question.text.contains("every 8 MiB"), "{}", question.text);
    assert_eq!(question.title, "What next?");
}

#[test]
fn every_question_fits_a_screen_of_80_by_24() {
    let mut talk = Conversation::new(Given::default());
    talk.found(vec![fake::candidate("/dev/sdb"); 9], Vec::new());
    let mut questions = Vec::new();
    for _ in 0..20 {
        match talk.next() {
            Next::Ask(question) => {
                questions.push(question);
                talk.answer(Reply::Chosen(0));
            }
            Next::Look(name) => talk.looked(fake::looked(&name)),
            Next::Scan { device, .. } => talk.scanned(fake::report(&device), None),
            Next::Plan(intent) => talk.planned(fake::arranged(&intent)),
            _ => break,
        }
    }
    assert_eq!(questions.len(), 6);
    for question in &questions {
        let menu = question.menu();
        assert!(menu.lines().count() < 23, "{menu}");
        for line in menu.lines().chain(question.told().lines()) {
            assert!(line.len() <= 80 && line.is_ascii(), "{line}");
        }
    }
}

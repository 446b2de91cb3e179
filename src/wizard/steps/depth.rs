//! How closely shall it be looked at?

use super::above;
use crate::output::devices;
use crate::output::wear::times_full;
use crate::wizard::{Choice, Depth, Looked, Nature, Question};

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Scan it in this way.
    Scan(Depth),
    /// The obstacle may be gone: look at it again.
    LookAgain,
}

/// The question.
pub fn question(looked: &Looked, can_go_back: bool, aside: &str) -> Question {
    let mut text = devices::line(&looked.candidate.device);
    if !looked.candidate.holds.is_empty() {
        text += &format!("\n  now on it: {}", looked.candidate.holds);
    }
    for remark in [&looked.obstacle, &looked.caution].into_iter().flatten() {
        text += &format!("\n  {remark}");
    }
    let (title, choices) = match &looked.obstacle {
        Some(_) => (
            "It cannot be written now. What shall be done?",
            vec![
                Choice::new("look again: I have done something about it"),
                Choice::new("read it only: find out and plan, and write nothing"),
            ],
        ),
        None => (
            "How closely shall it be looked at?",
            vec![reading(looked), preserving(looked), destroying(looked)],
        ),
    };
    Question {
        text: above(aside, &text),
        title: title.to_owned(),
        choices,
        default: 0,
        extras: Vec::new(),
        can_go_back,
    }
}

fn reading(looked: &Looked) -> Choice {
    Choice::new(format!("read only, {}", duration(looked, "about 30 s")))
        .detail("tells the erase block of most sticks; nothing is written")
}

fn preserving(looked: &Looked) -> Choice {
    Choice::new(format!(
        "with write tests, keeping the data, {}",
        duration(looked, "about 2 min")
    ))
    .detail("also page, open erase blocks, zones for a FAT, speed, counterfeits;")
    .detail("what is overwritten is saved first and put back at the end;")
    .detail(wear(looked))
}

fn destroying(looked: &Looked) -> Choice {
    Choice::new(format!(
        "with write tests, giving up the data, {}",
        duration(looked, "about 2 min")
    ))
    .detail("the same, all over the device; its contents are lost")
    .detail(wear(looked))
}

/// A simulated stick has a clock of its own.
fn duration(looked: &Looked, real: &str) -> String {
    match looked.nature {
        Nature::Simulated => format!("{real} of its simulated time"),
        Nature::Disk | Nature::Image => real.to_owned(),
    }
}

fn wear(looked: &Looked) -> String {
    format!(
        "writes at most {}; wears it like up to {} writing it full",
        looked.write_limit,
        times_full(looked.wear)
    )
}

/// What the answer of this number means.
pub fn answer(looked: &Looked, number: usize) -> Answer {
    match (&looked.obstacle, number) {
        (Some(_), 0) => Answer::LookAgain,
        (Some(_), _) | (None, 0) => Answer::Scan(Depth::Read),
        (None, 1) => Answer::Scan(Depth::Preserve),
        (None, _) => Answer::Scan(Depth::Destroy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    #[test]
    fn bytes_and_wear_are_stated_before_anything_is_written() {
        let menu = question(&fake::looked("/dev/sdb"), true, "").menu();
        assert_eq!(menu.matches("writes at most 1 GiB").count(), 2, "{menu}");
        assert!(menu.contains("0.54 times"), "{menu}");
        assert!(menu.contains("its contents are lost"), "{menu}");
    }

    #[test]
    fn a_device_in_use_is_never_offered_write_tests() {
        let looked = Looked {
            obstacle: Some("sdb1 is mounted at /media: umount /media".to_owned()),
            ..fake::looked("/dev/sdb")
        };
        let asked = question(&looked, true, "");
        assert!(asked.text.contains("umount /media"), "{}", asked.text);
        let answers: Vec<Answer> = (0..asked.choices.len())
            .map(|number| answer(&looked, number))
            .collect();
        assert_eq!(answers, [Answer::LookAgain, Answer::Scan(Depth::Read)]);
    }
}

//! Which device?

use super::above;
use crate::output::devices::{self, Device};
use crate::wizard::{Candidate, Choice, Extra, Question};

/// A simulated stick to try everything on.
pub const TRIAL: &str = "sim:corsair-voyager";

/// Shows those that cannot be picked.
pub const OTHERS: char = 'o';
/// Looks again which there are.
pub const AGAIN: char = 'r';
/// Shows the next ones.
pub const MORE: char = 'm';

/// So many at once: with three lines each and the keys they fill a screen of 24 lines.
const PAGE: usize = 5;

/// What an answer picks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The device of this name.
    Device(String),
    /// The simulated stick.
    Trial,
}

/// The candidates of one page, with their numbers in the whole list.
fn page(candidates: &[Candidate], page: usize) -> &[Candidate] {
    let pages = candidates.len().div_ceil(PAGE).max(1);
    let from = (page % pages) * PAGE;
    candidates
        .get(from..candidates.len().min(from + PAGE))
        .unwrap_or_default()
}

/// The question. `number` counts the pages that were turned.
pub fn question(candidates: &[Candidate], others: usize, number: usize, aside: &str) -> Question {
    let shown = page(candidates, number);
    let mut choices: Vec<Choice> = shown.iter().map(choice).collect();
    choices.push(
        Choice::new("a simulated stick, to try this without touching anything")
            .detail(format!("{TRIAL}: what is written to it is gone at the end")),
    );
    let mut extras = Vec::new();
    let mut extra = |key, label| extras.push(Extra { key, label });
    if candidates.len() > PAGE {
        extra(MORE, "more devices");
    }
    if others > 0 {
        extra(OTHERS, "the others, and why not");
    }
    extra(AGAIN, "look again");
    let told = if candidates.is_empty() {
        "There is no USB stick and no card that could be taken. Plug one in, then press r."
    } else {
        ""
    };
    Question {
        text: above(aside, told),
        title: "Which device?".to_owned(),
        choices,
        default: 0,
        extras,
        can_go_back: false,
    }
}

fn choice(candidate: &Candidate) -> Choice {
    let device = &candidate.device;
    let mut choice = Choice::new(devices::line(device));
    if !candidate.holds.is_empty() {
        choice = choice.detail(format!("now on it: {}", candidate.holds));
    }
    match device.notes.first() {
        Some(note) => choice.detail(note.clone()),
        None => match device.by_id.first() {
            Some(name) => choice.detail(name.clone()),
            None => choice,
        },
    }
}

/// What the answer of this number picks.
pub fn pick(candidates: &[Candidate], number: usize, answer: usize) -> Pick {
    match page(candidates, number).get(answer) {
        Some(candidate) => Pick::Device(candidate.device.path.clone()),
        None => Pick::Trial,
    }
}

/// Those that cannot be picked, each with the reason.
pub fn others(others: &[Device]) -> String {
    devices::text(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    #[test]
    fn a_device_is_shown_with_model_size_bus_and_what_is_on_it() {
        let asked = question(&[fake::candidate("/dev/sdb")], 2, 0, "");
        let menu = asked.menu();
        for part in ["/dev/sdb", "16.0 GB", "usb", "Voyager", "now on it: MBR"] {
            assert!(menu.contains(part), "{part}: {menu}");
        }
        assert!(menu.contains("o  the others, and why not"), "{menu}");
        assert!(!menu.contains("more devices"), "{menu}");
    }

    #[test]
    fn many_devices_are_shown_page_by_page_and_picked_on_their_page() {
        let many: Vec<Candidate> = (0..7)
            .map(|n| fake::candidate(&format!("/dev/sd{n}")))
            .collect();
        assert_eq!(question(&many, 0, 0, "").choices.len(), 6);
        assert_eq!(question(&many, 0, 1, "").choices.len(), 3);
        assert_eq!(pick(&many, 1, 0), Pick::Device("/dev/sd5".to_owned()));
        assert_eq!(pick(&many, 2, 0), Pick::Device("/dev/sd0".to_owned()));
        assert_eq!(pick(&many, 1, 2), Pick::Trial);
        let lines = question(&many, 3, 0, "").menu().lines().count();
        assert!(lines <= 23, "{lines} lines on a screen of 24");
    }

    #[test]
    fn without_any_device_there_is_still_something_to_do() {
        let asked = question(&[], 1, 0, "");
        assert!(asked.text.contains("Plug one in"));
        assert_eq!(pick(&[], 0, 0), Pick::Trial);
    }
}

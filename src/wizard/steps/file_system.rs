//! Which file system? The advice of the stick, its reasons one key away.

use super::above;
use crate::plan::filesystem::advice::{Advice, Suits};
use crate::plan::{FileSystem, Layout};
use crate::wizard::{Choice, Extra, Question};

/// Shows the reasons.
pub const WHY: char = 'w';

/// One possible answer.
struct Offer {
    filesystem: FileSystem,
    words: String,
}

/// What is offered, the one for the purpose first. `layout` is the one for the purpose.
fn offers(layout: &Layout) -> Vec<Offer> {
    let taken = layout.partitions.first().map(|it| it.filesystem);
    let advice = layout.advice.as_ref();
    let for_purpose = advice.is_some_and(|advice| advice.purpose.is_some());
    let mut offers: Vec<Offer> = Vec::new();
    if let Some(taken) = taken {
        let suits = words(advice, taken);
        let mark = if for_purpose {
            "recommended for that"
        } else {
            "usual for this size"
        };
        offers.push(Offer {
            filesystem: taken,
            words: if suits.is_empty() {
                mark.to_owned()
            } else {
                format!("{mark}; {suits}")
            },
        });
    }
    let mut judged: Vec<(u8, FileSystem)> = advice
        .iter()
        .flat_map(|advice| &advice.choices)
        // What does not fit on this medium cannot be taken.
        .filter(|choice| choice.unit_bytes.is_some())
        .filter_map(|choice| Some((rank(choice.suits), choice.filesystem.parse().ok()?)))
        .filter(|(_, filesystem)| Some(*filesystem) != taken)
        .collect();
    judged.sort_by_key(|(rank, _)| *rank);
    offers.extend(judged.into_iter().map(|(_, filesystem)| Offer {
        filesystem,
        words: words(advice, filesystem),
    }));
    // With "none" at the end there are never more than nine.
    offers.truncate(8);
    offers.push(Offer {
        filesystem: FileSystem::None,
        words: "the partition only, for a file system made elsewhere".to_owned(),
    });
    offers
}

const fn rank(suits: Suits) -> u8 {
    match suits {
        Suits::Well => 0,
        Suits::WithCare => 1,
        Suits::Unknown => 2,
        Suits::Badly => 3,
    }
}

fn words(advice: Option<&Advice>, filesystem: FileSystem) -> String {
    let judged = advice.and_then(|advice| {
        advice
            .choices
            .iter()
            .find(|choice| choice.filesystem == filesystem.word())
    });
    match judged {
        Some(choice) if choice.suits != Suits::Unknown => {
            format!("{} this stick", suits(choice.suits))
        }
        Some(choice) => format!(
            "writes in {} to {} places at once",
            choice.writes_in.0, choice.writes_in.1
        ),
        None => String::new(),
    }
}

const fn suits(suits: Suits) -> &'static str {
    match suits {
        Suits::Well => "suits",
        Suits::WithCare => "works with care on",
        Suits::Badly => "does not suit",
        Suits::Unknown => "cannot be judged on",
    }
}

/// The question.
pub fn question(layout: &Layout, can_go_back: bool, aside: &str) -> Question {
    let choices = offers(layout)
        .into_iter()
        .map(|offer| Choice::new(format!("{:<6} {}", offer.filesystem.word(), offer.words)))
        .collect();
    let extras = layout
        .advice
        .is_some()
        .then_some(Extra {
            key: WHY,
            label: "why: what this stick bears",
        })
        .into_iter()
        .collect();
    Question {
        text: above(aside, ""),
        title: "Which file system?".to_owned(),
        choices,
        default: 0,
        extras,
        can_go_back,
    }
}

/// What the answer of this number means.
pub fn answer(layout: &Layout, number: usize) -> FileSystem {
    offers(layout)
        .get(number)
        .map_or(FileSystem::None, |offer| offer.filesystem)
}

/// The reasons of the advice.
pub fn why(layout: &Layout) -> String {
    let Some(advice) = &layout.advice else {
        return String::new();
    };
    let mut text = format!("{}\n\n", advice.paragraph);
    for choice in &advice.choices {
        text += &format!(
            "  {:<6} {}: {}\n",
            choice.filesystem,
            choice.suits.words(),
            choice.reasons.join("; ")
        );
    }
    text + &format!("\nWhat misalignment costs: {}.\n", advice.misalignment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    #[test]
    fn the_advice_comes_first_and_every_file_system_once() {
        let layout = fake::layout(Some("data"), None);
        let asked = question(&layout, true, "");
        assert!(
            asked.choices[0]
                .label
                .starts_with("exfat  recommended for that"),
            "{asked:?}"
        );
        assert_eq!(answer(&layout, 0), FileSystem::ExFat);
        let last = asked.choices.len() - 1;
        assert_eq!(answer(&layout, last), FileSystem::None);
        let mut all: Vec<FileSystem> = (0..=last).map(|n| answer(&layout, n)).collect();
        all.sort_by_key(|it| it.word());
        all.dedup();
        assert_eq!(all.len(), asked.choices.len());
        assert!(asked.choices.len() <= 9);
    }

    #[test]
    fn the_reasons_name_what_the_stick_keeps_open() {
        let text = why(&fake::layout(Some("data"), None));
        assert!(text.contains("places at once"), "{text}");
        assert!(text.contains("What misalignment costs"), "{text}");
    }
}

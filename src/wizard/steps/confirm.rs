//! These are the writes. Shall the file systems be made too?

use super::above;
use crate::wizard::{Choice, Extra, Preview, Question};

/// Shows every sector.
pub const DETAILS: char = 'd';

/// Whether the file systems are made too, for each answer.
fn answers(preview: &Preview) -> &'static [bool] {
    match &preview.format {
        Ok(commands) if !commands.is_empty() => &[true, false],
        Ok(_) | Err(_) => &[false],
    }
}

/// The question.
pub fn question(preview: &Preview, aside: &str) -> Question {
    let mut text = String::new();
    if aside.is_empty() {
        text += &preview.text;
        match &preview.format {
            Ok(commands) if !commands.is_empty() => {
                text += "\nto make the file systems:\n";
                for command in commands {
                    text += &format!("  {command}\n");
                }
            }
            Ok(_) => {}
            Err(why) => text += &format!("\nThe file systems cannot be made now: {why}\n"),
        }
    }
    let choices = answers(preview)
        .iter()
        .map(|format| {
            Choice::new(if *format {
                "write the table and make the file systems"
            } else {
                "write the table only"
            })
        })
        .collect();
    Question {
        text: above(aside, &text),
        title: "Write this? Nothing is written before you type the device's name.".to_owned(),
        choices,
        default: 0,
        extras: vec![Extra {
            key: DETAILS,
            label: "details: every sector",
        }],
        can_go_back: true,
    }
}

/// Whether the file systems are made too.
pub fn answer(preview: &Preview, number: usize) -> bool {
    answers(preview).get(number).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(format: Result<Vec<String>, String>) -> Preview {
        Preview {
            text: "before: no table\n".to_owned(),
            details: String::new(),
            format,
        }
    }

    #[test]
    fn file_systems_are_made_only_where_they_can_be() {
        let can = preview(Ok(vec!["mkfs.exfat /dev/sdb1".to_owned()]));
        let asked = question(&can, "");
        assert!(asked.text.contains("mkfs.exfat /dev/sdb1"));
        assert_eq!((answer(&can, 0), answer(&can, 1)), (true, false));
        let cannot = preview(Err("mkfs.exfat is not installed".to_owned()));
        let asked = question(&cannot, "");
        assert!(asked.text.contains("not installed"), "{}", asked.text);
        assert_eq!(asked.choices.len(), 1);
        assert!(!answer(&cannot, 0));
        assert!(!answer(&preview(Ok(Vec::new())), 0));
    }
}

//! The advice in words.

use super::{Choice, Purpose, Suits};
use crate::plan::alignment::AlignmentChoice;
use crate::plan::filesystem::stick::{Open, Stick};
use crate::plan::types::FileSystem;
use crate::units::Bytes;

pub(super) fn misalignment(grid: &AlignmentChoice, stick: &Stick) -> String {
    let Some(block) = grid.erase_block.filter(|_| !stick.like_ssd) else {
        return "no erase block is told, so what a partition off the grid would cost cannot be said"
            .to_owned();
    };
    let open = match stick.linear.safe() {
        Some(open) if open > 1 => {
            format!(
                ", so that of the {open} that stay open only {} count",
                open / 2
            )
        }
        _ => String::new(),
    };
    format!(
        "a partition off the grid makes every write of {block} touch two erase blocks instead of one{open}; on an 8 GB stick with 4 MiB erase blocks a start at 1 MiB cost 3 to 5 % of the write speed and a start at sector 63 15 to 25 %, and 5 to 15 % of the read speed (published measurement of 2011); in the worst case a write of 4 KiB costs the rewriting of {block}, {} times as much",
        block.get() / 4096
    )
}

pub(super) fn paragraph(
    purpose: Option<Purpose>,
    taken: Option<FileSystem>,
    choices: &[Choice],
    grid: &AlignmentChoice,
    stick: &Stick,
) -> String {
    let block = grid.erase_block.unwrap_or(grid.unit);
    let mut text = if stick.like_ssd {
        "This stick shows neither erase blocks nor a limit of open ones, as an SSD does: any file system suits it, and any start on whole megabytes will do.".to_owned()
    } else {
        match stick.linear {
            Open::Unknown => format!(
                "How many erase blocks this stick keeps open at once is not known, so the file systems that write in the fewest places are the safe ones: FAT32 and exFAT (2 to 3), then ext4 (4 to 6). Each place too many costs the copying of a whole erase block of {block} for every small write."
            ),
            Open::Between(open, _) | Open::AtLeast(open) => format!(
                "This stick keeps {}{open} {} open at once. A file system that writes in more places than that makes it copy a whole erase block of {block} for every further small write.{}",
                if matches!(stick.linear, Open::AtLeast(_)) {
                    "at least "
                } else {
                    ""
                },
                counted(open, block, stick),
                verdicts(choices)
            ),
        }
    };
    if let (Some(purpose), Some(fs)) = (purpose, taken) {
        text += &format!(" For {purpose} take {fs}");
        match choices.iter().find(|choice| choice.filesystem == fs.word()) {
            Some(choice) if choice.suits == Suits::Badly => {
                text += ", the least bad for it: another stick would serve better.";
            }
            Some(choice) if !choice.mount.is_empty() => {
                text += &format!(", mounted with {}.", choice.mount);
            }
            Some(choice) => match choice.unit_bytes {
                Some(unit) => text += &format!(" with clusters of {unit}."),
                None => text += ".",
            },
            None => text += ".",
        }
    }
    text
}

/// What is counted, where it is another size than the erase block with its size.
fn counted(open: u32, block: Bytes, stick: &Stick) -> String {
    let plural = if open == 1 { "" } else { "s" };
    match stick.linear_unit {
        Some(unit) if unit != block => format!("unit{plural} of {unit}"),
        _ => format!("erase block{plural}"),
    }
}

fn verdicts(choices: &[Choice]) -> String {
    let mut text = String::new();
    for suits in [Suits::Well, Suits::WithCare, Suits::Badly] {
        let names: Vec<&str> = choices
            .iter()
            .filter(|choice| choice.suits == suits)
            .map(|choice| choice.filesystem.as_str())
            .collect();
        let words = match (suits, names.as_slice()) {
            (_, []) => continue,
            (Suits::Well, _) => "Suitable",
            (Suits::WithCare, _) => "Bearable with care",
            _ => "Not suitable",
        };
        text += &format!(" {words}: {}.", names.join(", "));
    }
    text
}

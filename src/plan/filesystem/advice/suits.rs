//! How well does a file system suit a stick?

use super::Suits;
use crate::plan::filesystem::f2fs;
use crate::plan::filesystem::stick::{Open, Stick};
use crate::plan::types::FileSystem;
use crate::units::Bytes;

/// How well one file system suits the stick, and why.
pub fn judge(fs: FileSystem, stick: &Stick) -> (Suits, Vec<String>) {
    let mut reasons = Vec::new();
    let (least, most) = places(fs, stick);
    let random = writes_at_random(fs);
    let open = open_for(fs, stick);
    if stick.like_ssd {
        reasons.push("the stick shows neither boundaries nor a limit, as SSDs do".to_owned());
        return (Suits::Well, reasons);
    }
    let (well, bearable) = thresholds(fs);
    let mut suits = match open {
        None => Suits::Unknown,
        Some(open) if open >= well => Suits::Well,
        Some(open) if open >= bearable => Suits::WithCare,
        Some(_) => Suits::Badly,
    };
    reasons.push(match open {
        None => format!("it writes in {least} to {most} places at once; how many the stick keeps open was not measured"),
        Some(open) => format!(
            "it writes in {least} to {most} places at once{}, and the stick keeps {}{open} open",
            if random { ", in any order" } else { "" },
            if no_limit(fs, stick) { "at least " } else { "" }
        ),
    });
    if random_is_bad(stick) {
        if random {
            suits = Suits::Badly;
            reasons.push(badly(stick));
        } else if fs == FileSystem::F2fs && suits != Suits::Unknown {
            reasons.push(
                "it turns writes in any order into writes in order, which this stick needs"
                    .to_owned(),
            );
        } else if matches!(fs, FileSystem::Ext4 | FileSystem::Xfs) && suits == Suits::Well {
            // Journals gather what is scattered, and write it back scattered later.
            suits = Suits::WithCare;
            reasons.push(badly(stick));
        }
    }
    match (fs, open) {
        (FileSystem::Fat32 | FileSystem::ExFat, Some(..=2)) => reasons.push(
            "write in large pieces".to_owned(),
        ),
        (FileSystem::Ext4, Some(3..=4)) => reasons.push(
            "for a system that is mostly read: without a journal (-O ^has_journal) it writes in 3 to 5"
                .to_owned(),
        ),
        (FileSystem::Ext4 | FileSystem::Xfs, Some(..=2)) => reasons.push(
            "with two open places or fewer no Linux root file system is bearable".to_owned(),
        ),
        (FileSystem::F2fs, Some(3..=7)) => reasons.push(format!(
            "with the mount option active_logs={}",
            f2fs::active_logs(open)
        )),
        _ => {}
    }
    (suits, reasons)
}

/// What is wrong with writes in any order.
fn badly(stick: &Stick) -> String {
    match stick.random_efficient {
        Some(size) => format!(
            "the stick takes writes in any order badly: they are efficient only in pieces of {size} or more"
        ),
        None => "the stick takes writes in any order badly".to_owned(),
    }
}

/// From how many open places on it does well, and from how many it is bearable. A file system that
/// writes in five places most of the time does well with five; one that spreads what it writes over
/// many (allocation groups, trees, tables) wants eight.
fn thresholds(fs: FileSystem) -> (u32, u32) {
    match fs {
        FileSystem::Fat16 | FileSystem::Fat32 | FileSystem::ExFat => (3, 1),
        FileSystem::Ext4 => (5, 3),
        FileSystem::F2fs | FileSystem::Btrfs => (8, 3),
        FileSystem::Ntfs => (8, 5),
        FileSystem::Xfs => (10, 8),
        FileSystem::Swap | FileSystem::None => (0, 0),
    }
}

/// In how many places it writes while one file grows: at least and at most.
pub(super) fn places(fs: FileSystem, stick: &Stick) -> (u32, u32) {
    match fs {
        FileSystem::Fat16 | FileSystem::Fat32 | FileSystem::ExFat => (2, 3),
        FileSystem::Ext4 => (4, 6),
        FileSystem::F2fs => match stick.linear.safe() {
            None | Some(8..) => (7, 8),
            Some(5..=7) => (5, 6),
            Some(_) => (3, 4),
        },
        FileSystem::Btrfs => (3, 4),
        FileSystem::Xfs => (4, 10),
        FileSystem::Ntfs => (4, 6),
        FileSystem::Swap => (1, 1),
        FileSystem::None => (0, 0),
    }
}

/// Whether it writes within those places in any order.
fn writes_at_random(fs: FileSystem) -> bool {
    matches!(fs, FileSystem::Btrfs | FileSystem::Ntfs)
}

/// The number of open places that counts for this file system.
fn open_for(fs: FileSystem, stick: &Stick) -> Option<u32> {
    let count = if writes_at_random(fs) && stick.random != Open::Unknown {
        stick.random
    } else {
        stick.linear
    };
    count.safe()
}

fn no_limit(fs: FileSystem, stick: &Stick) -> bool {
    let count = if writes_at_random(fs) && stick.random != Open::Unknown {
        stick.random
    } else {
        stick.linear
    };
    matches!(count, Open::AtLeast(_))
}

/// The largest piece that file systems other than logs write in any order as a matter of course: a
/// node of Btrfs (btrfs manual, `nodesize`: 16 KiB by default), four times the block of the others.
const LARGEST_IN_PLACE: Bytes = Bytes::kib(16);

/// Not even one allocation unit can be written in any order, or only in pieces larger than file
/// systems write. The size is told only where smaller pieces fail with a single unit.
pub(super) fn random_is_bad(stick: &Stick) -> bool {
    stick.random.safe() == Some(0)
        || stick
            .random_efficient
            .is_some_and(|size| size > LARGEST_IN_PLACE)
}

//! Whether a file system takes a label.

use super::types::FileSystem;

/// UTF-16 units in the name of a GPT entry (UEFI specification, section 5.3.3: 72 bytes).
pub const GPT_NAME_UNITS: usize = 36;

/// How a file system counts the length of its label.
enum Limit {
    Bytes(usize),
    Utf16(usize),
}

/// Why a label is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Nothing between or behind the colons.
    #[error("the label is empty: leave out the colon in front of it")]
    Empty,
    /// More than the superblock holds.
    #[error("label '{label}' is too long for {fs}: at most {most} {unit}, it has {length}")]
    TooLong {
        /// The label.
        label: String,
        /// The file system, or the GPT.
        fs: &'static str,
        /// The limit.
        most: usize,
        /// What is counted.
        unit: &'static str,
        /// The label's length.
        length: usize,
    },
    /// A character that the file system cannot store.
    #[error("label '{label}': {fs} cannot store the character {character:?}, choose another label")]
    Character {
        /// The label.
        label: String,
        /// The file system.
        fs: &'static str,
        /// The first such character.
        character: char,
    },
}

/// Check `label` for `fs`.
///
/// Limits: FAT 11 bytes (the name of a directory entry), exFAT 11 UTF-16 units (exFAT
/// specification, 7.3.3), ext4 16 bytes (`s_volume_name`), F2FS 511 units (`volume_name[512]` with
/// its terminator), Btrfs 255 bytes (`BTRFS_LABEL_SIZE` with its terminator), XFS 12 bytes
/// (`sb_fname`), NTFS 32 units (the limit of Windows), swap 15 bytes (`volume_name[16]`, which
/// mkswap terminates). Without file system the label is only the name of a GPT entry, 36 units.
pub fn check_label(label: &str, fs: FileSystem) -> Result<(), LabelError> {
    if label.is_empty() {
        return Err(LabelError::Empty);
    }
    if let Some(character) = label.chars().find(|c| !storable(*c, fs)) {
        return Err(LabelError::Character {
            label: label.escape_debug().to_string(),
            fs: fs.word(),
            character,
        });
    }
    let limit = match fs {
        FileSystem::Fat16 | FileSystem::Fat32 => Limit::Bytes(11),
        FileSystem::ExFat => Limit::Utf16(11),
        FileSystem::Ext4 => Limit::Bytes(16),
        FileSystem::F2fs => Limit::Utf16(511),
        FileSystem::Btrfs => Limit::Bytes(255),
        FileSystem::Xfs => Limit::Bytes(12),
        FileSystem::Ntfs => Limit::Utf16(32),
        FileSystem::Swap => Limit::Bytes(15),
        FileSystem::None => Limit::Utf16(GPT_NAME_UNITS),
    };
    check_length(label, fs.word(), &limit)
}

/// Check that `name` fits into a GPT entry.
pub fn check_gpt_name(name: &str) -> Result<(), LabelError> {
    check_length(name, "a GPT name", &Limit::Utf16(GPT_NAME_UNITS))
}

/// The name of a GPT entry for a label: characters beyond U+FFFF become `_`. sfdisk 2.38 drops a
/// name with such a character silently and altogether, and every script is to give one table.
pub fn gpt_name(label: &str) -> String {
    label
        .chars()
        .map(|c| if u32::from(c) > 0xffff { '_' } else { c })
        .collect()
}

fn check_length(label: &str, fs: &'static str, limit: &Limit) -> Result<(), LabelError> {
    let (length, most, unit) = match limit {
        Limit::Bytes(most) => (label.len(), *most, "bytes"),
        Limit::Utf16(most) => (label.encode_utf16().count(), *most, "UTF-16 units"),
    };
    if length <= most {
        return Ok(());
    }
    Err(LabelError::TooLong {
        label: label.to_owned(),
        fs,
        most,
        unit,
        length,
    })
}

/// Control characters are refused everywhere: they would break scripts and terminals. FAT stores
/// labels in an unnamed code page, so only ASCII travels, without the characters that its
/// specification excludes from names ("FAT: General Overview of On-Disk Format", page 24).
fn storable(c: char, fs: FileSystem) -> bool {
    match fs {
        FileSystem::Fat16 | FileSystem::Fat32 => {
            c.is_ascii() && !c.is_control() && !"\"*+,./:;<=>?[\\]|".contains(c)
        }
        _ => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_system_keeps_its_own_limit() {
        for (fs, most) in [
            (FileSystem::Fat16, 11),
            (FileSystem::Fat32, 11),
            (FileSystem::ExFat, 11),
            (FileSystem::Ext4, 16),
            (FileSystem::F2fs, 511),
            (FileSystem::Btrfs, 255),
            (FileSystem::Xfs, 12),
            (FileSystem::Ntfs, 32),
            (FileSystem::Swap, 15),
            (FileSystem::None, 36),
        ] {
            assert_eq!(check_label(&"X".repeat(most), fs), Ok(()), "{fs}");
            let error = check_label(&"X".repeat(most + 1), fs);
            assert!(matches!(error, Err(LabelError::TooLong { .. })), "{fs}");
        }
    }

    #[test]
    fn bytes_and_utf16_units_are_not_the_same() {
        assert_eq!(check_label("ääääääääääa", FileSystem::ExFat), Ok(()));
        assert!(check_label("äääääääää", FileSystem::Ext4).is_err());
        assert!(check_label("😀😀😀😀😀😀", FileSystem::ExFat).is_err());
        assert_eq!(check_gpt_name(&"😀".repeat(18)), Ok(()));
        assert!(check_gpt_name(&"😀".repeat(19)).is_err());
        assert_eq!(gpt_name("a😀漢"), "a_漢");
    }

    #[test]
    fn characters_that_cannot_be_stored_are_named() {
        for (label, fs) in [
            ("A.B", FileSystem::Fat32),
            ("É", FileSystem::Fat16),
            ("a\nb", FileSystem::Ext4),
            ("a\u{85}b", FileSystem::None),
        ] {
            let error = check_label(label, fs);
            assert!(
                matches!(error, Err(LabelError::Character { .. })),
                "{label:?}"
            );
        }
        assert_eq!(check_label("", FileSystem::Ext4), Err(LabelError::Empty));
    }
}

//! A GUID in the order in which it is written as text.

use std::fmt;
use std::str::FromStr;

/// A GUID; the bytes are in text order (`C12A7328-…` begins with `0xC1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid([u8; 16]);

/// Why a text is no GUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no GUID: write 32 hex digits as 8-4-4-4-12")]
pub struct GuidError(String);

impl Guid {
    /// The GUID that is written as this number in hexadecimal.
    pub const fn from_u128(value: u128) -> Guid {
        Guid(value.to_be_bytes())
    }

    /// The bytes in text order.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// A random GUID made from 16 random bytes: version 4, variant 1 (RFC 9562 section 5.4).
    pub const fn random_from(mut bytes: [u8; 16]) -> Guid {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Guid(bytes)
    }

    /// Whether all bits are zero (GPT's "unused entry").
    pub const fn is_nil(self) -> bool {
        u128::from_be_bytes(self.0) == 0
    }

    /// The bytes as a GPT stores them: the first three groups little-endian, the other two as
    /// written (UEFI specification, appendix A).
    pub const fn to_disk(self) -> [u8; 16] {
        let b = self.0;
        [
            b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10], b[11], b[12], b[13],
            b[14], b[15],
        ]
    }

    /// The GUID that a GPT stores as these bytes.
    pub const fn from_disk(bytes: [u8; 16]) -> Guid {
        // Swapping the bytes of each group is its own inverse.
        Guid(Guid(bytes).to_disk())
    }
}

impl fmt::Display for Guid {
    /// Upper case, as sfdisk prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl FromStr for Guid {
    type Err = GuidError;

    /// Upper or lower case, with all four hyphens; braces are not taken.
    fn from_str(text: &str) -> Result<Guid, GuidError> {
        let refuse = || GuidError(text.to_owned());
        let groups: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        if lengths != [8, 4, 4, 4, 12] {
            return Err(refuse());
        }
        let digits = groups.concat();
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(refuse());
        }
        u128::from_str_radix(&digits, 16)
            .map(Guid::from_u128)
            .map_err(|_| refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_survives_text_and_disk() {
        let text = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
        let guid: Guid = text.parse().unwrap();
        assert_eq!(guid.to_string(), text);
        assert_eq!(
            guid.to_disk()[..8],
            [0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44]
        );
        assert_eq!(Guid::from_disk(guid.to_disk()), guid);
        assert_eq!(text.to_lowercase().parse(), Ok(guid));
    }

    #[test]
    fn what_is_no_guid_is_refused() {
        for text in [
            "",
            "EBD0A0A2B9E5443387C068B6B72699C7",
            "{EBD0A0A2-B9E5-4433-87C0-68B6B72699C7}",
            "EBD0A0A2-B9E5-4433-87C0-68B6B72699C",
            "EBD0A0A2-B9E5-4433-87C0-68B6B72699CG",
            "+BD0A0A2-B9E5-4433-87C0-68B6B72699C7",
        ] {
            assert!(text.parse::<Guid>().is_err(), "{text}");
        }
    }

    #[test]
    fn random_guids_carry_version_and_variant() {
        let text = Guid::random_from([0xff; 16]).to_string();
        assert_eq!(text, "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF");
        let text = Guid::random_from([0; 16]).to_string();
        assert_eq!(text, "00000000-0000-4000-8000-000000000000");
    }
}

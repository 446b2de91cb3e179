//! The SD status register: the one place where an SD card states its allocation unit.
//!
//! SD Physical Layer Simplified Specification, section 4.10.2 "SD Status": 512 bits, AU_SIZE in
//! bits 431:428. The kernel prints it as 128 hex digits, most significant first
//! (`mmc_ssr_show` in drivers/mmc/core/sd.c), so digit i holds bits 511-4i to 508-4i.

use crate::units::Bytes;

/// The digit that holds bits 431:428.
const AU_SIZE_DIGIT: usize = (511 - 431) / 4;
/// 512 bits, four in each digit.
const DIGITS: usize = 512 / 4;

/// What the AU_SIZE field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuSize {
    /// The card does not define one (code 0; also the register of a card that could not be read).
    Undefined,
    /// The allocation unit.
    Defined(Bytes),
}

/// Decode AU_SIZE from the text of sysfs `ssr`; `None` when this is no SD status register.
///
/// Codes from A (8 MiB) on exist since version 3.00 of the specification; 12 and 24 MiB are the two
/// that are no powers of two.
pub fn au_size(ssr: &str) -> Option<AuSize> {
    let ssr = ssr.trim();
    if ssr.len() != DIGITS || !ssr.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let code = ssr[AU_SIZE_DIGIT..].chars().next()?.to_digit(16)?;
    Some(AuSize::Defined(match code {
        0x1 => Bytes::kib(16),
        0x2 => Bytes::kib(32),
        0x3 => Bytes::kib(64),
        0x4 => Bytes::kib(128),
        0x5 => Bytes::kib(256),
        0x6 => Bytes::kib(512),
        0x7 => Bytes::mib(1),
        0x8 => Bytes::mib(2),
        0x9 => Bytes::mib(4),
        0xa => Bytes::mib(8),
        0xb => Bytes::mib(12),
        0xc => Bytes::mib(16),
        0xd => Bytes::mib(24),
        0xe => Bytes::mib(32),
        0xf => Bytes::mib(64),
        _ => return Some(AuSize::Undefined),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(code: char) -> String {
        let mut digits = vec!['0'; DIGITS];
        // Speed class 4 (class 10) and performance move 0 stand before it, erase size 0x000f after.
        digits[16] = '0';
        digits[17] = '4';
        digits[20] = code;
        digits[25] = 'f';
        digits.into_iter().collect()
    }

    #[test]
    fn every_code_of_the_table_is_decoded() {
        let expected = [
            ('1', 16),
            ('2', 32),
            ('3', 64),
            ('4', 128),
            ('5', 256),
            ('6', 512),
            ('7', 1 << 10),
            ('8', 2 << 10),
            ('9', 4 << 10),
            ('A', 8 << 10),
            ('b', 12 << 10),
            ('C', 16 << 10),
            ('d', 24 << 10),
            ('E', 32 << 10),
            ('F', 64 << 10),
        ];
        for (code, kib) in expected {
            assert_eq!(
                au_size(&register(code)),
                Some(AuSize::Defined(Bytes::kib(kib))),
                "{code}"
            );
        }
        assert_eq!(au_size(&register('0')), Some(AuSize::Undefined));
    }

    #[test]
    fn anything_but_128_hex_digits_is_no_register() {
        let good = register('9');
        assert_eq!(au_size(&format!("{good}\n")), au_size(&good));
        assert_eq!(au_size(&good[1..]), None);
        assert_eq!(au_size(&good.replace('f', "x")), None);
        assert_eq!(au_size(""), None);
    }
}

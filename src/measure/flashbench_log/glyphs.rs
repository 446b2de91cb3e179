//! Bytes of any encoding in, plain ASCII out.
//!
//! Logs come from terminals, mails, wikis and word processors: UTF-8, Latin-1, UTF-16, text that
//! was decoded wrongly once or twice. Nothing but ASCII carries meaning in flashbench's output
//! except the micro sign, so everything else is reduced to what it stands for.

/// What any character without meaning becomes. Mailers print the same mark for what they cannot
/// show, so both are handled alike further on.
pub(super) const UNREADABLE: u8 = b'?';

/// The ASCII reading of a text. Copying it is a bookmark.
#[derive(Clone, Copy)]
pub(super) struct Glyphs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Glyphs<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Glyphs<'a> {
        Glyphs { bytes, at: 0 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.at
            .checked_add(ahead)
            .and_then(|at| self.bytes.get(at))
            .copied()
            .unwrap_or(0)
    }
}

impl Iterator for Glyphs<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            let first = *self.bytes.get(self.at)?;
            let (second, third) = (self.byte(1), self.byte(2));
            let (glyph, length) = match (first, second, third) {
                // Every other byte of UTF-16.
                (0, _, _) => (None, 1),
                (b'\n' | b'\r', _, _) => (Some(b'\n'), 1),
                (b' '..=b'~', _, _) => (Some(first), 1),
                (0x01..=0x1f | 0x7f, _, _) => (Some(b' '), 1),
                // Micro sign, Greek mu, no-break space.
                (0xc2, 0xb5, _) | (0xce, 0xbc, _) => (Some(b'u'), 2),
                (0xc2, 0xa0, _) => (Some(b' '), 2),
                // Zero-width space and byte order mark; thin spaces, bullet, ideographic space.
                (0xe2, 0x80, 0x8b) | (0xef, 0xbb, 0xbf) => (None, 3),
                (0xe2, 0x80, 0x80..=0x8a | 0xa2 | 0xaf) | (0xe3, 0x80, 0x80) => (Some(b' '), 3),
                // Dashes and the minus sign: mail programs make `--` and `-` into these.
                (0xe2, 0x80, 0x90..=0x95) | (0xe2, 0x88, 0x92) => (Some(b'-'), 3),
                // Any other multi-byte character of UTF-8.
                (0xc2..=0xdf, 0x80..=0xbf, _) => (Some(UNREADABLE), 2),
                (0xe0..=0xef, 0x80..=0xbf, 0x80..=0xbf) => (Some(UNREADABLE), 3),
                (0xf0..=0xf4, 0x80..=0xbf, 0x80..=0xbf) => (Some(UNREADABLE), 4),
                // Not UTF-8: the same characters in Latin-1 and Windows-1252.
                (0xb5, _, _) => (Some(b'u'), 1),
                (0xa0 | 0x95, _, _) => (Some(b' '), 1),
                (0x96 | 0x97, _, _) => (Some(b'-'), 1),
                _ => (Some(UNREADABLE), 1),
            };
            self.at = self.at.saturating_add(length);
            if glyph.is_some() {
                return glyph;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        Glyphs::new(bytes).map(char::from).collect()
    }

    #[test]
    fn every_way_to_write_a_micro_sign_reads_alike() {
        for micro in ["µ".as_bytes(), "μ".as_bytes(), b"\xb5"] {
            let text = [b"7", micro, b"s"].concat();
            assert_eq!(read(&text), "7us");
        }
        assert_eq!(read("7Âµs".as_bytes()), "7?us");
    }

    #[test]
    fn sixteen_bit_text_reads_like_eight_bit_text() {
        let text: Vec<u8> = "\u{feff}on 7µs\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(read(&text), "??on 7us\n\n");
    }

    #[test]
    fn spaces_dashes_and_foreign_letters_are_reduced() {
        assert_eq!(read("a\u{a0}b\t–c — Диск".as_bytes()), "a b -c - ????");
        assert_eq!(read(b"\xff\xfe\xc2"), "???");
    }
}

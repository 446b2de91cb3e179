//! The checksum of GPT headers and entries: CRC-32 of IEEE 802.3, as zlib computes it (UEFI
//! specification, section 5.3.2).

/// The reflected polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The sum over some bytes.
pub(in crate::table) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(bytes);
    crc.finish()
}

/// A sum over bytes that come in pieces.
pub(super) struct Crc32 {
    state: u32,
}

impl Crc32 {
    pub(super) const fn new() -> Crc32 {
        Crc32 { state: u32::MAX }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let index = usize::from(self.state.to_le_bytes()[0] ^ byte);
            self.state = self.state >> 8 ^ TABLE[index];
        }
    }

    pub(super) const fn finish(self) -> u32 {
        !self.state
    }
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index: u32 = 0;
    while index < 256 {
        let mut value = index;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                value >> 1 ^ POLYNOMIAL
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index as usize] = value;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_algorithm_comes_out() {
        // The check value that every catalogue of CRCs gives for this one.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        let mut pieces = Crc32::new();
        pieces.update(b"1234");
        pieces.update(b"56789");
        assert_eq!(pieces.finish(), 0xcbf4_3926);
    }
}

//! Buffers that `O_DIRECT` accepts.

use std::ops::{Deref, DerefMut};

/// The alignment of every buffer: the largest logical block flashfit supports, and the page size
/// that direct I/O wants on common kernels.
const ALIGNMENT: usize = 4096;

/// A zeroed buffer whose address is a multiple of 4096.
pub struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// A zeroed buffer of `length` bytes.
    pub fn new(length: usize) -> AlignedBuffer {
        let memory = vec![0; length + ALIGNMENT];
        // Safe over-allocation instead of an aligned allocator: `start` is at most ALIGNMENT - 1,
        // and the memory never moves because the vector never grows.
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        AlignedBuffer {
            memory,
            start,
            length,
        }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_aligned_whatever_the_length() {
        for length in [0, 1, 512, 4096, 12345, 1 << 20] {
            let buffer = AlignedBuffer::new(length);
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.len(), length);
        }
    }
}

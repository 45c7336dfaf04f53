//! The sizes of a pool's blocks.

use std::ops::RangeInclusive;

/// The rule for the sizes of a pool's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// Few sizes, for buffers of all lengths. A buffer has a block of about its length.
    Classes,
    /// As large as the largest need so far, for users of which each can have any block.
    Largest,
}

/// A block may be larger than a buffer needs by so much: two steps of [`class`].
const SLACK: usize = 2;

impl Sizes {
    /// The sizes of blocks that `len` bytes can have.
    pub(super) fn fitting(self, len: usize) -> RangeInclusive<usize> {
        match self {
            Self::Classes => {
                let size = class(len);
                let largest = (0..SLACK).fold(size, |largest, _| class(largest.saturating_add(1)));
                size..=largest
            }
            Self::Largest => len..=usize::MAX,
        }
    }
}

/// The size of the block for so many bytes: eight sizes for each power of two, so that at most an
/// eighth is wasted, and at least 512.
pub(super) fn class(len: usize) -> usize {
    const SMALLEST: usize = 512;
    if len <= SMALLEST {
        return SMALLEST;
    }
    let step = (1usize << (len - 1).ilog2()) / 8;
    len.checked_next_multiple_of(step.max(SMALLEST))
        .unwrap_or(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_few_and_waste_little() {
        assert_eq!(class(0), 512);
        assert_eq!(class(513), 1024);
        for len in [1000, 5000, 100_000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let size = class(len);
            assert!(
                size >= len && size - len <= (len / 8).max(512),
                "{len} {size}"
            );
            assert_eq!(class(size), size);
        }
        assert_eq!(class(usize::MAX), usize::MAX);
        let sizes: std::collections::BTreeSet<_> =
            (1 << 20..2 << 20).step_by(997).map(class).collect();
        assert!(sizes.len() <= 9);
    }
}

//! First-fit allocation of offsets.

use std::ops::{Range, RangeInclusive};

/// The lowest aligned offset with `bytes` free bytes among ranges that are taken. `None` if an offset
/// would overflow.
pub(crate) fn first_fit(mut taken: Vec<Range<usize>>, bytes: usize, align: usize) -> Option<usize> {
    taken.sort_by_key(|range| range.start);
    let mut offset = 0usize;
    for range in taken {
        if offset.checked_add(bytes)? <= range.start {
            break;
        }
        offset = offset.max(range.end.checked_next_multiple_of(align)?);
    }
    Some(offset)
}

/// Among more ranges than these no gap is looked for, so that allocation takes time in proportion.
const MOST_CONCURRENT: usize = 1 << 10;

/// An arena whose ranges are reused once the instructions that use them are over.
pub(crate) struct ReusedArena {
    align: usize,
    bytes: usize,
    /// Ranges, with the first and the last instruction that uses each.
    placed: Vec<(RangeInclusive<usize>, Range<usize>)>,
}

impl ReusedArena {
    /// An empty arena, in which ranges start on multiples of `align`.
    pub(crate) fn new(align: usize) -> Self {
        Self {
            align,
            bytes: 0,
            placed: Vec::new(),
        }
    }

    /// The size of the arena.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The lowest offset that is free during a lifetime. `None` if the arena would be larger than
    /// `limit`.
    pub(crate) fn place(
        &mut self,
        lifetime: RangeInclusive<usize>,
        bytes: usize,
        limit: usize,
    ) -> Option<usize> {
        let concurrent = |other: &RangeInclusive<usize>| {
            other.start() <= lifetime.end() && lifetime.start() <= other.end()
        };
        let taken: Vec<Range<usize>> = self
            .placed
            .iter()
            .filter(|(other, _)| concurrent(other))
            .map(|(_, range)| range.clone())
            .collect();
        let start = match taken.len() {
            0..=MOST_CONCURRENT => first_fit(taken, bytes, self.align)?,
            _ => self.bytes,
        };
        let end = start
            .checked_add(bytes)?
            .checked_next_multiple_of(self.align)?;
        if end > limit {
            return None;
        }
        self.bytes = self.bytes.max(end);
        self.placed.push((lifetime, start..end));
        Some(start)
    }

    /// An offset that nothing else has at any time. `None` if the arena would be larger than `limit`.
    pub(crate) fn place_alone(&mut self, bytes: usize, limit: usize) -> Option<usize> {
        let start = self.bytes;
        let end = start
            .checked_add(bytes)?
            .checked_next_multiple_of(self.align)?;
        if end > limit {
            return None;
        }
        self.bytes = end;
        self.placed.push((0..=usize::MAX, start..end));
        Some(start)
    }

    /// Forgets the ranges that nothing uses from an instruction on. All that is placed later must
    /// start there or after it.
    pub(crate) fn forget_before(&mut self, instruction: usize) {
        self.placed
            .retain(|(lifetime, _)| *lifetime.end() >= instruction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gap_that_is_large_enough_is_taken() {
        let taken = vec![64..100, 0..10, 200..300];
        assert_eq!(first_fit(taken.clone(), 32, 32), Some(32));
        assert_eq!(first_fit(taken.clone(), 33, 32), Some(128));
        assert_eq!(first_fit(taken.clone(), 100, 32), Some(320));
        assert_eq!(first_fit(vec![], 7, 32), Some(0));
        assert_eq!(first_fit(taken, usize::MAX, 32), None);
    }

    #[test]
    fn memory_is_reused_when_lifetimes_are_apart() {
        let mut arena = ReusedArena::new(64);
        assert_eq!(arena.place(0..=2, 100, 1024), Some(0));
        assert_eq!(arena.place(2..=3, 64, 1024), Some(128));
        assert_eq!(arena.place(3..=4, 64, 1024), Some(0));
        assert_eq!(arena.place(3..=3, 64, 1024), Some(64));
        assert_eq!(arena.bytes(), 192);
        assert_eq!(arena.place(3..=3, 64, 255), None);
        assert_eq!(arena.bytes(), 192);
        arena.forget_before(4);
        assert_eq!(arena.place(5..=5, 128, 192), Some(0));
    }
}

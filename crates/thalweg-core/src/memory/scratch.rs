//! Temporary memory of one instruction.

use std::cell::{Cell, UnsafeCell};

use bytemuck::Pod;

use super::Block;
use crate::Result;

/// Every piece starts on a boundary of this many bytes.
const ALIGN: usize = 64;

/// Memory that is handed out piece by piece and taken back all at once, between instructions.
///
/// It keeps what it has grown to, so that a method in its steady state allocates nothing.
pub struct Scratch {
    /// Pieces are cut from the last block. Earlier ones are full, and still lent out.
    blocks: UnsafeCell<Vec<Block>>,
    used: Cell<usize>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// A scratch without memory.
    pub fn new() -> Self {
        Self {
            blocks: UnsafeCell::new(Vec::new()),
            used: Cell::new(0),
        }
    }

    /// Takes back all that was handed out.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.used.set(0);
        if self.blocks.get_mut().len() > 1 {
            self.merge();
        }
    }

    /// The bytes that it holds.
    pub fn capacity(&self) -> usize {
        // SAFETY: only this and `take` look into the cell through a shared reference, neither
        // keeps the reference, and the type is not `Sync`.
        unsafe { &*self.blocks.get() }.iter().map(Block::len).sum()
    }

    /// `len` elements with arbitrary values, that nobody else has until the next reset.
    #[allow(clippy::mut_from_ref, reason = "every call gives another piece")]
    pub(crate) fn take<T: Pod>(&self, len: usize) -> Result<&mut [T]> {
        if len == 0 {
            return Ok(&mut []);
        }
        let bytes = len
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_next_multiple_of(ALIGN))
            .unwrap_or(usize::MAX);
        // SAFETY: as in `capacity`; growing the vector moves the `Block` handles, not the memory
        // that they own, so pieces handed out before stay valid.
        let blocks = unsafe { &mut *self.blocks.get() };
        let room = blocks
            .last()
            .map_or(0, |block| block.len() - self.used.get());
        if room < bytes {
            let grown = blocks
                .last()
                .map_or(4096, |block| block.len().saturating_mul(2));
            blocks.push(Block::zeroed(bytes.max(grown.min(1 << 24)))?);
            self.used.set(0);
        }
        let block = &blocks[blocks.len() - 1];
        let start = self.used.get();
        self.used.set(start + bytes);
        // SAFETY: the piece lies within the block (there was room), is aligned (blocks and pieces
        // are, to more than any element needs), initialized (blocks start as zeros) and `T` allows
        // any bytes. `used` has moved past it, so no other piece overlaps it until `reset`, whose
        // `&mut self` ends the lifetime of this one.
        Ok(unsafe { std::slice::from_raw_parts_mut(block.as_ptr().add(start).cast::<T>(), len) })
    }

    #[cold]
    fn merge(&mut self) {
        let total = self.capacity();
        let blocks = self.blocks.get_mut();
        blocks.clear();
        // Where memory is out now, the next `take` says so.
        blocks.extend(Block::zeroed(total));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_even_when_the_scratch_grows() {
        let mut scratch = Scratch::new();
        for _ in 0..3 {
            scratch.reset();
            let pieces: Vec<&mut [u32]> = (1..50).map(|n| scratch.take(n * 100).unwrap()).collect();
            let mut pieces = pieces;
            for (value, piece) in pieces.iter_mut().enumerate() {
                piece.fill(value as u32);
            }
            for (value, piece) in pieces.iter().enumerate() {
                assert!(piece.iter().all(|&element| element == value as u32));
            }
        }
    }

    #[test]
    fn the_steady_state_has_one_block() {
        let mut scratch = Scratch::new();
        for _ in 0..4 {
            scratch.reset();
            for n in [10, 5000, 100_000] {
                scratch.take::<u8>(n).unwrap();
            }
        }
        assert_eq!(scratch.blocks.get_mut().len(), 1);
    }

    #[test]
    fn asking_for_too_much_is_an_error() {
        assert!(Scratch::new().take::<f64>(usize::MAX / 4).is_err());
    }
}

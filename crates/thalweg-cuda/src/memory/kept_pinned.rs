//! Pinned memory of programs, kept for the next one.
//!
//! The driver takes about a millisecond to pin memory, and half of one to free it, however little it is.
//! Most programs need a few kilobytes for their inputs and outputs. So a method that is loaded again, and
//! further instances, take the pieces that others have left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::Result;

use super::pinned::PinnedMemory;
use crate::handle::Context;

/// Pinned memory that nobody uses.
#[derive(Default)]
pub(crate) struct KeptPinned(Mutex<Vec<PinnedMemory>>);

/// The most bytes that are kept.
const CAPACITY: usize = 32 << 20;

/// The smallest size of a piece. Sizes are powers of two.
const SMALLEST: usize = 4 << 10;

/// The largest size of a piece that is kept. For a larger one, the time of pinning is that of its pages.
const LARGEST: usize = 4 << 20;

impl KeptPinned {
    /// A piece with `len` bytes at least, of which those are zeros.
    pub(crate) fn take(&self, context: &Arc<Context>, len: usize) -> Result<PinnedMemory> {
        let size = match len {
            0 => 0,
            _ if len > LARGEST => len,
            _ => len.next_power_of_two().max(SMALLEST),
        };
        let kept = {
            let mut pieces = self.lock();
            let found = pieces.iter().rposition(|piece| piece.len() == size);
            found.map(|index| pieces.swap_remove(index))
        };
        match kept {
            Some(mut piece) => {
                piece.clear(len);
                Ok(piece)
            }
            None => PinnedMemory::zeroed(context, size),
        }
    }

    /// Keeps a piece, or frees it. Neither host nor device use it any more.
    pub(crate) fn give_back(&self, piece: PinnedMemory) {
        let (len, lost) = (piece.len(), piece.context().lost().is_some());
        if (SMALLEST..=LARGEST).contains(&len) && !lost {
            let mut pieces = self.lock();
            let kept: usize = pieces.iter().map(PinnedMemory::len).sum();
            if kept + len <= CAPACITY {
                pieces.push(piece);
                return;
            }
        }
        drop(piece);
    }

    /// Frees all that is kept.
    pub(crate) fn trim(&self) {
        let pieces = std::mem::take(&mut *self.lock());
        drop(pieces);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PinnedMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

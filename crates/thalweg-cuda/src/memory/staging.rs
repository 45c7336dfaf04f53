//! Pinned memory through which pageable memory is copied.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::Result;

use super::block::PinnedBlock;
use crate::handle::Context;
use crate::order::{Mark, Operand};

/// Pieces of pinned memory that are kept, in two sizes. A piece is back in its row while the
/// device still copies from it; its uses say when that is complete.
pub(crate) struct Staging {
    rows: [Row; 2],
}

struct Row {
    /// Bytes of each piece.
    size: usize,
    /// The number of pieces that are made before one waits for another's end.
    limit: usize,
    pieces: Mutex<Pieces>,
}

#[derive(Default)]
struct Pieces {
    /// The one that was used longest ago comes first.
    idle: VecDeque<Arc<PinnedBlock>>,
    made: usize,
}

/// A copy of so many bytes takes about as long as filling a piece, so that the two overlap.
pub(crate) const LARGE: usize = 4 << 20;
const SMALL: usize = 64 << 10;

impl Staging {
    pub(crate) fn new() -> Self {
        let row = |size, limit| Row {
            size,
            limit,
            pieces: Mutex::default(),
        };
        Self {
            rows: [row(SMALL, 64), row(LARGE, 4)],
        }
    }

    /// A piece for `len` bytes, at most [`LARGE`]. Writing it may have to wait for the device.
    pub(crate) fn take(&self, context: &Arc<Context>, len: usize) -> Result<Arc<PinnedBlock>> {
        let row = self.row(len);
        let mut pieces = row.lock();
        let first = pieces.idle.pop_front();
        let room = pieces.made < row.limit;
        if first.is_none() || room {
            pieces.made += 1;
        }
        drop(pieces);
        match first {
            // Not under the lock: this calls the driver.
            Some(piece) if !room || is_free(&piece) => {
                if room {
                    row.lock().made -= 1;
                }
                Ok(piece)
            }
            first => {
                if let Some(piece) = first {
                    row.lock().idle.push_front(piece);
                }
                PinnedBlock::new(context, row.size)
                    .map(Arc::new)
                    .inspect_err(|_| row.lock().made -= 1)
            }
        }
    }

    /// Gives a piece back, at the latest when the work that uses it is finished.
    pub(crate) fn put(&self, piece: Arc<PinnedBlock>) {
        let row = self.row(piece.memory().len());
        let mut pieces = row.lock();
        if pieces.made > row.limit {
            // All were in use at once.
            pieces.made -= 1;
            drop(pieces);
            drop(piece);
        } else {
            pieces.idle.push_back(piece);
        }
    }

    /// For a piece that was taken and is not given back.
    pub(crate) fn lose(&self, len: usize) {
        self.row(len).lock().made -= 1;
    }

    /// Frees what nobody uses.
    pub(crate) fn trim(&self) {
        for row in &self.rows {
            let idle = {
                let mut pieces = row.lock();
                pieces.made -= pieces.idle.len();
                std::mem::take(&mut pieces.idle)
            };
            drop(idle);
        }
    }

    fn row(&self, len: usize) -> &Row {
        &self.rows[usize::from(len > SMALL)]
    }
}

impl Row {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_free(piece: &PinnedBlock) -> bool {
    let is_over = |mark: &Mark| mark.event.query().unwrap_or(false);
    let ends = piece.uses().ends();
    ends.is_some_and(|ends| ends.iter().all(is_over))
}

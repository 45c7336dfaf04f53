//! A block of memory that several method instances write in turn.

use std::ptr;
use std::slice;
use std::sync::Arc;

use super::Block;
use crate::Result;
use crate::state::StateGuard;

/// A block whose users take turns by the lock of the state that it belongs to.
#[derive(Clone)]
pub(crate) struct SharedBlock(Arc<Block>);

impl SharedBlock {
    pub(crate) fn zeroed(len: usize) -> Result<Self> {
        Ok(Self(Arc::new(Block::zeroed(len)?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// For an instance's storage; instances only touch it while they hold the state's lock.
    pub(super) fn block(self) -> Arc<Block> {
        self.0
    }

    /// A copy of the bytes.
    pub(crate) fn read(&self, _turn: &StateGuard<'_>) -> Vec<u8> {
        // SAFETY: the guard keeps everybody else from writing; the bytes are initialized.
        unsafe { slice::from_raw_parts(self.0.as_ptr(), self.0.len()) }.to_vec()
    }

    /// Copies as many bytes as both have.
    pub(crate) fn write(&self, _turn: &StateGuard<'_>, bytes: &[u8]) {
        // SAFETY: the guard keeps everybody else from reading and writing, both ranges have that
        // many bytes, and `bytes`, borrowed from elsewhere, is no part of the block.
        unsafe {
            ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.0.as_ptr(),
                bytes.len().min(self.0.len()),
            );
        }
    }

    /// Sets all bytes to zero.
    pub(crate) fn clear(&self, _turn: &StateGuard<'_>) {
        // SAFETY: as above.
        unsafe { ptr::write_bytes(self.0.as_ptr(), 0, self.0.len()) }
    }
}

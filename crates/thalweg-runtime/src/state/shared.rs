//! Host memory that several method instances write in turn.
#![allow(unsafe_code, reason = "the state's lock says who may use the memory")]

use std::sync::Arc;
use std::{ptr, slice};

use thalweg_core::Result;
use thalweg_core::engine::{Block, Storage};

use super::{Coherence, StateGuard};

/// Host memory whose users take turns by the lock of the state that it belongs to. Devices may have
/// the value in its place.
#[derive(Clone)]
pub(crate) struct SharedBlock {
    block: Arc<Block>,
    coherence: Arc<Coherence>,
}

impl SharedBlock {
    pub(crate) fn zeroed(len: usize) -> Result<Self> {
        Ok(Self {
            block: Arc::new(Block::zeroed(len)?),
            coherence: Arc::new(Coherence::new()),
        })
    }

    /// The coherence state of the bytes.
    pub(crate) fn coherence(&self) -> &Arc<Coherence> {
        &self.coherence
    }

    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    /// The storage of an instance, which only uses it while it holds the state's lock.
    pub(crate) fn storage(&self) -> Storage {
        let block = self.block.clone();
        // SAFETY: the block keeps its bytes where they are, and instances use them only while they hold
        // the state's lock.
        unsafe { Storage::shared(block.as_ptr(), block.len(), block) }
    }

    /// Brings the bytes to the host, if it does not have them. The device that has them must be done
    /// with what it was asked for.
    pub(crate) fn bring_to_host(&self, _turn: &StateGuard<'_>) -> Result<()> {
        if self.coherence.on_host() {
            return Ok(());
        }
        if let Some((device, address)) = self.coherence.any_device() {
            let stream = device.default_stream();
            // SAFETY: both have that many bytes; the guard keeps everybody else from using the block,
            // which is not pinned, so that the copy is done when this returns.
            unsafe { device.download(self.block.as_ptr(), address, self.block.len(), stream) }?;
            device.synchronize(stream)?;
        }
        self.coherence.add_host();
        Ok(())
    }

    /// A copy of the bytes, which the host has.
    pub(crate) fn read(&self, _turn: &StateGuard<'_>) -> Vec<u8> {
        // SAFETY: the guard keeps everybody else from writing; the bytes are initialized.
        unsafe { slice::from_raw_parts(self.block.as_ptr(), self.block.len()) }.to_vec()
    }

    /// Copies as many bytes as both have.
    pub(crate) fn write(&self, _turn: &StateGuard<'_>, bytes: &[u8]) {
        // SAFETY: the guard keeps everybody else from reading and writing, both ranges have that
        // many bytes, and `bytes`, borrowed from elsewhere, is no part of the block.
        unsafe {
            ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.block.as_ptr(),
                bytes.len().min(self.block.len()),
            );
        }
        self.coherence.host_only();
    }

    /// Sets all bytes to zero.
    pub(crate) fn clear(&self, _turn: &StateGuard<'_>) {
        // SAFETY: as above.
        unsafe { ptr::write_bytes(self.block.as_ptr(), 0, self.block.len()) }
        self.coherence.host_only();
    }
}

//! Buffers of page-locked host memory, and the host's accesses to them.

use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::NonNull;
use std::sync::Arc;

use thalweg_core::Result;

use super::range::part;
use crate::device::Device;
use crate::memory::{PinnedBlock, PinnedMemory};
use crate::order::{Access, HostHold, Operand};

/// Page-locked host memory, zero at first. Copies between it and a device run while the host goes
/// on.
///
/// The host gets at the bytes by [`PinnedBuffer::read`] and [`PinnedBuffer::write`], which wait
/// for the device where they must; while a result of theirs lives, work that conflicts with it is
/// refused. Dropping a buffer waits until the device is finished with it.
pub struct PinnedBuffer(Arc<PinnedBlock>);

impl PinnedBuffer {
    /// Allocates `len` bytes. Every device of the driver can access them.
    ///
    /// # Errors
    /// If memory is out.
    pub fn new(device: &Device, len: usize) -> Result<Self> {
        let block = PinnedBlock::new(device.context(), len)?;
        Ok(Self(Arc::new(block)))
    }

    /// A buffer of memory that is kept for staging.
    pub(crate) fn of_block(block: Arc<PinnedBlock>) -> Self {
        Self(block)
    }

    /// Gives the memory back to those who keep it.
    pub(crate) fn into_block(self) -> Arc<PinnedBlock> {
        self.0
    }

    pub(crate) fn block(&self) -> &Arc<PinnedBlock> {
        &self.0
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.memory().len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address, for the device as for the host. Work that is given the address and not the
    /// buffer must be announced by [`Work::reads_pinned`](crate::Work::reads_pinned) or
    /// [`Work::writes_pinned`](crate::Work::writes_pinned).
    pub fn address(&self) -> u64 {
        self.data().addr().get() as u64
    }

    /// The start of the memory, for code with an order of its own. It stays where it is for the
    /// buffer's life.
    pub fn data(&self) -> NonNull<u8> {
        self.0.memory().data()
    }

    /// The bytes, to read. Waits on the host for work that writes them.
    ///
    /// # Errors
    /// If such work has failed or is not finished, or the host already holds the bytes to write.
    pub fn read(&self) -> Result<HostBytes<'_>> {
        let memory = self.0.memory();
        Ok(HostBytes {
            hold: self.0.uses().hold(memory.data(), Access::Read)?,
            memory,
        })
    }

    /// The bytes, to write. Waits on the host for all work that uses them.
    ///
    /// # Errors
    /// If such work has failed or is not finished, or the host already holds the bytes.
    pub fn write(&mut self) -> Result<HostBytesMut<'_>> {
        let memory = self.0.memory();
        Ok(HostBytesMut {
            hold: self.0.uses().hold(memory.data(), Access::Write)?,
            memory,
        })
    }

    /// A part of the buffer, as a range of bytes.
    ///
    /// # Errors
    /// If the buffer is shorter.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_>> {
        let (start, len) = part(range, self.len())?;
        Ok(PinnedSlice {
            buffer: self,
            start,
            len,
        })
    }
}

/// Bytes of a [`PinnedBuffer`] that the host reads.
pub struct HostBytes<'b> {
    hold: HostHold,
    memory: &'b PinnedMemory,
}

impl Deref for HostBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.bytes(&self.hold)
    }
}

/// Bytes of a [`PinnedBuffer`] that the host writes.
pub struct HostBytesMut<'b> {
    hold: HostHold,
    memory: &'b PinnedMemory,
}

impl Deref for HostBytesMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.bytes(&self.hold)
    }
}

impl DerefMut for HostBytesMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut(&mut self.hold)
    }
}

/// A part of a [`PinnedBuffer`].
#[derive(Clone, Copy)]
pub struct PinnedSlice<'b> {
    buffer: &'b PinnedBuffer,
    start: usize,
    len: usize,
}

impl<'b> PinnedSlice<'b> {
    /// The buffer.
    pub fn buffer(&self) -> &'b PinnedBuffer {
        self.buffer
    }

    /// The start, in bytes from the start of the buffer.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'b> From<&'b PinnedBuffer> for PinnedSlice<'b> {
    fn from(buffer: &'b PinnedBuffer) -> Self {
        Self {
            buffer,
            start: 0,
            len: buffer.len(),
        }
    }
}

//! Buffers of a device, and parts of them.

use std::ops::RangeBounds;
use std::sync::{Arc, Weak};

use thalweg_core::Result;

use super::range::part;
use crate::event::Event;
use crate::handle::{EventHandle, StreamId};
use crate::memory::{DeviceBlock, DeviceMemory, Home};
use crate::mutation::{Rule, disabled};
use crate::order::{Mark, Operand, Uses};
use crate::stream::{CaptureStatus, Stream};

/// Memory of a device, in bytes with arbitrary values at first.
///
/// It is allocated in the order of a stream, and may be used on any: a buffer knows the work that
/// used it, and [`Work`](crate::Work) that uses it later waits for that on the device. It may be
/// dropped at any time; the memory is freed, or goes back to its pool, after the last use, and
/// nobody waits for that. The memory stays where it is for the buffer's life.
pub struct DeviceBuffer {
    block: Arc<DeviceBlock>,
    len: usize,
}

impl DeviceBuffer {
    /// Allocates `len` bytes in the order of a stream; alignment is 256 bytes or more. Buffers
    /// that come and go are better taken from a [`Pool`](crate::Pool).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](thalweg_core::ErrorKind::OutOfMemory), with sizes, if memory is
    /// out.
    pub fn new(stream: &Stream, len: usize) -> Result<Self> {
        let (memory, uses) = allocate(stream, len)?;
        Ok(Self::of(memory, uses, None, len))
    }

    /// The first bytes of an allocation, which has a home if it is of a pool.
    pub(crate) fn of(
        memory: DeviceMemory,
        uses: Uses,
        home: Option<Weak<dyn Home>>,
        len: usize,
    ) -> Self {
        Self {
            block: Arc::new(DeviceBlock::new(memory, uses, home)),
            len,
        }
    }

    pub(crate) fn block(&self) -> &Arc<DeviceBlock> {
        &self.block
    }

    /// The same memory, from a pool, for another number of bytes.
    pub(crate) fn with_len(self, len: usize) -> Self {
        Self { len, ..self }
    }

    /// Gives memory back to its pool, although unfinished work uses it, whose stream may have it
    /// again.
    pub(crate) fn give_back(self) {
        if let Some(block) = Arc::into_inner(self.block) {
            block.go_home();
        }
    }

    /// Sets the memory in use until an event that was recorded, and, whenever that is recorded
    /// anew, until then: it is not freed before. For code that is given the address, and hands the
    /// memory on by an event of its own.
    ///
    /// The event takes the place of what the buffer knew of earlier writes, its allocation among
    /// them, so that it must come after these.
    pub fn used_until(&self, event: &Event) {
        let device = self.block.memory().map(|memory| memory.context().ordinal());
        self.block.uses().mark_written(Mark {
            // No stream of anybody's, so that every stream waits.
            stream: StreamId::new(device.unwrap_or(0), false),
            event: event.shared(),
        });
    }

    /// Frees the memory in the order of a stream: after what is on it so far, and after all uses that
    /// the buffer knows of, for which the stream waits. What is allocated on the stream next can have
    /// the memory.
    ///
    /// # Errors
    /// If the driver refuses a wait. The memory is freed all the same, once the host has waited; it is
    /// never freed if that cannot be.
    pub fn free_on(self, stream: &Stream) -> Result<()> {
        let mut block = match Arc::try_unwrap(self.block) {
            Ok(block) => block,
            Err(shared) => {
                // Who else has it frees it.
                let event = Arc::new(EventHandle::new(stream.context(), false)?);
                event.record(stream.handle())?;
                shared.uses().mark_written(Mark {
                    stream: stream.id(),
                    event,
                });
                return Ok(());
            }
        };
        let Some(ends) = block.uses().ends() else {
            return Ok(());
        };
        let Some(memory) = block.take_memory() else {
            return Ok(());
        };
        let events: Vec<_> = ends.into_iter().map(|mark| mark.event).collect();
        memory.free_on_after(stream.handle(), &events)
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address on the device; zero for an empty buffer. Work that is given the address and not
    /// the buffer must be announced by [`Work::reads`](crate::Work::reads) or
    /// [`Work::writes`](crate::Work::writes).
    pub fn address(&self) -> u64 {
        self.block.address()
    }

    /// A part of the buffer, as a range of bytes.
    ///
    /// # Errors
    /// If the buffer is shorter.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_>> {
        let (start, len) = part(range, self.len())?;
        Ok(DeviceSlice {
            buffer: self,
            start,
            len,
        })
    }
}

/// Memory for `len` bytes, whose first use is its allocation.
pub(crate) fn allocate(stream: &Stream, len: usize) -> Result<(DeviceMemory, Uses)> {
    // Within a capture an allocation would become a part of the graph.
    let captured = stream.capture_status()? != CaptureStatus::None;
    let memory = DeviceMemory::allocate(stream.handle(), len, !captured)?;
    let uses = Uses::new();
    if memory.is_ordered() && !disabled(Rule::UseAfterAllocation) {
        let recorded = EventHandle::new(stream.context(), false)
            .and_then(|event| event.record(stream.handle()).map(|()| event));
        match recorded {
            Ok(event) => uses.mark_written(Mark {
                stream: stream.id(),
                event: Arc::new(event),
            }),
            Err(error) => {
                // Nothing but the allocation has used it.
                if stream.synchronize().is_ok() || stream.context().lost().is_some() {
                    memory.free_after(&[]);
                } else {
                    std::mem::forget(memory);
                }
                return Err(error);
            }
        }
    }
    Ok((memory, uses))
}

/// A part of a [`DeviceBuffer`].
#[derive(Clone, Copy)]
pub struct DeviceSlice<'b> {
    buffer: &'b DeviceBuffer,
    start: usize,
    len: usize,
}

impl<'b> DeviceSlice<'b> {
    /// The buffer.
    pub fn buffer(&self) -> &'b DeviceBuffer {
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

    /// The address on the device.
    pub fn address(&self) -> u64 {
        self.buffer.address() + self.start as u64
    }

    /// A part of the part.
    ///
    /// # Errors
    /// If this is shorter.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (start, len) = part(range, self.len)?;
        Ok(Self {
            start: self.start + start,
            len,
            ..*self
        })
    }
}

impl<'b> From<&'b DeviceBuffer> for DeviceSlice<'b> {
    fn from(buffer: &'b DeviceBuffer) -> Self {
        Self {
            buffer,
            start: 0,
            len: buffer.len(),
        }
    }
}

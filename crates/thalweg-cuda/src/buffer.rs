//! Memory of a device.

use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Weak};

use thalweg_core::{Result, bail};

use crate::omit::{Rule, omitted};
use crate::order::{Mark, Operand, Uses};
use crate::pool::Shelf;
use crate::stream::StreamId;
use crate::sys::{DeviceMemory, EventHandle};
use crate::{CaptureStatus, Event, Stream};

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

pub(crate) struct DeviceBlock {
    /// There, until it is dropped.
    memory: Option<DeviceMemory>,
    uses: Uses,
    /// The pool that wants it back.
    shelf: Weak<Shelf>,
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
        Ok(Self::of(memory, uses, Weak::new(), len))
    }

    pub(crate) fn of(memory: DeviceMemory, uses: Uses, shelf: Weak<Shelf>, len: usize) -> Self {
        Self {
            block: Arc::new(DeviceBlock {
                memory: Some(memory),
                uses,
                shelf,
            }),
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
        let Some(mut block) = Arc::into_inner(self.block) else {
            return;
        };
        if let Some(shelf) = block.shelf.upgrade()
            && let Some(memory) = block.memory.take()
        {
            shelf.put(memory, block.uses.clone());
        }
    }

    /// Says that the memory is in use until an event that was recorded, and, whenever that is recorded
    /// anew, until then: it is not freed before. For code that is given the address, and hands the
    /// memory on by an event of its own.
    ///
    /// The event takes the place of what the buffer knew of earlier writes, its allocation among
    /// them, so that it must come after these.
    pub fn used_until(&self, event: &Event) {
        let device = self.block.memory().map(|memory| memory.context().ordinal());
        self.block.uses.mark_written(Mark {
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
                shared.uses.mark_written(Mark {
                    stream: stream.id(),
                    event,
                });
                return Ok(());
            }
        };
        let Some(ends) = block.uses.ends() else {
            return Ok(());
        };
        let Some(memory) = block.memory.take() else {
            return Ok(());
        };
        let waited = ends
            .iter()
            .filter(|_| !omitted(Rule::FreeAfterUse))
            .try_for_each(|mark| stream.wait_handle(&mark.event));
        match waited {
            Ok(()) => memory.free_on(stream.handle()),
            Err(error) => {
                if stream.synchronize().is_ok() || stream.context().lost().is_some() {
                    let events: Vec<_> = ends.into_iter().map(|mark| mark.event).collect();
                    memory.free_after(&events);
                } else {
                    tracing::warn!(bytes = memory.len(), "memory in use is never freed");
                    std::mem::forget(memory);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
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
    if memory.is_ordered() && !omitted(Rule::UseAfterAllocation) {
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

/// Start and length of a range within `len` bytes.
pub(crate) fn part(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end - start)),
        _ => bail!(
            InvalidInput,
            "bytes {:?} to {:?} are no part of a buffer of {len} bytes",
            range.start_bound(),
            range.end_bound()
        ),
    }
}

impl DeviceBlock {
    pub(crate) fn address(&self) -> u64 {
        self.memory.as_ref().map_or(0, DeviceMemory::address)
    }

    pub(crate) fn memory(&self) -> Option<&DeviceMemory> {
        self.memory.as_ref()
    }

    /// How many bytes there really are.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.as_ref().map_or(0, DeviceMemory::len)
    }

    /// Whether it is of a pool.
    pub(crate) fn belongs_to(&self, shelf: &Arc<Shelf>) -> bool {
        std::ptr::eq(self.shelf.as_ptr(), Arc::as_ptr(shelf))
    }
}

impl Operand for DeviceBlock {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        match self.uses.ends() {
            Some(ends) => {
                if let Some(shelf) = self.shelf.upgrade() {
                    let uses = std::mem::replace(&mut self.uses, Uses::new());
                    shelf.put(memory, uses);
                } else {
                    let events: Vec<_> = ends.into_iter().map(|mark| mark.event).collect();
                    memory.free_after(&events);
                }
            }
            None if memory.context().lost().is_some() => memory.free_after(&[]),
            None => {
                tracing::warn!(
                    bytes = memory.len(),
                    "memory whose last use has no known end is never freed"
                );
                std::mem::forget(memory);
            }
        }
    }
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

    /// Where it starts, in bytes from the start of the buffer.
    pub fn start(&self) -> usize {
        self.start
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
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

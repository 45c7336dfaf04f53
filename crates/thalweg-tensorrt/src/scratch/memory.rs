//! A piece of scratch that is handed on, and the event by which it is.

use std::sync::atomic::{AtomicBool, Ordering};

use thalweg_core::{DeviceAddress, Error, Result, StreamHandle};
use thalweg_cuda::{Device, DeviceBuffer, Event, Stream};

use super::Room;
use crate::abi::{go_on_after, is_over, record};
use crate::omit::{Rule, omitted};

/// Memory of a device whose next user waits for the last one, on the device.
///
/// Only the event says when the last use is over. Streams are no help: a caller's may be gone by
/// then, and its handle may be another stream's.
pub(super) struct Memory {
    buffer: DeviceBuffer,
    /// Recorded from the start, since the first use comes after the allocation.
    event: Event,
    /// Whether the last use is known to be over, so that nobody needs to wait.
    is_over: AtomicBool,
}

impl Memory {
    /// Allocates in the order of a stream.
    pub(super) fn allocate(stream: &Stream, bytes: usize) -> Result<Self> {
        let event = Event::new(stream.device())?;
        let buffer = DeviceBuffer::new(stream, bytes)?;
        event.record(stream)?;
        // So it is freed after its last use, whoever drops it.
        buffer.used_until(&event);
        Ok(Self {
            buffer,
            event,
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) fn room(&self) -> Room {
        Room {
            address: self.address(),
            len: self.len(),
        }
    }

    pub(super) fn address(&self) -> DeviceAddress {
        DeviceAddress(self.buffer.address())
    }

    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Stands for the last use.
    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    /// Whether the last use is known to be over.
    pub(super) fn needs_no_wait(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Makes a stream go on after the last use.
    pub(super) fn wait_on(&self, stream: StreamHandle) -> Result<()> {
        if omitted(Rule::SharedScratchWait) {
            return Ok(());
        }
        go_on_after(&self.event, stream)
    }

    /// Lets the next user go on at once: the host has waited for the last use.
    pub(super) fn set_over(&self) {
        // Whoever takes it next has the pool's lock in between.
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Lets the next user go on after all that is on a stream so far.
    ///
    /// # Errors
    /// If the driver does not record that. The memory comes back if the stream was drained instead.
    pub(super) fn hand_on(&self, device: &Device, handle: StreamHandle) -> Result<(), NotRecorded> {
        if omitted(Rule::SharedScratchRecord) {
            return Ok(());
        }
        self.is_over.store(false, Ordering::Relaxed);
        let recorded = record(&self.event, handle);
        recorded.map_err(|error| NotRecorded {
            error,
            is_drained: omitted(Rule::SharedScratchDrain) || is_over(device, handle),
        })
    }

    /// Frees it after its last use and all that is on a stream, in the order of the stream.
    pub(super) fn free_on(self, stream: &Stream) -> Result<()> {
        self.buffer.free_on(stream)
    }
}

/// An end that the driver did not record.
pub(super) struct NotRecorded {
    pub(super) error: Error,
    /// Whether it is over all the same.
    pub(super) is_drained: bool,
}

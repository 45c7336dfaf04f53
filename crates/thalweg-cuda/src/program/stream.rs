//! Streams of programs, by the handles that the core passes on.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{CallerStream, Device as ProgramDevice, DeviceId, Result};

use crate::device::Device;
use crate::event::Event;
use crate::handle::{Context, PER_THREAD, StreamHandle};
use crate::stream::{CaptureStatus, Stream};

impl CallerStream for Stream {
    fn device(&self) -> DeviceId {
        ProgramDevice::id(Stream::device(self))
    }

    fn handle(&self) -> thalweg_core::StreamHandle {
        // The default stream of another thread is, by its handle, that of this one.
        let raw = self.raw().map_or(PER_THREAD, |raw| raw.expose_provenance());
        thalweg_core::StreamHandle(raw)
    }
}

impl Event {
    /// As [`Event::record`], on a stream that somebody else made, of the event's device.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// The handle is what [`Stream::borrow`] takes, for the time of this call.
    pub unsafe fn record_by_handle(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        let event = self.handle();
        // SAFETY: the caller's.
        event.record(&unsafe { stream(event.context(), handle) })
    }

    /// As [`Stream::wait`], for a stream that somebody else made, of the event's device.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As for [`Event::record_by_handle`].
    pub unsafe fn wait_by_handle(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        let event = self.handle();
        // SAFETY: the caller's.
        event.wait_on(&unsafe { stream(event.context(), handle) })
    }
}

impl Device {
    /// As [`Stream::capture_status`], for a stream that somebody else made, of this device.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As for [`Event::record_by_handle`].
    pub unsafe fn capture_status_by_handle(
        &self,
        handle: thalweg_core::StreamHandle,
    ) -> Result<CaptureStatus> {
        // SAFETY: the caller's.
        let stream = unsafe { stream(self.context(), handle) };
        stream.capture_status().map(CaptureStatus::of_driver)
    }
}

/// A stream, by the handle that the core passes on.
///
/// # Safety
/// It is a default stream's, or a stream of the context's device that stays one while this lives.
pub(super) unsafe fn stream(
    context: &Arc<Context>,
    handle: thalweg_core::StreamHandle,
) -> StreamHandle {
    // SAFETY: the caller's.
    unsafe { StreamHandle::of_raw(context, ptr::with_exposed_provenance_mut(handle.0)) }
}

//! Streams of programs, by the handles that the core passes on.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{CallerStream, Device as ProgramDevice, DeviceId};

use crate::handle::{Context, PER_THREAD, StreamHandle};
use crate::stream::Stream;

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

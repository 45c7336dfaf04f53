//! Streams.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;
use thalweg_core::{Result, ensure};

use super::{Context, EventHandle, GreenContext, Status};
use crate::stream::StreamId;

/// The flag of streams that do not synchronize with the legacy default stream.
const NON_BLOCKING: c_uint = 1;

/// The handle that means the legacy default stream.
const LEGACY: usize = 1;

/// The handle that means the default stream of whatever thread uses it.
const PER_THREAD: usize = 2;

/// A stream, and whose it is.
pub(crate) struct StreamHandle {
    context: Arc<Context>,
    raw: CUstream,
    owner: Owner,
}

enum Owner {
    /// Ours, to be destroyed.
    Us,
    /// Ours, and of a part of the device.
    Green { _context: Arc<GreenContext> },
    /// The thread's, which is the only one on which the handle means this stream.
    Thread(StreamId),
    /// Somebody else's, who keeps it alive as long as this handle.
    Caller,
}

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for StreamHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamHandle {}

impl StreamHandle {
    /// A stream of our own.
    pub(crate) fn new(context: &Arc<Context>, priority: c_int) -> Result<Self> {
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current, and the driver writes the stream.
        let status = unsafe {
            (context.table().cuStreamCreateWithPriority)(&raw mut raw, NON_BLOCKING, priority)
        };
        context.check("cuStreamCreateWithPriority", status)?;
        Ok(Self {
            context: context.clone(),
            raw,
            owner: Owner::Us,
        })
    }

    /// A stream of our own that only uses a part of the device.
    pub(crate) fn of_green(green: &Arc<GreenContext>) -> Result<Self> {
        Ok(Self {
            context: green.context().clone(),
            raw: green.create_stream()?,
            owner: Owner::Green {
                _context: green.clone(),
            },
        })
    }

    /// The default stream of this thread.
    pub(crate) fn per_thread(context: &Arc<Context>) -> Self {
        Self {
            context: context.clone(),
            raw: ptr::without_provenance_mut(PER_THREAD),
            owner: Owner::Thread(StreamId::of_this_thread(context.ordinal())),
        }
    }

    /// The legacy default stream.
    pub(crate) fn legacy(context: &Arc<Context>) -> Self {
        Self {
            context: context.clone(),
            raw: ptr::without_provenance_mut(LEGACY),
            owner: Owner::Caller,
        }
    }

    /// Somebody else's stream.
    ///
    /// # Safety
    /// The handle is a stream of the context's device, and stays one for as long as this lives.
    pub(super) unsafe fn borrowed(context: &Arc<Context>, raw: CUstream) -> Self {
        Self {
            context: context.clone(),
            raw,
            owner: Owner::Caller,
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The handle, if it means this stream on this thread.
    #[inline]
    pub(super) fn raw(&self) -> Result<CUstream> {
        if let Owner::Thread(id) = &self.owner {
            ensure!(
                *id == StreamId::of_this_thread(self.context.ordinal()),
                InvalidInput,
                "the default stream of a thread was used on another thread, where it is another \
                 stream"
            );
        }
        Ok(self.raw)
    }

    /// The handle, for code that calls the driver itself.
    pub(crate) fn address(&self) -> Result<*mut c_void> {
        self.raw().map(CUstream::cast)
    }

    /// Makes what comes later on the stream wait for an event.
    pub(crate) fn wait(&self, event: &EventHandle) -> Result<()> {
        let raw = self.raw()?;
        let context = &self.context;
        let _entered = context.enter()?;
        // SAFETY: stream and event are alive; the driver remembers what the event stands for now,
        // so that the event may be recorded again or destroyed.
        let status = unsafe { (context.table().cuStreamWaitEvent)(raw, event.raw(), 0) };
        context.check("cuStreamWaitEvent", status)
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        let raw = self.raw()?;
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the stream is alive.
        let status = unsafe { (context.table().cuStreamSynchronize)(raw) };
        context.check("cuStreamSynchronize", status)
    }

    pub(crate) fn query(&self) -> Result<bool> {
        let raw = self.raw()?;
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the stream is alive.
        let status = unsafe { (context.table().cuStreamQuery)(raw) };
        if status == Status::NOT_READY {
            return Ok(false);
        }
        context.check("cuStreamQuery", status)?;
        Ok(true)
    }

    /// 0 if the stream is not being captured, 1 if it is, 2 if its capture has failed.
    pub(crate) fn capture_status(&self) -> Result<u32> {
        let raw = self.raw()?;
        let context = &self.context;
        let _entered = context.enter()?;
        let mut answer = 0;
        // SAFETY: the stream is alive, and the driver writes the answer.
        let status = unsafe { (context.table().cuStreamIsCapturing)(raw, &raw mut answer) };
        context.check("cuStreamIsCapturing", status)?;
        Ok(answer)
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        if let Owner::Us | Owner::Green { .. } = self.owner {
            let context = &self.context;
            context.destroy("cuStreamDestroy", || {
                // SAFETY: the stream is ours, and nobody else has it. The driver finishes what is
                // on it.
                unsafe { (context.table().cuStreamDestroy_v2)(self.raw) }
            });
        }
    }
}

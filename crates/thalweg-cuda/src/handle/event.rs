//! Handles of events.

use std::ffi::c_uint;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUevent;
use thalweg_core::Result;

use super::context::Context;
use super::stream::StreamHandle;
use crate::sys::Status;

/// The flag of events that cannot tell the time, which are cheaper.
const DISABLE_TIMING: c_uint = 2;

/// The handle of an event of ours.
pub(crate) struct EventHandle {
    context: Arc<Context>,
    raw: CUevent,
    timing: bool,
}

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for EventHandle {}
// SAFETY: as above.
unsafe impl Sync for EventHandle {}

impl EventHandle {
    /// An event that was never recorded, or one that was used before and belongs to nobody now.
    pub(crate) fn new(context: &Arc<Context>, timing: bool) -> Result<Self> {
        // One that tells the time must not tell another's if it is never recorded.
        let raw = match timing {
            true => None,
            false => context.take_event(false),
        };
        Self::of(context, raw, timing)
    }

    /// An event that tells the time, once it was recorded; until then, perhaps that of another.
    pub(crate) fn to_be_recorded(context: &Arc<Context>) -> Result<Self> {
        Self::of(context, context.take_event(true), true)
    }

    fn of(context: &Arc<Context>, raw: Option<CUevent>, timing: bool) -> Result<Self> {
        let raw = match raw {
            Some(raw) => raw,
            None => {
                let _managing = context.manage()?;
                let flags = if timing { 0 } else { DISABLE_TIMING };
                let mut raw = ptr::null_mut();
                // SAFETY: the context is current, and the driver writes the event.
                let status = unsafe { (context.table().cuEventCreate)(&raw mut raw, flags) };
                context.check("cuEventCreate", status)?;
                raw
            }
        };
        Ok(Self {
            context: context.clone(),
            raw,
            timing,
        })
    }

    pub(crate) fn raw(&self) -> CUevent {
        self.raw
    }

    /// The handle, for code that calls the driver itself.
    pub(crate) fn address(&self) -> *mut std::ffi::c_void {
        self.raw.cast()
    }

    pub(crate) fn record(&self, stream: &StreamHandle) -> Result<()> {
        let stream_raw = stream.raw()?;
        let context = &self.context;
        let _entered = context.enter()?;
        // SAFETY: event and stream are alive.
        let status = unsafe { (context.table().cuEventRecord)(self.raw, stream_raw) };
        context.check("cuEventRecord", status)
    }

    /// Makes what comes later on a stream wait for what was recorded.
    pub(crate) fn wait_on(&self, stream: &StreamHandle) -> Result<()> {
        let stream_raw = stream.raw()?;
        let context = stream.context();
        let _entered = context.enter()?;
        // SAFETY: stream and event are alive; the driver remembers what the event stands for now,
        // so that the event may be recorded again or destroyed.
        let status = unsafe { (context.table().cuStreamWaitEvent)(stream_raw, self.raw, 0) };
        context.check("cuStreamWaitEvent", status)
    }

    /// True if what was recorded is complete.
    pub(crate) fn query(&self) -> Result<bool> {
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the event is alive.
        let status = unsafe { (context.table().cuEventQuery)(self.raw) };
        if status == Status::NOT_READY {
            return Ok(false);
        }
        context.check("cuEventQuery", status)?;
        Ok(true)
    }

    /// Waits on the host until what was recorded is complete.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the event is alive.
        let status = unsafe { (context.table().cuEventSynchronize)(self.raw) };
        context.check("cuEventSynchronize", status)
    }

    /// Milliseconds from an earlier event to this one; both are complete, and tell the time.
    pub(crate) fn milliseconds_since(&self, earlier: &Self) -> Result<f32> {
        let context = &self.context;
        let _managing = context.manage()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, and the driver writes the number.
        let status = unsafe {
            (context.table().cuEventElapsedTime)(&raw mut milliseconds, earlier.raw, self.raw)
        };
        context.check("cuEventElapsedTime", status)?;
        Ok(milliseconds)
    }
}

impl Drop for EventHandle {
    fn drop(&mut self) {
        if self.context.keep_event(self.raw, self.timing) {
            return;
        }
        let context = &self.context;
        context.destroy("cuEventDestroy", || {
            // SAFETY: nobody else has the event; the driver lets it be destroyed while it is
            // pending.
            unsafe { (context.table().cuEventDestroy_v2)(self.raw) }
        });
    }
}

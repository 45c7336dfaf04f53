//! The stream capture mode of a thread.

use std::ffi::c_uint;

use thalweg_core::Result;

use super::Context;

/// All calls are allowed on this thread.
const RELAXED: c_uint = 2;

/// While it lives, calls that a capture forbids are allowed on this thread, and do the capture no
/// harm: captures of this thread, and those of any thread that somebody has begun in the mode that
/// concerns all threads.
pub(crate) struct RelaxedCapture<'c> {
    context: &'c Context,
    before: c_uint,
}

impl<'c> RelaxedCapture<'c> {
    #[inline]
    pub(crate) fn on_this_thread(context: &'c Context) -> Result<Self> {
        let mut mode = RELAXED;
        // SAFETY: the driver exchanges the number with the thread's.
        let status = unsafe { (context.table().cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
        context.check("cuThreadExchangeStreamCaptureMode", status)?;
        Ok(Self {
            context,
            before: mode,
        })
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        for _ in 0..2 {
            let mut mode = self.before;
            let table = self.context.table();
            // SAFETY: as above.
            let status = unsafe { (table.cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
            if status.is_success() {
                return;
            }
        }
        tracing::warn!("this thread's capture mode could not be restored");
    }
}

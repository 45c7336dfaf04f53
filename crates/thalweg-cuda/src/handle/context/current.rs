//! The context that is current on a thread.

use std::marker::PhantomData;
use std::ptr;

use cudarc::driver::sys::CUcontext;
use thalweg_core::Result;

use super::capture_mode::RelaxedCapture;
use super::{Context, result};

/// A context that is current on this thread. Dropping it gives the thread back what it had.
pub(crate) struct Entered<'c> {
    context: &'c Context,
    before: CUcontext,
    /// Not to be sent to another thread.
    _thread: PhantomData<*const ()>,
}

/// A context that is current, on a thread that may make any call; see [`Context::manage`].
pub(crate) struct Managing<'c> {
    // In the order in which they end.
    _relaxed: RelaxedCapture<'c>,
    _entered: Entered<'c>,
}

impl Context {
    /// Makes the context current on this thread until the result is dropped.
    ///
    /// A thread that had another context current gets that back. A thread that had none keeps this
    /// one: nobody can be surprised there, and the next call is cheaper.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        self.alive()?;
        let mut current = ptr::null_mut();
        // SAFETY: the driver writes the thread's context.
        let status = unsafe { (self.table.cuCtxGetCurrent)(&raw mut current) };
        self.check("cuCtxGetCurrent", status)?;
        if current == self.raw {
            return Ok(self.entered(ptr::null_mut()));
        }
        // SAFETY: the context is retained.
        let status = unsafe { (self.table.cuCtxSetCurrent)(self.raw) };
        self.check("cuCtxSetCurrent", status)?;
        Ok(self.entered(current))
    }

    fn entered(&self, before: CUcontext) -> Entered<'_> {
        Entered {
            context: self,
            before,
            _thread: PhantomData,
        }
    }

    /// As [`Context::enter`], for calls that enqueue nothing (they make, ask, wait or destroy): they
    /// are allowed, and do no harm, whatever is being captured on this or other threads.
    #[inline]
    pub(crate) fn manage(&self) -> Result<Managing<'_>> {
        let entered = self.enter()?;
        Ok(Managing {
            _relaxed: RelaxedCapture::on_this_thread(self)?,
            _entered: entered,
        })
    }

    /// As [`Context::enter`], for those who clean up and go on whatever happens.
    pub(crate) fn enter_to_clean_up(&self) -> Option<Entered<'_>> {
        self.enter().or_else(|_| self.enter()).ok()
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.before.is_null() {
            return;
        }
        // SAFETY: the context was current on this thread before; a driver that finds it destroyed
        // since then says so.
        let status = unsafe { (self.context.table.cuCtxSetCurrent)(self.before) };
        if !status.is_success() && !status.loses_context() {
            let error = result::failed(self.context.table, "cuCtxSetCurrent", status);
            tracing::warn!("this thread's own context could not be restored: {error}");
        }
    }
}

//! Functions of the host in the order of a stream.
#![allow(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_core::{Result, ensure};

use super::Work;

type Function = Box<dyn FnOnce() + Send>;

impl Work<'_> {
    /// Runs a function on a thread of the driver's when everything before it on the stream has
    /// happened; what comes later on the stream waits for it. The function must not call the
    /// driver, nor wait for anybody who does; a panic in it is caught and logged.
    ///
    /// If work on the device fails, the function never runs, and is leaked.
    ///
    /// # Errors
    /// If the driver refuses, or the work is captured: a graph may be launched more than once.
    pub fn call_host(&mut self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        ensure!(
            !self.is_captured(),
            Unsupported,
            "a function of the host that runs once cannot be captured"
        );
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        let function: Box<Function> = Box::new(Box::new(function));
        let data = Box::into_raw(function);
        // SAFETY: the driver calls the trampoline once, with the data, which it then owns.
        let status =
            unsafe { (context.table().cuLaunchHostFunc)(stream, Some(trampoline), data.cast()) };
        let answer = context.check("cuLaunchHostFunc", status);
        if answer.is_err() {
            // SAFETY: a call that failed has enqueued nothing, so the data is still ours.
            drop(unsafe { Box::from_raw(data) });
        }
        answer
    }
}

unsafe extern "C" fn trampoline(data: *mut c_void) {
    // SAFETY: `call_host` gave the driver a box of this type, for one call.
    let function = unsafe { Box::from_raw(data.cast::<Function>()) };
    if catch_unwind(AssertUnwindSafe(*function)).is_err() {
        tracing::error!("a function of the host panicked on a stream");
    }
}

//! The calls of methods.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::callback::{self, Severity};
use super::error::{ApiError, ApiResult};
use super::object::{Implementation, Inner};
use crate::interface::{self, ReportKind, Site, report};

/// A call of a method, while it runs.
pub(super) struct MethodCall<'a> {
    /// The object.
    pub(super) object: &'a Inner,
    /// The method, and the number of the call.
    pub(super) site: Arc<Site>,
    method: &'static str,
    logger: usize,
    recorder: usize,
    lines: Vec<(Severity, String)>,
}

impl MethodCall<'_> {
    /// Adds a line to the log, which is written when the method's locks are free.
    pub(super) fn log(&mut self, severity: Severity, line: impl Into<String>) {
        self.lines.push((severity, line.into()));
    }

    /// Logs and records an error. The method may go on.
    pub(super) fn log_error(&mut self, error: &ApiError) {
        let line = error.line(self.object.class.name, self.method);
        self.log(Severity::Error, line.clone());
        if self.recorder != 0 {
            self.flush();
            callback::record_error(self.recorder, error.code(), &line);
        }
    }

    /// Writes the log. The caller's functions run here, so no lock may be held.
    pub(super) fn flush(&mut self) {
        for (severity, line) in std::mem::take(&mut self.lines) {
            callback::log(self.logger, self.object.version, severity, &line);
        }
    }

    /// Reports a misuse by this call, and by another one if there is one.
    pub(super) fn misuse(&self, message: String, other: Option<&Site>) {
        let mut sites = vec![(*self.site).clone()];
        sites.extend(other.cloned());
        report(ReportKind::Misuse, message, sites);
    }
}

/// The number of this thread, from 1.
fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static KEY: u64 = LAST.fetch_add(1, Ordering::Relaxed);
    }
    KEY.with(|key| *key)
}

/// Calls a method: counts the call, has it fail where a plan of faults says so, and logs its error.
/// It never unwinds.
///
/// # Safety
/// The pointer must be null or to the inner part of an object of ours.
pub(super) unsafe fn enter<T: Implementation, R: Copy>(
    this: *mut Inner,
    method: &'static str,
    failed: R,
    body: &mut dyn FnMut(&mut MethodCall<'_>, &Arc<T>) -> ApiResult<R>,
) -> R {
    let result = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as promised by the caller.
        let object = unsafe { Inner::find(this) }?;
        let implementation = object.implementation::<T>()?;
        let name = format!("nvinfer.{}.{method}", object.class.name);
        let counted = interface::count_call(&name);
        let mut call = MethodCall {
            object,
            site: counted.site,
            method,
            logger: implementation.logger(),
            recorder: implementation.recorder(),
            lines: Vec::new(),
        };
        if counted.generation != object.entry.generation {
            let message = format!("{name} was called of an object of an earlier session");
            call.misuse(message, None);
            return None;
        }
        let me = thread();
        let before = object.thread.swap(me, Ordering::AcqRel);
        if object.class.exclusive && before != 0 && before != me {
            let message = format!("two threads call {} at once", object.entry.label);
            call.misuse(message, None);
        }
        let result = match counted.injected {
            Some(code) => Err(ApiError::Injected(code)),
            None => body(&mut call, &implementation),
        };
        object.thread.store(before, Ordering::Release);
        let result = match result {
            Ok(result) => Some(result),
            Err(error) => {
                call.log_error(&error);
                None
            }
        };
        call.flush();
        result
    }));
    result.ok().flatten().unwrap_or(failed)
}

/// Defines methods of a class.
macro_rules! methods {
    ($implementation:ty: $(
        $(#[$doc:meta])*
        fn $function:ident = $method:literal ($($arg:ident: $type:ty),*) -> $result:ty, else $failed:expr,
        |$call:ident, $this:ident| $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the method: pointers must point to what they are for.
        unsafe extern "C" fn $function(
            this: *mut $crate::nvinfer::object::Inner $(, $arg: $type)*
        ) -> $result {
            let body: &mut dyn FnMut(
                &mut $crate::nvinfer::method::MethodCall<'_>,
                &std::sync::Arc<$implementation>,
            ) -> $crate::nvinfer::error::ApiResult<$result> = &mut |$call, $this| $body;
            // SAFETY: the function is in the table of objects of ours.
            unsafe { $crate::nvinfer::method::enter(this, $method, $failed, body) }
        }
    )*};
}
pub(super) use methods;

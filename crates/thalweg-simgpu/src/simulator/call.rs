//! Calls of the driver: what each does before and after its own work.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::CUresult;

use super::SIMULATOR;
use crate::callback;
use crate::driver::Driver;
use crate::handle::InvalidHandle;
use crate::report::{ReportKind, Site};
use crate::status::{CallResult, Status, fail};

/// The rules of a function of the driver: its preconditions, and its kind.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    initialized: bool,
    context: bool,
    release: bool,
    unsafe_in_capture: bool,
    quiet: bool,
}

impl Rules {
    /// A function that works at any time, and after which no work runs.
    pub(crate) const ALWAYS: Self = Self {
        initialized: false,
        context: false,
        release: false,
        unsafe_in_capture: false,
        quiet: true,
    };
    /// A function that needs `cuInit`.
    pub(crate) const DRIVER: Self = Self {
        initialized: true,
        quiet: false,
        ..Self::ALWAYS
    };
    /// A function that needs a current context.
    pub(crate) const CONTEXT: Self = Self {
        context: true,
        ..Self::DRIVER
    };

    /// The same for a function that frees, destroys or ends something. It does so even if a plan of
    /// faults has it fail, or if its device has failed.
    pub(crate) const fn releases(mut self) -> Self {
        self.release = true;
        self
    }

    /// The same for a function that a capture forbids, since it may synchronize.
    pub(crate) const fn unsafe_in_capture(mut self) -> Self {
        self.unsafe_in_capture = true;
        self
    }
}

/// A call of the driver. It holds the state of the driver, except while it waits.
pub(crate) struct Call {
    pub(super) driver: Option<MutexGuard<'static, Driver>>,
    /// The function, and the number of the call.
    pub(crate) site: Arc<Site>,
    /// True if null is the default stream of the thread instead of the legacy one.
    pub(crate) per_thread: bool,
    /// True if a plan of faults has the call fail, although it does its work.
    pub(crate) injected: bool,
}

impl Deref for Call {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.driver
            .as_ref()
            .expect("the state is only away during a wait")
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Driver {
        self.driver
            .as_mut()
            .expect("the state is only away during a wait")
    }
}

/// Makes a call: counts it, has it fail where a plan of faults says so, checks its rules, and lets
/// work run afterwards. It never unwinds.
pub(crate) fn enter(
    name: &'static str,
    rules: Rules,
    per_thread: bool,
    body: impl FnOnce(&mut Call) -> CallResult,
) -> Status {
    let mut body = Some(body);
    let mut once = |call: &mut Call| body.take().map_or(Ok(()), |body| body(call));
    enter_any(name, rules, per_thread, &mut once)
}

/// The part of [`enter`] that is compiled only once for hundreds of functions.
fn enter_any(
    name: &'static str,
    rules: Rules,
    per_thread: bool,
    body: &mut dyn FnMut(&mut Call) -> CallResult,
) -> Status {
    let result = catch_unwind(AssertUnwindSafe(|| {
        SIMULATOR.start();
        let mut driver = SIMULATOR.lock();
        let site = driver.host_site(name);
        driver.drop_released();
        let injected = driver.faults.call(name);
        let mut call = Call {
            driver: Some(driver),
            site,
            per_thread,
            injected: injected.is_some(),
        };
        let status = call.run(rules, injected, body);
        if !rules.quiet {
            call.run_some();
        }
        status
    }));
    result.unwrap_or(CUresult::CUDA_ERROR_UNKNOWN.into())
}

/// Makes a part of a call of another stand-in, which has counted it.
pub(crate) fn part_of_call<T>(
    site: &Arc<Site>,
    rules: Rules,
    body: impl FnOnce(&mut Call) -> CallResult<T>,
) -> CallResult<T> {
    SIMULATOR.start();
    let mut driver = SIMULATOR.lock();
    driver.drop_released();
    let mut call = Call {
        driver: Some(driver),
        site: site.clone(),
        per_thread: false,
        injected: false,
    };
    let result = call.check(rules).and_then(|()| body(&mut call));
    if !rules.quiet {
        call.run_some();
    }
    result
}

/// Records the end of all work in a stream. Returns 0 for a stream that is captured or invalid.
pub(crate) fn mark(stream: u64) -> u64 {
    let mut driver = SIMULATOR.lock();
    let site = driver.host_site("mark");
    let mut call = Call {
        driver: Some(driver),
        site,
        per_thread: false,
        injected: false,
    };
    let Ok(stream) = call.stream(stream) else {
        return 0;
    };
    let tail = call
        .streams
        .get(stream)
        .ok()
        .filter(|s| s.capture.is_none());
    let Some(tail) = tail.and_then(|stream| call.tail(stream.queue)) else {
        return 0;
    };
    call.marks.push(tail);
    call.marks.len() as u64
}

impl Call {
    fn run(
        &mut self,
        rules: Rules,
        injected: Option<u32>,
        body: &mut dyn FnMut(&mut Self) -> CallResult,
    ) -> Status {
        let refused = self.check(rules).err().or(injected.map(Status));
        match refused {
            // A function that ends something does so all the same, as far as it can.
            Some(status) if rules.release && (injected.is_some() || self.is_sticky()) => {
                let _ = body(self);
                status
            }
            Some(status) => status,
            None => match body(self) {
                Ok(()) if rules.context => self.check_device().err().unwrap_or(Status::SUCCESS),
                Ok(()) => Status::SUCCESS,
                Err(status) => status,
            },
        }
    }

    fn check(&mut self, rules: Rules) -> CallResult {
        if callback::is_inside() && !rules.quiet {
            let site = self.site.clone();
            let message = format!("{site} was called by a host function or a kernel");
            self.report(ReportKind::CallInCallback, message, &site);
            return fail(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        if rules.initialized && !self.initialized {
            return fail(CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        if rules.context {
            self.context()?;
            self.check_device()?;
        }
        if rules.unsafe_in_capture {
            self.forbid_unsafe()?;
        }
        Ok(())
    }

    /// Fails if a capture forbids this thread a call that may synchronize.
    pub(crate) fn forbid_unsafe(&mut self) -> CallResult {
        let (thread, mode) = (self.thread(), self.capture_mode());
        self.forbid_in_capture(thread, mode)
    }

    /// Fails with the sticky error of the current device. The host knows then that nothing on it
    /// runs any more.
    fn check_device(&mut self) -> CallResult {
        let Some(code) = self.sticky() else {
            return Ok(());
        };
        let device = self.device()?;
        for end in self.tails(|queue| queue.device == device && !queue.running) {
            self.host_knows(&end.clock);
        }
        Err(Status(code))
    }

    fn is_sticky(&self) -> bool {
        self.sticky().is_some()
    }

    /// The sticky error of the current device.
    fn sticky(&self) -> Option<u32> {
        let context = self.current()?;
        let context = self.contexts.get(context).ok()?;
        self.devices[context.device].sticky
    }

    /// The stream of a handle: null, one of the other default streams, or a created stream.
    pub(crate) fn stream(&mut self, handle: u64) -> CallResult<u64> {
        let thread = match handle {
            0 if !self.per_thread => None,
            1 => None,
            0 | 2 => Some(self.thread()),
            _ => {
                let site = self.site.clone();
                self.check_stream(handle, &site)?;
                return Ok(handle);
            }
        };
        let context = self.context()?;
        self.default_stream(context, thread)
    }

    /// Reports an invalid handle of some kind of object.
    pub(crate) fn check_handle<T>(
        &mut self,
        what: &str,
        handle: u64,
        found: Result<T, InvalidHandle>,
    ) -> CallResult<T> {
        found.map_err(|why| {
            let site = self.site.clone();
            self.report_invalid_handle(what, handle, why, &site)
        })
    }
}

//! The threads on which work runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use cudarc::driver::sys::CUresult;

use crate::config::Config;
use crate::driver::Driver;
use crate::report::ReportKind;
use crate::schedule::Mode;
use crate::work::{Body, Op};

/// How many pieces of work run at once.
const WORKERS: usize = 4;

/// The state of everything, and who waits for it to change.
pub(crate) struct Shared {
    state: Mutex<Driver>,
    /// Work was done, or something else that a host thread may wait for.
    pub(crate) changed: Condvar,
    /// There is something for a worker to do.
    pub(crate) work: Condvar,
    workers: Once,
}

/// The one state of the process.
pub(crate) static SHARED: LazyLock<Shared> = LazyLock::new(|| Shared {
    state: Mutex::new(Driver::new(Config::from_environment(), 1)),
    changed: Condvar::new(),
    work: Condvar::new(),
    workers: Once::new(),
});

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Driver> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the threads, once.
    pub(crate) fn start(&'static self) {
        self.workers.call_once(|| {
            for index in 0..WORKERS {
                let builder = thread::Builder::new().name(format!("simgpu-{index}"));
                // Without a single thread nothing would ever run, which no caller expects.
                builder
                    .spawn(|| self.work())
                    .expect("the machine has room for a thread");
            }
        });
    }

    fn work(&self) {
        let mut driver = self.lock();
        loop {
            let job = match driver.jobs.pop_front() {
                Some(op) => Some(op),
                None if driver.config.mode == Mode::Free => driver.claim(None),
                None => None,
            };
            match job {
                Some(op) => {
                    driver = self.run(driver, &op);
                    self.changed.notify_all();
                    if driver.config.mode == Mode::Free {
                        self.work.notify_one();
                    }
                }
                None => {
                    driver = self
                        .work
                        .wait(driver)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Runs a piece of work that was claimed.
    pub(crate) fn run<'a>(
        &'a self,
        mut driver: MutexGuard<'a, Driver>,
        op: &Op,
    ) -> MutexGuard<'a, Driver> {
        let done = driver.describe(op);
        let sticky = driver.devices.get(op.device).and_then(|d| d.sticky);
        let mut failed = None;
        match &op.body {
            Body::Host(function) => {
                drop(driver);
                function.call(sticky.unwrap_or(0));
                driver = self.lock();
            }
            // Once a device has failed, nothing on it has an effect.
            _ if sticky.is_some() => {}
            Body::Kernel(call) => {
                if let Some(function) = &call.function {
                    drop(driver);
                    let fine = catch_unwind(AssertUnwindSafe(|| function.call(call, op)));
                    driver = self.lock();
                    if !matches!(fine, Ok(true)) {
                        let message = format!("{} failed", op.site);
                        driver.report(ReportKind::KernelFailed, message, &op.site);
                        failed = Some(CUresult::CUDA_ERROR_LAUNCH_FAILED as u32);
                    }
                }
            }
            _ => failed = driver.run_op(op).err().map(|code| code as u32),
        }
        driver.complete(op, done, failed);
        driver
    }
}

//! The simulator: the one state of the process, the threads on which work runs, and the calls that
//! use both.

mod call;
mod thread;
mod wait;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread::Builder;

use cudarc::driver::sys::CUresult;

pub(crate) use call::{Call, Rules, enter, mark, part_of_call};

use crate::clock::{Epoch, HOST, Timestamp};
use crate::config::{Config, Mode};
use crate::driver::Driver;
use crate::memory::{Access, Accessor};
use crate::report::ReportKind;
use crate::work::{Body, Op};

/// The number of pieces of work that run at once.
const WORKERS: usize = 4;

/// The state of the driver, shared by host threads and workers.
pub(crate) struct Simulator {
    state: Mutex<Driver>,
    /// Signaled when work is complete, and at other changes that a host thread may wait for.
    changed: Condvar,
    /// Signaled when a worker has something to do.
    work: Condvar,
    workers: Once,
}

/// The one simulator of the process.
pub(crate) static SIMULATOR: LazyLock<Simulator> = LazyLock::new(|| Simulator {
    state: Mutex::new(Driver::new(Config::from_environment(), 1)),
    changed: Condvar::new(),
    work: Condvar::new(),
    workers: Once::new(),
});

impl Simulator {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Driver> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the workers, once.
    pub(crate) fn start(&'static self) {
        self.workers.call_once(|| {
            for index in 0..WORKERS {
                let builder = Builder::new().name(format!("simgpu-{index}"));
                // Without a single thread nothing would ever run, which no caller expects.
                builder
                    .spawn(|| self.worker())
                    .expect("the machine has room for a thread");
            }
        });
    }

    /// The loop of a worker.
    fn worker(&self) {
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

    /// Runs a claimed operation, without the lock where it is code of the caller.
    fn run<'a>(&'a self, mut driver: MutexGuard<'a, Driver>, op: &Op) -> MutexGuard<'a, Driver> {
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
            Body::Kernel(launch) => {
                if launch.function.is_some() {
                    drop(driver);
                    let access = |address, len, write| {
                        let access = op.access();
                        let mut driver = self.lock();
                        driver
                            .kernel_access(access, &op.clock, op.device, address, len, write)
                            .ok()
                    };
                    let run = || launch.run(op.device, &access);
                    let succeeded = catch_unwind(AssertUnwindSafe(run));
                    driver = self.lock();
                    if !matches!(succeeded, Ok(true)) {
                        let message = format!("{} failed", op.site);
                        driver.report(ReportKind::KernelFailed, message, &op.site);
                        failed = Some(CUresult::CUDA_ERROR_LAUNCH_FAILED as u32);
                    }
                }
            }
            _ => failed = driver.run_op(op).err().map(|code| code as u32),
        }
        driver.complete(op, done, failed);
        self.changed.notify_all();
        driver
    }

    /// Runs all work that is enqueued, without the host having waited for it.
    pub(crate) fn drain(&self) {
        let mut driver = self.lock();
        loop {
            match driver.claim(None) {
                Some(op) => driver = self.run(driver, &op),
                None if driver.running > 0 => {
                    driver = self
                        .changed
                        .wait(driver)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                None => return,
            }
        }
    }

    /// Replaces the state by that of a new machine, after all work that is enqueued.
    pub(crate) fn reset(&self, config: Config) {
        self.drain();
        let mut driver = self.lock();
        let generation = driver.generation + 1;
        *driver = Driver::new(config, generation);
    }

    /// Checks an access of the host. Returns the number of reports that it made: 0 for an access
    /// that is in order, and for memory that no device reaches.
    pub(crate) fn host_access(&self, address: u64, len: usize, write: bool) -> u32 {
        let mut driver = self.lock();
        let driver = &mut *driver;
        if len == 0 || !driver.memory.is_ours(address) {
            return 0;
        }
        let before = driver.reports.list().len();
        let name = if write {
            "write by the host"
        } else {
            "read by the host"
        };
        let site = driver.host_site(name);
        let clock = driver.host.clone();
        let epoch = Epoch {
            slot: HOST,
            count: clock.get(HOST),
        };
        let accessor = Accessor {
            access: Access { epoch, site },
            clock: &clock,
        };
        let (memory, reports) = (&mut driver.memory, &mut driver.reports);
        // An error is in the reports.
        let _ = memory.check_access(address, len as u64, write, &accessor, reports);
        (driver.reports.list().len() - before) as u32
    }

    /// Returns true if the host has waited for a piece of work.
    pub(crate) fn is_known(&self, work: &Timestamp) -> bool {
        self.lock().host.knows(work.epoch)
    }
}

//! Waits: for work, and for host functions and kernels that a call lets run.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::SIMULATOR;
use super::call::Call;
use crate::clock::{Clock, Timestamp};
use crate::config::Mode;
use crate::driver::Driver;
use crate::status::CallResult;
use crate::work::{Body, Op};

/// The time after which a call that need not wait leaves a host function or a kernel that it let
/// run: it may wait for this very thread. On a busy machine it may also just be slow, and a call
/// that leaves it too early changes the order that the seed gives.
const PATIENCE_WITH_HOST: Duration = Duration::from_millis(500);
const PATIENCE_WITH_KERNEL: Duration = Duration::from_secs(5);

/// The time after which a wait looks again.
const PATIENCE: Duration = Duration::from_millis(100);

impl Call {
    /// Waits until some work is complete, and lets work run in the meantime. The host knows the
    /// work afterwards.
    pub(crate) fn wait_for(&mut self, work: &[Timestamp]) {
        let mut clock = Clock::default();
        for recorded in work {
            clock.join(&recorded.clock);
        }
        let done = |driver: &Driver| work.iter().all(|r| driver.is_complete(r.epoch));
        if !done(self) {
            self.waits += 1;
        }
        while !done(self) {
            match self.config.mode {
                Mode::Seeded => match self.claim(Some(&clock)) {
                    Some(op) => self.run_on_worker(op),
                    // Either this wait keeps to what it needs, and another try will not, or all
                    // that may run is running.
                    None if self.running == 0 => {}
                    None => self.wait_for_change(PATIENCE),
                },
                Mode::Free => {
                    // No worker knows yet of the work that this very call has enqueued.
                    self.run_some();
                    self.wait_for_change(PATIENCE);
                }
            }
        }
        self.host_knows(&clock);
        self.shrink_pools();
    }

    /// Returns true if some work is complete. The host knows it then.
    pub(crate) fn poll(&mut self, work: &[Timestamp]) -> bool {
        let done = work.iter().all(|recorded| self.is_complete(recorded.epoch));
        if done {
            for recorded in work {
                self.host_knows(&recorded.clock);
            }
        }
        done
    }

    /// Waits for all work of a context.
    pub(crate) fn wait_for_context(&mut self, handle: u64) -> CallResult {
        let tails = self.context_tails(handle)?;
        self.wait_for(&tails);
        Ok(())
    }

    /// Waits for all work of a device.
    pub(crate) fn wait_for_device(&mut self, device: usize) {
        let tails = self.tails(|queue| queue.device == device);
        self.wait_for(&tails);
    }

    /// Lets some work run, after a call.
    pub(super) fn run_some(&mut self) {
        match self.config.mode {
            Mode::Free if self.waiting > 0 => SIMULATOR.work.notify_one(),
            Mode::Free => {}
            Mode::Seeded => {
                while self.schedule.runs_more() {
                    match self.claim(None) {
                        Some(op) => self.run_on_worker(op),
                        None => return,
                    }
                }
            }
        }
    }

    /// Has a worker run claimed work, and waits for it.
    fn run_on_worker(&mut self, op: Op) {
        let epoch = op.epoch;
        if op.body.is_instant() {
            let driver = self.driver.take().expect("no wait is inside another");
            self.driver = Some(SIMULATOR.run(driver, &op));
            return;
        }
        let patience = match op.body {
            Body::Host(_) => PATIENCE_WITH_HOST,
            Body::Kernel(_) => PATIENCE_WITH_KERNEL,
            _ => Duration::MAX,
        };
        self.jobs.push_back(op);
        SIMULATOR.work.notify_one();
        let start = Instant::now();
        while !self.is_complete(epoch) && start.elapsed() < patience {
            self.wait_for_change(PATIENCE);
        }
    }

    /// Releases the state until something changes.
    fn wait_for_change(&mut self, patience: Duration) {
        let driver = self.driver.take().expect("no wait is inside another");
        let (driver, _) = SIMULATOR
            .changed
            .wait_timeout(driver, patience)
            .unwrap_or_else(PoisonError::into_inner);
        self.driver = Some(driver);
    }
}

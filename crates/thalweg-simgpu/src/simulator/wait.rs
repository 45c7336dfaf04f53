//! Waiting: how a call lets work run, and how it waits for work.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::SIMULATOR;
use super::call::Call;
use crate::clock::{Clock, Timestamp};
use crate::config::Mode;
use crate::driver::Driver;
use crate::status::Answer;
use crate::work::{Body, Op};

/// How long a call that need not wait stands by a function of the host, or a kernel, that it let
/// run: they may wait for this very thread. On a busy machine they may also just be slow, and a
/// call that leaves them too early changes what the seed gives.
const PATIENCE_WITH_HOST: Duration = Duration::from_millis(500);
const PATIENCE_WITH_KERNEL: Duration = Duration::from_secs(5);

/// How long a wait stands by without looking.
const PATIENCE: Duration = Duration::from_millis(100);

impl Call {
    /// Stands still until all of some work is done, running it in the meantime; the host knows
    /// it afterwards.
    pub(crate) fn wait_for(&mut self, work: &[Timestamp]) {
        let mut clock = Clock::default();
        for recorded in work {
            clock.join(&recorded.clock);
        }
        let done = |driver: &Driver| work.iter().all(|r| driver.is_done(r.epoch));
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
                    // What this very call has submitted is nobody's yet.
                    self.run_some();
                    self.wait_for_change(PATIENCE);
                }
            }
        }
        self.host_knows(&clock);
        self.shrink_pools();
    }

    /// Whether a piece of work is done; if so, the host knows it from now on.
    pub(crate) fn poll(&mut self, work: &[Timestamp]) -> bool {
        let done = work.iter().all(|recorded| self.is_done(recorded.epoch));
        if done {
            for recorded in work {
                self.host_knows(&recorded.clock);
            }
        }
        done
    }

    /// Waits for all work of a context.
    pub(crate) fn wait_for_context(&mut self, handle: u64) -> Answer {
        let tails = self.context_tails(handle)?;
        self.wait_for(&tails);
        Ok(())
    }

    /// Waits for all work of a device.
    pub(crate) fn wait_for_device(&mut self, device: usize) {
        let tails = self.tails(|queue| queue.device == device);
        self.wait_for(&tails);
    }

    /// After a call: some work may run.
    pub(super) fn run_some(&mut self) {
        match self.config.mode {
            Mode::Free if self.waiting > 0 => SIMULATOR.work.notify_one(),
            Mode::Free => {}
            Mode::Seeded => {
                while self.schedule.go_on() {
                    match self.claim(None) {
                        Some(op) => self.run_on_worker(op),
                        None => return,
                    }
                }
            }
        }
    }

    /// Has a worker run what was claimed, and waits for it.
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
        while !self.is_done(epoch) && start.elapsed() < patience {
            self.wait_for_change(PATIENCE);
        }
    }

    /// Gives the state to others until something changes.
    fn wait_for_change(&mut self, patience: Duration) {
        let driver = self.driver.take().expect("no wait is inside another");
        let (driver, _) = SIMULATOR
            .changed
            .wait_timeout(driver, patience)
            .unwrap_or_else(PoisonError::into_inner);
        self.driver = Some(driver);
    }
}

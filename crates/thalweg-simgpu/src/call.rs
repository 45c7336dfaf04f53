//! What every call of the driver does before, after, and while it waits.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUresult;

use crate::callback;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::event::Recorded;
use crate::report::{ReportKind, Site};
use crate::schedule::Mode;
use crate::status::{Answer, Status, fail};
use crate::work::{Body, Op};
use crate::worker::SHARED;

/// How long a call that need not wait stands by a function of the host, or a kernel, that it let
/// run: they may wait for this very thread. On a busy machine they may also just be slow, and a
/// call that leaves them too early changes what the seed gives.
const PATIENCE_WITH_HOST: Duration = Duration::from_millis(500);
const PATIENCE_WITH_KERNEL: Duration = Duration::from_secs(5);

/// How long a wait stands by without looking.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a function of the driver needs and is.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    initialized: bool,
    context: bool,
    release: bool,
    unsafe_in_capture: bool,
    quiet: bool,
}

impl Rules {
    /// Works at any time, and is no occasion for work to run.
    pub(crate) const ALWAYS: Self = Self {
        initialized: false,
        context: false,
        release: false,
        unsafe_in_capture: false,
        quiet: true,
    };
    /// Needs `cuInit`.
    pub(crate) const DRIVER: Self = Self {
        initialized: true,
        quiet: false,
        ..Self::ALWAYS
    };
    /// Needs a current context.
    pub(crate) const CONTEXT: Self = Self {
        context: true,
        ..Self::DRIVER
    };

    /// Ends something: when it is made to fail, or its device has failed, it still does that.
    pub(crate) const fn releases(mut self) -> Self {
        self.release = true;
        self
    }

    /// May synchronize behind the back of a capture, and so must not be called during one.
    pub(crate) const fn unsafe_in_capture(mut self) -> Self {
        self.unsafe_in_capture = true;
        self
    }
}

/// What a thread of the host has.
struct Thread {
    /// Names the thread.
    key: u64,
    generation: u64,
    /// The current contexts; the last is in force.
    contexts: Vec<u64>,
    capture_mode: u32,
}

static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::new(Thread {
        key: THREADS.fetch_add(1, Ordering::Relaxed),
        generation: 0,
        contexts: Vec::new(),
        capture_mode: 0,
    });
}

/// A call of the driver, which has the state of everything while it does not wait.
pub(crate) struct Call {
    driver: Option<MutexGuard<'static, Driver>>,
    /// The function, and the number of the call.
    pub(crate) site: Arc<Site>,
    /// Whether null is the thread's default stream instead of the legacy one.
    pub(crate) per_thread: bool,
    /// What a plan of faults makes the call return, though it does what it has to.
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

/// Does a call: counts it, lets it fail where a plan says so, checks what it needs, and lets work
/// run afterwards. It never unwinds.
pub(crate) fn enter(
    name: &'static str,
    rules: Rules,
    per_thread: bool,
    body: impl FnOnce(&mut Call) -> Answer,
) -> Status {
    let mut body = Some(body);
    let mut once = |call: &mut Call| body.take().map_or(Ok(()), |body| body(call));
    enter_any(name, rules, per_thread, &mut once)
}

/// There are hundreds of functions, but this is compiled only once.
fn enter_any(
    name: &'static str,
    rules: Rules,
    per_thread: bool,
    body: &mut dyn FnMut(&mut Call) -> Answer,
) -> Status {
    let result = catch_unwind(AssertUnwindSafe(|| {
        SHARED.start();
        let mut driver = SHARED.lock();
        let site = driver.host_site(name);
        driver.drop_given_up();
        let injected = driver.faults.call(name);
        let mut call = Call {
            driver: Some(driver),
            site,
            per_thread,
            injected: injected.is_some(),
        };
        let status = call.run(rules, injected, body);
        if !rules.quiet {
            call.let_work_run();
        }
        status
    }));
    result.unwrap_or(CUresult::CUDA_ERROR_UNKNOWN.into())
}

/// Does what another stand-in of this library needs of the driver, as a part of a call that it has
/// counted.
pub(crate) fn within<T>(
    site: &Arc<Site>,
    rules: Rules,
    body: impl FnOnce(&mut Call) -> Answer<T>,
) -> Answer<T> {
    SHARED.start();
    let mut driver = SHARED.lock();
    driver.drop_given_up();
    let mut call = Call {
        driver: Some(driver),
        site: site.clone(),
        per_thread: false,
        injected: false,
    };
    let result = call.check(rules).and_then(|()| body(&mut call));
    if !rules.quiet {
        call.let_work_run();
    }
    result
}

/// Remembers the end of all work in a stream; 0 if it is captured, or no stream.
pub(crate) fn mark(stream: u64) -> u64 {
    let mut driver = SHARED.lock();
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
        body: &mut dyn FnMut(&mut Self) -> Answer,
    ) -> Status {
        let refused = self.check(rules).err().or(injected.map(Status));
        match refused {
            // What ends something is done all the same, as far as it can be.
            Some(status) if rules.release && (injected.is_some() || self.is_sticky()) => {
                let _ = body(self);
                status
            }
            Some(status) => status,
            None => match body(self) {
                Ok(()) if rules.context => self.refuse_if_failed().err().unwrap_or(Status::SUCCESS),
                Ok(()) => Status::SUCCESS,
                Err(status) => status,
            },
        }
    }

    fn check(&mut self, rules: Rules) -> Answer {
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
            self.refuse_if_failed()?;
        }
        if rules.unsafe_in_capture {
            self.forbid_unsafe()?;
        }
        Ok(())
    }

    /// Fails if a capture forbids this thread what may synchronize.
    pub(crate) fn forbid_unsafe(&mut self) -> Answer {
        let (thread, mode) = (self.thread(), self.capture_mode());
        self.forbid_in_capture(thread, mode)
    }

    /// Fails with what the device of the current context has failed with. Who is told so knows that
    /// nothing on it runs any more.
    fn refuse_if_failed(&mut self) -> Answer {
        let Some(code) = self.sticky() else {
            return Ok(());
        };
        let device = self.device()?;
        for over in self.tails(|queue| queue.device == device && !queue.running) {
            self.host_knows(&over.clock);
        }
        Err(Status(code))
    }

    fn is_sticky(&self) -> bool {
        self.sticky().is_some()
    }

    /// What the device of the current context returns for everything, if it has failed.
    fn sticky(&self) -> Option<u32> {
        let context = self.current()?;
        let context = self.contexts.get(context).ok()?;
        self.devices[context.device].sticky
    }

    fn with_thread<T>(&self, f: impl FnOnce(&mut Thread) -> T) -> T {
        THREAD.with_borrow_mut(|thread| {
            if thread.generation != self.generation {
                thread.generation = self.generation;
                thread.contexts.clear();
                thread.capture_mode = 0;
            }
            f(thread)
        })
    }

    /// Names the thread of this call.
    pub(crate) fn thread(&self) -> u64 {
        self.with_thread(|thread| thread.key)
    }

    /// The thread's contexts, the one in force last.
    pub(crate) fn with_contexts<T>(&self, f: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        self.with_thread(|thread| f(&mut thread.contexts))
    }

    pub(crate) fn capture_mode(&self) -> u32 {
        self.with_thread(|thread| thread.capture_mode)
    }

    pub(crate) fn set_capture_mode(&self, mode: u32) {
        self.with_thread(|thread| thread.capture_mode = mode);
    }

    /// The handle of the current context, which may be gone.
    pub(crate) fn current(&self) -> Option<u64> {
        self.with_contexts(|contexts| contexts.last().copied())
            .filter(|context| *context != 0)
    }

    /// The current context.
    ///
    /// # Errors
    /// If there is none, or it is gone.
    pub(crate) fn context(&self) -> Answer<u64> {
        let Some(context) = self.current() else {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        match self.contexts.get(context) {
            Ok(_) => Ok(context),
            Err(_) => fail(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
        }
    }

    /// The device of the current context.
    pub(crate) fn device(&self) -> Answer<usize> {
        Ok(self.contexts.get(self.context()?)?.device)
    }

    /// Stands still until all of some work is done, running it in the meantime; the host knows
    /// it afterwards.
    pub(crate) fn wait_for(&mut self, work: &[Recorded]) {
        let mut clock = Clock::default();
        for recorded in work {
            clock.join(&recorded.clock);
        }
        let done = |driver: &Driver| work.iter().all(|r| driver.is_done(r.point));
        if !done(self) {
            self.waits += 1;
        }
        while !done(self) {
            match self.config.mode {
                Mode::Seeded => match self.claim(Some(&clock)) {
                    Some(op) => self.let_run(op),
                    // Either this wait keeps to what it needs, and another try will not, or all
                    // that may run is running.
                    None if self.running == 0 => {}
                    None => self.stand_by(PATIENCE),
                },
                Mode::Free => {
                    // What this very call has submitted is nobody's yet.
                    self.let_work_run();
                    self.stand_by(PATIENCE);
                }
            }
        }
        self.host_knows(&clock);
        self.shrink_pools();
    }

    /// After a call: some work may run.
    fn let_work_run(&mut self) {
        match self.config.mode {
            Mode::Free if self.waiting > 0 => SHARED.work.notify_one(),
            Mode::Free => {}
            Mode::Seeded => {
                while self.schedule.go_on() {
                    match self.claim(None) {
                        Some(op) => self.let_run(op),
                        None => return,
                    }
                }
            }
        }
    }

    /// Has a worker run what was claimed, and waits for it.
    fn let_run(&mut self, op: Op) {
        let point = op.point;
        if op.body.is_instant() {
            let driver = self.driver.take().expect("no wait is inside another");
            self.driver = Some(SHARED.run(driver, &op));
            SHARED.changed.notify_all();
            return;
        }
        let patience = match op.body {
            Body::Host(_) => PATIENCE_WITH_HOST,
            Body::Kernel(_) => PATIENCE_WITH_KERNEL,
            _ => Duration::MAX,
        };
        self.jobs.push_back(op);
        SHARED.work.notify_one();
        let start = Instant::now();
        while !self.is_done(point) && start.elapsed() < patience {
            self.stand_by(PATIENCE);
        }
    }

    /// Gives the state to others until something changes.
    fn stand_by(&mut self, patience: Duration) {
        let driver = self.driver.take().expect("no wait is inside another");
        let (driver, _) = SHARED
            .changed
            .wait_timeout(driver, patience)
            .unwrap_or_else(PoisonError::into_inner);
        self.driver = Some(driver);
    }

    /// Whether a piece of work is done; if so, the host knows it from now on.
    pub(crate) fn poll(&mut self, work: &[Recorded]) -> bool {
        let done = work.iter().all(|recorded| self.is_done(recorded.point));
        if done {
            for recorded in work {
                self.host_knows(&recorded.clock);
            }
        }
        done
    }
}

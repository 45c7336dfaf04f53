//! What the functions that a library imports work on, while the library is called.
//!
//! They are called by C, with nothing that says on whose behalf. So whoever calls a library says it,
//! for the thread: device, stream, and memory for temporaries. What goes wrong in such a function is
//! kept here, too, since the library passes on no more than that something did.
#![allow(
    unsafe_code,
    reason = "the thread keeps a pointer to a value on its own stack; each block says why it is right"
)]

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{Error, ErrorKind, Result, bail, ensure};
use thalweg_cuda::{CurrentDevice, Device, DeviceBuffer, Pool, Stream, Work};

use super::course::{Course, Ran};
use super::driver::Table;
use super::modules::Modules;
use super::ops::Operators;
use super::tensor::{Allocation, Storage, Tensor, Where};

/// What one call of a library works on.
pub(crate) struct Session<'c> {
    pub(crate) device: &'c Device,
    pub(crate) driver: &'c Table,
    pub(crate) modules: &'c Modules,
    pub(crate) operators: &'c Operators,
    pub(crate) pool: &'c Pool,
    pub(crate) stream: &'c Stream,
    /// The same, as the driver knows it.
    pub(crate) raw_stream: *mut c_void,
    /// What uses memory of the pool; begun when that is first needed.
    work: RefCell<Option<Work<'c>>>,
    /// What went wrong first.
    failure: RefCell<Option<Error>>,
    /// A stream where nothing ever is, as long as the library has enqueued nothing; see
    /// [`Session::nothing_yet`].
    idle: Cell<Option<*mut c_void>>,
    /// Whether the call has failed, whatever the library says of it.
    doomed: Cell<bool>,
    /// What tells this session's allocations from others.
    number: u64,
    /// What the library allocates and frees.
    course: RefCell<Course>,
    /// What it has done that a graph cannot hold, the first of it.
    not_in_graphs: Cell<Option<&'static str>>,
    /// Whether what it enqueues becomes a part of a graph.
    records: Cell<bool>,
    /// Tensors over memory of the library, while somebody wants to know of them.
    watched: RefCell<Option<Vec<Tensor>>>,
    /// While it lives, the device is current.
    _current: CurrentDevice<'c>,
}

thread_local! {
    static CURRENT: Cell<*const Session<'static>> = const { Cell::new(ptr::null()) };
}

impl<'c> Session<'c> {
    pub(crate) fn new(
        device: &'c Device,
        driver: &'c Table,
        modules: &'c Modules,
        operators: &'c Operators,
        pool: &'c Pool,
        stream: &'c Stream,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            _current: device.enter()?,
            device,
            driver,
            modules,
            operators,
            pool,
            stream,
            raw_stream: stream.raw()?,
            work: RefCell::default(),
            failure: RefCell::default(),
            idle: Cell::default(),
            doomed: Cell::default(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            course: RefCell::new(Course::unknown()),
            not_in_graphs: Cell::default(),
            records: Cell::default(),
            watched: RefCell::default(),
        })
    }

    /// Calls a library on this session's behalf. `call` gives whether the library says that it did
    /// what it was asked to; `what` says what that was.
    ///
    /// # Errors
    /// What went wrong in the functions that the library called, or that it failed for a reason of
    /// its own.
    pub(crate) fn call(&self, what: &str, call: impl FnOnce() -> i32) -> Result<()> {
        self.failure.take();
        self.doomed.set(false);
        let status = {
            let _current = Current::set(self);
            call()
        };
        let failure = self.failure.take();
        match (status, failure) {
            // What the library got over is no error.
            (0, _) if !self.doomed.get() => Ok(()),
            (_, Some(failure)) => Err(Error::new(
                failure.kind(),
                format!(
                    "the compiled library failed to {what}: {}",
                    failure.message()
                ),
            )),
            (status, None) => Err(Error::new(
                ErrorKind::Delegate,
                format!(
                    "the compiled library failed to {what}, with code {status}; why, it says on the \
                     standard error stream"
                ),
            )),
        }
    }

    /// Does something with the work of this call. A graph cannot hold it: the work would be that of whoever
    /// records it.
    pub(crate) fn with_work<T>(&self, f: impl FnOnce(&mut Work<'c>) -> Result<T>) -> Result<T> {
        self.not_in_graphs("work on buffers")?;
        self.in_work(f)
    }

    fn in_work<T>(&self, f: impl FnOnce(&mut Work<'c>) -> Result<T>) -> Result<T> {
        let mut work = self.work.borrow_mut();
        match &mut *work {
            Some(work) => f(work),
            none => f(none.insert(self.stream.work()?)),
        }
    }

    /// Ends the work of this call, if there was any.
    pub(crate) fn finish(self) -> Result<()> {
        match self.work.take() {
            // What it stands for, the pool and the core know.
            Some(work) => work.finish().map(drop),
            None => Ok(()),
        }
    }

    /// Keeps what went wrong, if nothing has before.
    pub(super) fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Says a stream where nothing ever is, for a library's first run.
    ///
    /// In its first run a library computes constants from others, and waits for that on the host, with
    /// an event: also if there is nothing to compute. The event would stand for what others have
    /// enqueued before. It is enough if it stands for what the library has, which is nothing yet.
    pub(crate) fn nothing_yet(&self, idle: &Stream) -> Result<()> {
        self.idle.set(Some(idle.raw()?));
        Ok(())
    }

    /// The library enqueues something.
    pub(super) fn enqueues(&self) {
        self.idle.set(None);
    }

    /// Where an event is recorded that a library records on a stream.
    pub(super) fn recorded_on(&self, stream: *mut c_void) -> *mut c_void {
        self.idle.get().unwrap_or(stream)
    }

    /// Makes the call fail, even if the library gets over it.
    pub(super) fn doom(&self) {
        self.doomed.set(true);
    }

    /// Begins a run. If it is recorded, what it enqueues becomes a part of a graph, and what a graph cannot
    /// hold fails.
    pub(crate) fn begin_run(&self, course: Course, records: bool) {
        *self.course.borrow_mut() = course;
        self.not_in_graphs.set(None);
        self.records.set(records);
    }

    /// Ends a run, in which the library was given `outputs` back.
    pub(crate) fn end_run(&self, outputs: Vec<Tensor>) -> Ran {
        {
            // They are freed as what the library frees.
            let _current = Current::set(self);
            drop(outputs);
        }
        self.records.set(false);
        Ran {
            not_in_graphs: self.not_in_graphs.take(),
            ..self.course.take().end()
        }
    }

    /// Takes note that the library is about to do something that a graph cannot hold, since it would not
    /// be done when that is launched, or would depend on what was there when it was recorded.
    ///
    /// # Errors
    /// If it is being recorded.
    pub(super) fn not_in_graphs(&self, what: &'static str) -> Result<()> {
        if self.not_in_graphs.get().is_none() {
            self.not_in_graphs.set(Some(what));
        }
        ensure!(
            !self.records.get(),
            Unsupported,
            "`{what}` cannot be a part of a graph"
        );
        Ok(())
    }

    /// Whether something may be enqueued on a stream: if it is not the call's, only where nothing is
    /// recorded, since it would run at once.
    pub(super) fn may_enqueue_on(&self, stream: *mut c_void, what: &'static str) -> bool {
        stream == self.raw_stream || self.may_do(what)
    }

    /// As [`Session::not_in_graphs`], where that cannot be an error of the library's: it is the call's.
    pub(super) fn may_do(&self, what: &'static str) -> bool {
        let done = self.not_in_graphs(what);
        let may = done.is_ok();
        if let Err(error) = done {
            self.fail(error);
            self.doom();
        }
        may
    }

    /// Whether what the library enqueues becomes a part of a graph of ours.
    pub(super) fn records(&self) -> bool {
        self.records.get()
    }

    /// Memory of the device, for this call and what follows on its stream.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Storage> {
        let (number, place) = self.course.borrow_mut().allocate(bytes);
        let mut storage = match place {
            Some(address) => {
                let device = Where::Device(self.device.ordinal());
                Storage::lent(address, bytes, device)
            }
            None => self.allocate_plain(bytes)?,
        };
        storage.allocation = Some(Allocation {
            session: self.number,
            number,
        });
        Ok(storage)
    }

    /// The same, of the pool in any case.
    pub(super) fn allocate_plain(&self, bytes: u64) -> Result<Storage> {
        if self.records.get() {
            bail!(
                Unsupported,
                "{bytes} bytes that the run before has not allocated cannot be a part of a graph"
            );
        }
        let len = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let buffer = self.in_work(|work| work.allocate(self.pool, len))?;
        Ok(Storage::of_device(buffer, self.device.ordinal()))
    }

    /// Waits on the host for all that is on the stream.
    pub(super) fn wait(&self) -> Result<()> {
        self.not_in_graphs("a wait on the host")?;
        self.stream.synchronize()
    }

    /// Gives the tensors that a library makes over memory of its own meanwhile.
    pub(super) fn watch_tensors<T>(&self, f: impl FnOnce() -> T) -> (T, Vec<Tensor>) {
        *self.watched.borrow_mut() = Some(Vec::new());
        let result = f();
        (result, self.watched.take().unwrap_or_default())
    }

    /// A library has made a tensor over memory of its own.
    pub(super) fn note(&self, tensor: &Tensor) {
        if let Some(watched) = &mut *self.watched.borrow_mut() {
            watched.push(tensor.clone());
        }
    }
}

/// While it lives, a session is this thread's.
struct Current<'s> {
    before: *const Session<'static>,
    _session: PhantomData<&'s ()>,
}

impl<'s> Current<'s> {
    fn set(session: &'s Session<'_>) -> Self {
        let session: *const Session<'_> = session;
        Self {
            before: CURRENT.replace(session.cast()),
            _session: PhantomData,
        }
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Does something with the session of this thread, if a library is being called.
pub(crate) fn with<T>(f: impl FnOnce(&Session<'_>) -> T) -> Option<T> {
    let session = CURRENT.get();
    // SAFETY: the pointer is null, or was set by a `Current` that lives further up this thread's
    // stack and borrows the session, which is not moved or changed but through cells meanwhile. The
    // function sees it for any lifetime, so that it can keep nothing of it.
    let session = unsafe { session.as_ref() }?;
    Some(f(session))
}

/// Does something for a library that calls. An error is kept, and what the library gets is 1; so is a
/// panic, which must not go on into C.
pub(crate) fn answer(name: &str, f: impl FnOnce(&Session<'_>) -> Result<()>) -> i32 {
    let done = with(|session| {
        let result = catch_unwind(AssertUnwindSafe(|| f(session)));
        match result {
            Ok(Ok(())) => 0,
            Ok(Err(error)) => {
                session.fail(Error::new(
                    error.kind(),
                    format!("`{name}`: {}", error.message()),
                ));
                1
            }
            Err(_) => {
                let message = format!("`{name}` panicked");
                session.fail(Error::new(ErrorKind::Internal, message));
                1
            }
        }
    });
    done.unwrap_or_else(|| {
        tracing::warn!("a compiled library called `{name}` when nobody had called it");
        1
    })
}

/// Takes note that something was freed that a library has allocated.
pub(super) fn freed(allocation: Allocation) {
    with(|session| {
        if session.number == allocation.session
            && let Ok(mut course) = session.course.try_borrow_mut()
        {
            course.free(allocation.number);
        }
    });
}

/// Gives memory back: to the pool at once, if the call that goes on is the last to use it.
pub(crate) fn release(buffer: DeviceBuffer) {
    let mut buffer = Some(buffer);
    with(|session| {
        // Somebody holds the work if this is within it.
        if let Ok(mut work) = session.work.try_borrow_mut()
            && let Some(work) = &mut *work
            && let Some(buffer) = buffer.take()
        {
            work.release(buffer);
        }
    });
}

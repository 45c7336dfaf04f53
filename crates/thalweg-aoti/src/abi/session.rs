//! Sessions: the context of the functions that a library imports, while the library is called.
//!
//! These functions are called from C, without an argument that says for which call. So the caller of a
//! library makes a session, with the device, the stream and the memory pool of the call, and a session is
//! the current one of its thread during the call. The session stores an error in such a function, since the
//! library returns no more than that something failed.
#![allow(
    unsafe_code,
    reason = "the thread keeps a pointer to a value on its own stack; each block says why it is right"
)]

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{DType, Error, ErrorKind, Result, bail, ensure};
use thalweg_cuda::{CurrentDevice, Device, DeviceBuffer, Pool, Stream, Work};

use super::allocation_trace::{AllocationTrace, RunOutcome};
use super::driver::DriverTable;
use super::kernels::Kernels;
use super::modules::Modules;
use super::tensor::{Allocation, Location, Storage, Tensor, extent};

/// The context of one or several calls of a library on one stream.
pub(crate) struct Session<'c> {
    pub(crate) device: &'c Device,
    pub(crate) driver: &'c DriverTable,
    pub(crate) modules: &'c Modules,
    pub(crate) kernels: &'c Kernels,
    pub(crate) pool: &'c Pool,
    pub(crate) stream: &'c Stream,
    /// The driver's handle of the stream.
    pub(crate) raw_stream: *mut c_void,
    /// The work that uses memory of the pool, begun on first use.
    work: RefCell<Option<Work<'c>>>,
    /// The first error of the call.
    failure: RefCell<Option<Error>>,
    /// An idle stream, as long as the library has enqueued nothing; see [`Session::set_idle_stream`].
    idle: Cell<Option<*mut c_void>>,
    /// True if the call has failed, whatever the library returns.
    must_fail: Cell<bool>,
    /// The number that distinguishes the session's allocations from those of other sessions.
    number: u64,
    /// The allocation trace of the current run.
    trace: RefCell<AllocationTrace>,
    /// The first operation of the current run that a graph cannot hold.
    not_capturable: Cell<Option<&'static str>>,
    /// True if the current run is captured into a graph.
    capturing: Cell<bool>,
    /// New tensors over the library's own memory, while somebody collects them.
    collected: RefCell<Option<Vec<Tensor>>>,
    /// A guard that makes the device current.
    _current: CurrentDevice<'c>,
}

thread_local! {
    static CURRENT: Cell<*const Session<'static>> = const { Cell::new(ptr::null()) };
}

/// An error code of PyTorch's C interface: 0 is success, 1 is failure.
pub(crate) type AotiTorchError = i32;

impl<'c> Session<'c> {
    /// A session on a stream. The device is current as long as it lives.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn new(
        device: &'c Device,
        driver: &'c DriverTable,
        modules: &'c Modules,
        kernels: &'c Kernels,
        pool: &'c Pool,
        stream: &'c Stream,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            _current: device.enter()?,
            device,
            driver,
            modules,
            kernels,
            pool,
            stream,
            raw_stream: stream.raw()?,
            work: RefCell::default(),
            failure: RefCell::default(),
            idle: Cell::default(),
            must_fail: Cell::default(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            trace: RefCell::new(AllocationTrace::recording()),
            not_capturable: Cell::default(),
            capturing: Cell::default(),
            collected: RefCell::default(),
        })
    }

    /// Calls a library in this session. `call` returns the library's status code, and `what` is what the
    /// library is to do, for messages.
    ///
    /// # Errors
    /// The first error of the functions that the library called, or a failure of the library itself.
    pub(crate) fn call(&self, what: &str, call: impl FnOnce() -> i32) -> Result<()> {
        self.failure.take();
        self.must_fail.set(false);
        let status = {
            let _current = CurrentSession::set(self);
            call()
        };
        let failure = self.failure.take();
        match (status, failure) {
            // An error that the library has handled is none.
            (0, _) if !self.must_fail.get() => Ok(()),
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

    /// Ends the session's work, if there was any.
    pub(crate) fn finish(self) -> Result<()> {
        match self.work.take() {
            // Its event is dropped: the pool and the core have their own.
            Some(work) => work.finish().map(drop),
            None => Ok(()),
        }
    }

    /// Begins a run. If it is captured, an operation that a graph cannot hold is an error.
    pub(crate) fn begin_run(&self, trace: AllocationTrace, capturing: bool) {
        *self.trace.borrow_mut() = trace;
        self.not_capturable.set(None);
        self.capturing.set(capturing);
    }

    /// Ends a run, and drops its outputs.
    pub(crate) fn end_run(&self, outputs: Vec<Tensor>) -> RunOutcome {
        {
            // Their memory is freed as part of the run.
            let _current = CurrentSession::set(self);
            drop(outputs);
        }
        self.capturing.set(false);
        RunOutcome {
            not_capturable: self.not_capturable.take(),
            ..self.trace.take().end()
        }
    }

    /// Runs a function with the session's work. It is not capturable: a graph would repeat the work of
    /// the capturing call.
    pub(crate) fn with_work<T>(&self, f: impl FnOnce(&mut Work<'c>) -> Result<T>) -> Result<T> {
        self.not_capturable("work on buffers")?;
        self.in_work(f)
    }

    fn in_work<T>(&self, f: impl FnOnce(&mut Work<'c>) -> Result<T>) -> Result<T> {
        let mut work = self.work.borrow_mut();
        match &mut *work {
            Some(work) => f(work),
            none => f(none.insert(self.stream.work()?)),
        }
    }

    /// Sets an idle stream, for a library's first run.
    ///
    /// In its first run a library folds constants and waits for that on the host, with an event on the
    /// call's stream, even if there are none to fold. Such an event would wait for all earlier work on the
    /// stream. As long as the library itself has enqueued nothing, it is recorded on the idle stream
    /// instead.
    pub(crate) fn set_idle_stream(&self, idle: &Stream) -> Result<()> {
        self.idle.set(Some(idle.raw()?));
        Ok(())
    }

    /// Notes that the library has enqueued work.
    pub(super) fn mark_enqueued(&self) {
        self.idle.set(None);
    }

    /// The stream for an event that the library records on `stream`.
    pub(super) fn event_stream(&self, stream: *mut c_void) -> *mut c_void {
        self.idle.get().unwrap_or(stream)
    }

    /// Stores an error, unless there was an earlier one.
    pub(super) fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Makes the call fail, even if the library returns success.
    pub(super) fn fail_always(&self) {
        self.must_fail.set(true);
    }

    /// Notes an operation that a graph cannot hold: a launch of the graph would not repeat it, or would
    /// use values of the time of the capture.
    ///
    /// # Errors
    /// If the run is captured.
    pub(super) fn not_capturable(&self, operation: &'static str) -> Result<()> {
        if self.not_capturable.get().is_none() {
            self.not_capturable.set(Some(operation));
        }
        ensure!(
            !self.capturing.get(),
            Unsupported,
            "`{operation}` cannot be a part of a graph"
        );
        Ok(())
    }

    /// Notes an operation as [`Session::not_capturable`] does, for functions whose failure the library might
    /// ignore. Returns false if the operation must not be done; the call fails then in any case.
    pub(super) fn allows(&self, operation: &'static str) -> bool {
        let allowed = self.not_capturable(operation);
        let is_allowed = allowed.is_ok();
        if let Err(error) = allowed {
            self.fail(error);
            self.fail_always();
        }
        is_allowed
    }

    /// Returns true if an operation may be enqueued on a stream. Only the call's stream is captured; work
    /// on another one would run at once.
    pub(super) fn allows_stream(&self, stream: *mut c_void, operation: &'static str) -> bool {
        stream == self.raw_stream || self.allows(operation)
    }

    /// True if the current run is captured into a graph.
    pub(super) fn is_capturing(&self) -> bool {
        self.capturing.get()
    }

    /// Waits on the host for the stream.
    pub(super) fn wait(&self) -> Result<()> {
        self.not_capturable("a wait on the host")?;
        self.stream.synchronize()
    }

    /// Allocates device memory for the library, where the run's plan places it.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Storage> {
        let (number, address) = self.trace.borrow_mut().allocate(bytes);
        let mut storage = match address {
            Some(address) => {
                let device = Location::Device(self.device.ordinal());
                Storage::borrowed(address, bytes, device)
            }
            None => self.allocate_from_pool(bytes)?,
        };
        storage.allocation = Some(Allocation {
            session: self.number,
            number,
            freed,
        });
        Ok(storage)
    }

    /// Allocates device memory from the pool. It is no part of the allocation trace.
    pub(super) fn allocate_from_pool(&self, bytes: u64) -> Result<Storage> {
        if self.capturing.get() {
            bail!(
                Unsupported,
                "{bytes} bytes that the run before has not allocated cannot be a part of a graph"
            );
        }
        let len = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let buffer = self.in_work(|work| work.allocate(self.pool, len))?;
        Ok(Storage::of_device(buffer, self.device.ordinal(), release))
    }

    /// A new tensor with undefined values.
    pub(super) fn empty_tensor(
        &self,
        sizes: &[i64],
        strides: &[i64],
        dtype: DType,
        location: Location,
    ) -> Result<Tensor> {
        let bytes = extent(sizes, strides, dtype)?;
        let storage = match location {
            Location::Host => Storage::of_host(bytes)?,
            Location::Device(_) => self.allocate(bytes)?,
        };
        Tensor::new(Arc::new(storage), dtype, sizes, strides, 0)
    }

    /// Runs a function. Returns its result, and the tensors that the library has made over its own memory
    /// meanwhile.
    pub(super) fn collect_tensors<T>(&self, f: impl FnOnce() -> T) -> (T, Vec<Tensor>) {
        *self.collected.borrow_mut() = Some(Vec::new());
        let result = f();
        (result, self.collected.take().unwrap_or_default())
    }

    /// Notes a tensor that the library has made over its own memory.
    pub(super) fn note_tensor(&self, tensor: &Tensor) {
        if let Some(collected) = &mut *self.collected.borrow_mut() {
            collected.push(tensor.clone());
        }
    }
}

/// A guard. While it lives, its session is the thread's current one.
struct CurrentSession<'s> {
    before: *const Session<'static>,
    _session: PhantomData<&'s ()>,
}

impl<'s> CurrentSession<'s> {
    fn set(session: &'s Session<'_>) -> Self {
        let session: *const Session<'_> = session;
        Self {
            before: CURRENT.replace(session.cast()),
            _session: PhantomData,
        }
    }
}

impl Drop for CurrentSession<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Runs a function with the thread's current session; `None` if no library is being called.
pub(crate) fn with_current<T>(f: impl FnOnce(&Session<'_>) -> T) -> Option<T> {
    let session = CURRENT.get();
    // SAFETY: the pointer is null, or was set by a `CurrentSession` that lives further up this thread's
    // stack and borrows the session, which is not moved or changed but through cells meanwhile. The
    // function sees it for any lifetime, so that it can keep nothing of it.
    let session = unsafe { session.as_ref() }?;
    Some(f(session))
}

/// The body of a function of PyTorch's C interface. An error or a panic becomes the call's error, and the
/// library gets 1.
pub(crate) fn torch_function(
    name: &str,
    f: impl FnOnce(&Session<'_>) -> Result<()>,
) -> AotiTorchError {
    let code = with_current(|session| {
        // A panic must not unwind into C.
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
    code.unwrap_or_else(|| {
        tracing::warn!("a compiled library called `{name}` when nobody had called it");
        1
    })
}

/// Adds the free of a library's allocation to the trace of its session, if that is the current one.
fn freed(allocation: Allocation) {
    with_current(|session| {
        if session.number == allocation.session
            && let Ok(mut trace) = session.trace.try_borrow_mut()
        {
            trace.free(allocation.number);
        }
    });
}

/// Frees a buffer. In a current session with work the pool has it again at once: that work is the last to
/// use it.
fn release(buffer: DeviceBuffer) {
    let mut buffer = Some(buffer);
    with_current(|session| {
        // The work is borrowed if this is called within it.
        if let Ok(mut work) = session.work.try_borrow_mut()
            && let Some(work) = &mut *work
            && let Some(buffer) = buffer.take()
        {
            work.release(buffer);
        }
    });
}

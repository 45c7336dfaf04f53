//! Handles of streams, and what tells streams apart.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::CUstream;
use thalweg_core::{Result, ensure};

use super::context::Context;
use super::green::GreenContext;
use crate::sys::Status;

/// The flag of streams that do not synchronize with the legacy default stream.
const NON_BLOCKING: c_uint = 1;

/// The handle that means the legacy default stream.
pub(crate) const LEGACY: usize = 1;

/// The handle that means the default stream of whatever thread uses it.
pub(crate) const PER_THREAD: usize = 2;

/// The handle of a stream. Clones are the same stream; one that is not ours costs no allocation.
#[derive(Clone)]
pub(crate) struct StreamHandle {
    context: Arc<Context>,
    raw: RawStream,
    owner: Owner,
}

#[derive(Clone)]
enum Owner {
    /// Ours.
    Us(#[expect(dead_code, reason = "it is kept")] Arc<OwnStream>),
    /// The thread's, which is the only one on which the handle means this stream.
    Thread(StreamId),
    /// Somebody else's, who keeps it alive as long as this handle.
    Caller,
}

/// A stream of ours, which is destroyed with the last handle.
struct OwnStream {
    context: Arc<Context>,
    raw: RawStream,
    /// The part of the device that it is of.
    _green: Option<Arc<GreenContext>>,
}

#[derive(Clone, Copy)]
struct RawStream(CUstream);

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

impl StreamHandle {
    /// A stream of our own.
    pub(crate) fn new(context: &Arc<Context>, priority: c_int) -> Result<Self> {
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current, and the driver writes the stream.
        let status = unsafe {
            (context.table().cuStreamCreateWithPriority)(&raw mut raw, NON_BLOCKING, priority)
        };
        context.check("cuStreamCreateWithPriority", status)?;
        Ok(Self::own(context, raw, None))
    }

    /// A stream of our own that only uses a part of the device.
    pub(crate) fn of_green(green: &Arc<GreenContext>) -> Result<Self> {
        let raw = green.create_stream()?;
        Ok(Self::own(green.context(), raw, Some(green.clone())))
    }

    fn own(context: &Arc<Context>, raw: CUstream, green: Option<Arc<GreenContext>>) -> Self {
        let raw = RawStream(raw);
        let own = OwnStream {
            context: context.clone(),
            raw,
            _green: green,
        };
        Self {
            context: context.clone(),
            raw,
            owner: Owner::Us(Arc::new(own)),
        }
    }

    /// The default stream of this thread.
    pub(crate) fn per_thread(context: &Arc<Context>) -> Self {
        Self {
            context: context.clone(),
            raw: RawStream(ptr::without_provenance_mut(PER_THREAD)),
            owner: Owner::Thread(StreamId::of_this_thread(context.ordinal())),
        }
    }

    /// A stream by its handle, which may be one that stands for a default stream.
    ///
    /// # Safety
    /// The handle is a default stream's, or a stream of the context's device that stays one for as long
    /// as this lives.
    pub(crate) unsafe fn of_raw(context: &Arc<Context>, raw: *mut c_void) -> Self {
        match raw.addr() {
            0 | LEGACY => Self::legacy(context),
            PER_THREAD => Self::per_thread(context),
            // SAFETY: the caller's.
            _ => unsafe { Self::borrowed(context, raw.cast()) },
        }
    }

    /// The legacy default stream.
    pub(crate) fn legacy(context: &Arc<Context>) -> Self {
        Self {
            context: context.clone(),
            raw: RawStream(ptr::without_provenance_mut(LEGACY)),
            owner: Owner::Caller,
        }
    }

    /// Somebody else's stream.
    ///
    /// # Safety
    /// The handle is a stream of the context's device, and stays one for as long as this lives.
    pub(crate) unsafe fn borrowed(context: &Arc<Context>, raw: CUstream) -> Self {
        Self {
            context: context.clone(),
            raw: RawStream(raw),
            owner: Owner::Caller,
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The handle, if it means this stream on this thread.
    #[inline]
    pub(crate) fn raw(&self) -> Result<CUstream> {
        if let Owner::Thread(id) = &self.owner {
            ensure!(
                *id == StreamId::of_this_thread(self.context.ordinal()),
                InvalidInput,
                "the default stream of a thread was used on another thread, where it is another \
                 stream"
            );
        }
        Ok(self.raw.0)
    }

    /// The handle, for code that calls the driver itself.
    pub(crate) fn address(&self) -> Result<*mut c_void> {
        self.raw().map(CUstream::cast)
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        let raw = self.raw()?;
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the stream is alive.
        let status = unsafe { (context.table().cuStreamSynchronize)(raw) };
        context.check("cuStreamSynchronize", status)
    }

    pub(crate) fn query(&self) -> Result<bool> {
        let raw = self.raw()?;
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the stream is alive.
        let status = unsafe { (context.table().cuStreamQuery)(raw) };
        if status == Status::NOT_READY {
            return Ok(false);
        }
        context.check("cuStreamQuery", status)?;
        Ok(true)
    }

    /// 0 if the stream is not being captured, 1 if it is, 2 if its capture has failed.
    pub(crate) fn capture_status(&self) -> Result<u32> {
        let raw = self.raw()?;
        let context = &self.context;
        let _entered = context.enter()?;
        let mut answer = 0;
        // SAFETY: the stream is alive, and the driver writes the answer.
        let status = unsafe { (context.table().cuStreamIsCapturing)(raw, &raw mut answer) };
        context.check("cuStreamIsCapturing", status)?;
        Ok(answer)
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        let context = &self.context;
        context.destroy("cuStreamDestroy", || {
            // SAFETY: the stream is ours, and nobody else has it. The driver finishes what is on it.
            unsafe { (context.table().cuStreamDestroy_v2)(self.raw.0) }
        });
    }
}

/// The identity of a stream. Two that are equal are the same stream; a caller's stream is never
/// equal to one of an earlier call, even if it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId {
    number: u64,
    device: i32,
    borrowed: bool,
}

impl StreamId {
    pub(crate) fn new(device: i32, borrowed: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            borrowed,
        }
    }

    /// The legacy default stream, whose handle is never another stream.
    pub(crate) fn legacy(device: i32) -> Self {
        Self {
            number: 0,
            device,
            borrowed: false,
        }
    }

    /// The default stream of this thread.
    pub(crate) fn of_this_thread(device: i32) -> Self {
        thread_local! {
            static NUMBER: Cell<u64> = const { Cell::new(0) };
        }
        // While a thread ends, its number may be gone; a new one is a stream that nobody has.
        let number = NUMBER.try_with(|number| {
            if number.get() == 0 {
                number.set(Self::new(device, false).number);
            }
            number.get()
        });
        Self {
            number: number.unwrap_or_else(|_| Self::new(device, false).number),
            device,
            borrowed: false,
        }
    }

    /// True if it may be the same stream as another, without being equal.
    pub(crate) fn may_be(self, other: Self) -> bool {
        self == other || (self.borrowed && other.borrowed)
    }
}

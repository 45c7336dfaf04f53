//! The primary context of a device, and the events that are kept with it.

use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys::{CUcontext, CUdevice, CUevent, CUstream};
use thalweg_core::{Result, bail};

use super::device::{Attribute, DeviceHandle};
use crate::result;
use crate::sys::{Status, Table};

mod capture_mode;
mod current;

pub(crate) use capture_mode::RelaxedCapture;
pub(crate) use current::Entered;

/// The most events that are kept for later.
const KEPT_EVENTS: usize = 1024;

/// A device's primary context, retained once and released when the last handle on it is gone.
///
/// It has two things of its own: a stream on which memory is freed when its buffer is dropped, and
/// events that were used before and will be used again.
pub(crate) struct Context {
    table: &'static Table,
    device: CUdevice,
    ordinal: i32,
    raw: CUcontext,
    /// Zero, or the code with which the context was lost.
    lost: AtomicU32,
    pools: bool,
    release_stream: CUstream,
    events: Mutex<Vec<KeptEvent>>,
    /// Unused events that tell the time.
    timed_events: Mutex<Vec<KeptEvent>>,
}

struct KeptEvent(CUevent);

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for KeptEvent {}
// SAFETY: as above; everything else in a context is `Send` and `Sync`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of a device.
    pub(crate) fn retain(table: &'static Table, device: DeviceHandle) -> Result<Self> {
        let pools = device.attribute(table, Attribute::MemoryPools)? != 0;
        let mut raw = ptr::null_mut();
        // SAFETY: the device handle comes from the driver, which writes the context.
        let status = unsafe { (table.cuDevicePrimaryCtxRetain)(&raw mut raw, device.raw) };
        result::check(table, "cuDevicePrimaryCtxRetain", status)?;
        // From here on, dropping it releases what it has.
        let mut context = Self {
            table,
            device: device.raw,
            ordinal: device.ordinal,
            raw,
            lost: AtomicU32::new(0),
            pools,
            release_stream: ptr::null_mut(),
            events: Mutex::default(),
            timed_events: Mutex::default(),
        };
        let mut stream = ptr::null_mut();
        {
            let _managing = context.manage()?;
            // SAFETY: the context is current, and the driver writes the stream. 1 is "does not
            // synchronize with the legacy default stream".
            let status =
                unsafe { (table.cuStreamCreateWithPriority)(&raw mut stream, 1 as c_uint, 0) };
            context.check("cuStreamCreateWithPriority", status)?;
        }
        context.release_stream = stream;
        Ok(context)
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    pub(crate) fn ordinal(&self) -> i32 {
        self.ordinal
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// The handle, for code that calls the driver itself.
    pub(crate) fn address(&self) -> *mut std::ffi::c_void {
        self.raw.cast()
    }

    pub(crate) fn device(&self) -> CUdevice {
        self.device
    }

    /// True if the device allocates in stream order.
    pub(crate) fn has_pools(&self) -> bool {
        self.pools
    }

    /// The stream on which memory is freed.
    pub(crate) fn release_stream(&self) -> CUstream {
        self.release_stream
    }

    /// The code with which the context was lost.
    pub(crate) fn lost(&self) -> Option<Status> {
        match self.lost.load(Ordering::Relaxed) {
            0 => None,
            code => Some(Status(code)),
        }
    }

    /// An error if the context was lost.
    pub(crate) fn alive(&self) -> Result<()> {
        match self.lost() {
            None => Ok(()),
            Some(status) => Err(result::lost(self.table, self.ordinal, status)),
        }
    }

    /// Turns the answer of a call into a result, and remembers if it says that the context is
    /// lost.
    #[inline]
    pub(crate) fn check(&self, call: &str, status: Status) -> Result<()> {
        if status.is_success() {
            Ok(())
        } else {
            self.note(status);
            Err(result::failed(self.table, call, status))
        }
    }

    #[cold]
    fn note(&self, status: Status) {
        if status.loses_context() {
            // The first code is the one that says what happened.
            let _ = self
                .lost
                .compare_exchange(0, status.0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Destroys something, once: a call that frees may have done so even if it says that it has
    /// failed, and what was freed must not be freed again.
    pub(crate) fn destroy(&self, call: &str, destroy: impl FnOnce() -> Status) {
        let _entered = self.enter_to_clean_up();
        let _relaxed = RelaxedCapture::on_this_thread(self);
        let status = destroy();
        if status.is_success() {
            return;
        }
        self.note(status);
        // Everything goes with a context that is lost.
        if self.lost().is_none() {
            let error = result::failed(self.table, call, status);
            tracing::warn!(device = self.ordinal, "{error}");
        }
    }

    /// An event that was used before.
    pub(crate) fn take_event(&self, timing: bool) -> Option<CUevent> {
        lock(self.events(timing)).pop().map(|event| event.0)
    }

    fn events(&self, timing: bool) -> &Mutex<Vec<KeptEvent>> {
        match timing {
            true => &self.timed_events,
            false => &self.events,
        }
    }

    /// Keeps an event for later, if there is capacity.
    pub(crate) fn keep_event(&self, event: CUevent, timing: bool) -> bool {
        if self.lost().is_some() {
            return false;
        }
        let mut events = lock(self.events(timing));
        let has_capacity = events.len() < KEPT_EVENTS;
        if has_capacity {
            events.push(KeptEvent(event));
        }
        has_capacity
    }

    /// Free and total memory of the device, in bytes.
    pub(crate) fn memory(&self) -> Result<(usize, usize)> {
        let _managing = self.manage()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is current, and the driver writes the numbers.
        let status = unsafe { (self.table.cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        self.check("cuMemGetInfo", status)?;
        Ok((free, total))
    }

    /// Waits for everything on the device.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let _entered = self.enter()?;
        // SAFETY: the context is current.
        let status = unsafe { (self.table.cuCtxSynchronize)() };
        self.check("cuCtxSynchronize", status)
    }

    /// Waits for the freeing of all memory that was let go.
    pub(crate) fn finish_releases(&self) -> Result<()> {
        let _managing = self.manage()?;
        // SAFETY: the stream is this context's own.
        let status = unsafe { (self.table.cuStreamSynchronize)(self.release_stream) };
        self.check("cuStreamSynchronize", status)
    }

    /// The lowest and the highest priority of streams; numbers fall as priority rises.
    pub(crate) fn priorities(&self) -> Result<(c_int, c_int)> {
        let _managing = self.manage()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: the context is current, and the driver writes the numbers.
        let status =
            unsafe { (self.table.cuCtxGetStreamPriorityRange)(&raw mut least, &raw mut greatest) };
        self.check("cuCtxGetStreamPriorityRange", status)?;
        Ok((least, greatest))
    }

    /// Lets this device reach the memory of another.
    pub(crate) fn enable_peer(&self, peer: &Self) -> Result<()> {
        let mut can = 0;
        // SAFETY: both device handles come from the driver, which writes the answer.
        let status =
            unsafe { (self.table.cuDeviceCanAccessPeer)(&raw mut can, self.device, peer.device) };
        self.check("cuDeviceCanAccessPeer", status)?;
        if can == 0 {
            bail!(
                Unsupported,
                "device {} cannot reach the memory of device {}",
                self.ordinal,
                peer.ordinal
            );
        }
        let _managing = self.manage()?;
        // SAFETY: the context is current, and the peer's is retained.
        let status = unsafe { (self.table.cuCtxEnablePeerAccess)(peer.raw, 0) };
        if status == Status::PEER_ACCESS_ALREADY_ENABLED {
            return Ok(());
        }
        self.check("cuCtxEnablePeerAccess", status)
    }

    /// Gives memory that the driver's own pool keeps unused back to the device.
    pub(crate) fn trim_driver_pool(&self) -> Result<()> {
        if !self.pools {
            return Ok(());
        }
        let _managing = self.manage()?;
        let mut pool = ptr::null_mut();
        // SAFETY: the driver writes the pool, which belongs to the device and is never destroyed.
        let status = unsafe { (self.table.cuDeviceGetDefaultMemPool)(&raw mut pool, self.device) };
        self.check("cuDeviceGetDefaultMemPool", status)?;
        // SAFETY: as above.
        let status = unsafe { (self.table.cuMemPoolTrimTo)(pool, 0) };
        self.check("cuMemPoolTrimTo", status)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Context {
    fn drop(&mut self) {
        let events = [&self.events, &self.timed_events];
        let events = events.map(|events| std::mem::take(&mut *lock(events)));
        for event in events.into_iter().flatten() {
            self.destroy("cuEventDestroy", || {
                // SAFETY: kept events belong to nobody else.
                unsafe { (self.table.cuEventDestroy_v2)(event.0) }
            });
        }
        if !self.release_stream.is_null() {
            self.destroy("cuStreamDestroy", || {
                // SAFETY: the stream is this context's own.
                unsafe { (self.table.cuStreamDestroy_v2)(self.release_stream) }
            });
        }
        // A thread that keeps a released context current would fail in strange ways later.
        let mut current = ptr::null_mut();
        // SAFETY: the driver writes the thread's context.
        let status = unsafe { (self.table.cuCtxGetCurrent)(&raw mut current) };
        if status.is_success() && current == self.raw {
            // SAFETY: no context is a legal one.
            let _ = unsafe { (self.table.cuCtxSetCurrent)(ptr::null_mut()) };
        }
        // SAFETY: retained once, in `retain`, and released once.
        let status = unsafe { (self.table.cuDevicePrimaryCtxRelease_v2)(self.device) };
        if !status.is_success() && self.lost().is_none() {
            let error = result::failed(self.table, "cuDevicePrimaryCtxRelease", status);
            tracing::warn!(device = self.ordinal, "{error}");
        }
    }
}

//! Streams that are being captured.

use std::cell::RefCell;
use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUgraph;
use thalweg_core::{Result, bail};

use super::{Context, GraphHandle, StreamHandle};
use crate::order::{Access, Operand};
use crate::result;
use crate::stream::StreamId;
use crate::{DeviceBuffer, Stream};

/// Calls on other threads that a capture forbids in general stay allowed.
const THREAD_LOCAL: c_uint = 1;
/// All calls are allowed on this thread.
const RELAXED: c_uint = 2;

/// What the graph needs that a capture makes.
#[derive(Default)]
pub(crate) struct Parts {
    /// The memory, and what the graph does with it.
    pub(crate) operands: Vec<(Arc<dyn Operand>, Access)>,
    /// Behind a lock only since it need not be `Sync`; nobody takes it out.
    pub(crate) kept: Mutex<Vec<Box<dyn Send>>>,
    /// Memory from a pool that one part of the graph has released and a later part may use.
    pub(crate) released: Vec<DeviceBuffer>,
}

/// A capture, by us or by a caller, and what its graph needs.
pub(crate) struct CaptureState {
    stream: StreamId,
    parts: Mutex<Parts>,
}

thread_local! {
    /// The captures that this thread has begun. A capture ends on the thread on which it began.
    static ACTIVE: RefCell<Vec<Arc<CaptureState>>> = const { RefCell::new(Vec::new()) };
}

impl CaptureState {
    /// Begins a capture.
    pub(crate) fn begin(stream: &Stream) -> Result<Arc<Self>> {
        let raw = stream.handle().raw()?;
        let context = stream.context();
        let _entered = context.enter()?;
        // SAFETY: the stream is alive.
        let status = unsafe { (context.table().cuStreamBeginCapture_v2)(raw, THREAD_LOCAL) };
        context.check("cuStreamBeginCapture", status)?;
        let state = Arc::new(Self {
            stream: stream.id(),
            parts: Mutex::default(),
        });
        ACTIVE.with_borrow_mut(|active| active.push(state.clone()));
        Ok(state)
    }

    /// The capture that a stream is in, which may be somebody else's.
    pub(crate) fn of_stream(stream: &Stream) -> Result<Arc<Self>> {
        let ours = ACTIVE.with_borrow(|active| {
            let found = active.iter().find(|state| state.stream == stream.id());
            found.cloned()
        });
        if let Some(state) = ours {
            return Ok(state);
        }
        let state = Arc::new(Self {
            stream: stream.id(),
            parts: Mutex::default(),
        });
        state.give_to_caller(stream)?;
        Ok(state)
    }

    /// Ends the capture. The stream can be used as before afterwards, also on an error.
    pub(crate) fn end(self: &Arc<Self>, stream: &StreamHandle) -> Result<GraphHandle> {
        ACTIVE.with_borrow_mut(|active| active.retain(|state| !Arc::ptr_eq(state, self)));
        let raw = stream.raw()?;
        let context = stream.context();
        // Whatever happens: a capture must not stay open.
        let _entered = context.enter_to_clean_up();
        let mut first = None;
        loop {
            let mut graph: CUgraph = ptr::null_mut();
            // SAFETY: the stream is alive, and the driver writes the graph.
            let status = unsafe { (context.table().cuStreamEndCapture)(raw, &raw mut graph) };
            let ended = context.check("cuStreamEndCapture", status);
            match ended {
                Ok(()) if graph.is_null() => {
                    bail!(Device, "cuStreamEndCapture succeeded and gave no graph")
                }
                // SAFETY: the driver has just given us the graph.
                Ok(()) => return Ok(unsafe { GraphHandle::of(context, graph) }),
                Err(error) => {
                    if !graph.is_null() {
                        // SAFETY: as above.
                        drop(unsafe { GraphHandle::of(context, graph) });
                    }
                    // A capture that has failed is over now. If the call itself did not work, the
                    // stream still captures, and it is tried once more.
                    let over = stream.capture_status().is_ok_and(|status| status == 0);
                    if over || first.is_some() || context.lost().is_some() {
                        return Err(first.unwrap_or(error));
                    }
                    first = Some(error);
                }
            }
        }
    }

    pub(crate) fn keep(&self, thing: Box<dyn Send>) {
        kept(&mut self.parts()).push(thing);
    }

    pub(crate) fn add(
        &self,
        operands: impl Iterator<Item = (Arc<dyn Operand>, Access)>,
        kept: Vec<Box<dyn Send>>,
    ) {
        let mut parts = self.parts();
        for (operand, access) in operands {
            let known = parts
                .operands
                .iter_mut()
                .find(|(known, _)| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&operand)));
            match known {
                Some((_, known)) if access == Access::Write => *known = access,
                Some(_) => {}
                None => parts.operands.push((operand, access)),
            }
        }
        self::kept(&mut parts).extend(kept);
    }

    /// Memory that an earlier part of the capture has released.
    pub(crate) fn take_released(
        &self,
        fits: impl Fn(&DeviceBuffer) -> bool,
    ) -> Option<DeviceBuffer> {
        let mut parts = self.parts();
        let index = parts.released.iter().rposition(fits)?;
        Some(parts.released.swap_remove(index))
    }

    pub(crate) fn release(&self, buffer: DeviceBuffer) {
        self.parts().released.push(buffer);
    }

    pub(crate) fn take_parts(&self) -> Parts {
        std::mem::take(&mut *self.parts())
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives this to the graph that the caller's capture makes, which drops it when the graph and
    /// all that was made of it are gone. That is done first, and not when the work is finished,
    /// because then it would be too late to fail.
    fn give_to_caller(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        let raw = stream.handle().raw()?;
        let context = stream.context();
        let table = context.table();
        let too_old = |function| result::too_old(table, function);
        let info = table.cuStreamGetCaptureInfo_v2;
        let info = info.ok_or_else(|| too_old("cuStreamGetCaptureInfo_v2"))?;
        let create = table.cuUserObjectCreate;
        let create = create.ok_or_else(|| too_old("cuUserObjectCreate"))?;
        let release = table.cuUserObjectRelease;
        let release = release.ok_or_else(|| too_old("cuUserObjectRelease"))?;
        let retain = table.cuGraphRetainUserObject;
        let retain = retain.ok_or_else(|| too_old("cuGraphRetainUserObject"))?;
        let mut status_of_capture = 0;
        let mut graph: CUgraph = ptr::null_mut();
        // SAFETY: the stream is alive; the driver writes what is asked for, and the rest may be
        // null.
        let status = unsafe {
            info(
                raw,
                &raw mut status_of_capture,
                ptr::null_mut(),
                &raw mut graph,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        context.check("cuStreamGetCaptureInfo", status)?;
        if graph.is_null() {
            bail!(Device, "the caller's capture has failed, and has no graph");
        }
        let payload = Arc::into_raw(self.clone()).cast_mut();
        let mut object = ptr::null_mut();
        // SAFETY: the destructor takes the payload's ownership, once. It runs at its own time,
        // which is what the last argument says.
        let status = unsafe { create(&raw mut object, payload.cast(), Some(dispose), 1, 1) };
        if let Err(error) = context.check("cuUserObjectCreate", status) {
            // SAFETY: there is no object, so the payload is still ours.
            drop(unsafe { Arc::from_raw(payload) });
            return Err(error);
        }
        // SAFETY: the graph is being captured, and the object is ours. The last argument says that
        // our reference becomes the graph's.
        let status = unsafe { retain(graph, object, 1, 1) };
        context
            .check("cuGraphRetainUserObject", status)
            .inspect_err(|_| {
                // SAFETY: the reference is still ours.
                context.destroy("cuUserObjectRelease", || unsafe { release(object, 1) });
            })
    }
}

fn kept(parts: &mut Parts) -> &mut Vec<Box<dyn Send>> {
    parts.kept.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// What callers' graphs had, and nobody has any more.
static LEFT_BEHIND: Mutex<Vec<Arc<CaptureState>>> = Mutex::new(Vec::new());

/// The destructor of what a caller's graph keeps. It may not call the driver, so that it only puts
/// it aside.
unsafe extern "C" fn dispose(state: *mut c_void) {
    // SAFETY: the driver gives back what `give_to_caller` gave it, once.
    let state = unsafe { Arc::from_raw(state.cast::<CaptureState>()) };
    let mut left = LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(state);
}

/// Drops what callers' graphs had.
pub(crate) fn drop_left_behind() {
    let mut left = LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    let states = std::mem::take(&mut *left);
    // Not under the lock: this calls the driver.
    drop(left);
    drop(states);
}

/// While it lives, calls that a capture forbids are allowed on this thread, and do the capture no
/// harm: captures of this thread, and those of any thread that somebody has begun in the mode that
/// concerns all threads.
pub(crate) struct RelaxedCapture<'c> {
    context: &'c Context,
    before: c_uint,
}

impl<'c> RelaxedCapture<'c> {
    #[inline]
    pub(crate) fn on_this_thread(context: &'c Context) -> Result<Self> {
        let mut mode = RELAXED;
        // SAFETY: the driver exchanges the number with the thread's.
        let status = unsafe { (context.table().cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
        context.check("cuThreadExchangeStreamCaptureMode", status)?;
        Ok(Self {
            context,
            before: mode,
        })
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        for _ in 0..2 {
            let mut mode = self.before;
            let table = self.context.table();
            // SAFETY: as above.
            let status = unsafe { (table.cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
            if status.is_success() {
                return;
            }
        }
        tracing::warn!("this thread's capture mode could not be restored");
    }
}

//! Stream capture: its begin and end, and payloads that go with the graph that it makes.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUgraph;
use thalweg_core::{Result, bail};

use super::graph::GraphHandle;
use super::stream::StreamHandle;
use crate::result;

/// Calls on other threads that a capture forbids in general stay allowed.
const THREAD_LOCAL: c_uint = 1;

/// Begins to capture a stream.
pub(crate) fn begin(stream: &StreamHandle) -> Result<()> {
    let raw = stream.raw()?;
    let context = stream.context();
    let _entered = context.enter()?;
    // SAFETY: the stream is alive.
    let status = unsafe { (context.table().cuStreamBeginCapture_v2)(raw, THREAD_LOCAL) };
    context.check("cuStreamBeginCapture", status)
}

/// Ends the capture of a stream. The stream can be used as before afterwards, also on an error.
pub(crate) fn end(stream: &StreamHandle) -> Result<GraphHandle> {
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

/// Something that a graph of the caller's keeps alive.
type Payload = Arc<dyn Send + Sync>;

/// Gives a payload to the graph that the caller's capture of a stream makes, which drops it when the
/// graph and all that was made of it are gone.
pub(crate) fn keep(payload: Payload, stream: &StreamHandle) -> Result<()> {
    let raw = stream.raw()?;
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
    // SAFETY: the stream is alive; the driver writes what is asked for, and the rest may be null.
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
    let payload: *mut Payload = Box::into_raw(Box::new(payload));
    let mut object = ptr::null_mut();
    // SAFETY: the destructor takes the payload's ownership, once. It runs at its own time, which is
    // what the last argument says.
    let status = unsafe { create(&raw mut object, payload.cast(), Some(dispose), 1, 1) };
    if let Err(error) = context.check("cuUserObjectCreate", status) {
        // SAFETY: there is no object, so the payload is still ours.
        drop(unsafe { Box::from_raw(payload) });
        return Err(error);
    }
    // SAFETY: the graph is being captured, and the object is ours. The last argument says that our
    // reference becomes the graph's.
    let status = unsafe { retain(graph, object, 1, 1) };
    context
        .check("cuGraphRetainUserObject", status)
        .inspect_err(|_| {
            // SAFETY: the reference is still ours.
            context.destroy("cuUserObjectRelease", || unsafe { release(object, 1) });
        })
}

/// The payloads of callers' graphs that are gone.
static LEFT_BEHIND: Mutex<Vec<Payload>> = Mutex::new(Vec::new());

/// The destructor of a payload. It may not call the driver, so that it only puts the payload aside.
unsafe extern "C" fn dispose(payload: *mut c_void) {
    // SAFETY: the driver gives back what `keep` gave it, once.
    let payload = unsafe { Box::from_raw(payload.cast::<Payload>()) };
    let mut left = LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(*payload);
}

/// Drops the payloads of callers' graphs that are gone.
pub(crate) fn drop_left_behind() {
    let mut left = LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    let payloads = std::mem::take(&mut *left);
    // Not under the lock: this calls the driver.
    drop(left);
    drop(payloads);
}

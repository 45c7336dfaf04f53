//! Stream capture.

use std::collections::HashMap;
use std::ffi::{c_int, c_uint};
use std::sync::{LazyLock, Mutex};

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::objects::node_handle;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

entry! {
    /// Begins to capture a stream.
    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz (stream: u64, mode: c_uint), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let (thread, site) = (call.thread(), call.site.clone());
        call.begin_capture(stream, mode, thread, site)
    }
}

entry! {
    /// Ends the capture of a stream, and returns its graph.
    fn cuStreamEndCapture / cuStreamEndCapture_ptsz (stream: u64, graph: Out<u64>), Rules::CONTEXT.releases(), |call| {
        let stream = call.stream(stream)?;
        graph.set(0)?;
        let thread = call.thread();
        let ended = call.end_capture(stream, thread)?;
        if call.injected {
            // The caller does not get the graph.
            call.graphs.remove(ended)?;
            return Ok(());
        }
        graph.set(ended)
    }
}

impl Call {
    /// The `CUstreamCaptureStatus` of a stream (0: none, 1: active, 2: invalidated), and the index
    /// of its active capture.
    fn capture_status(&mut self, stream: u64) -> CallResult<(c_uint, Option<usize>)> {
        self.forbid_implicit(stream, false)?;
        let Some(id) = self.streams.get(stream)?.capture else {
            return Ok((0, None));
        };
        let index = self.captures.iter().position(|capture| capture.id == id);
        Ok(match index {
            Some(index) if self.captures[index].invalid => (2, None),
            Some(index) => (1, Some(index)),
            None => (0, None),
        })
    }

    fn capture_info(
        &mut self,
        stream: u64,
        status: Out<c_uint>,
        id: Out<u64>,
        graph: Out<u64>,
        nodes: Out<u64>,
        count: Out<usize>,
    ) -> CallResult {
        let stream = self.stream(stream)?;
        let (state, capture) = self.capture_status(stream)?;
        status.set(state)?;
        let Some(capture) = capture else {
            return Ok(());
        };
        let frontier = self.capture_dependencies(capture, stream);
        let capture = &self.captures[capture];
        id.set_if_wanted(capture.id);
        graph.set_if_wanted(capture.graph);
        let number = self.graphs.get(capture.graph)?.number;
        let handles: Vec<u64> = frontier.iter().map(|&n| node_handle(number, n)).collect();
        count.set_if_wanted(handles.len());
        if !nodes.is_null() {
            // The list belongs to the driver, until the next call for this stream.
            let mut lists = LISTS
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            lists.insert(stream, handles.into());
            nodes.set(lists[&stream].as_ptr() as u64)?;
        }
        Ok(())
    }
}

/// The lists of nodes that callers were given, by stream.
static LISTS: LazyLock<Mutex<HashMap<u64, Box<[u64]>>>> = LazyLock::new(Mutex::default);

entry! {
    /// The capture status of a stream.
    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz (stream: u64, status: Out<c_uint>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let (state, _) = call.capture_status(stream)?;
        status.set(state)
    }
}

entry! {
    /// The capture status of a stream, and the number of its capture.
    fn cuStreamGetCaptureInfo / cuStreamGetCaptureInfo_ptsz (stream: u64, status: Out<c_uint>, id: Out<u64>), Rules::CONTEXT, |call| {
        let none = std::ptr::null_mut();
        call.capture_info(stream, status, id, Out(none), Out(none), Out(none.cast()))
    }
}

entry! {
    /// The capture of a stream: its status, its graph, and the dependencies of the next node.
    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz (stream: u64, status: Out<c_uint>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>), Rules::CONTEXT, |call| {
        call.capture_info(stream, status, id, graph, nodes, count)
    }
}

entry! {
    /// The capture of a stream: its status, its graph, and the dependencies of the next node.
    fn cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz (stream: u64, status: Out<c_uint>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, edges: Out<u64>, count: Out<usize>), Rules::CONTEXT, |call| {
        edges.set_if_wanted(0);
        call.capture_info(stream, status, id, graph, nodes, count)
    }
}

entry! {
    /// Exchanges the capture mode of the thread.
    fn cuThreadExchangeStreamCaptureMode(mode: Out<c_uint>), Rules::DRIVER, |call| {
        let wanted = In(mode.0.cast_const()).get()?;
        if wanted > 2 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let before = call.capture_mode();
        call.set_capture_mode(wanted);
        mode.set(before)
    }
}

fn update(call: &mut Call, stream: u64, nodes: In<u64>, count: usize, flags: c_uint) -> CallResult {
    let stream = call.stream(stream)?;
    let Some(capture) = call.valid_capture(stream)? else {
        return fail(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    };
    // 0 adds, 1 replaces.
    let mut frontier = match flags {
        0 => call.capture_dependencies(capture, stream),
        1 => Vec::new(),
        _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    for index in 0..count {
        let (graph, node) = call.node(nodes.nth(index)?)?;
        if graph != call.captures[capture].graph {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if !frontier.contains(&node) {
            frontier.push(node);
        }
    }
    call.set_capture_dependencies(capture, stream, frontier);
    Ok(())
}

entry! {
    /// Sets the dependencies of the next node of a captured stream.
    fn cuStreamUpdateCaptureDependencies / cuStreamUpdateCaptureDependencies_ptsz (stream: u64, nodes: In<u64>, count: usize, flags: c_uint), Rules::CONTEXT, |call| {
        update(call, stream, nodes, count, flags)
    }
}

entry! {
    /// Sets the dependencies of the next node of a captured stream.
    fn cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz (stream: u64, nodes: In<u64>, _edges: In<c_int>, count: usize, flags: c_uint), Rules::CONTEXT, |call| {
        update(call, stream, nodes, count, flags)
    }
}

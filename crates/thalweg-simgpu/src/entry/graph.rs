//! Graphs: instantiation, launches, updates, queries.

use std::ffi::{c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::objects::{Graph, node_handle};
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

impl Call {
    pub(super) fn check_graph(&mut self, graph: u64) -> CallResult {
        let found = self.graphs.get(graph).map(drop);
        self.check_handle("graph", graph, found)
    }

    fn check_exec(&mut self, exec: u64) -> CallResult {
        let found = self.execs.get(exec).map(drop);
        self.check_handle("launchable graph", exec, found)
    }

    fn make_exec(&mut self, out: Out<u64>, graph: u64, flags: u64) -> CallResult {
        self.check_graph(graph)?;
        // Memory is freed on launch, upload, launch from a device, priorities of nodes.
        if out.is_null() || flags > 15 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if flags & 4 != 0 {
            return self.unsupported();
        }
        let (context, site) = (self.owning_context(self.context()?), self.site.clone());
        let exec = self.instantiate(graph, context, site)?;
        out.set(exec)
    }
}

entry! {
    /// Creates an empty graph.
    fn cuGraphCreate(graph: Out<u64>, flags: c_uint), Rules::DRIVER, |call| {
        if graph.is_null() || flags != 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let (number, site) = (call.next_id(), call.site.clone());
        let handle = call.graphs.insert(Graph::new(number, false, site));
        graph.set(handle)
    }
}

entry! {
    /// Destroys a graph. Executable graphs that were made of it stay.
    fn cuGraphDestroy(graph: u64), Rules::DRIVER.releases(), |call| {
        call.check_graph(graph)?;
        if call.graphs.get(graph)?.capturing {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        call.graphs.remove(graph)?;
        Ok(())
    }
}

entry! {
    /// Clones a graph.
    fn cuGraphClone(clone: Out<u64>, graph: u64), Rules::DRIVER, |call| {
        call.check_graph(graph)?;
        if clone.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let number = call.next_id();
        let copy = Graph {
            number,
            capturing: false,
            ..call.graphs.get(graph)?.clone()
        };
        let handle = call.graphs.insert(copy);
        clone.set(handle)
    }
}

entry! {
    /// Instantiates a graph.
    fn cuGraphInstantiateWithFlags(exec: Out<u64>, graph: u64, flags: u64), Rules::CONTEXT.unsafe_in_capture(), |call| {
        call.make_exec(exec, graph, flags)
    }
}

entry! {
    /// Instantiates a graph.
    fn cuGraphInstantiate_v2(exec: Out<u64>, graph: u64, error_node: Out<u64>, _log: Out<c_void>, _size: usize), Rules::CONTEXT.unsafe_in_capture(), |call| {
        error_node.set_if_wanted(0);
        call.make_exec(exec, graph, 0)
    }
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`, with numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InstantiateParameters {
    flags: u64,
    upload_stream: u64,
    error_node: u64,
    result: u32,
}

entry! {
    /// Instantiates a graph.
    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz (exec: Out<u64>, graph: u64, parameters: Out<InstantiateParameters>), Rules::CONTEXT.unsafe_in_capture(), |call| {
        let mut known = In(parameters.0.cast_const()).get()?;
        let made = call.make_exec(exec, graph, known.flags);
        (known.error_node, known.result) = (0, u32::from(made.is_err()));
        parameters.set(known)?;
        made
    }
}

entry! {
    /// Destroys an executable graph. Its launches go on.
    fn cuGraphExecDestroy(exec: u64), Rules::DRIVER.unsafe_in_capture().releases(), |call| {
        call.check_exec(exec)?;
        call.destroy_exec(exec)
    }
}

entry! {
    /// Launches an executable graph.
    fn cuGraphLaunch / cuGraphLaunch_ptsz (exec: u64, stream: u64), Rules::CONTEXT, |call| {
        call.check_exec(exec)?;
        let stream = call.stream(stream)?;
        call.forbid_implicit(stream, true)?;
        match call.valid_capture(stream)? {
            Some(capture) => call.capture_graph(exec, capture, stream),
            None => call.launch_graph(exec, stream).map(drop),
        }
    }
}

entry! {
    /// Uploads an executable graph. It has no effect.
    fn cuGraphUpload / cuGraphUpload_ptsz (exec: u64, stream: u64), Rules::CONTEXT, |call| {
        call.check_exec(exec)?;
        call.stream(stream)?;
        Ok(())
    }
}

/// `CUgraphExecUpdateResultInfo`, with numbers.
#[repr(C)]
pub(crate) struct UpdateResult {
    result: u32,
    node: u64,
    from: u64,
}

fn update(call: &mut Call, exec: u64, graph: u64) -> CallResult<(u32, u64)> {
    call.check_exec(exec)?;
    call.check_graph(graph)?;
    let (result, node) = call.update_exec(exec, graph)?;
    Ok((result, node.unwrap_or(0)))
}

fn verdict(result: u32) -> CallResult {
    if result == 0 {
        return Ok(());
    }
    fail(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
}

entry! {
    /// Updates an executable graph from another graph of the same topology.
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, info: Out<UpdateResult>), Rules::CONTEXT, |call| {
        let (result, node) = update(call, exec, graph)?;
        info.set_if_wanted(UpdateResult { result, node, from: 0 });
        verdict(result)
    }
}

entry! {
    /// Updates an executable graph from another graph of the same topology.
    fn cuGraphExecUpdate(exec: u64, graph: u64, error_node: Out<u64>, out: Out<c_uint>), Rules::CONTEXT, |call| {
        let (result, node) = update(call, exec, graph)?;
        error_node.set_if_wanted(node);
        out.set_if_wanted(result);
        verdict(result)
    }
}

/// Writes as many handles of nodes as there is capacity for, and zeros after them.
fn list(handles: &[u64], nodes: Out<u64>, count: Out<usize>) -> CallResult {
    if nodes.is_null() {
        return count.set(handles.len());
    }
    let room = In(count.0.cast_const()).get()?;
    for index in 0..room {
        nodes
            .nth(index)
            .set(handles.get(index).copied().unwrap_or(0))?;
    }
    count.set(handles.len().min(room))
}

entry! {
    /// The nodes of a graph.
    fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>), Rules::DRIVER, |call| {
        call.check_graph(graph)?;
        let graph = call.graphs.get(graph)?;
        let handles: Vec<u64> = (0..graph.nodes.len()).map(|n| node_handle(graph.number, n)).collect();
        list(&handles, nodes, count)
    }
}

entry! {
    /// The nodes of a graph that have no dependencies.
    fn cuGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>), Rules::DRIVER, |call| {
        call.check_graph(graph)?;
        let graph = call.graphs.get(graph)?;
        let roots = (0..graph.nodes.len()).filter(|&n| graph.nodes[n].after.is_empty());
        let handles: Vec<u64> = roots.map(|n| node_handle(graph.number, n)).collect();
        list(&handles, nodes, count)
    }
}

fn edges(
    call: &mut Call,
    graph: u64,
    from: Out<u64>,
    to: Out<u64>,
    count: Out<usize>,
) -> CallResult {
    call.check_graph(graph)?;
    let graph = call.graphs.get(graph)?;
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for (index, node) in graph.nodes.iter().enumerate() {
        for &after in &node.after {
            starts.push(node_handle(graph.number, after));
            ends.push(node_handle(graph.number, index));
        }
    }
    if !from.is_null() {
        let mut room = In(count.0.cast_const()).get()?;
        list(&starts, from, Out(ptr::from_mut(&mut room)))?;
    }
    list(&ends, to, count)
}

entry! {
    /// The dependencies in a graph.
    fn cuGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>), Rules::DRIVER, |call| {
        edges(call, graph, from, to, count)
    }
}

entry! {
    /// The dependencies in a graph.
    fn cuGraphGetEdges_v2(graph: u64, from: Out<u64>, to: Out<u64>, _data: Out<u64>, count: Out<usize>), Rules::DRIVER, |call| {
        edges(call, graph, from, to, count)
    }
}

entry! {
    /// The type of a node.
    fn cuGraphNodeGetType(node: u64, out: Out<c_uint>), Rules::DRIVER, |call| {
        let (graph, index) = call.node(node)?;
        out.set(call.graphs.get(graph)?.nodes[index].body.node_type())
    }
}

entry! {
    /// Writes a graph as a DOT file. It has no effect.
    fn cuGraphDebugDotPrint(graph: u64, _path: In<u8>, _flags: c_uint), Rules::DRIVER, |call| {
        call.check_graph(graph)
    }
}

//! Nodes: graphs that are built node by node, and changes of nodes.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::copy::row_of_volume;
use super::entry;
use super::launch::Shape;
use crate::callback::HostFunction;
use crate::objects::{Node, node_handle};
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};
use crate::work::{Body, Fill};

impl Call {
    /// Adds a node, and returns its handle.
    fn add_node(
        &mut self,
        out: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        name: &str,
        body: Body,
    ) -> CallResult {
        self.check_graph(graph)?;
        if out.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let after = self.nodes_of(graph, after, count)?;
        let device = self.device()?;
        let number = self.graphs.get(graph)?.number;
        let index = self.graphs.get_mut(graph)?.add(Node {
            name: name.into(),
            body,
            after,
            device,
        });
        out.set(node_handle(number, index))
    }

    fn nodes_of(&self, graph: u64, nodes: In<u64>, count: usize) -> CallResult<Vec<usize>> {
        (0..count)
            .map(|index| {
                let (of, node) = self.node(nodes.nth(index)?)?;
                if of != graph {
                    return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                Ok(node)
            })
            .collect()
    }

    /// Replaces the work of a node of an executable graph by work of the same kind.
    fn change_node(&mut self, exec: u64, node: u64, body: Body) -> CallResult {
        let (graph, index) = self.node(node)?;
        let number = self.graphs.get(graph)?.number;
        let exec = self.execs.get_mut(exec)?;
        let node = exec.nodes.get_mut(index).filter(|_| exec.source == number);
        match node {
            Some(node) if node.body.node_type() == body.node_type() => {
                if let Body::Kernel(call) = &body {
                    node.name = call.name.clone();
                }
                node.body = body;
                Ok(())
            }
            _ => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn kernel_body(&mut self, parameters: In<KernelNode>) -> CallResult<Body> {
        let node = parameters.get()?;
        let function = if node.function == 0 {
            node.kernel
        } else {
            node.function
        };
        let shape = Shape {
            grid: node.grid,
            block: node.block,
            shared_bytes: node.shared_bytes,
        };
        let parameters = In(node.parameters as *const u64);
        let extra = In(node.extra as *const u64);
        let call = self.kernel_call(function, &shape, parameters, extra)?;
        Ok(Body::Kernel(Arc::new(call)))
    }
}

/// `CUDA_KERNEL_NODE_PARAMS`, with numbers where the bindings have pointers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNode {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    parameters: u64,
    extra: u64,
    kernel: u64,
    context: u64,
}

const _: () =
    assert!(size_of::<KernelNode>() == size_of::<cudarc::driver::sys::CUDA_KERNEL_NODE_PARAMS>());

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FillNode {
    address: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

impl FillNode {
    fn body(self) -> CallResult<Body> {
        let element = self.element as usize;
        if !matches!(element, 1 | 2 | 4) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Body::Fill(Fill {
            address: self.address,
            pattern: self.value.to_le_bytes()[..element].to_vec(),
            pitch: self.pitch as u64,
            width: (self.width * element) as u64,
            height: self.height as u64,
        }))
    }
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct HostNode {
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: usize,
}

impl HostNode {
    fn body(self) -> CallResult<Body> {
        match (self.function, self.data) {
            (Some(function), data) => Ok(Body::Host(HostFunction::Plain { function, data })),
            (None, _) => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

entry! {
    /// Adds an empty node.
    fn cuGraphAddEmptyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize), Rules::CONTEXT, |call| {
        call.add_node(node, graph, after, count, "empty node", Body::Marker)
    }
}

entry! {
    /// Adds a kernel node.
    fn cuGraphAddKernelNode_v2(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<KernelNode>), Rules::CONTEXT, |call| {
        let body = call.kernel_body(parameters)?;
        let name = match &body {
            Body::Kernel(kernel) => kernel.name.clone(),
            _ => "kernel".into(),
        };
        call.add_node(node, graph, after, count, &name, body)
    }
}

entry! {
    /// Adds a copy node.
    fn cuGraphAddMemcpyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<c_void>, _context: u64), Rules::CONTEXT, |call| {
        let copy = row_of_volume(parameters)?;
        call.add_node(node, graph, after, count, "copy node", Body::Copy(copy))
    }
}

entry! {
    /// Adds a memset node.
    fn cuGraphAddMemsetNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<FillNode>, _context: u64), Rules::CONTEXT, |call| {
        let body = parameters.get()?.body()?;
        call.add_node(node, graph, after, count, "fill node", body)
    }
}

entry! {
    /// Adds a host node.
    fn cuGraphAddHostNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<HostNode>), Rules::CONTEXT, |call| {
        let body = parameters.get()?.body()?;
        call.add_node(node, graph, after, count, "host node", body)
    }
}

entry! {
    /// Adds an event record node.
    fn cuGraphAddEventRecordNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64), Rules::CONTEXT, |call| {
        let site = call.site.clone();
        call.check_event(event, &site)?;
        let id = call.events.id(event);
        call.add_node(node, graph, after, count, "record node", Body::Record { event, id })
    }
}

entry! {
    /// Adds an event wait node.
    fn cuGraphAddEventWaitNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64), Rules::CONTEXT, |call| {
        let site = call.site.clone();
        call.check_event(event, &site)?;
        let id = call.events.id(event);
        call.add_node(node, graph, after, count, "wait node", Body::Wait { event, id })
    }
}

fn depend(call: &mut Call, graph: u64, from: In<u64>, to: In<u64>, count: usize) -> CallResult {
    call.check_graph(graph)?;
    let from = call.nodes_of(graph, from, count)?;
    let to = call.nodes_of(graph, to, count)?;
    let graph = call.graphs.get_mut(graph)?;
    for (before, after) in from.into_iter().zip(to) {
        if before == after || graph.nodes[after].after.contains(&before) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        graph.nodes[after].after.push(before);
    }
    Ok(())
}

entry! {
    /// Adds dependencies between nodes.
    fn cuGraphAddDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize), Rules::DRIVER, |call| {
        depend(call, graph, from, to, count)
    }
}

entry! {
    /// Adds dependencies between nodes.
    fn cuGraphAddDependencies_v2(graph: u64, from: In<u64>, to: In<u64>, _data: In<c_void>, count: usize), Rules::DRIVER, |call| {
        depend(call, graph, from, to, count)
    }
}

entry! {
    /// Replaces the kernel and the arguments of a node of an executable graph.
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, parameters: In<KernelNode>), Rules::CONTEXT, |call| {
        let body = call.kernel_body(parameters)?;
        call.change_node(exec, node, body)
    }
}

entry! {
    /// Replaces the copy of a node of an executable graph.
    fn cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, parameters: In<c_void>, _context: u64), Rules::CONTEXT, |call| {
        let copy = row_of_volume(parameters)?;
        call.change_node(exec, node, Body::Copy(copy))
    }
}

entry! {
    /// Replaces the memset of a node of an executable graph.
    fn cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, parameters: In<FillNode>, _context: u64), Rules::CONTEXT, |call| {
        let body = parameters.get()?.body()?;
        call.change_node(exec, node, body)
    }
}

entry! {
    /// Replaces the host function of a node of an executable graph.
    fn cuGraphExecHostNodeSetParams(exec: u64, node: u64, parameters: In<HostNode>), Rules::CONTEXT, |call| {
        let body = parameters.get()?.body()?;
        call.change_node(exec, node, body)
    }
}

//! Handles of graphs.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUgraphExecUpdateResultInfo};
use thalweg_core::Result;

use super::context::Context;
use super::stream::StreamHandle;
use crate::sys::Status;

/// The handle of a graph of ours.
pub(crate) struct GraphHandle {
    context: Arc<Context>,
    raw: CUgraph,
}

// SAFETY: the driver lets handles of graphs be used on any thread, one at a time; those functions
// that change a graph are not used.
unsafe impl Send for GraphHandle {}
// SAFETY: as above.
unsafe impl Sync for GraphHandle {}

impl GraphHandle {
    /// # Safety
    /// The graph is nobody else's.
    pub(super) unsafe fn of(context: &Arc<Context>, raw: CUgraph) -> Self {
        Self {
            context: context.clone(),
            raw,
        }
    }

    pub(crate) fn node_count(&self) -> Result<usize> {
        let context = &self.context;
        let mut count = 0;
        // SAFETY: the graph is alive; without a place for nodes, the driver writes their number.
        let status =
            unsafe { (context.table().cuGraphGetNodes)(self.raw, ptr::null_mut(), &raw mut count) };
        context.check("cuGraphGetNodes", status)?;
        Ok(count)
    }

    pub(crate) fn instantiate(&self) -> Result<ExecHandle> {
        let context = &self.context;
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is alive, and the driver writes what is made of it.
        let status =
            unsafe { (context.table().cuGraphInstantiateWithFlags)(&raw mut raw, self.raw, 0) };
        context.check("cuGraphInstantiate", status)?;
        Ok(ExecHandle {
            context: context.clone(),
            raw,
        })
    }
}

impl Drop for GraphHandle {
    fn drop(&mut self) {
        let context = &self.context;
        context.destroy("cuGraphDestroy", || {
            // SAFETY: nobody else has the graph.
            unsafe { (context.table().cuGraphDestroy)(self.raw) }
        });
    }
}

/// The handle of a graph that can be launched.
pub(crate) struct ExecHandle {
    context: Arc<Context>,
    raw: CUgraphExec,
}

// SAFETY: as for graphs; launching and updating are kept apart by those who have this.
unsafe impl Send for ExecHandle {}
// SAFETY: as above.
unsafe impl Sync for ExecHandle {}

/// The outcome of an update.
pub(crate) enum Updated {
    Yes,
    /// The graph is of another shape.
    No,
}

impl ExecHandle {
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn launch(&self, stream: &StreamHandle) -> Result<()> {
        let raw = stream.raw()?;
        let context = &self.context;
        let _entered = context.enter()?;
        // SAFETY: both are alive; the memory that the graph uses is kept by the launching work.
        let status = unsafe { (context.table().cuGraphLaunch)(self.raw, raw) };
        context.check("cuGraphLaunch", status)
    }

    /// Gets what a first launch would have to get.
    pub(crate) fn upload(&self, stream: &StreamHandle) -> Result<()> {
        let raw = stream.raw()?;
        let context = &self.context;
        let Some(upload) = context.table().cuGraphUpload else {
            return Ok(());
        };
        let _managing = context.manage()?;
        // SAFETY: both are alive.
        let status = unsafe { upload(self.raw, raw) };
        context.check("cuGraphUpload", status)
    }

    /// Makes this a launchable form of another graph, if the two have the same shape.
    pub(crate) fn update(&mut self, graph: &GraphHandle) -> Result<Updated> {
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: zeros and null pointers are a valid value; the driver writes it.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        // SAFETY: both are alive, and nobody launches this meanwhile.
        let status =
            unsafe { (context.table().cuGraphExecUpdate_v2)(self.raw, graph.raw, &raw mut info) };
        if status == Status::GRAPH_EXEC_UPDATE_FAILURE {
            return Ok(Updated::No);
        }
        context.check("cuGraphExecUpdate", status)?;
        Ok(Updated::Yes)
    }
}

impl Drop for ExecHandle {
    fn drop(&mut self) {
        let context = &self.context;
        context.destroy("cuGraphExecDestroy", || {
            // SAFETY: nobody else has it, and its launches are over.
            unsafe { (context.table().cuGraphExecDestroy)(self.raw) }
        });
    }
}

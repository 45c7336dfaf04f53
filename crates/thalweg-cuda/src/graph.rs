//! Graphs: work that was captured once, and is launched many times.

use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::{Result, bail, ensure};

use crate::captured::Parts;
use crate::handle::{ExecHandle, GraphHandle, StreamHandle, Updated};
use crate::mutation::{Rule, disabled};
use crate::order::{Access, Operand, Uses};
use crate::stream::Stream;
use crate::work::Work;

/// A graph, captured by a [`Capture`](crate::Capture).
///
/// It keeps everything that its work uses: buffers, code, and what was given to
/// [`Work::keep`](crate::Work::keep). A buffer that an earlier part of the capture has released to
/// its pool may be used by later parts, and goes back to the pool with the graph.
pub struct Graph {
    // Destroyed before what its nodes use.
    handle: GraphHandle,
    parts: Arc<Parts>,
}

impl Graph {
    pub(crate) fn of(handle: GraphHandle, parts: Parts) -> Self {
        Self {
            handle,
            parts: Arc::new(parts),
        }
    }

    /// The number of its nodes: kernels, copies, and others.
    ///
    /// # Errors
    /// If the driver does not say.
    pub fn node_count(&self) -> Result<usize> {
        self.handle.node_count()
    }

    /// Makes a form of it that can be launched, and keeps what it uses, too.
    ///
    /// # Errors
    /// If the driver cannot, for one because memory is out.
    pub fn instantiate(&self) -> Result<GraphExec> {
        let handle = self.handle.instantiate()?;
        Ok(GraphExec(Arc::new(Launchable {
            inner: Mutex::new(Inner {
                handle: Some(handle),
                parts: self.parts.clone(),
            }),
            uses: Uses::new(),
        })))
    }
}

/// A graph that can be launched.
///
/// Launches of one take turns, whatever their streams, and each takes its turn with the buffers
/// that the graph uses. When it is dropped, it waits on the host for the last launch to end.
pub struct GraphExec(Arc<Launchable>);

struct Launchable {
    inner: Mutex<Inner>,
    uses: Uses,
}

struct Inner {
    /// There, unless a launch may be running forever. Destroyed before what it uses.
    handle: Option<ExecHandle>,
    parts: Arc<Parts>,
}

impl GraphExec {
    /// Launches the graph as a part of some work.
    ///
    /// # Errors
    /// If unfinished work on another stream, or the host, uses one of the graph's buffers in a way
    /// that conflicts; if the work is captured itself; or if the driver refuses.
    pub fn launch(&self, work: &mut Work<'_>) -> Result<()> {
        ensure!(
            !work.is_captured(),
            Unsupported,
            "a graph is launched within a capture"
        );
        let parts = self.0.lock().parts.clone();
        if !disabled(Rule::LaunchInTurn) {
            for (operand, access) in &parts.operands {
                work.touch_any(operand, *access)?;
            }
        }
        work.touch(&self.0, Access::Write)?;
        let inner = self.0.lock();
        let Some(handle) = &inner.handle else {
            bail!(Internal, "a graph that was dropped");
        };
        ensure!(
            Arc::ptr_eq(handle.context(), work.context()),
            InvalidInput,
            "a graph of one device is launched on a stream of another"
        );
        // The lock is this graph's own, and keeps it from being updated meanwhile.
        handle.launch(work.stream().handle())
    }

    /// Launches a graph that uses no buffers which this crate keeps in order; `false`, with nothing
    /// done, if it does. Whoever calls this keeps launches in order, and waits for the last one before
    /// this is dropped.
    pub(crate) fn launch_bare(&self, stream: &StreamHandle) -> Result<bool> {
        let inner = self.0.lock();
        if !inner.parts.operands.is_empty() {
            return Ok(false);
        }
        match &inner.handle {
            Some(handle) => handle.launch(stream).map(|()| true),
            None => bail!(Internal, "a graph that was dropped"),
        }
    }

    /// Uploads it ahead of the first launch, so that that is as fast as the others.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn upload(&self, stream: &Stream) -> Result<()> {
        match &self.0.lock().handle {
            Some(handle) => handle.upload(stream.handle()),
            None => Ok(()),
        }
    }

    /// Makes this a launchable form of another graph, which is much faster than instantiating it.
    /// Waits on the host for the last launch to end. `Ok(false)` if the two graphs differ in more
    /// than addresses and numbers; this is then as it was.
    ///
    /// # Errors
    /// If a launch is part of unfinished work, or the driver refuses.
    pub fn update(&mut self, graph: &Graph) -> Result<bool> {
        ensure!(
            self.0.uses.wait_until_over()?,
            InvalidInput,
            "a graph is updated while unfinished work launches it"
        );
        let mut inner = self.0.lock();
        let Some(handle) = &mut inner.handle else {
            bail!(Internal, "a graph that was dropped");
        };
        match handle.update(&graph.handle)? {
            Updated::Yes => {
                inner.parts = graph.parts.clone();
                Ok(true)
            }
            Updated::No => Ok(false),
        }
    }
}

impl Launchable {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operand for Launchable {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for Launchable {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = inner.handle.take() else {
            return;
        };
        let over = disabled(Rule::DropAfterLaunch)
            || matches!(self.uses.wait_until_over(), Ok(true))
            || matches!(self.uses.wait_until_over(), Ok(true))
            || handle.context().lost().is_some();
        if !over {
            tracing::warn!("a graph that may be running is never destroyed");
            std::mem::forget(handle);
            std::mem::forget(inner.parts.clone());
        }
    }
}

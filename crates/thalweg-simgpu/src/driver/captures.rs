//! Stream captures: the calls that they forbid, and the nodes that they add to graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::Driver;
use crate::objects::{Capture, Captured, GLOBAL, Graph, Node, RELAXED, StreamKind};
use crate::report::Site;
use crate::status::{CallResult, fail};
use crate::work::Body;

impl Driver {
    /// Fails if a capture forbids an unsafe call, and then invalidates it.
    pub(crate) fn forbid_in_capture(&mut self, thread: u64, mode: u32) -> CallResult {
        if mode == RELAXED {
            return Ok(());
        }
        let mut forbidden = false;
        for capture in &mut self.captures {
            let own = capture.thread == thread && capture.mode != RELAXED;
            let other = capture.thread != thread && capture.mode == GLOBAL && mode == GLOBAL;
            if own || other {
                capture.invalid = true;
                forbidden = true;
            }
        }
        if forbidden {
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }

    /// Fails if any stream of a context is captured, and then invalidates those captures: the host
    /// cannot wait for a captured stream.
    pub(crate) fn forbid_context_wait(&mut self, context: u64) -> CallResult {
        let concerned: BTreeSet<u64> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.context == context)
            .filter_map(|(_, stream)| stream.capture)
            .collect();
        for capture in &mut self.captures {
            capture.invalid |= concerned.contains(&capture.id);
        }
        if concerned.is_empty() {
            return Ok(());
        }
        fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Fails if a use of the legacy default stream would order a capture with work outside of it.
    pub(crate) fn forbid_implicit(&mut self, stream: u64, invalidate: bool) -> CallResult {
        let stream = self.streams.get(stream)?;
        if stream.kind != StreamKind::Legacy {
            return Ok(());
        }
        let context = stream.context;
        let concerned: BTreeSet<u64> = self
            .streams
            .iter()
            .filter(|(_, other)| other.context == context && other.is_blocking())
            .filter_map(|(_, other)| other.capture)
            .collect();
        if concerned.is_empty() {
            return Ok(());
        }
        if invalidate {
            for capture in &mut self.captures {
                capture.invalid |= concerned.contains(&capture.id);
            }
        }
        fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    }

    pub(crate) fn begin_capture(
        &mut self,
        stream: u64,
        mode: u32,
        thread: u64,
        site: Arc<Site>,
    ) -> CallResult {
        if mode > RELAXED {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let target = self.streams.get(stream)?;
        if target.kind == StreamKind::Legacy {
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        if target.capture.is_some() {
            return fail(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        }
        let id = self.next_id();
        let graph = Graph::new(self.next_id(), true, site.clone());
        let graph = self.graphs.insert(graph);
        self.streams.get_mut(stream)?.capture = Some(id);
        self.captures.push(Capture {
            id,
            graph,
            origin: stream,
            mode,
            thread,
            streams: BTreeMap::from([(stream, Vec::new())]),
            invalid: false,
            site,
        });
        Ok(())
    }

    /// Ends a capture, and returns the handle of its graph.
    pub(crate) fn end_capture(&mut self, stream: u64, thread: u64) -> CallResult<u64> {
        let Some(id) = self.streams.get(stream)?.capture else {
            return fail(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        };
        let index = self.captures.iter().position(|capture| capture.id == id);
        let Some(index) = index else {
            return fail(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        };
        let capture = &mut self.captures[index];
        if capture.origin != stream {
            capture.invalid = true;
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        let capture = self.abandon_capture(index);
        let graph = self.graphs.get_mut(capture.graph)?;
        graph.capturing = false;
        let error = if capture.thread != thread && capture.mode != RELAXED {
            Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        } else if capture.invalid {
            Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        } else {
            let joined = graph.ancestors(capture.streams.get(&stream).map_or(&[][..], |f| f));
            let unjoined = capture
                .streams
                .values()
                .flatten()
                .any(|node| !joined.contains(node));
            unjoined.then_some(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        };
        match error {
            Some(error) => {
                self.graphs.remove(capture.graph)?;
                fail(error)
            }
            None => Ok(capture.graph),
        }
    }

    /// Removes a capture from all its streams.
    pub(crate) fn abandon_capture(&mut self, index: usize) -> Capture {
        let capture = self.captures.remove(index);
        for &stream in capture.streams.keys() {
            if let Ok(stream) = self.streams.get_mut(stream)
                && stream.capture == Some(capture.id)
            {
                stream.capture = None;
            }
        }
        capture
    }

    /// The index of the capture of a stream.
    ///
    /// # Errors
    /// If the capture is invalidated.
    pub(crate) fn valid_capture(&mut self, stream: u64) -> CallResult<Option<usize>> {
        let Some(id) = self.streams.get(stream)?.capture else {
            return Ok(None);
        };
        let index = self.captures.iter().position(|capture| capture.id == id);
        match index {
            Some(index) if self.captures[index].invalid => {
                fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
            }
            index => Ok(index),
        }
    }

    /// The nodes that the next one of a stream depends on.
    pub(crate) fn capture_dependencies(&self, capture: usize, stream: u64) -> Vec<usize> {
        let frontier = self.captures[capture].streams.get(&stream);
        frontier.cloned().unwrap_or_default()
    }

    /// Sets the nodes that the next one of a stream depends on. The stream takes part from now on.
    pub(crate) fn set_capture_dependencies(
        &mut self,
        capture: usize,
        stream: u64,
        nodes: Vec<usize>,
    ) {
        let id = self.captures[capture].id;
        if let Ok(stream) = self.streams.get_mut(stream) {
            stream.capture = Some(id);
        }
        self.captures[capture].streams.insert(stream, nodes);
    }

    /// Adds a node after what a stream has captured so far.
    pub(crate) fn capture_node(
        &mut self,
        capture: usize,
        stream: u64,
        name: &str,
        body: Body,
    ) -> CallResult {
        let after = self.capture_dependencies(capture, stream);
        let device = self.streams.get(stream)?.device;
        let graph = self.captures[capture].graph;
        let node = Node {
            name: name.into(),
            body,
            after,
            device,
        };
        let index = self.graphs.get_mut(graph)?.add(node);
        self.set_capture_dependencies(capture, stream, vec![index]);
        Ok(())
    }

    /// Has a stream wait for an event that was recorded in a capture.
    pub(crate) fn wait_captured(&mut self, stream: u64, event: &Captured) -> CallResult {
        let open = self.captures.iter().position(|c| c.id == event.capture);
        let Some(capture) = open else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let own = self.valid_capture(stream)?;
        if own.is_some_and(|own| own != capture) {
            self.captures[capture].invalid = true;
            if let Some(own) = own {
                self.captures[own].invalid = true;
            }
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
        }
        if self.captures[capture].invalid {
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        if self.streams.get(stream)?.kind == StreamKind::Legacy {
            self.captures[capture].invalid = true;
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        let mut nodes = self.capture_dependencies(capture, stream);
        for node in &event.nodes {
            if !nodes.contains(node) {
                nodes.push(*node);
            }
        }
        self.set_capture_dependencies(capture, stream, nodes);
        Ok(())
    }
}

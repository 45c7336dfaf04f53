//! Stream capture: work that becomes a graph.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_core::{Result, bail};

use crate::captured::CaptureState;
use crate::graph::Graph;
use crate::stream::{CaptureStatus, Stream};

/// A capture that lasts as long as this value: it ends on every way out of its scope.
///
/// It is local to the thread: what other threads do at the same time (allocations, captures of
/// their own) neither fails nor harms it. On this thread, this crate's own calls that a capture
/// would forbid are made in a way that is allowed.
///
/// All work that begins on the stream meanwhile, wherever that is, is part of the graph.
pub struct Capture<'s> {
    stream: &'s Stream,
    /// `None` when it has ended.
    state: Option<Arc<CaptureState>>,
    /// It ends on the thread on which it began.
    _thread: PhantomData<*const ()>,
}

impl<'s> Capture<'s> {
    /// Begins to capture a stream. There must be no unfinished [`Work`](crate::Work) on it.
    ///
    /// # Errors
    /// If the stream is being captured already, or is the legacy default stream, which cannot be.
    pub fn begin(stream: &'s Stream) -> Result<Self> {
        if stream.capture_status()? != CaptureStatus::None {
            bail!(InvalidInput, "the stream is being captured already");
        }
        Ok(Self {
            stream,
            state: Some(CaptureState::begin(stream)?),
            _thread: PhantomData,
        })
    }

    /// The stream.
    pub fn stream(&self) -> &'s Stream {
        self.stream
    }

    /// Ends the capture, and gives the graph.
    ///
    /// # Errors
    /// If something has happened that no graph can express. The stream is usable again.
    pub fn end(mut self) -> Result<Graph> {
        let Some(state) = self.state.take() else {
            bail!(Internal, "a capture that has ended");
        };
        let handle = state.end(self.stream)?;
        Ok(Graph::of(handle, state.take_parts()))
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else {
            return;
        };
        match state.end(self.stream) {
            // Nothing of the graph has run.
            Ok(graph) => drop(graph),
            Err(error) => tracing::debug!("an abandoned capture ended with: {error}"),
        }
    }
}

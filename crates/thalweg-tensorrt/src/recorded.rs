//! An enqueue that was recorded as a graph.

use thalweg_core::{Result, StreamHandle, bail};
use thalweg_cuda::{Capture, CaptureStatus, Device, GraphExec, Work};

use crate::abi::stream;
use crate::scratch::Keep;

/// The work of one enqueue, to be launched again and again while nothing has changed.
pub(crate) struct Recorded {
    /// It waits for its last launch before it goes, and what it uses goes after it.
    graph: GraphExec,
    _keep: Option<Keep>,
}

/// What became of recording.
pub(crate) enum Recording {
    /// It can be launched.
    Done(Recorded),
    /// Somebody else records the stream: what was enqueued has become a part of theirs.
    Theirs,
}

impl Recorded {
    /// Records what is enqueued on a stream. Nothing of it runs yet. The graph keeps `keep`.
    ///
    /// # Errors
    /// If the stream cannot be recorded, enqueueing fails, or something was done meanwhile that no
    /// graph can express.
    pub(crate) fn record(
        device: &Device,
        handle: StreamHandle,
        keep: Option<Keep>,
        enqueue: impl FnOnce() -> Result<()>,
    ) -> Result<Recording> {
        let stream = stream(device, handle);
        match stream.capture_status()? {
            CaptureStatus::None => {}
            CaptureStatus::Active => return enqueue().map(|()| Recording::Theirs),
            CaptureStatus::Invalidated => {
                bail!(Device, "the stream is in a capture that has failed")
            }
        }
        let capture = Capture::begin(&stream)?;
        // On an error the capture ends, and what it has goes.
        enqueue()?;
        let graph = capture.end()?;
        Ok(Recording::Done(Self {
            graph: graph.instantiate()?,
            _keep: keep,
        }))
    }

    /// Launches it on a stream.
    pub(crate) fn launch(&self, device: &Device, handle: StreamHandle) -> Result<()> {
        let stream = stream(device, handle);
        let mut work = stream.work()?;
        self.launch_in(&mut work)?;
        work.finish().map(drop)
    }

    /// Launches it as a part of some work, on the work's stream.
    pub(crate) fn launch_in(&self, work: &mut Work<'_>) -> Result<()> {
        self.graph.launch(work)
    }
}

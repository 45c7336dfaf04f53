//! Streams: what callers enqueue work in.

use std::sync::Arc;

/// A stream.
pub(crate) struct Stream {
    pub(crate) label: Arc<str>,
    /// The slot of its queue.
    pub(crate) queue: usize,
    pub(crate) context: u64,
    pub(crate) device: usize,
    pub(crate) kind: StreamKind,
    /// `CU_STREAM_NON_BLOCKING` or 0.
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The number that `cuStreamGetId` gives.
    pub(crate) id: u64,
    /// What it is being captured into.
    pub(crate) capture: Option<u64>,
}

/// Where a stream comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Created,
    /// The one that orders itself with all blocking streams of its context.
    Legacy,
    PerThread,
}

impl Stream {
    /// Whether it orders itself with the legacy stream.
    pub(crate) fn is_blocking(&self) -> bool {
        self.kind != StreamKind::Legacy && self.flags & 1 == 0
    }
}

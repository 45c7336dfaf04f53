//! Streams.

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
    /// The result of `cuStreamGetId`.
    pub(crate) id: u64,
    /// The number of the capture that it takes part in.
    pub(crate) capture: Option<u64>,
}

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Created,
    /// The legacy default stream, which is ordered with all blocking streams of its context.
    Legacy,
    PerThread,
}

impl Stream {
    /// Returns true if it is ordered with the legacy default stream.
    pub(crate) fn is_blocking(&self) -> bool {
        self.kind != StreamKind::Legacy && self.flags & 1 == 0
    }
}

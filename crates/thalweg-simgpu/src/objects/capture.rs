//! Stream captures: streams that add to a graph instead of running work.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::report::Site;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`: no thread may make unsafe calls.
pub(crate) const GLOBAL: u32 = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: all threads may make unsafe calls.
pub(crate) const RELAXED: u32 = 2;

/// A capture that has begun and not ended.
pub(crate) struct Capture {
    pub(crate) id: u64,
    /// The graph that it adds to.
    pub(crate) graph: u64,
    /// The stream in which it began, and in which it must end.
    pub(crate) origin: u64,
    pub(crate) mode: u32,
    pub(crate) thread: u64,
    /// The nodes that the next one of each stream depends on.
    pub(crate) streams: BTreeMap<u64, Vec<usize>>,
    pub(crate) invalid: bool,
    pub(crate) site: Arc<Site>,
}

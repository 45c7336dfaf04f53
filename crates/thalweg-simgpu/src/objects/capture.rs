//! Stream captures.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::report::Site;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`: no thread may do what is unsafe.
pub(crate) const GLOBAL: u32 = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: everybody may.
pub(crate) const RELAXED: u32 = 2;

/// A capture that has begun and not ended.
pub(crate) struct Capture {
    pub(crate) id: u64,
    /// The graph that grows.
    pub(crate) graph: u64,
    /// The stream in which it began, and must end.
    pub(crate) origin: u64,
    pub(crate) mode: u32,
    pub(crate) thread: u64,
    /// For each stream that takes part: the nodes that its next one depends on.
    pub(crate) streams: BTreeMap<u64, Vec<usize>>,
    pub(crate) invalid: bool,
    pub(crate) site: Arc<Site>,
}

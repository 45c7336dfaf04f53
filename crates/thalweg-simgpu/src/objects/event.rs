//! Events: points in the work of a stream.

use std::sync::Arc;

use crate::clock::Timestamp;

/// An event.
pub(crate) struct Event {
    pub(crate) label: Arc<str>,
    pub(crate) device: usize,
    pub(crate) context: u64,
    /// Whether it has a time.
    pub(crate) timing: bool,
    /// Where it was recorded last.
    pub(crate) recorded: Option<Timestamp>,
    /// When that was reached, in milliseconds of the stand-in's own time.
    pub(crate) time: Option<f64>,
    /// Where in a capture it was recorded last, if that was in a capture.
    pub(crate) captured: Option<Captured>,
}

/// Where in a capture an event was recorded.
#[derive(Clone)]
pub(crate) struct Captured {
    pub(crate) capture: u64,
    pub(crate) nodes: Vec<usize>,
}

impl Event {
    pub(crate) fn new(label: Arc<str>, device: usize, context: u64, timing: bool) -> Self {
        Self {
            label,
            device,
            context,
            timing,
            recorded: None,
            time: None,
            captured: None,
        }
    }
}

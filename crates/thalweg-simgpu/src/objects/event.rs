//! Events: points in the work of a stream.

use std::sync::Arc;

use crate::clock::Timestamp;

/// An event.
pub(crate) struct Event {
    pub(crate) label: Arc<str>,
    pub(crate) device: usize,
    pub(crate) context: u64,
    /// True if it was created with timing.
    pub(crate) timing: bool,
    /// The work that recorded it last.
    pub(crate) recorded: Option<Timestamp>,
    /// The time at which that work was complete, in milliseconds of the simulated clock.
    pub(crate) time: Option<f64>,
    /// The capture that recorded it last, if that was later.
    pub(crate) captured: Option<Captured>,
}

/// The record of an event in a capture: the nodes that a waiting stream depends on.
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

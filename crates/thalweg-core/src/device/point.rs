//! Points in streams: what comes later goes on after them.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::{Device, Mark, StreamHandle};
use crate::Result;

/// The end of a call, as the stream had it, for whoever goes on after it. A clone is the same, also
/// when the call after that has moved it: a later end of the same instance comes after an earlier one.
#[derive(Clone)]
pub(crate) struct Point {
    mark: Arc<dyn Mark>,
    /// The thread whose own stream it is on, if it is on one. A thread's number is never another's,
    /// and its own stream is the same for its whole life; of a caller's stream nobody knows whether
    /// its handle has become another's since.
    owner: Option<ThreadId>,
}

impl Point {
    /// No point yet.
    pub(crate) fn new(device: &dyn Device) -> Result<Self> {
        Ok(Self {
            mark: device.mark()?.into(),
            owner: None,
        })
    }

    /// Moves it to where a stream is now.
    ///
    /// # Errors
    /// If the device failed. Then it is no point.
    pub(crate) fn record(&mut self, device: &dyn Device, stream: StreamHandle) -> Result<()> {
        self.owner = (stream == device.default_stream()).then(|| thread::current().id());
        self.mark.record(stream)
    }

    /// Makes a stream go on after it. Where it is on that stream, that is so without asking.
    ///
    /// # Errors
    /// If the device failed.
    pub(crate) fn before(&self, device: &dyn Device, stream: StreamHandle) -> Result<()> {
        let here = self.owner.is_some_and(|owner| {
            stream == device.default_stream() && owner == thread::current().id()
        });
        if here {
            return Ok(());
        }
        self.mark.wait_in(stream)
    }

    /// Waits for it on the host.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    pub(crate) fn wait(&self) -> Result<()> {
        self.mark.wait()
    }
}

//! The event at the end of a call on a device.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use thalweg_core::{Device, DeviceEvent, Result, StreamHandle};

/// The event at the end of a call on a device, for whoever waits for the call. A clone is the same
/// event, also after a later call has recorded it anew: a later end of the same instance comes after an
/// earlier one.
#[derive(Clone)]
pub(crate) struct EndEvent {
    event: Arc<dyn DeviceEvent>,
    /// The thread whose default stream it was recorded on, if it was. A thread's id is never another's,
    /// and its default stream is the same for its whole life; the handle of a caller's stream may have
    /// become another stream's since.
    owner: Option<ThreadId>,
}

impl EndEvent {
    /// An event that is not recorded yet.
    pub(crate) fn new(device: &dyn Device) -> Result<Self> {
        Ok(Self {
            event: device.event()?.into(),
            owner: None,
        })
    }

    /// Records it after all work that was submitted to a stream so far.
    ///
    /// # Errors
    /// If the device failed. Then it is at no point.
    pub(crate) fn record(&mut self, device: &dyn Device, stream: StreamHandle) -> Result<()> {
        self.owner = (stream == device.default_stream()).then(|| thread::current().id());
        self.event.record(stream)
    }

    /// Makes a stream wait for it. Where it was recorded on that stream, nothing has to be done.
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
        self.event.wait_in(stream)
    }

    /// Waits for it, on the host.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    pub(crate) fn wait(&self) -> Result<()> {
        self.event.synchronize()
    }
}

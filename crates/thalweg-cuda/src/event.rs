//! Events: points in the order of a stream.

use std::ffi::c_void;
use std::sync::Arc;

use thalweg_core::Result;

use crate::device::Device;
use crate::handle::EventHandle;
use crate::stream::Stream;

/// An event. Clones are the same event.
///
/// Handles of events without timing are kept and used again, so that making one costs nothing in a
/// steady state.
#[derive(Clone)]
pub struct Event(Arc<EventHandle>);

impl Event {
    /// An event that cannot tell the time, which makes it cheap.
    ///
    /// # Errors
    /// If the driver cannot make one.
    pub fn new(device: &Device) -> Result<Self> {
        EventHandle::new(device.context(), false).map(Self::of)
    }

    /// An event that tells the time.
    ///
    /// # Errors
    /// If the driver cannot make one.
    pub fn with_timing(device: &Device) -> Result<Self> {
        EventHandle::new(device.context(), true).map(Self::of)
    }

    fn of(handle: EventHandle) -> Self {
        Self(Arc::new(handle))
    }

    pub(crate) fn of_handle(handle: &Arc<EventHandle>) -> Self {
        Self(handle.clone())
    }

    pub(crate) fn shared(&self) -> Arc<EventHandle> {
        self.0.clone()
    }

    pub(crate) fn handle(&self) -> &EventHandle {
        &self.0
    }

    /// Lets the event stand for everything on the stream so far.
    ///
    /// # Errors
    /// If the driver refuses. The event then stands for what it stood for before.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.0.record(stream.handle())
    }

    /// True if what the event stands for is complete. An event that was never recorded is.
    ///
    /// # Errors
    /// If work on the device has failed, or the event was recorded into a capture.
    pub fn is_done(&self) -> Result<bool> {
        self.0.query()
    }

    /// Waits on the host until what the event stands for is complete.
    ///
    /// # Errors
    /// As [`Event::is_done`].
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Milliseconds on the device from an earlier event to this one. Both must be complete.
    ///
    /// # Errors
    /// If one is not, or was made without timing.
    pub fn milliseconds_since(&self, earlier: &Self) -> Result<f32> {
        self.0.milliseconds_since(&earlier.0)
    }

    /// The handle (a `CUevent`), for code that calls the driver itself. It is valid for as long as
    /// a clone of this.
    pub fn raw(&self) -> *mut c_void {
        self.0.address()
    }
}

impl Stream {
    /// Makes what comes later on this stream wait for what the event stands for now.
    ///
    /// # Errors
    /// If the driver refuses, for one because this stream is being captured and the event was
    /// recorded outside.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.wait_handle(event.handle())
    }
}

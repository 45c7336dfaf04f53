//! Streams: sequences of work that a device executes in order.

use std::ffi::c_void;
use std::sync::Arc;

use thalweg_core::Result;

use crate::device::Device;
use crate::handle::{Context, EventHandle, StreamHandle, StreamId};

/// A stream of a device. Clones are the same stream.
///
/// A caller's stream ([`Stream::borrow`]) may be destroyed when the call that it was given to has
/// returned, and its handle may come back for another stream. So nothing in this crate compares
/// handles, and nothing but clones of this keeps one: what is left in flight is known by events.
#[derive(Clone)]
pub struct Stream {
    handle: StreamHandle,
    id: StreamId,
    device: Device,
}

impl Stream {
    /// A new stream, which does not synchronize with the legacy default stream.
    ///
    /// # Errors
    /// If the driver cannot make one.
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_priority(device, 0)
    }

    /// A new stream with a priority: numbers fall as priority rises, and what is beyond
    /// [`Device::stream_priorities`] counts as the nearest.
    ///
    /// # Errors
    /// If the driver cannot make one.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Self> {
        let handle = StreamHandle::new(device.context(), priority)?;
        let id = StreamId::new(device.ordinal(), false);
        Ok(Self::of(handle, id, device))
    }

    /// The default stream of this thread. On another thread the result is of no use: there, every
    /// operation with it is an error.
    pub fn per_thread(device: &Device) -> Self {
        let handle = StreamHandle::per_thread(device.context());
        let id = StreamId::of_this_thread(device.ordinal());
        Self::of(handle, id, device)
    }

    /// The legacy default stream, which other streams wait for unless they were made not to. It
    /// cannot be captured.
    pub fn legacy(device: &Device) -> Self {
        let handle = StreamHandle::legacy(device.context());
        Self::of(handle, StreamId::legacy(device.ordinal()), device)
    }

    pub(crate) fn of(handle: StreamHandle, id: StreamId, device: &Device) -> Self {
        Self {
            handle,
            id,
            device: device.clone(),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The handle (a `CUstream`), for code that calls the driver itself. It is valid for as long
    /// as this stream; see [`Work`](crate::Work) for what such code must do.
    ///
    /// # Errors
    /// If this is the default stream of another thread.
    pub fn raw(&self) -> Result<*mut c_void> {
        self.handle.address()
    }

    pub(crate) fn wait_handle(&self, event: &EventHandle) -> Result<()> {
        event.wait_on(&self.handle)
    }

    /// Waits on the host until everything on the stream is complete.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn synchronize(&self) -> Result<()> {
        self.handle.synchronize()
    }

    /// True if everything on the stream is complete.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn is_done(&self) -> Result<bool> {
        self.handle.query()
    }

    /// The capture status of the stream, whoever captures it.
    ///
    /// # Errors
    /// If this is the legacy default stream, and another stream is being captured.
    pub fn capture_status(&self) -> Result<CaptureStatus> {
        self.handle.capture_status().map(CaptureStatus::of_driver)
    }

    pub(crate) fn handle(&self) -> &StreamHandle {
        &self.handle
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        self.handle.context()
    }

    pub(crate) fn id(&self) -> StreamId {
        self.id
    }
}

/// The capture status of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// It is not.
    None,
    /// It is: what is enqueued becomes part of a graph, and does not run.
    Active,
    /// It is, but something has happened that no graph can express. The capture has to be ended,
    /// and gives no graph.
    Invalidated,
}

impl CaptureStatus {
    pub(crate) fn of_driver(status: u32) -> Self {
        match status {
            0 => Self::None,
            1 => Self::Active,
            _ => Self::Invalidated,
        }
    }
}

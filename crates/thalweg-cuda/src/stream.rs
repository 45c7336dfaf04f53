//! Streams: what the device does in order.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::Result;

use crate::sys::{Context, EventHandle, StreamHandle};
use crate::{CaptureStatus, Device, Event, InFlight, Work};

/// A stream of a device. Clones are the same stream.
///
/// A caller's stream ([`Stream::borrow`]) may be destroyed when the call that it was given to is
/// over, and its handle may come back for another stream. So nothing in this crate compares
/// handles, and nothing but clones of this keeps one: what is left in flight is known by events.
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
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
        // Its handle is never another stream.
        let id = StreamId {
            number: 0,
            device: device.ordinal(),
            borrowed: false,
        };
        Self::of(handle, id, device)
    }

    pub(crate) fn of(handle: StreamHandle, id: StreamId, device: &Device) -> Self {
        Self(Arc::new(Inner {
            handle,
            id,
            device: device.clone(),
        }))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The handle (a `CUstream`), for code that calls the driver itself. It is valid for as long
    /// as this stream; see [`Work`] for what such code must do.
    ///
    /// # Errors
    /// If this is the default stream of another thread.
    pub fn raw(&self) -> Result<*mut c_void> {
        self.0.handle.address()
    }

    /// Begins to enqueue work.
    ///
    /// # Errors
    /// See [`Work`].
    pub fn work(&self) -> Result<Work<'_>> {
        Work::on(self)
    }

    /// Makes what comes later on this stream wait for what the event stands for now.
    ///
    /// # Errors
    /// If the driver refuses, for one because this stream is being captured and the event was
    /// recorded outside.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.wait_handle(event.handle())
    }

    /// Makes what comes later on this stream wait for work that is in flight.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait_for<T>(&self, token: &InFlight<T>) -> Result<()> {
        token.wait_on(self)
    }

    pub(crate) fn wait_handle(&self, event: &EventHandle) -> Result<()> {
        self.0.handle.wait(event)
    }

    /// Waits on the host until everything on the stream has happened.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn synchronize(&self) -> Result<()> {
        self.0.handle.synchronize()
    }

    /// Whether everything on the stream has happened.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn is_done(&self) -> Result<bool> {
        self.0.handle.query()
    }

    /// Whether the stream is being captured, by whomever.
    ///
    /// # Errors
    /// If this is the legacy default stream, and another stream is being captured.
    pub fn capture_status(&self) -> Result<CaptureStatus> {
        self.0.handle.capture_status().map(CaptureStatus::of_driver)
    }

    pub(crate) fn handle(&self) -> &StreamHandle {
        &self.0.handle
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        self.0.handle.context()
    }

    pub(crate) fn id(&self) -> StreamId {
        self.0.id
    }
}

/// What tells streams apart. Two that are equal are the same stream; a caller's stream is never
/// equal to one of an earlier call, even if it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId {
    number: u64,
    device: i32,
    borrowed: bool,
}

impl StreamId {
    pub(crate) fn new(device: i32, borrowed: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            borrowed,
        }
    }

    /// The default stream of this thread.
    pub(crate) fn of_this_thread(device: i32) -> Self {
        thread_local! {
            static NUMBER: Cell<u64> = const { Cell::new(0) };
        }
        // While a thread ends, its number may be gone; a new one is a stream that nobody has.
        let number = NUMBER.try_with(|number| {
            if number.get() == 0 {
                number.set(Self::new(device, false).number);
            }
            number.get()
        });
        Self {
            number: number.unwrap_or_else(|_| Self::new(device, false).number),
            device,
            borrowed: false,
        }
    }

    /// Whether it may be the same stream as another, without being equal.
    pub(crate) fn may_be(self, other: Self) -> bool {
        self == other || (self.borrowed && other.borrowed)
    }
}

//! Devices: the interface between the runtime and what has memory and streams of its own, such as a
//! GPU.
//!
//! The core knows no particular device. A [`Device`] is given to the runtime when it is built, and
//! what a program plans on it (arenas, copies) goes through this trait. Delegates that run on it
//! know more about it than the core does.
#![allow(
    unsafe_code,
    reason = "copies take addresses, and pinned memory is used by address; the traits say what \
              whoever calls or implements them promises"
)]

mod access;
mod tensor;

pub use access::Access;
pub use tensor::{DeviceInput, DeviceTensor};

use std::fmt;
use std::time::Instant;

/// A kind of device, and which one of that kind, as programs name it.
pub use thalweg_format::Device as DeviceId;
pub use thalweg_format::DeviceKind;

use crate::Result;

/// A device that programs can have memory on.
///
/// Everything that a call does on a device goes to one stream, in order of submission. Functions
/// that take a stream return once the work is submitted, not once it is complete, unless they say
/// so.
pub trait Device: Send + Sync + fmt::Debug {
    /// The device's id.
    fn id(&self) -> DeviceId;

    /// The device's name, for people.
    fn name(&self) -> String;

    /// The default stream of the calling thread, for calls that are given none. It is the same for
    /// the thread's whole life. The handle may be the same in all threads, and mean another stream in
    /// each.
    fn default_stream(&self) -> StreamHandle;

    /// Memory of the device, filled with zeros.
    ///
    /// # Errors
    /// If the device's memory is out.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceMemory>>;

    /// Pinned host memory, filled with zeros, so that copies run beside the host.
    ///
    /// # Errors
    /// If memory is out.
    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn PinnedMemory>>;

    /// Returns true if host memory is pinned, so that a copy may still read it after the submission.
    /// It is called for memory of callers, who may have pinned it.
    ///
    /// # Errors
    /// If the device does not know.
    fn is_pinned(&self, memory: *const u8) -> Result<bool> {
        let _ = memory;
        Ok(false)
    }

    /// A new event, which is not recorded yet.
    ///
    /// # Errors
    /// If the device has no more of them.
    fn event(&self) -> Result<Box<dyn DeviceEvent>>;

    /// Waits, on the host, until all work that was submitted to a stream is complete.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    fn synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// Copies `len` bytes from the host to the device. Pinned memory is read
    /// when the copy runs; other memory has been read when this returns.
    ///
    /// # Safety
    /// `from` is valid for reads, and `to` is memory of this device, for `len` bytes. Pinned memory
    /// is not written before the copy is complete.
    ///
    /// # Errors
    /// If the device failed. The copy may have been submitted all the same.
    unsafe fn upload(
        &self,
        to: DeviceAddress,
        from: *const u8,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Copies `len` bytes from the device to the host. Memory that is not pinned has been written
    /// when this returns.
    ///
    /// # Safety
    /// `to` is valid for writes, and `from` is memory of this device, for `len` bytes. Pinned memory
    /// is neither read nor written before the copy is complete.
    ///
    /// # Errors
    /// As for [`upload`](Device::upload).
    unsafe fn download(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Returns true if work on the device can be captured as a graph.
    fn supports_graphs(&self) -> bool {
        false
    }

    /// Captures, as a graph, the work that `submit` submits to a stream. Nothing of it runs, and the
    /// stream is afterwards as it was before, whatever happens. `None` if that stream cannot be
    /// captured, or is in a capture already: then `submit` was not called.
    ///
    /// # Errors
    /// Those of `submit`; and if something was submitted that no graph can express.
    fn capture(
        &self,
        stream: StreamHandle,
        submit: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn DeviceGraph>>> {
        let _ = (stream, submit);
        Ok(None)
    }

    /// Returns true if a stream is in a capture, so that work that is submitted to it becomes a part of
    /// somebody's graph.
    ///
    /// # Errors
    /// If the device does not know.
    fn is_capturing(&self, stream: StreamHandle) -> Result<bool> {
        let _ = stream;
        Ok(false)
    }

    /// A timer for a stream, for traces. `None` if that stream can have none, as while it is in a
    /// capture.
    ///
    /// # Errors
    /// If the device failed. That is no error of a call.
    fn timer(&self, stream: StreamHandle) -> Result<Option<Box<dyn DeviceTimer>>> {
        let _ = stream;
        Ok(None)
    }

    /// Copies `len` bytes within the device.
    ///
    /// # Safety
    /// Both are memory of this device, for `len` bytes, and do not overlap.
    ///
    /// # Errors
    /// As for [`upload`](Device::upload).
    unsafe fn copy(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()>;
}

/// An address in a device's memory. The host cannot read or write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceAddress(pub u64);

impl DeviceAddress {
    /// The address so many bytes further.
    #[must_use]
    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes as u64))
    }
}

/// An executable graph of a device's work. Its owner drops it when nothing of it runs any more.
pub trait DeviceGraph: Send {
    /// Submits all of it to a stream.
    ///
    /// # Safety
    /// What was promised when its parts were captured holds now, and until it is complete.
    ///
    /// # Errors
    /// If the device failed.
    unsafe fn launch(&self, stream: StreamHandle) -> Result<()>;
}

/// A stream of a device, by the handle that the device's driver gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamHandle(pub usize);

/// A stream that a caller chooses for a call.
pub trait CallerStream: Sync {
    /// The device that the stream belongs to.
    fn device(&self) -> DeviceId;

    /// Its handle, valid for as long as this is borrowed.
    fn handle(&self) -> StreamHandle;
}

/// Memory of a device, which is freed when this is dropped. Its owner drops it when nothing uses it
/// any more.
///
/// # Safety
/// The memory is the device's, starts at `address`, has `len` bytes, belongs to this object alone,
/// and stays where it is until the object is dropped.
pub unsafe trait DeviceMemory: Send + Sync {
    /// The address of its first byte, which does not change.
    fn address(&self) -> DeviceAddress;

    /// The size in bytes.
    fn len(&self) -> usize;

    /// True if it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Pinned host memory, which a device accesses directly. Its owner drops it when the device does not
/// use it any more.
///
/// # Safety
/// The memory starts at `as_ptr`, aligned to 64 bytes, has `len` initialized bytes, belongs to this
/// object alone, and stays where it is until the object is dropped.
pub unsafe trait PinnedMemory: Send + Sync {
    /// The address of its first byte.
    fn as_ptr(&self) -> *mut u8;

    /// The size in bytes.
    fn len(&self) -> usize;

    /// True if it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes note that the host is about to use `len` bytes from `offset` on.
    ///
    /// Only builds with debug assertions call it, each time. It is for drivers that check whether
    /// the host has waited for the device; others have nothing to do.
    fn host_access(&self, offset: usize, len: usize, access: Access) {
        let _ = (offset, len, access);
    }
}

/// An event: a point in a stream that any thread can wait for.
pub trait DeviceEvent: Send + Sync {
    /// Records the event after all work that was submitted to a stream so far.
    ///
    /// # Errors
    /// If the device failed. Then the event is at no point.
    fn record(&self, stream: StreamHandle) -> Result<()>;

    /// Makes a stream wait for the event. The host does not wait.
    ///
    /// # Errors
    /// If the device failed.
    fn wait_in(&self, stream: StreamHandle) -> Result<()>;

    /// Waits, on the host, until the event is complete.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    fn synchronize(&self) -> Result<()>;
}

/// Timed events in a stream. It may be dropped before they are complete.
pub trait DeviceTimer: Send {
    /// Adds a timed event after all work that was submitted to a stream so far. Nothing waits.
    ///
    /// # Errors
    /// If the device failed. Then no event was added.
    fn record(&mut self, stream: StreamHandle) -> Result<()>;

    /// Waits, on the host, until all events are complete, and gives their times. It may be called on
    /// another thread, and streams of a caller may be gone by then.
    ///
    /// # Errors
    /// If the device gives no times.
    fn times(&mut self) -> Result<DeviceTimes>;
}

/// The times of the events of a [`DeviceTimer`].
#[derive(Debug, Default)]
pub struct DeviceTimes {
    /// The time of each event, in order: nanoseconds of the device's clock, from any origin.
    pub events: Vec<Result<f64>>,
    /// A comparison of that clock with the host's.
    pub reference: Option<ClockReference>,
}

/// A time of a device's clock that lies between two of the host's.
#[derive(Clone, Copy, Debug)]
pub struct ClockReference {
    /// The device's time, from the origin of the events' times.
    pub time: f64,
    /// The host's time before the submission of the event.
    pub submitted: Instant,
    /// The host's time when the event was known to be complete.
    pub completed: Instant,
}

//! Devices: memory that is not the host's, and work that runs in order beside the host.
//!
//! The core knows no particular device. A [`Device`] is given to the runtime when it is built, and
//! what a program plans on it (arenas, copies) goes through this trait; delegates that run on it
//! know more about it than the core does.
#![allow(
    unsafe_code,
    reason = "copies take addresses, and pinned memory is used by address; the traits say what \
              whoever calls or implements them promises"
)]

mod asking;
mod calls;
mod pending;
mod point;
mod stretch;
mod tensor;

pub(crate) use asking::DelegateTask;
pub(crate) use calls::DeviceState;
pub(crate) use pending::Pending;
pub use pending::Use;
pub(crate) use point::Point;
pub use tensor::{DeviceInput, DeviceTensor};

use std::fmt;
use std::time::Instant;

/// A kind of device, and which one of that kind, as programs name it.
pub use thalweg_format::Device as DeviceId;
pub use thalweg_format::DeviceKind;

use crate::Result;

/// A device that programs can have memory on.
///
/// Everything that a call does on a device goes to one stream, in the order in which it is asked
/// for. Functions that take a stream return once the work is asked for, not once it is done,
/// unless they say so.
pub trait Device: Send + Sync + fmt::Debug {
    /// Which device this is.
    fn id(&self) -> DeviceId;

    /// What it is called, for people.
    fn name(&self) -> String;

    /// The stream that calls use if the caller chooses none: the calling thread's own, the same for
    /// the thread's whole life. The handle may be the same in all threads, and mean another stream in
    /// each.
    fn default_stream(&self) -> StreamHandle;

    /// Memory of the device, filled with zeros.
    ///
    /// # Errors
    /// If the device's memory is out.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceMemory>>;

    /// Memory of the host that the device reaches by itself, filled with zeros, so that copies run
    /// beside the host.
    ///
    /// # Errors
    /// If memory is out.
    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn PinnedMemory>>;

    /// Whether a copy may still read memory of the host after it was asked for, because the device
    /// reaches that memory by itself. It is asked about memory that a caller lends, who may have
    /// pinned it.
    ///
    /// # Errors
    /// If the device does not know.
    fn reaches(&self, memory: *const u8) -> Result<bool> {
        let _ = memory;
        Ok(false)
    }

    /// Something that remembers a point in a stream.
    ///
    /// # Errors
    /// If the device has no more of them.
    fn mark(&self) -> Result<Box<dyn Mark>>;

    /// Waits, on the host, until all is done that was asked for on a stream.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    fn synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// Copies `len` bytes from the host to the device. Memory that [`allocate_pinned`] gave, or
    /// that the device otherwise [`reaches`](Device::reaches), is read when the copy runs; other
    /// memory has been read when this returns.
    ///
    /// [`allocate_pinned`]: Device::allocate_pinned
    ///
    /// # Safety
    /// `from` is valid for reads, and `to` is memory of this device, for `len` bytes. Pinned memory
    /// is not written before the copy is done.
    ///
    /// # Errors
    /// If the device failed. The copy may have been asked for all the same.
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
    /// is neither read nor written before the copy is done.
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

    /// Whether work on the device can be recorded as a graph, and launched as a whole.
    fn records(&self) -> bool {
        false
    }

    /// Records, as a graph, what `ask` asks for on a stream. Nothing of it runs, and the stream is
    /// afterwards as it was before, whatever happens. `None` if that stream cannot be recorded, or
    /// somebody else records it already: then `ask` was not called.
    ///
    /// # Errors
    /// Those of `ask`; and if something was asked for that no graph can express.
    fn record(
        &self,
        stream: StreamHandle,
        ask: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn DeviceGraph>>> {
        let _ = (stream, ask);
        Ok(None)
    }

    /// Whether somebody records what is asked for on a stream, so that it runs when they say, and not
    /// now.
    ///
    /// # Errors
    /// If the device does not know.
    fn is_recorded(&self, stream: StreamHandle) -> Result<bool> {
        let _ = stream;
        Ok(false)
    }

    /// Something that tells when a stream has come to points in it, for traces. `None` if there can be no
    /// such thing on that stream, as while the caller records it.
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

/// Work of a device that was recorded. It is dropped when nothing of it runs any more; what owns it
/// waits.
pub trait DeviceGraph: Send {
    /// Asks for all of it, on a stream.
    ///
    /// # Safety
    /// What was promised when its parts were recorded holds now, and until it is done.
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

/// Memory of a device, which is freed when this is dropped. It is dropped when nothing uses it any
/// more; what owns it waits.
///
/// # Safety
/// The memory is the device's, starts at `address`, has `len` bytes, belongs to this object alone,
/// and stays where it is until the object is dropped.
pub unsafe trait DeviceMemory: Send + Sync {
    /// Where it starts. It stays there.
    fn address(&self) -> DeviceAddress;

    /// How many bytes it has.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Memory of the host that a device reaches by itself. It may be dropped only when the device is
/// done with it; what owns it waits.
///
/// # Safety
/// The memory starts at `as_ptr`, aligned to 64 bytes, has `len` initialized bytes, belongs to this
/// object alone, and stays where it is until the object is dropped.
pub unsafe trait PinnedMemory: Send + Sync {
    /// Where it starts.
    fn as_ptr(&self) -> *mut u8;

    /// How many bytes it has.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes note that the host is about to use `len` bytes from `offset` on.
    ///
    /// Only builds with debug assertions say so, each time. It is for drivers that check whether
    /// the host has waited for what the device does there; others have nothing to do.
    fn host_access(&self, offset: usize, len: usize, by_host: Use) {
        let _ = (offset, len, by_host);
    }
}

/// A point in a stream, to be waited for, by any thread.
pub trait Mark: Send + Sync {
    /// Remembers all that has been asked for on a stream so far, in place of what was remembered.
    ///
    /// # Errors
    /// If the device failed. Then nothing is remembered.
    fn record(&self, stream: StreamHandle) -> Result<()>;

    /// Makes a stream wait for the point before it goes on.
    ///
    /// # Errors
    /// If the device failed.
    fn wait_in(&self, stream: StreamHandle) -> Result<()>;

    /// Waits for the point on the host.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    fn wait(&self) -> Result<()>;
}

/// Points in streams of a device whose times can be told. It may be dropped before they were passed.
pub trait DeviceTimer: Send {
    /// Adds a point: after all that was asked for on a stream so far. Nothing waits.
    ///
    /// # Errors
    /// If the device failed. Then there is no point.
    fn point(&mut self, stream: StreamHandle) -> Result<()>;

    /// Waits, on the host, until all points were passed, and tells when that was. It may be called on
    /// another thread, and streams of a caller may be gone by then.
    ///
    /// # Errors
    /// If the device tells nothing.
    fn times(&mut self) -> Result<DeviceTimes>;
}

/// The times of points.
#[derive(Debug, Default)]
pub struct DeviceTimes {
    /// Of each point in their order, in nanoseconds of the device's clock, from whatever origin.
    pub points: Vec<Result<f64>>,
    /// What compares the clock with the host's, if there is something.
    pub reference: Option<Reference>,
}

/// A time of a device's clock that lies between two of the host.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The device's, from the origin of the points.
    pub time: f64,
    /// Before the host has asked for it.
    pub asked: Instant,
    /// After it was passed.
    pub passed: Instant,
}

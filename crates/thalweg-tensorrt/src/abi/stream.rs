//! The stream of a call: events, waits, and copies of memory that is passed by address.

use thalweg_core::{Device as _, DeviceAddress, Result, StreamHandle};
use thalweg_cuda::{Device, Stream};

/// The stream of a call, borrowed from its handle. It must be dropped before the call ends.
pub(crate) fn borrow_stream(device: &Device, handle: StreamHandle) -> Stream {
    // SAFETY: the core passes on the handle of a stream that the caller has lent for the call, or
    // that of a default stream. What is made from it is dropped before the call is over: that is
    // what the callers of this do.
    unsafe { Stream::borrow(device, std::ptr::with_exposed_provenance_mut(handle.0)) }
}

/// Waits on the host until all work on a stream is complete.
pub(crate) fn synchronize(device: &Device, stream: StreamHandle) -> Result<()> {
    // A device has a method of its own by that name, which waits for all streams.
    thalweg_core::Device::synchronize(device, stream)
}

/// Waits on the host for a stream. Returns true if no work runs on it any more: the wait succeeded, at
/// the first or the second attempt, or the device is lost.
pub(crate) fn is_idle(device: &Device, handle: StreamHandle) -> bool {
    synchronize(device, handle).is_ok()
        || synchronize(device, handle).is_ok()
        || device.alive().is_err()
}

/// Enqueues a copy from the memory of one argument to that of another, which must not overlap.
pub(crate) fn copy_on_device(
    device: &Device,
    to: DeviceAddress,
    from: DeviceAddress,
    len: usize,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: both are arguments of one call, which the core has checked to be memory of the device,
    // for their lengths; what uses them later comes later on this stream. Whoever calls this has
    // looked that they do not overlap.
    unsafe { device.copy(to, from, len, stream) }
}

/// Copies an argument to the host, and waits until the copy is complete.
pub(crate) fn download(
    device: &Device,
    to: &mut [u8],
    from: DeviceAddress,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: the argument is memory of the device, for its length, and `to` is as long. It is
    // borrowed until the copy is done, in any case: pageable memory has been written when this
    // returns.
    let copied = unsafe { device.download(to.as_mut_ptr(), from, to.len(), stream) };
    let waited = synchronize(device, stream);
    copied.and(waited)
}

/// Enqueues a copy of pageable memory to an argument. The memory has been read when this returns.
pub(crate) fn upload(
    device: &Device,
    to: DeviceAddress,
    from: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: the argument is memory of the device, for its length, and `from` is as long; memory
    // that is not pinned has been read when this returns.
    unsafe { device.upload(to, from.as_ptr(), from.len(), stream) }
}

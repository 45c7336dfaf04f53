//! Memory that is handed over by address, on the stream of a call.

use thalweg_core::{Device as _, DeviceAddress, DeviceGraph, Result, StreamHandle, ensure};
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer, Stream};

/// The stream of a call, as something to enqueue on. It is not kept for longer than the call.
pub(crate) fn stream(device: &Device, handle: StreamHandle) -> Stream {
    // SAFETY: the core passes on the handle of a stream that the caller has lent for the call, or
    // that of a default stream. What is made from it is dropped before the call is over: that is
    // what the callers of this do.
    unsafe { Stream::borrow(device, std::ptr::with_exposed_provenance_mut(handle.0)) }
}

/// Waits on the host for all that is on a stream.
pub(crate) fn wait(device: &Device, stream: StreamHandle) -> Result<()> {
    // A device has a method of its own by that name, which waits for all streams.
    thalweg_core::Device::synchronize(device, stream)
}

/// Waits on the host for all that is on a stream, and says whether it is over. Whatever the driver
/// answers, nothing runs on a device that is lost; and what fails once may work the second time.
pub(crate) fn is_over(device: &Device, handle: StreamHandle) -> bool {
    wait(device, handle).is_ok() || wait(device, handle).is_ok() || device.alive().is_err()
}

/// Copies from one argument's memory to another's.
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

/// Copies an argument to the host, and waits until that is done.
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
    let waited = wait(device, stream);
    copied.and(waited)
}

/// Copies values to an argument. They are read before this returns.
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

/// Enqueues a copy of pinned memory to a buffer, with none of the bookkeeping of
/// [`Work`](thalweg_cuda::Work): whoever calls this keeps both, and lets nobody else at them, until
/// the stream has been waited for.
pub(crate) fn upload_pinned(
    device: &Device,
    to: &DeviceBuffer,
    from: &PinnedBuffer,
    stream: StreamHandle,
) -> Result<()> {
    let len = same_length(to.len(), from.len())?;
    let to = DeviceAddress(to.address());
    // SAFETY: both have so many bytes; what else is as said above.
    unsafe { device.upload(to, from.data().as_ptr(), len, stream) }
}

/// Enqueues a copy of a buffer to pinned memory, as [`upload_pinned`].
pub(crate) fn download_pinned(
    device: &Device,
    to: &PinnedBuffer,
    from: &DeviceBuffer,
    stream: StreamHandle,
) -> Result<()> {
    let len = same_length(to.len(), from.len())?;
    let from = DeviceAddress(from.address());
    // SAFETY: as for `upload_pinned`.
    unsafe { device.download(to.data().as_ptr(), from, len, stream) }
}

/// Copies a buffer to memory that is not pinned, which the driver has written when this returns.
pub(crate) fn download_pageable(
    device: &Device,
    to: &mut [u8],
    from: &DeviceBuffer,
    stream: StreamHandle,
) -> Result<()> {
    let len = same_length(to.len(), from.len())?;
    let from = DeviceAddress(from.address());
    // SAFETY: both have so many bytes, `to` is borrowed until it is written, and whoever calls this
    // lets nobody else at the buffer until the stream has been waited for.
    unsafe { device.download(to.as_mut_ptr(), from, len, stream) }
}

/// Launches what was recorded of the functions above, for whose memory the same holds until then.
pub(crate) fn launch(graph: &dyn DeviceGraph, stream: StreamHandle) -> Result<()> {
    // SAFETY: as said above.
    unsafe { graph.launch(stream) }
}

fn same_length(to: usize, from: usize) -> Result<usize> {
    ensure!(
        to == from,
        Internal,
        "{from} bytes are copied to a place for {to}"
    );
    Ok(to)
}

//! Copies and graph launches without the bookkeeping that keeps buffers alive and in order.
//!
//! [`Work`](thalweg_cuda::Work) is the safe way. It takes time that a baseline must not have. The callers
//! here keep all memory alive, and access none of it, until they have waited for the stream.
#![allow(
    unsafe_code,
    reason = "copies and launches are enqueued without bookkeeping; each block says why it is right"
)]

use thalweg_core::{Device as _, DeviceAddress, DeviceGraph, Result, StreamHandle, ensure};
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer};

/// Host memory that is copied to a device.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Pinned(&'a PinnedBuffer),
    /// The driver has read it when the copy is enqueued.
    Pageable(&'a [u8]),
}

/// Host memory that is copied to from a device.
pub(crate) enum Target<'a> {
    Pinned(&'a PinnedBuffer),
    /// The driver has written it when the copy is enqueued.
    Pageable(&'a mut [u8]),
}

/// Enqueues a copy to a buffer, which has as many bytes. The caller keeps both, and accesses neither,
/// until it has waited for the stream.
pub(crate) fn upload(
    device: &Device,
    to: &DeviceBuffer,
    from: Source<'_>,
    stream: StreamHandle,
) -> Result<()> {
    let (pointer, len) = match from {
        Source::Pinned(pinned) => (pinned.data().as_ptr().cast_const(), pinned.len()),
        Source::Pageable(bytes) => (bytes.as_ptr(), bytes.len()),
    };
    same_len(to.len(), len)?;
    // SAFETY: both have so many bytes, and pageable memory has been read when this returns; what else
    // is as said above.
    unsafe { device.upload(DeviceAddress(to.address()), pointer, len, stream) }
}

/// Enqueues a copy from a buffer, which has as many bytes. The caller keeps both, and accesses neither,
/// until it has waited for the stream.
pub(crate) fn download(
    device: &Device,
    to: Target<'_>,
    from: &DeviceBuffer,
    stream: StreamHandle,
) -> Result<()> {
    let (pointer, len) = match to {
        Target::Pinned(pinned) => (pinned.data().as_ptr(), pinned.len()),
        Target::Pageable(bytes) => (bytes.as_mut_ptr(), bytes.len()),
    };
    same_len(len, from.len())?;
    // SAFETY: both have so many bytes, and pageable memory is borrowed until it has been written, which
    // is when this returns; what else is as said above.
    unsafe { device.download(pointer, DeviceAddress(from.address()), len, stream) }
}

/// Copies an argument of a call to the host, and waits until the copy is complete.
pub(crate) fn download_argument(
    device: &Device,
    to: &mut [u8],
    from: DeviceAddress,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: the argument is memory of the device, for its length, and `to` is as long. It is
    // borrowed until the copy is done, in any case: pageable memory has been written when this
    // returns.
    let copied = unsafe { device.download(to.as_mut_ptr(), from, to.len(), stream) };
    // A device has a method of its own by that name, which waits for all streams.
    let waited = thalweg_core::Device::synchronize(device, stream);
    copied.and(waited)
}

/// Launches a graph of the copies above and of engines. For their memory, the same holds.
pub(crate) fn launch(graph: &dyn DeviceGraph, stream: StreamHandle) -> Result<()> {
    // SAFETY: as said above.
    unsafe { graph.launch(stream) }
}

fn same_len(to: usize, from: usize) -> Result<()> {
    ensure!(to == from, Internal, "{from} bytes are copied to {to}");
    Ok(())
}

//! Streams of calls.
#![allow(unsafe_code, reason = "the core passes streams on by handle")]

use thalweg_core::StreamHandle;
use thalweg_cuda::{Device, Stream};

/// The stream of a call, borrowed: it must not be kept longer than the call.
pub(crate) fn borrow_stream(device: &Device, handle: StreamHandle) -> Stream {
    // SAFETY: the core passes on the handle of a stream that the caller has lent for the call, or
    // that of a default stream. What is made from it is dropped before the call is over: that is
    // what the callers of this do.
    unsafe { Stream::borrow(device, std::ptr::with_exposed_provenance_mut(handle.0)) }
}

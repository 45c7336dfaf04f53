//! Copies of programs, without the bookkeeping of [`Work`](crate::Work).
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::ffi::c_void;

use thalweg_core::{DeviceAddress, Result};

use crate::handle::StreamHandle;

/// Copies from the host to the device.
///
/// # Safety
/// Both are valid for `len` bytes until the copy is done; the driver itself reads memory that is
/// not pinned before it returns.
pub(super) unsafe fn upload(
    stream: &StreamHandle,
    to: DeviceAddress,
    from: *const u8,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    let from = from.cast::<c_void>();
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyHtoDAsync_v2)(to.0, from, len, raw) };
    context.check("cuMemcpyHtoDAsync", status)
}

/// Copies from the device to the host.
///
/// # Safety
/// As for [`upload`]; the driver itself has written memory that is not pinned when it returns.
pub(super) unsafe fn download(
    stream: &StreamHandle,
    to: *mut u8,
    from: DeviceAddress,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyDtoHAsync_v2)(to.cast(), from.0, len, raw) };
    context.check("cuMemcpyDtoHAsync", status)
}

/// Copies within the device.
///
/// # Safety
/// Both are memory of the device, for `len` bytes, until the copy is done.
pub(super) unsafe fn copy(
    stream: &StreamHandle,
    to: DeviceAddress,
    from: DeviceAddress,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyDtoDAsync_v2)(to.0, from.0, len, raw) };
    context.check("cuMemcpyDtoDAsync", status)
}

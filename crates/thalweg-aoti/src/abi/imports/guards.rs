//! Functions of PyTorch's C interface for the current device, the current stream, and device memory
//! without a tensor.
//!
//! A call of a library has one device and one stream, those of its session. So guards change nothing. It is
//! an error if one names another device or stream.
#![allow(
    unsafe_code,
    reason = "libraries pass pointers; each block says why it is right"
)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use thalweg_core::{Result, bail, ensure};

use super::super::handle::write_out;
use super::super::session::{AotiTorchError, Session, torch_function};
use super::runtime::cudaFree;

/// The handle of a guard, which no function looks into.
fn guard() -> *mut c_void {
    NonNull::dangling().as_ptr()
}

fn check_device(session: &Session<'_>, index: i32) -> Result<()> {
    let here = session.device.ordinal();
    ensure!(
        index == here || index < 0,
        Unsupported,
        "device {index} is asked for in a call on device {here}"
    );
    Ok(())
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_create_cuda_guard(
    index: i32,
    out: *mut *mut c_void,
) -> AotiTorchError {
    torch_function("aoti_torch_create_cuda_guard", |session| {
        check_device(session, index)?;
        // SAFETY: the library's out-parameter.
        unsafe { write_out(out, guard()) }
    })
}

pub(in crate::abi) extern "C" fn aoti_torch_delete_cuda_guard(_: *mut c_void) -> AotiTorchError {
    0
}

pub(in crate::abi) extern "C" fn aoti_torch_cuda_guard_set_index(
    _: *mut c_void,
    index: i32,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda_guard_set_index", |session| {
        check_device(session, index)
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_create_cuda_stream_guard(
    stream: *mut c_void,
    index: i32,
    out: *mut *mut c_void,
) -> AotiTorchError {
    torch_function("aoti_torch_create_cuda_stream_guard", |session| {
        check_device(session, index)?;
        ensure!(
            stream == session.raw_stream,
            Unsupported,
            "the library wants a stream of its own"
        );
        // SAFETY: the library's out-parameter.
        unsafe { write_out(out, guard()) }
    })
}

pub(in crate::abi) extern "C" fn aoti_torch_delete_cuda_stream_guard(
    _: *mut c_void,
) -> AotiTorchError {
    0
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_get_current_cuda_stream(
    index: i32,
    out: *mut *mut c_void,
) -> AotiTorchError {
    torch_function("aoti_torch_get_current_cuda_stream", |session| {
        check_device(session, index)?;
        // SAFETY: the library's out-parameter.
        unsafe { write_out(out, session.raw_stream) }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_get_current_device_index(
    out: *mut i32,
) -> AotiTorchError {
    torch_function("aoti_torch_get_current_device_index", |session| {
        // SAFETY: the library's out-parameter.
        unsafe { write_out(out, session.device.ordinal()) }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_alloc(
    len: u64,
    out: *mut *mut c_void,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda_caching_allocator_raw_alloc", |session| {
        session.not_capturable("aoti_torch_cuda_caching_allocator_raw_alloc")?;
        let Ok(len) = usize::try_from(len) else {
            bail!(OutOfMemory, "{len} bytes");
        };
        let mut address = 0;
        // SAFETY: the driver writes the address; the device is current.
        let code = unsafe { (session.driver.mem_alloc)(&raw mut address, len.max(1)) };
        session.driver.check("cuMemAlloc", code)?;
        // SAFETY: the library's out-parameter.
        unsafe { write_out(out, ptr::with_exposed_provenance_mut(address as usize)) }
    })
}

/// Frees memory with [`cudaFree`], which reports no failure to the library.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_delete(
    pointer: *mut c_void,
) -> AotiTorchError {
    // SAFETY: the library's own memory, which it gives up.
    unsafe { cudaFree(pointer.addr() as u64) }
}

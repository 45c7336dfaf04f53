//! The functions of PyTorch's C interface about the device and the stream of the moment, and about
//! memory of a device that is no tensor.
//!
//! A call of a library has one device and one stream, which the session knows. So guards guard
//! nothing; that they name the call's own is checked.
#![allow(
    unsafe_code,
    reason = "libraries pass pointers; each block says why it is right"
)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use thalweg_core::{Result, bail, ensure};

use super::session::{Session, answer};

type Answer = i32;

/// What libraries hold instead of a guard.
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

/// # Safety
/// The place is null, or one for a pointer.
unsafe fn put(place: *mut *mut c_void, value: *mut c_void) -> Result<()> {
    ensure!(
        !place.is_null(),
        Delegate,
        "there is no place for the answer"
    );
    // SAFETY: the caller's.
    unsafe { place.write(value) };
    Ok(())
}

pub(super) unsafe extern "C" fn aoti_torch_create_cuda_guard(
    index: i32,
    place: *mut *mut c_void,
) -> Answer {
    answer("aoti_torch_create_cuda_guard", |session| {
        check_device(session, index)?;
        // SAFETY: the library's place for the guard.
        unsafe { put(place, guard()) }
    })
}

pub(super) extern "C" fn aoti_torch_delete_cuda_guard(_: *mut c_void) -> Answer {
    0
}

pub(super) extern "C" fn aoti_torch_cuda_guard_set_index(_: *mut c_void, index: i32) -> Answer {
    answer("aoti_torch_cuda_guard_set_index", |session| {
        check_device(session, index)
    })
}

pub(super) unsafe extern "C" fn aoti_torch_create_cuda_stream_guard(
    stream: *mut c_void,
    index: i32,
    place: *mut *mut c_void,
) -> Answer {
    answer("aoti_torch_create_cuda_stream_guard", |session| {
        check_device(session, index)?;
        ensure!(
            stream == session.raw_stream,
            Unsupported,
            "the library wants a stream of its own"
        );
        // SAFETY: the library's place for the guard.
        unsafe { put(place, guard()) }
    })
}

pub(super) extern "C" fn aoti_torch_delete_cuda_stream_guard(_: *mut c_void) -> Answer {
    0
}

pub(super) unsafe extern "C" fn aoti_torch_get_current_cuda_stream(
    index: i32,
    place: *mut *mut c_void,
) -> Answer {
    answer("aoti_torch_get_current_cuda_stream", |session| {
        check_device(session, index)?;
        // SAFETY: the library's place for the stream.
        unsafe { put(place, session.raw_stream) }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_get_current_device_index(place: *mut i32) -> Answer {
    answer("aoti_torch_get_current_device_index", |session| {
        ensure!(
            !place.is_null(),
            Delegate,
            "there is no place for the answer"
        );
        // SAFETY: the library's place for the number.
        unsafe { place.write(session.device.ordinal()) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_alloc(
    len: u64,
    place: *mut *mut c_void,
) -> Answer {
    answer("aoti_torch_cuda_caching_allocator_raw_alloc", |session| {
        session.not_in_graphs("aoti_torch_cuda_caching_allocator_raw_alloc")?;
        let Ok(len) = usize::try_from(len) else {
            bail!(OutOfMemory, "{len} bytes");
        };
        let mut address = 0;
        // SAFETY: the driver writes the address; the device is current.
        let code = unsafe { (session.driver.mem_alloc)(&raw mut address, len.max(1)) };
        session.driver.check("cuMemAlloc", code)?;
        // SAFETY: the library's place for the address.
        unsafe { put(place, ptr::with_exposed_provenance_mut(address as usize)) }
    })
}

/// As [`cudaFree`](super::runtime::cudaFree), which does not fail for whoever calls it.
pub(super) unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_delete(
    pointer: *mut c_void,
) -> Answer {
    // SAFETY: the library's own memory, which it gives up.
    unsafe { super::runtime::cudaFree(pointer.addr() as u64) }
}

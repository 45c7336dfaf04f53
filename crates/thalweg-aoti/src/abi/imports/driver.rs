//! Functions of the driver that libraries are given in place of the driver's own.
//!
//! They report failures in words, load each module once for all instances, and watch what is enqueued.
//! All other functions of the driver are given to libraries as they are.
#![allow(
    unsafe_code,
    reason = "functions of the driver are called by address; each block says why it is right"
)]

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::driver::{CuResult, RawHandle, error};
use super::super::session::{self, Session};

/// Calls a function in the current session. A failure becomes the error of the library's call.
pub(super) fn call(function: &str, call: impl FnOnce(&Session<'_>) -> CuResult) -> CuResult {
    let code = session::with_current(|session| {
        let code = call(session);
        if code != 0 && code != error::NOT_READY {
            session.fail(session.driver.error(function, code));
        }
        code
    });
    code.unwrap_or(error::DEINITIALIZED)
}

/// `cuModuleLoadData`, which loads each image once for all instances of a library.
pub(in crate::abi) unsafe extern "C" fn load_module(
    module: *mut RawHandle,
    image: *const c_void,
) -> CuResult {
    call("cuModuleLoadData", |session| {
        if module.is_null() {
            return error::INVALID_VALUE;
        }
        let may_load = || session.allows("cuModuleLoadData");
        match session.modules.load(session.driver, image, may_load) {
            Ok(loaded) => {
                // SAFETY: the library's out-parameter.
                unsafe { *module = loaded };
                0
            }
            Err(code) => code,
        }
    })
}

/// `cuModuleUnload`, which does nothing: other instances may use the module. It is unloaded with the
/// library.
pub(in crate::abi) unsafe extern "C" fn unload_module(_: RawHandle) -> CuResult {
    0
}

/// `cuModuleGetFunction`.
pub(in crate::abi) unsafe extern "C" fn module_function(
    function: *mut RawHandle,
    module: RawHandle,
    name: *const c_char,
) -> CuResult {
    call("cuModuleGetFunction", |session| {
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe { (session.driver.module_function)(function, module, name) }
    })
}

/// `cuFuncSetAttribute`.
pub(in crate::abi) unsafe extern "C" fn function_attribute(
    function: RawHandle,
    attribute: c_int,
    value: c_int,
) -> CuResult {
    call("cuFuncSetAttribute", |session| {
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe { (session.driver.function_attribute)(function, attribute, value) }
    })
}

/// `cuLaunchKernel`.
pub(in crate::abi) unsafe extern "C" fn launch_kernel(
    function: RawHandle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: RawHandle,
    parameters: *mut RawHandle,
    extra: *mut RawHandle,
) -> CuResult {
    call("cuLaunchKernel", |session| {
        if !session.allows_stream(stream, "a kernel on another stream") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        session.mark_enqueued();
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe {
            (session.driver.launch_kernel)(
                function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                parameters, extra,
            )
        }
    })
}

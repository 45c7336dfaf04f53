//! The driver, as libraries and the functions that they are given call it.
//!
//! Most functions of the driver are given to a library as they are. Some stand between: those whose
//! failure should be said in words, and those whose doings are to be undone when the library goes.
#![allow(
    unsafe_code,
    reason = "functions of the driver are called by address; each block says why it is right"
)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute_copy;

use thalweg_core::{Error, ErrorKind, Result, bail};
use thalweg_cuda::Driver;

use super::session;

/// An answer of the driver: 0, or what went wrong.
pub(crate) type Code = c_int;

pub(crate) const INVALID_VALUE: Code = 1;
/// What is asked while nobody calls a library, of which there is no more to say.
pub(crate) const NOBODY_CALLS: Code = 4;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NOT_READY: Code = 600;
/// What is not permitted while a stream is captured.
pub(crate) const NOT_IN_A_CAPTURE: Code = 900;
pub(crate) const UNKNOWN: Code = 999;

type Handle = *mut c_void;

macro_rules! table {
    ($($(#[$meta:meta])* $field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// Functions of one driver.
        pub(crate) struct Table {
            $($(#[$meta])* pub(crate) $field: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Table {
            /// Finds the functions in a driver.
            pub(crate) fn of(driver: &Driver) -> Result<Self> {
                let find = |name: &str| match driver.symbol(name) {
                    Some(address) => Ok(address),
                    None => bail!(
                        MissingDevice,
                        "the CUDA driver ({}) has no function `{name}`",
                        driver.location()
                    ),
                };
                Ok(Self {
                    $($field: {
                        let address = find($symbol)?;
                        // SAFETY: the driver's function of this name has this type since CUDA 12,
                        // and a driver is never closed. Both are pointers.
                        unsafe { transmute_copy(&address) }
                    },)*
                })
            }
        }
    };
}

table! {
    mem_alloc = "cuMemAlloc_v2"(*mut u64, usize);
    mem_free = "cuMemFree_v2"(u64);
    mem_alloc_async = "cuMemAllocAsync"(*mut u64, usize, Handle);
    mem_free_async = "cuMemFreeAsync"(u64, Handle);
    mem_host_alloc = "cuMemHostAlloc"(*mut Handle, usize, c_uint);
    mem_free_host = "cuMemFreeHost"(Handle);
    memcpy_async = "cuMemcpyAsync"(u64, u64, usize, Handle);
    memcpy_from_host = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
    memcpy_to_host = "cuMemcpyDtoHAsync_v2"(Handle, u64, usize, Handle);
    memcpy_on_device = "cuMemcpyDtoDAsync_v2"(u64, u64, usize, Handle);
    memset_async = "cuMemsetD8Async"(u64, u8, usize, Handle);
    stream_create = "cuStreamCreateWithPriority"(*mut Handle, c_uint, c_int);
    stream_destroy = "cuStreamDestroy_v2"(Handle);
    stream_query = "cuStreamQuery"(Handle);
    stream_synchronize = "cuStreamSynchronize"(Handle);
    stream_wait_event = "cuStreamWaitEvent"(Handle, Handle, c_uint);
    stream_is_capturing = "cuStreamIsCapturing"(Handle, *mut c_int);
    event_create = "cuEventCreate"(*mut Handle, c_uint);
    event_destroy = "cuEventDestroy_v2"(Handle);
    event_query = "cuEventQuery"(Handle);
    event_record = "cuEventRecord"(Handle, Handle);
    event_synchronize = "cuEventSynchronize"(Handle);
    event_elapsed = "cuEventElapsedTime"(*mut f32, Handle, Handle);
    context_synchronize = "cuCtxSynchronize"();
    device_count = "cuDeviceGetCount"(*mut c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    device_identity = "cuDeviceGetUuid_v2"(*mut [u8; 16], c_int);
    device_memory = "cuDeviceTotalMem_v2"(*mut usize, c_int);
    device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    module_load = "cuModuleLoadData"(*mut Handle, *const c_void);
    module_unload = "cuModuleUnload"(Handle);
    exchange_capture_mode = "cuThreadExchangeStreamCaptureMode"(*mut c_int);
    module_function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    function_attribute = "cuFuncSetAttribute"(Handle, c_int, c_int);
    launch_kernel = "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut Handle, *mut Handle
    );
    error_name = "cuGetErrorName"(Code, *mut *const c_char);
    error_text = "cuGetErrorString"(Code, *mut *const c_char);
}

impl Table {
    /// What a code means, as an error of a function.
    pub(crate) fn error(&self, function: &str, code: Code) -> Error {
        let kind = match code {
            OUT_OF_MEMORY => ErrorKind::OutOfMemory,
            _ => ErrorKind::Device,
        };
        let describe = |ask: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: the driver writes a pointer to text that stays, or none.
            let answer = unsafe { ask(code, &raw mut text) };
            if answer != 0 || text.is_null() {
                return None;
            }
            // SAFETY: as said above.
            Some(unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        let name = describe(self.error_name).unwrap_or_else(|| format!("code {code}").into());
        let text = describe(self.error_text).unwrap_or_else(|| "no more is known".into());
        Error::new(kind, format!("`{function}` failed: {name} ({text})"))
    }

    /// The same, as a result.
    pub(crate) fn check(&self, function: &str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.error(function, code)),
        }
    }
}

/// Passes a call on to the driver, and keeps what went wrong.
fn pass(function: &str, call: impl FnOnce(&session::Session<'_>) -> Code) -> Code {
    let answer = session::with(|session| {
        let code = call(session);
        if code != 0 && code != NOT_READY {
            session.fail(session.driver.error(function, code));
        }
        code
    });
    answer.unwrap_or(NOBODY_CALLS)
}

/// Loads code of a library once for all of its instances, and until the library goes.
pub(super) unsafe extern "C" fn load_module(module: *mut Handle, image: *const c_void) -> Code {
    pass("cuModuleLoadData", |session| {
        if module.is_null() {
            return INVALID_VALUE;
        }
        match session.modules.load(session, image) {
            Ok(loaded) => {
                // SAFETY: the library gives a place for the handle.
                unsafe { *module = loaded };
                0
            }
            Err(code) => code,
        }
    })
}

pub(super) unsafe extern "C" fn unload_module(_: Handle) -> Code {
    // Other instances may use it. It goes with the library.
    0
}

pub(super) unsafe extern "C" fn module_function(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Code {
    pass("cuModuleGetFunction", |session| {
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe { (session.driver.module_function)(function, module, name) }
    })
}

pub(super) unsafe extern "C" fn function_attribute(
    function: Handle,
    attribute: c_int,
    value: c_int,
) -> Code {
    pass("cuFuncSetAttribute", |session| {
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe { (session.driver.function_attribute)(function, attribute, value) }
    })
}

pub(super) unsafe extern "C" fn launch_kernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    parameters: *mut Handle,
    extra: *mut Handle,
) -> Code {
    pass("cuLaunchKernel", |session| {
        if !session.may_enqueue_on(stream, "a kernel on another stream") {
            return NOT_IN_A_CAPTURE;
        }
        session.enqueues();
        // SAFETY: the library's arguments, as the driver takes them.
        unsafe {
            (session.driver.launch_kernel)(
                function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                parameters, extra,
            )
        }
    })
}

//! The driver's functions by address, and its error codes.
#![allow(
    unsafe_code,
    reason = "functions of the driver are called by address; each block says why it is right"
)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute_copy;

use thalweg_core::{Error, ErrorKind, Result, bail};
use thalweg_cuda::Driver;

/// A result code of the driver; 0 is success. The runtime has the same codes since CUDA 11.
pub(crate) type CuResult = c_int;

/// The driver's error codes, without their prefix `CUDA_ERROR_`.
pub(super) mod error {
    use super::CuResult;

    pub(in crate::abi) const INVALID_VALUE: CuResult = 1;
    pub(in crate::abi) const OUT_OF_MEMORY: CuResult = 2;
    /// Also the result of a function that a library calls while no session is current.
    pub(in crate::abi) const DEINITIALIZED: CuResult = 4;
    pub(in crate::abi) const INVALID_DEVICE: CuResult = 101;
    pub(in crate::abi) const NOT_READY: CuResult = 600;
    pub(in crate::abi) const STREAM_CAPTURE_UNSUPPORTED: CuResult = 900;
    pub(in crate::abi) const UNKNOWN: CuResult = 999;
}

/// An opaque pointer of the driver: a stream, an event, a module, a function.
pub(super) type RawHandle = *mut c_void;

macro_rules! table {
    ($($(#[$meta:meta])* $field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions of one driver, by address.
        pub(crate) struct DriverTable {
            $($(#[$meta])* pub(crate) $field: unsafe extern "C" fn($($argument),*) -> CuResult,)*
        }

        impl DriverTable {
            /// The functions of an open driver.
            ///
            /// # Errors
            /// If the driver lacks one.
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
    mem_alloc_async = "cuMemAllocAsync"(*mut u64, usize, RawHandle);
    mem_free_async = "cuMemFreeAsync"(u64, RawHandle);
    mem_host_alloc = "cuMemHostAlloc"(*mut RawHandle, usize, c_uint);
    mem_free_host = "cuMemFreeHost"(RawHandle);
    memcpy_async = "cuMemcpyAsync"(u64, u64, usize, RawHandle);
    memcpy_from_host = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, RawHandle);
    memcpy_to_host = "cuMemcpyDtoHAsync_v2"(RawHandle, u64, usize, RawHandle);
    memcpy_on_device = "cuMemcpyDtoDAsync_v2"(u64, u64, usize, RawHandle);
    memset_async = "cuMemsetD8Async"(u64, u8, usize, RawHandle);
    stream_create = "cuStreamCreateWithPriority"(*mut RawHandle, c_uint, c_int);
    stream_destroy = "cuStreamDestroy_v2"(RawHandle);
    stream_query = "cuStreamQuery"(RawHandle);
    stream_synchronize = "cuStreamSynchronize"(RawHandle);
    stream_wait_event = "cuStreamWaitEvent"(RawHandle, RawHandle, c_uint);
    stream_is_capturing = "cuStreamIsCapturing"(RawHandle, *mut c_int);
    event_create = "cuEventCreate"(*mut RawHandle, c_uint);
    event_destroy = "cuEventDestroy_v2"(RawHandle);
    event_query = "cuEventQuery"(RawHandle);
    event_record = "cuEventRecord"(RawHandle, RawHandle);
    event_synchronize = "cuEventSynchronize"(RawHandle);
    event_elapsed = "cuEventElapsedTime"(*mut f32, RawHandle, RawHandle);
    context_synchronize = "cuCtxSynchronize"();
    device_count = "cuDeviceGetCount"(*mut c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    device_identity = "cuDeviceGetUuid_v2"(*mut [u8; 16], c_int);
    device_memory = "cuDeviceTotalMem_v2"(*mut usize, c_int);
    device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    module_load = "cuModuleLoadData"(*mut RawHandle, *const c_void);
    module_unload = "cuModuleUnload"(RawHandle);
    exchange_capture_mode = "cuThreadExchangeStreamCaptureMode"(*mut c_int);
    module_function = "cuModuleGetFunction"(*mut RawHandle, RawHandle, *const c_char);
    function_attribute = "cuFuncSetAttribute"(RawHandle, c_int, c_int);
    launch_kernel = "cuLaunchKernel"(
        RawHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, RawHandle, *mut RawHandle, *mut RawHandle
    );
    error_name = "cuGetErrorName"(CuResult, *mut *const c_char);
    error_text = "cuGetErrorString"(CuResult, *mut *const c_char);
}

impl DriverTable {
    /// The error of a function that returned a code.
    pub(crate) fn error(&self, function: &str, code: CuResult) -> Error {
        let kind = match code {
            error::OUT_OF_MEMORY => ErrorKind::OutOfMemory,
            _ => ErrorKind::Device,
        };
        let describe = |ask: unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult| {
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

    /// An error unless the code is success.
    pub(crate) fn check(&self, function: &str, code: CuResult) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.error(function, code)),
        }
    }
}

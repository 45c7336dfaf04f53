//! Initialization, versions, and the names of errors.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::ptr;
use std::sync::Mutex;

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::simulator::Rules;
use crate::status::fail;

entry! {
    /// Initializes the driver.
    fn cuInit(flags: c_uint), Rules::ALWAYS, |call| {
        if flags != 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if call.devices.is_empty() {
            return fail(CUresult::CUDA_ERROR_NO_DEVICE);
        }
        call.initialized = true;
        Ok(())
    }
}

entry! {
    /// The version of the driver, such as 13000.
    fn cuDriverGetVersion(version: Out<c_int>), Rules::ALWAYS, |call| {
        version.set(call.config.version)
    }
}

entry! {
    /// A table of undocumented functions. There is none.
    fn cuGetExportTable(table: Out<u64>, _id: In<u8>), Rules::ALWAYS, |_call| {
        table.set_if_wanted(0);
        fail(CUresult::CUDA_ERROR_NOT_FOUND)
    }
}

entry! {
    /// The name of a result.
    fn cuGetErrorName(error: c_uint, text: Out<*const c_char>), Rules::ALWAYS, |_call| {
        match name(error) {
            Some(name) => text.set(leaked(name)),
            None => {
                text.set_if_wanted(ptr::null());
                fail(CUresult::CUDA_ERROR_INVALID_VALUE)
            }
        }
    }
}

entry! {
    /// The description of a result.
    fn cuGetErrorString(error: c_uint, text: Out<*const c_char>), Rules::ALWAYS, |_call| {
        match name(error) {
            Some(name) => {
                let words = name.trim_start_matches("CUDA_ERROR_").replace('_', " ");
                text.set(leaked(&words.to_lowercase()))
            }
            None => {
                text.set_if_wanted(ptr::null());
                fail(CUresult::CUDA_ERROR_INVALID_VALUE)
            }
        }
    }
}

/// A terminated string with the life of the process. Each is made once.
fn leaked(text: &str) -> *const c_char {
    static TEXTS: Mutex<Vec<CString>> = Mutex::new(Vec::new());
    let mut texts = TEXTS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = texts
        .iter()
        .find(|known| known.to_bytes() == text.as_bytes())
    {
        return known.as_ptr();
    }
    let Ok(text) = CString::new(text) else {
        return ptr::null();
    };
    // The bytes of a string do not move when the list grows.
    let start = text.as_ptr();
    texts.push(text);
    start
}

macro_rules! names {
    ($($name:ident)*) => {
        /// The name of a result.
        fn name(code: u32) -> Option<&'static str> {
            $(if code == CUresult::$name as u32 {
                return Some(stringify!($name));
            })*
            None
        }
    };
}

names! {
    CUDA_SUCCESS CUDA_ERROR_INVALID_VALUE CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_NOT_INITIALIZED
    CUDA_ERROR_DEINITIALIZED CUDA_ERROR_STUB_LIBRARY CUDA_ERROR_DEVICE_UNAVAILABLE
    CUDA_ERROR_NO_DEVICE CUDA_ERROR_INVALID_DEVICE CUDA_ERROR_INVALID_IMAGE
    CUDA_ERROR_INVALID_CONTEXT CUDA_ERROR_MAP_FAILED CUDA_ERROR_UNMAP_FAILED
    CUDA_ERROR_NO_BINARY_FOR_GPU CUDA_ERROR_ALREADY_ACQUIRED CUDA_ERROR_NOT_MAPPED
    CUDA_ERROR_ECC_UNCORRECTABLE CUDA_ERROR_UNSUPPORTED_LIMIT CUDA_ERROR_CONTEXT_ALREADY_IN_USE
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED CUDA_ERROR_INVALID_PTX CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    CUDA_ERROR_INVALID_SOURCE CUDA_ERROR_FILE_NOT_FOUND CUDA_ERROR_INVALID_HANDLE
    CUDA_ERROR_ILLEGAL_STATE CUDA_ERROR_NOT_FOUND CUDA_ERROR_NOT_READY
    CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES CUDA_ERROR_LAUNCH_TIMEOUT
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE CUDA_ERROR_CONTEXT_IS_DESTROYED CUDA_ERROR_ASSERT
    CUDA_ERROR_TOO_MANY_PEERS CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED CUDA_ERROR_HARDWARE_STACK_ERROR
    CUDA_ERROR_ILLEGAL_INSTRUCTION CUDA_ERROR_MISALIGNED_ADDRESS CUDA_ERROR_INVALID_ADDRESS_SPACE
    CUDA_ERROR_INVALID_PC CUDA_ERROR_LAUNCH_FAILED CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    CUDA_ERROR_NOT_PERMITTED CUDA_ERROR_NOT_SUPPORTED CUDA_ERROR_SYSTEM_NOT_READY
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    CUDA_ERROR_STREAM_CAPTURE_MERGE CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT CUDA_ERROR_CAPTURED_EVENT
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD CUDA_ERROR_TIMEOUT
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE CUDA_ERROR_EXTERNAL_DEVICE CUDA_ERROR_UNKNOWN
}

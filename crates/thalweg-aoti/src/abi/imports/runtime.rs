//! Functions of CUDA's runtime, over the driver and the device's primary context.
//!
//! Work that NVIDIA's runtime does on the default stream is done on the stream of the call, so that all work
//! of a call is in order.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers, which are passed on to the driver; each block \
              says why it is right"
)]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use thalweg_cuda::MemoryKind;

use super::super::driver::{CuResult, DriverTable, RawHandle, error};
use super::super::session::{self, Session};
use super::driver;

thread_local! {
    /// The last error of this thread, until `cudaGetLastError`.
    static LAST_ERROR: Cell<CuResult> = const { Cell::new(0) };
}

/// The body of a function of the runtime. A failure becomes the error of the library's call, and the
/// thread's last error.
pub(super) fn runtime_function(
    function: &str,
    f: impl FnOnce(&Session<'_>) -> CuResult,
) -> CuResult {
    let code = driver::call(function, f);
    // `NOT_READY` is no failure, but NVIDIA's runtime remembers it as well.
    if code != 0 {
        LAST_ERROR.set(code);
    }
    code
}

/// The last error of this thread. An error of a kernel is the result of every later call of the driver, so
/// it is not reset.
fn last_error(reset: bool) -> CuResult {
    let code = LAST_ERROR.get();
    if reset && code != 0 {
        let stays = session::with_current(|session| {
            if session.is_capturing() {
                // A query would invalidate the capture.
                return false;
            }
            // SAFETY: the stream is there during the call.
            let now = unsafe { (session.driver.stream_query)(session.raw_stream) };
            now == code && code != error::NOT_READY
        });
        if stays != Some(true) {
            LAST_ERROR.set(0);
        }
    }
    code
}

pub(in crate::abi) extern "C" fn cudaGetLastError() -> CuResult {
    last_error(true)
}

pub(in crate::abi) extern "C" fn cudaPeekAtLastError() -> CuResult {
    last_error(false)
}

macro_rules! texts {
    ($($name:ident: $function:ident, $unknown:literal)*) => {$(
        pub(in crate::abi) extern "C" fn $name(code: CuResult) -> *const c_char {
            let text = session::with_current(|session| {
                let mut text = ptr::null();
                // SAFETY: the driver writes a pointer to text that stays, or none.
                let answer = unsafe { (session.driver.$function)(code, &raw mut text) };
                (answer == 0 && !text.is_null()).then_some(text)
            });
            text.flatten().unwrap_or($unknown.as_ptr())
        }
    )*};
}

texts! {
    cudaGetErrorName: error_name, c"cudaErrorUnknown"
    cudaGetErrorString: error_text, c"unrecognized error code"
}

/// The functions below that enqueue work on a stream.
const ENQUEUES: [&str; 2] = ["cudaMallocAsync", "cudaStreamWaitEvent"];

/// The functions below that are allowed while a stream is captured.
const CAPTURABLE: [&str; 3] = [
    "cudaStreamIsCapturing",
    "cudaGetDeviceCount",
    "cudaDeviceGetAttribute",
];

/// Functions that forward to a function of the driver.
macro_rules! forwarded {
    ($($name:ident($($argument:ident: $type:ty),*) = $function:ident($($given:expr),*);)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name($($argument: $type),*) -> CuResult {
            runtime_function(stringify!($name), |session| {
                if !CAPTURABLE.contains(&stringify!($name)) && !session.allows(stringify!($name)) {
                    return error::STREAM_CAPTURE_UNSUPPORTED;
                }
                if ENQUEUES.contains(&stringify!($name)) {
                    session.mark_enqueued();
                }
                // SAFETY: the library's arguments, as the driver takes them; the device is current.
                unsafe { (session.driver.$function)($($given),*) }
            })
        }
    )*};
}

forwarded! {
    cudaMallocAsync(pointer: *mut u64, len: usize, stream: RawHandle) = mem_alloc_async(pointer, len, stream);
    cudaMallocHost(pointer: *mut RawHandle, len: usize) = mem_host_alloc(pointer, len, 0);
    cudaHostAlloc(pointer: *mut RawHandle, len: usize, flags: c_uint) = mem_host_alloc(pointer, len, flags);
    cudaStreamCreate(stream: *mut RawHandle) = stream_create(stream, 0, 0);
    cudaStreamCreateWithFlags(stream: *mut RawHandle, flags: c_uint) = stream_create(stream, flags, 0);
    cudaStreamCreateWithPriority(stream: *mut RawHandle, flags: c_uint, priority: c_int) = stream_create(stream, flags, priority);
    cudaStreamQuery(stream: RawHandle) = stream_query(stream);
    cudaStreamSynchronize(stream: RawHandle) = stream_synchronize(stream);
    cudaStreamWaitEvent(stream: RawHandle, event: RawHandle, flags: c_uint) = stream_wait_event(stream, event, flags);
    cudaStreamIsCapturing(stream: RawHandle, status: *mut c_int) = stream_is_capturing(stream, status);
    cudaEventCreate(event: *mut RawHandle) = event_create(event, 0);
    cudaEventCreateWithFlags(event: *mut RawHandle, flags: c_uint) = event_create(event, flags);
    cudaEventQuery(event: RawHandle) = event_query(event);
    cudaEventSynchronize(event: RawHandle) = event_synchronize(event);
    cudaEventElapsedTime(milliseconds: *mut f32, start: RawHandle, end: RawHandle) = event_elapsed(milliseconds, start, end);
    cudaDeviceSynchronize() = context_synchronize();
    cudaGetDeviceCount(count: *mut c_int) = device_count(count);
    cudaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) = device_attribute(value, attribute, device);
}

pub(in crate::abi) unsafe extern "C" fn cudaEventRecord(
    event: RawHandle,
    stream: RawHandle,
) -> CuResult {
    runtime_function("cudaEventRecord", |session| {
        if !session.allows("cudaEventRecord") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        let stream = session.event_stream(stream);
        // SAFETY: the library's event, and a stream that is there during the call.
        unsafe { (session.driver.event_record)(event, stream) }
    })
}

/// Functions that free or destroy.
///
/// They always return success. Libraries call them from destructors, some of which throw on an error, which
/// ends the process. A failure is logged.
macro_rules! releases {
    ($($name:ident($($argument:ident: $type:ty),*) = $function:ident, unless $nothing:expr;)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name($($argument: $type),*) -> CuResult {
            if $nothing {
                return 0;
            }
            let code = session::with_current(|session| {
                // The call fails if it is captured, but the object is released.
                let captured = !session.allows(stringify!($name));
                let relaxed = captured.then(|| RelaxedCapture::new(session.driver));
                session.mark_enqueued();
                // SAFETY: the library's own, which it gives up; the device is current.
                let code = unsafe { (session.driver.$function)($($argument),*) };
                drop(relaxed);
                if code != 0 {
                    let error = session.driver.error(stringify!($name), code);
                    tracing::warn!("for a compiled library, {error}");
                }
                code
            });
            if code.is_none() {
                tracing::warn!("`{}` has nothing to work on: the device is lost", stringify!($name));
            }
            0
        }
    )*};
}

releases! {
    cudaFree(pointer: u64) = mem_free, unless pointer == 0;
    cudaFreeAsync(pointer: u64, stream: RawHandle) = mem_free_async, unless pointer == 0;
    cudaFreeHost(pointer: RawHandle) = mem_free_host, unless pointer.is_null();
    cudaStreamDestroy(stream: RawHandle) = stream_destroy, unless stream.is_null();
    cudaEventDestroy(event: RawHandle) = event_destroy, unless event.is_null();
}

/// A guard. While it lives, the thread's capture mode is relaxed: it may call functions that a capture
/// forbids.
struct RelaxedCapture<'d> {
    driver: &'d DriverTable,
    before: Option<c_int>,
}

impl<'d> RelaxedCapture<'d> {
    fn new(driver: &'d DriverTable) -> Self {
        /// `CU_STREAM_CAPTURE_MODE_RELAXED`.
        const RELAXED: c_int = 2;
        let mut before = RELAXED;
        // SAFETY: the driver exchanges the number with the thread's.
        let code = unsafe { (driver.exchange_capture_mode)(&raw mut before) };
        Self {
            driver,
            before: (code == 0).then_some(before),
        }
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        let Some(mut mode) = self.before else {
            return;
        };
        // SAFETY: as above.
        let code = unsafe { (self.driver.exchange_capture_mode)(&raw mut mode) };
        if code != 0 {
            tracing::warn!("this thread's capture mode could not be restored: code {code}");
        }
    }
}

pub(in crate::abi) unsafe extern "C" fn cudaMemsetAsync(
    to: u64,
    value: c_int,
    len: usize,
    stream: RawHandle,
) -> CuResult {
    runtime_function("cudaMemsetAsync", |session| {
        if !session.allows_stream(stream, "cudaMemsetAsync on another stream") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        session.mark_enqueued();
        // SAFETY: the library's memory, and a stream that is there during the call.
        unsafe { (session.driver.memset_async)(to, value as u8, len, stream) }
    })
}

pub(in crate::abi) unsafe extern "C" fn cudaMalloc(pointer: *mut u64, len: usize) -> CuResult {
    runtime_function("cudaMalloc", |session| {
        if pointer.is_null() {
            return error::INVALID_VALUE;
        }
        if !session.allows("cudaMalloc") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        // SAFETY: the library's out-parameter; the device is current.
        unsafe {
            if len == 0 {
                // The driver refuses to allocate nothing; the runtime does it.
                *pointer = 0;
                return 0;
            }
            (session.driver.mem_alloc)(pointer, len)
        }
    })
}

/// `cudaMemcpyDeviceToDevice`.
const DEVICE_TO_DEVICE: c_int = 3;

/// A copy that is complete on return, or, between device memory, ordered before later work of the call.
pub(in crate::abi) unsafe extern "C" fn cudaMemcpy(
    to: u64,
    from: u64,
    len: usize,
    kind: c_int,
) -> CuResult {
    /// `cudaMemcpyHostToDevice`.
    const HOST_TO_DEVICE: c_int = 1;
    runtime_function("cudaMemcpy", |session| {
        if len == 0 {
            return 0;
        }
        if kind != DEVICE_TO_DEVICE && !session.allows("cudaMemcpy to or from the host") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        session.mark_enqueued();
        let (driver, stream) = (session.driver, session.raw_stream);
        // SAFETY: the library's memory. The driver has read memory of the host that is not pinned
        // when it returns; for all other memory of the host this waits.
        unsafe {
            let code = (driver.memcpy_async)(to, from, len, stream);
            let complete = kind == DEVICE_TO_DEVICE
                || (kind == HOST_TO_DEVICE && !is_read_later(session, from));
            if code != 0 || complete {
                return code;
            }
            (driver.stream_synchronize)(stream)
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    len: usize,
    kind: c_int,
    stream: RawHandle,
) -> CuResult {
    runtime_function("cudaMemcpyAsync", |session| match len {
        0 => 0,
        len => {
            let on_device =
                kind == DEVICE_TO_DEVICE || session.allows("cudaMemcpyAsync of any memory");
            if !on_device || !session.allows_stream(stream, "cudaMemcpyAsync on another stream") {
                return error::STREAM_CAPTURE_UNSUPPORTED;
            }
            session.mark_enqueued();
            // SAFETY: the library's memory, as the driver takes it.
            unsafe { (session.driver.memcpy_async)(to, from, len, stream) }
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn cudaMemset(to: u64, value: c_int, len: usize) -> CuResult {
    runtime_function("cudaMemset", |session| match len {
        0 => 0,
        len => {
            session.mark_enqueued();
            // SAFETY: the library's memory.
            unsafe { (session.driver.memset_async)(to, value as u8, len, session.raw_stream) }
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> CuResult {
    runtime_function("cudaGetDevice", |session| {
        if device.is_null() {
            return error::INVALID_VALUE;
        }
        // SAFETY: the library's out-parameter.
        unsafe { *device = session.device.ordinal() };
        0
    })
}

/// Accepts the device of the call, which is current already.
pub(in crate::abi) extern "C" fn cudaSetDevice(device: c_int) -> CuResult {
    runtime_function("cudaSetDevice", |session| {
        if device == session.device.ordinal() {
            0
        } else {
            error::INVALID_DEVICE
        }
    })
}

/// `cudaPointerAttributes`.
#[repr(C)]
#[cfg_attr(test, derive(Debug, Default, PartialEq))]
pub(in crate::abi) struct PointerAttributes {
    pub(in crate::abi) kind: c_int,
    pub(in crate::abi) device: c_int,
    pub(in crate::abi) device_pointer: u64,
    pub(in crate::abi) host_pointer: u64,
}

pub(in crate::abi) unsafe extern "C" fn cudaPointerGetAttributes(
    attributes: *mut PointerAttributes,
    pointer: u64,
) -> CuResult {
    // `cudaMemoryType`.
    const UNREGISTERED: c_int = 0;
    const HOST: c_int = 1;
    const DEVICE: c_int = 2;
    const MANAGED: c_int = 3;
    runtime_function("cudaPointerGetAttributes", |session| {
        if attributes.is_null() {
            return error::INVALID_VALUE;
        }
        if !session.allows("cudaPointerGetAttributes") {
            return error::STREAM_CAPTURE_UNSUPPORTED;
        }
        let memory = match session.device.memory_kind(pointer) {
            Ok(memory) => memory,
            Err(error) => {
                session.fail(error);
                return error::UNKNOWN;
            }
        };
        let here = session.device.ordinal();
        let (kind, device, of_device, of_host) = match memory {
            MemoryKind::Device { ordinal } => (DEVICE, ordinal, pointer, 0),
            MemoryKind::Managed => (MANAGED, here, pointer, pointer),
            MemoryKind::Pinned => (HOST, here, pointer, pointer),
            // `cudaInvalidDeviceId`.
            _ => (UNREGISTERED, -2, 0, pointer),
        };
        // SAFETY: the library's out-parameter. Newer versions of the struct are longer.
        unsafe {
            *attributes = PointerAttributes {
                kind,
                device,
                device_pointer: of_device,
                host_pointer: of_host,
            };
        }
        0
    })
}

/// True if a copy from this memory may still read it when the driver returns. It has read pageable memory by
/// then.
fn is_read_later(session: &Session<'_>, pointer: u64) -> bool {
    let kind = session.device.memory_kind(pointer);
    !matches!(kind, Ok(MemoryKind::Pageable))
}

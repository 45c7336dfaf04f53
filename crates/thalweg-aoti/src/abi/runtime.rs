//! The functions of CUDA's runtime, over the driver and the device's primary context.
//!
//! There is no other runtime beside this one. What the real one does on the default stream of a
//! thread or device, this one does on the stream of the call, so that all of a call is in order.
//!
//! Since CUDA 11 codes of the runtime are those of the driver.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers, which are passed on to the driver; each block \
              says why it is right"
)]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use thalweg_cuda::MemoryKind;

use super::driver::{
    Code, INVALID_VALUE, NOBODY_CALLS, NOT_IN_A_CAPTURE, NOT_READY, Table, UNKNOWN,
};
use super::session::{self, Session};

type Handle = *mut c_void;

thread_local! {
    /// The code of the last call of this thread that failed, until it is asked for.
    static LAST: Cell<Code> = const { Cell::new(0) };
}

/// Does what a function of the runtime is to do, and remembers how it went.
pub(super) fn do_it(function: &str, f: impl FnOnce(&Session<'_>) -> Code) -> Code {
    let code = session::with(|session| {
        let code = f(session);
        if code != 0 && code != NOT_READY {
            session.fail(session.driver.error(function, code));
        }
        code
    });
    let code = code.unwrap_or(NOBODY_CALLS);
    // That something is not over yet is an answer, but the real one remembers it as well.
    if code != 0 {
        LAST.set(code);
    }
    code
}

/// The last failure of this thread. A failure of what ran on the device is the answer to everything
/// from then on, and so to this, however often it is asked for.
fn last_failure(forget: bool) -> Code {
    let code = LAST.get();
    if forget && code != 0 {
        let stays = session::with(|session| {
            if session.records() {
                // To ask would break what is recorded.
                return false;
            }
            // SAFETY: the stream is there during the call.
            let now = unsafe { (session.driver.stream_query)(session.raw_stream) };
            now == code && code != NOT_READY
        });
        if stays != Some(true) {
            LAST.set(0);
        }
    }
    code
}

pub(super) extern "C" fn cudaGetLastError() -> Code {
    last_failure(true)
}

pub(super) extern "C" fn cudaPeekAtLastError() -> Code {
    last_failure(false)
}

macro_rules! texts {
    ($($name:ident: $function:ident, $unknown:literal)*) => {$(
        pub(super) extern "C" fn $name(code: Code) -> *const c_char {
            let text = session::with(|session| {
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

/// Those among the functions below that put something on a stream, or make one wait.
const ENQUEUES: [&str; 2] = ["cudaMallocAsync", "cudaStreamWaitEvent"];

/// Those that a graph can hold, or that have nothing to do with it.
const IN_GRAPHS: [&str; 3] = [
    "cudaStreamIsCapturing",
    "cudaGetDeviceCount",
    "cudaDeviceGetAttribute",
];

/// Functions that are one of the driver's.
macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) = $function:ident($($given:expr),*);)*) => {$(
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> Code {
            do_it(stringify!($name), |session| {
                if !IN_GRAPHS.contains(&stringify!($name)) && !session.may_do(stringify!($name)) {
                    return NOT_IN_A_CAPTURE;
                }
                if ENQUEUES.contains(&stringify!($name)) {
                    session.enqueues();
                }
                // SAFETY: the library's arguments, as the driver takes them; the device is current.
                unsafe { (session.driver.$function)($($given),*) }
            })
        }
    )*};
}

passed_on! {
    cudaMallocAsync(pointer: *mut u64, len: usize, stream: Handle) = mem_alloc_async(pointer, len, stream);
    cudaMallocHost(pointer: *mut Handle, len: usize) = mem_host_alloc(pointer, len, 0);
    cudaHostAlloc(pointer: *mut Handle, len: usize, flags: c_uint) = mem_host_alloc(pointer, len, flags);
    cudaStreamCreate(stream: *mut Handle) = stream_create(stream, 0, 0);
    cudaStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) = stream_create(stream, flags, 0);
    cudaStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) = stream_create(stream, flags, priority);
    cudaStreamQuery(stream: Handle) = stream_query(stream);
    cudaStreamSynchronize(stream: Handle) = stream_synchronize(stream);
    cudaStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) = stream_wait_event(stream, event, flags);
    cudaStreamIsCapturing(stream: Handle, status: *mut c_int) = stream_is_capturing(stream, status);
    cudaEventCreate(event: *mut Handle) = event_create(event, 0);
    cudaEventCreateWithFlags(event: *mut Handle, flags: c_uint) = event_create(event, flags);
    cudaEventQuery(event: Handle) = event_query(event);
    cudaEventSynchronize(event: Handle) = event_synchronize(event);
    cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) = event_elapsed(milliseconds, start, end);
    cudaDeviceSynchronize() = context_synchronize();
    cudaGetDeviceCount(count: *mut c_int) = device_count(count);
    cudaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) = device_attribute(value, attribute, device);
}

pub(super) unsafe extern "C" fn cudaEventRecord(event: Handle, stream: Handle) -> Code {
    do_it("cudaEventRecord", |session| {
        if !session.may_do("cudaEventRecord") {
            return NOT_IN_A_CAPTURE;
        }
        let stream = session.recorded_on(stream);
        // SAFETY: the library's event, and a stream that is there during the call.
        unsafe { (session.driver.event_record)(event, stream) }
    })
}

/// Functions that end something.
///
/// Libraries call them from destructors, of which some throw if they fail, and that is the end of the
/// process. What they could not end, nobody else can either; so it is said in the log, and the library
/// does not learn of it.
macro_rules! ends {
    ($($name:ident($($argument:ident: $type:ty),*) = $function:ident, unless $nothing:expr;)*) => {$(
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> Code {
            if $nothing {
                return 0;
            }
            let code = session::with(|session| {
                // What is recorded is of no use then, but what is to end ends.
                let relaxed = (!session.may_do(stringify!($name))).then(|| Relaxed::new(session.driver));
                session.enqueues();
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

ends! {
    cudaFree(pointer: u64) = mem_free, unless pointer == 0;
    cudaFreeAsync(pointer: u64, stream: Handle) = mem_free_async, unless pointer == 0;
    cudaFreeHost(pointer: Handle) = mem_free_host, unless pointer.is_null();
    cudaStreamDestroy(stream: Handle) = stream_destroy, unless stream.is_null();
    cudaEventDestroy(event: Handle) = event_destroy, unless event.is_null();
}

/// While it lives, this thread may do what a capture forbids.
struct Relaxed<'d> {
    driver: &'d Table,
    before: Option<c_int>,
}

impl<'d> Relaxed<'d> {
    fn new(driver: &'d Table) -> Self {
        /// The driver's number of that mode.
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

impl Drop for Relaxed<'_> {
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

pub(super) unsafe extern "C" fn cudaMemsetAsync(
    to: u64,
    value: c_int,
    len: usize,
    stream: Handle,
) -> Code {
    do_it("cudaMemsetAsync", |session| {
        if !session.may_enqueue_on(stream, "cudaMemsetAsync on another stream") {
            return NOT_IN_A_CAPTURE;
        }
        session.enqueues();
        // SAFETY: the library's memory, and a stream that is there during the call.
        unsafe { (session.driver.memset_async)(to, value as u8, len, stream) }
    })
}

pub(super) unsafe extern "C" fn cudaMalloc(pointer: *mut u64, len: usize) -> Code {
    do_it("cudaMalloc", |session| {
        if pointer.is_null() {
            return INVALID_VALUE;
        }
        if !session.may_do("cudaMalloc") {
            return NOT_IN_A_CAPTURE;
        }
        // SAFETY: the library's place for the address; the device is current.
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

/// A copy from the device to the device.
const ON_DEVICE: c_int = 3;

/// On the host something is only there when this returns; on a device it is there for all that
/// follows.
pub(super) unsafe extern "C" fn cudaMemcpy(to: u64, from: u64, len: usize, kind: c_int) -> Code {
    const TO_DEVICE: c_int = 1;
    do_it("cudaMemcpy", |session| {
        if len == 0 {
            return 0;
        }
        if kind != ON_DEVICE && !session.may_do("cudaMemcpy to or from the host") {
            return NOT_IN_A_CAPTURE;
        }
        session.enqueues();
        let (driver, stream) = (session.driver, session.raw_stream);
        // SAFETY: the library's memory. The driver has read memory of the host that is not pinned
        // when it returns; for all other memory of the host this waits.
        unsafe {
            let code = (driver.memcpy_async)(to, from, len, stream);
            let over = kind == ON_DEVICE || (kind == TO_DEVICE && !is_read_later(session, from));
            if code != 0 || over {
                return code;
            }
            (driver.stream_synchronize)(stream)
        }
    })
}

pub(super) unsafe extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    len: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    do_it("cudaMemcpyAsync", |session| match len {
        0 => 0,
        len => {
            let on_device = kind == ON_DEVICE || session.may_do("cudaMemcpyAsync of any memory");
            if !on_device || !session.may_enqueue_on(stream, "cudaMemcpyAsync on another stream") {
                return NOT_IN_A_CAPTURE;
            }
            session.enqueues();
            // SAFETY: the library's memory, as the driver takes it.
            unsafe { (session.driver.memcpy_async)(to, from, len, stream) }
        }
    })
}

pub(super) unsafe extern "C" fn cudaMemset(to: u64, value: c_int, len: usize) -> Code {
    do_it("cudaMemset", |session| match len {
        0 => 0,
        len => {
            session.enqueues();
            // SAFETY: the library's memory.
            unsafe { (session.driver.memset_async)(to, value as u8, len, session.raw_stream) }
        }
    })
}

pub(super) unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> Code {
    do_it("cudaGetDevice", |session| {
        if device.is_null() {
            return INVALID_VALUE;
        }
        // SAFETY: the library's place for the number.
        unsafe { *device = session.device.ordinal() };
        0
    })
}

/// A library is on one device, so that this changes nothing.
pub(super) extern "C" fn cudaSetDevice(device: c_int) -> Code {
    /// There is no such device.
    const INVALID_DEVICE: Code = 101;
    do_it("cudaSetDevice", |session| {
        if device == session.device.ordinal() {
            0
        } else {
            INVALID_DEVICE
        }
    })
}

/// What is known of memory, as the runtime says it.
#[repr(C)]
#[cfg_attr(test, derive(Debug, Default, PartialEq))]
pub(super) struct PointerAttributes {
    pub(super) kind: c_int,
    pub(super) device: c_int,
    pub(super) device_pointer: u64,
    pub(super) host_pointer: u64,
}

pub(super) unsafe extern "C" fn cudaPointerGetAttributes(
    attributes: *mut PointerAttributes,
    pointer: u64,
) -> Code {
    /// How the runtime calls kinds of memory.
    const UNREGISTERED: c_int = 0;
    const HOST: c_int = 1;
    const DEVICE: c_int = 2;
    const MANAGED: c_int = 3;
    do_it("cudaPointerGetAttributes", |session| {
        if attributes.is_null() {
            return INVALID_VALUE;
        }
        if !session.may_do("cudaPointerGetAttributes") {
            return NOT_IN_A_CAPTURE;
        }
        let known = session.device.memory_kind(pointer);
        let known = match known {
            Ok(known) => known,
            Err(error) => {
                session.fail(error);
                return UNKNOWN;
            }
        };
        let here = session.device.ordinal();
        let (kind, device, of_device, of_host) = match known {
            MemoryKind::Device { ordinal } => (DEVICE, ordinal, pointer, 0),
            MemoryKind::Managed => (MANAGED, here, pointer, pointer),
            MemoryKind::Pinned => (HOST, here, pointer, pointer),
            // No device has it.
            _ => (UNREGISTERED, -2, 0, pointer),
        };
        // SAFETY: the library's place for the answer. Newer versions have more room behind these.
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

/// Whether a copy from this memory may still be reading it when the driver returns. It has read what it
/// knows nothing of.
fn is_read_later(session: &Session<'_>, pointer: u64) -> bool {
    let kind = session.device.memory_kind(pointer);
    !matches!(kind, Ok(MemoryKind::Pageable))
}

/// What functions that are not here give back.
pub(super) const NOT_SUPPORTED: Code = UNKNOWN;

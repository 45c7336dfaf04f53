//! The calls of objects of the caller (loggers, recorders, readers, allocators), through their
//! virtual tables.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::dims::Dims;
use crate::config::TensorRt;

/// `nvinfer1::ILogger::Severity`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Severity {
    Error = 1,
    Warning = 2,
    Info = 3,
}

/// The function in a slot of an object's virtual table.
///
/// # Safety
/// The object must have that slot, and the type must be that of the method.
unsafe fn slot<F: Copy>(object: usize, slot: usize) -> F {
    // SAFETY: as promised by the caller.
    unsafe {
        let table = *(object as *const *const F);
        *table.add(slot)
    }
}

fn text(line: &str) -> CString {
    CString::new(line.replace('\0', " ")).unwrap_or_default()
}

/// `ILogger::log`
pub(super) fn log(logger: usize, version: TensorRt, severity: Severity, line: &str) {
    if logger == 0 {
        return;
    }
    // Since 11.0 a logger is a versioned interface, with other methods ahead.
    let index = if version.layout() >= (11, 0) { 4 } else { 0 };
    let line = text(line);
    // SAFETY: the caller created the runtime with this logger, which outlives it.
    unsafe {
        let log: unsafe extern "C" fn(usize, i32, *const c_char) = slot(logger, index);
        log(logger, severity as i32, line.as_ptr());
    }
}

/// `IErrorRecorder::reportError`
pub(super) fn record_error(recorder: usize, code: i32, line: &str) {
    let line: String = line.chars().take(127).collect();
    let line = text(&line);
    // SAFETY: the caller set the recorder, and counts references to it.
    unsafe {
        let report: unsafe extern "C" fn(usize, i32, *const c_char) -> bool = slot(recorder, 9);
        report(recorder, code, line.as_ptr());
    }
}

/// `IErrorRecorder::incRefCount` or `decRefCount`
pub(super) fn count_recorder(recorder: usize, up: bool) {
    if recorder == 0 {
        return;
    }
    // SAFETY: as above.
    unsafe {
        let count: unsafe extern "C" fn(usize) -> i32 = slot(recorder, if up { 10 } else { 11 });
        count(recorder);
    }
}

/// Replaces an error recorder, and counts the references to both.
pub(super) fn exchange_recorder(current: &AtomicUsize, recorder: usize) {
    count_recorder(recorder, true);
    count_recorder(current.swap(recorder, Ordering::Relaxed), false);
}

/// `IStreamReader::read`, and `IStreamReaderV2::read` with a stream.
pub(super) fn read(reader: usize, v2: bool, bytes: &mut [u8]) -> i64 {
    let (to, len) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len() as i64);
    // SAFETY: the caller gave a reader of that kind, for as long as the call.
    unsafe {
        if v2 {
            type Read = unsafe extern "C" fn(usize, *mut c_void, i64, usize) -> i64;
            let read: Read = slot(reader, 4);
            return read(reader, to, len, 0);
        }
        let read: unsafe extern "C" fn(usize, *mut c_void, i64) -> i64 = slot(reader, 4);
        read(reader, to, len)
    }
}

/// `IStreamReaderV2::seek`; `whence` is 0 for the start, 1 for here, 2 for the end.
pub(super) fn seek(reader: usize, offset: i64, whence: i32) -> bool {
    // SAFETY: as above.
    unsafe {
        let seek: unsafe extern "C" fn(usize, i64, i32) -> bool = slot(reader, 5);
        seek(reader, offset, whence)
    }
}

/// `IOutputAllocator::reallocateOutputAsync`
pub(super) fn reallocate(
    allocator: usize,
    name: &str,
    current: u64,
    size: u64,
    stream: u64,
) -> u64 {
    type Reallocate = unsafe extern "C" fn(usize, *const c_char, u64, u64, u64, u64) -> u64;
    let name = text(name);
    // SAFETY: the caller set the allocator, and keeps it for as long as it is set.
    unsafe {
        let reallocate: Reallocate = slot(allocator, 5);
        reallocate(allocator, name.as_ptr(), current, size, 256, stream)
    }
}

/// `IOutputAllocator::notifyShape`
pub(super) fn notify_shape(allocator: usize, name: &str, shape: &[i64]) {
    let name = text(name);
    let dims = Dims::new(shape);
    // SAFETY: as above.
    unsafe {
        let notify: unsafe extern "C" fn(usize, *const c_char, *const Dims) = slot(allocator, 6);
        notify(allocator, name.as_ptr(), &raw const dims);
    }
}

//! The `IStreamReader` from which TensorRT reads an engine piece by piece.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use thalweg_core::{Device as _, DeviceAddress, Error, StreamHandle};
use thalweg_cuda::{Device, MemoryKind};

use super::{DESTRUCTOR, InterfaceInfo, LANGUAGE, Slot, Table, guarded};
use crate::log::{self, Severity};

/// A reader of bytes, with a table for each version of the interface. It must not move while TensorRT
/// has a pointer to it.
#[repr(C)]
pub(in crate::abi) struct StreamReader<'a> {
    table: *const c_void,
    bytes: *const u8,
    len: usize,
    position: usize,
    device: &'a Device,
    _bytes: PhantomData<&'a [u8]>,
}

impl<'a> StreamReader<'a> {
    pub(in crate::abi) fn new(device: &'a Device, bytes: &'a [u8]) -> Self {
        Self {
            table: std::ptr::null(),
            bytes: bytes.as_ptr(),
            len: bytes.len(),
            position: 0,
            device,
            _bytes: PhantomData,
        }
    }

    /// The reader as an `IStreamReader`: it reads to the host, and only forward.
    pub(in crate::abi) fn as_first_version(&mut self) -> *mut c_void {
        self.table = FIRST.start();
        (&raw mut *self).cast()
    }

    /// The reader as an `IStreamReaderV2`: it reads to the host or the device, and seeks.
    pub(in crate::abi) fn as_second_version(&mut self) -> *mut c_void {
        self.table = SECOND.start();
        (&raw mut *self).cast()
    }

    /// The next bytes: at most `count`, fewer at the end.
    fn next(&mut self, count: i64) -> Option<&'a [u8]> {
        let count = usize::try_from(count).ok()?.min(self.len - self.position);
        // SAFETY: the bytes are borrowed for as long as the reader, and the position never exceeds
        // the length.
        let next = unsafe { std::slice::from_raw_parts(self.bytes.add(self.position), count) };
        self.position += count;
        Some(next)
    }

    fn seek(&mut self, offset: i64, from: c_int) -> bool {
        let from = match from {
            0 => 0,
            1 => self.position,
            2 => self.len,
            _ => return false,
        };
        match i64::try_from(from)
            .ok()
            .and_then(|from| from.checked_add(offset))
        {
            Some(position) if (0..=self.len as i64).contains(&position) => {
                self.position = position as usize;
                true
            }
            _ => false,
        }
    }
}

static FIRST: Table<5> = Table::new([
    LANGUAGE,
    Slot(first_info as *const c_void),
    DESTRUCTOR,
    DESTRUCTOR,
    Slot(read as *const c_void),
]);

static SECOND: Table<6> = Table::new([
    LANGUAGE,
    Slot(second_info as *const c_void),
    DESTRUCTOR,
    DESTRUCTOR,
    Slot(read_anywhere as *const c_void),
    Slot(seek as *const c_void),
]);

extern "C" fn first_info(_this: *mut c_void) -> InterfaceInfo {
    InterfaceInfo {
        kind: c"IStreamReader".as_ptr(),
        major: 1,
        minor: 0,
    }
}

extern "C" fn second_info(_this: *mut c_void) -> InterfaceInfo {
    InterfaceInfo {
        kind: c"IStreamReaderV2".as_ptr(),
        major: 1,
        minor: 0,
    }
}

/// `IStreamReader::read`.
///
/// # Safety
/// `this` is such a reader that nothing else uses, and `to` is valid for writes of `count` bytes.
unsafe extern "C" fn read(this: *mut c_void, to: *mut c_void, count: i64) -> i64 {
    guarded(-1, || {
        // SAFETY: the caller's.
        let reader = unsafe { &mut *this.cast::<StreamReader<'_>>() };
        let Some(bytes) = reader.next(count) else {
            return -1;
        };
        // SAFETY: the caller's, and the reader's bytes are nobody's to write.
        unsafe {
            to.cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        };
        bytes.len() as i64
    })
}

/// `IStreamReaderV2::read`.
///
/// # Safety
/// As for [`read`]. `to` may also be memory of the device, and the stream is a stream of that device.
unsafe extern "C" fn read_anywhere(
    this: *mut c_void,
    to: *mut c_void,
    count: i64,
    stream: *mut c_void,
) -> i64 {
    guarded(-1, || {
        // SAFETY: the caller's.
        let reader = unsafe { &mut *this.cast::<StreamReader<'_>>() };
        let Some(bytes) = reader.next(count) else {
            return -1;
        };
        if bytes.is_empty() {
            return 0;
        }
        let address = to.expose_provenance() as u64;
        let on_host = match reader.device.memory_kind(address) {
            Ok(kind) => matches!(kind, MemoryKind::Pageable | MemoryKind::Pinned),
            Err(error) => return failed(&error),
        };
        if on_host {
            // SAFETY: as in `read`.
            unsafe {
                to.cast::<u8>()
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            };
            return bytes.len() as i64;
        }
        let stream = StreamHandle(stream.expose_provenance());
        // SAFETY: the caller's; memory that is not pinned has been read when this returns.
        let copied = unsafe {
            let to = DeviceAddress(address);
            reader
                .device
                .upload(to, bytes.as_ptr(), bytes.len(), stream)
        };
        match copied {
            Ok(()) => bytes.len() as i64,
            Err(error) => failed(&error),
        }
    })
}

/// The result of a read that has failed. The reason becomes a part of the error of loading.
fn failed(error: &Error) -> i64 {
    log::note(Severity::Error, &format!("reading the engine: {error}"));
    -1
}

/// `IStreamReaderV2::seek`.
///
/// # Safety
/// `this` is such a reader that nothing else uses.
unsafe extern "C" fn seek(this: *mut c_void, offset: i64, from: c_int) -> u8 {
    guarded(0, || {
        // SAFETY: the caller's.
        let reader = unsafe { &mut *this.cast::<StreamReader<'_>>() };
        u8::from(reader.seek(offset, from))
    })
}

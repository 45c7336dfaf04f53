//! The `IOutputAllocator` of outputs whose size depends on data.

use std::ffi::{c_char, c_void};

use thalweg_core::{Error, StreamHandle};
use thalweg_cuda::{Device, DeviceBuffer};

use super::{DESTRUCTOR, InterfaceInfo, LANGUAGE, Slot, Table, guarded};
use crate::abi::stream::borrow_stream;
use crate::abi::types::Shape;
use crate::log::{self, Severity};

/// An `IOutputAllocator` of one output, and the output's memory, which grows when TensorRT asks for more.
pub(crate) struct OutputAllocator(Box<Interface>);

/// The object that TensorRT has a pointer to. It does not move.
#[repr(C)]
struct Interface {
    table: *const c_void,
    device: Device,
    buffer: Option<DeviceBuffer>,
    /// Buffers that were too small. Enqueued work may still use them.
    outgrown: Vec<DeviceBuffer>,
    shape: Option<Shape>,
    stream: StreamHandle,
}

// SAFETY: the pointer is to a constant table.
unsafe impl Send for OutputAllocator {}

impl OutputAllocator {
    pub(crate) fn new(device: &Device) -> Self {
        Self(Box::new(Interface {
            table: TABLE.start(),
            device: device.clone(),
            buffer: None,
            outgrown: Vec::new(),
            shape: None,
            stream: StreamHandle(0),
        }))
    }

    /// Starts a call. Memory is allocated on its stream.
    pub(crate) fn begin(&mut self, stream: StreamHandle) {
        self.0.stream = stream;
        self.0.shape = None;
    }

    /// The memory and the shape of the output of this call; `None` if TensorRT has not given them.
    pub(crate) fn output(&self) -> Option<(&DeviceBuffer, Shape)> {
        Some((self.0.buffer.as_ref()?, self.0.shape?))
    }

    /// Takes the buffers that were too small. They must live until the call's work is complete.
    pub(crate) fn take_outgrown(&mut self) -> Vec<DeviceBuffer> {
        std::mem::take(&mut self.0.outgrown)
    }

    /// The pointer for TensorRT.
    pub(in crate::abi) fn pointer(&mut self) -> *mut c_void {
        (&raw mut *self.0).cast()
    }
}

impl Interface {
    /// The address of at least `size` bytes.
    fn reallocate(&mut self, size: u64) -> Result<u64, Error> {
        let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
        if let Some(buffer) = self.buffer.as_ref().filter(|buffer| buffer.len() >= size) {
            return Ok(buffer.address());
        }
        let stream = borrow_stream(&self.device, self.stream);
        let new = DeviceBuffer::new(&stream, size)?;
        let address = new.address();
        self.outgrown.extend(self.buffer.replace(new));
        Ok(address)
    }
}

static TABLE: Table<7> = Table::new([
    LANGUAGE,
    Slot(info as *const c_void),
    DESTRUCTOR,
    DESTRUCTOR,
    Slot(reallocate as *const c_void),
    Slot(reallocate_in_order as *const c_void),
    Slot(notify_shape as *const c_void),
]);

extern "C" fn info(_this: *mut c_void) -> InterfaceInfo {
    InterfaceInfo {
        kind: c"IOutputAllocator".as_ptr(),
        major: 1,
        minor: 0,
    }
}

/// `IOutputAllocator::reallocateOutput`.
///
/// # Safety
/// `this` is such an allocator, which nothing else uses during an enqueue.
unsafe extern "C" fn reallocate(
    this: *mut c_void,
    _name: *const c_char,
    _current: *mut c_void,
    size: u64,
    _alignment: u64,
) -> *mut c_void {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller's.
        let allocator = unsafe { &mut *this.cast::<Interface>() };
        // The driver aligns to 256 bytes, which is all that TensorRT asks for.
        match allocator.reallocate(size) {
            Ok(address) => std::ptr::with_exposed_provenance_mut(address as usize),
            Err(error) => {
                let text = format!("memory for an output of {size} bytes: {error}");
                log::note(Severity::Error, &text);
                std::ptr::null_mut()
            }
        }
    })
}

/// `IOutputAllocator::reallocateOutputAsync`. The stream is that of the enqueue.
///
/// # Safety
/// As for [`reallocate`].
unsafe extern "C" fn reallocate_in_order(
    this: *mut c_void,
    name: *const c_char,
    current: *mut c_void,
    size: u64,
    alignment: u64,
    _stream: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { reallocate(this, name, current, size, alignment) }
}

/// `IOutputAllocator::notifyShape`.
///
/// # Safety
/// As for [`reallocate`]. The pointer to the shape is valid or null.
unsafe extern "C" fn notify_shape(this: *mut c_void, _name: *const c_char, shape: *const Shape) {
    guarded((), || {
        // SAFETY: the caller's.
        unsafe {
            let allocator = &mut *this.cast::<Interface>();
            allocator.shape = shape.as_ref().copied();
        }
    });
}

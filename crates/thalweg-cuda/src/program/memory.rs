//! Memory of programs: buffers on the device, pinned memory, and inputs that a caller keeps on a device.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::ptr;

use thalweg_core::{
    Access, Device as _, DeviceAddress, DeviceInput, DeviceMemory as ProgramMemory,
    PinnedMemory as ProgramPinnedMemory, Result,
};

use crate::array::DeviceArray;
use crate::buffer::DeviceBuffer;
use crate::device::Device;
use crate::memory::PinnedMemory;

/// Device memory of a program.
pub(super) struct Memory {
    pub(super) buffer: DeviceBuffer,
    /// An empty allocation is not one that the driver makes.
    pub(super) bytes: usize,
}

// SAFETY: a buffer owns its memory on the device until it is dropped.
unsafe impl ProgramMemory for Memory {
    fn address(&self) -> DeviceAddress {
        DeviceAddress(self.buffer.address())
    }

    fn len(&self) -> usize {
        self.bytes
    }
}

/// Pinned memory of a program. The core drops it when the device is finished with it.
pub(super) struct Pinned {
    /// There until this is dropped. It may be larger than requested.
    pub(super) memory: Option<PinnedMemory>,
    pub(super) len: usize,
    pub(super) device: Device,
}

// SAFETY: the memory is owned, starts as zeros, and stays where it is until this is dropped.
unsafe impl ProgramPinnedMemory for Pinned {
    fn as_ptr(&self) -> *mut u8 {
        let memory = self.memory.as_ref();
        memory.map_or(ptr::null_mut(), |memory| memory.data().as_ptr())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn host_access(&self, offset: usize, len: usize, access: Access) {
        if let Some(memory) = &self.memory {
            memory.accessed(offset, len, access == Access::Write);
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.device.kept_pinned().give_back(memory);
        }
    }
}

impl DeviceArray {
    /// The tensor, as an input of a call.
    ///
    /// # Errors
    /// If the shape is one that inputs cannot have.
    pub fn input(&self) -> Result<DeviceInput<'_>> {
        let address = DeviceAddress(self.buffer()?.address());
        // SAFETY: the memory is the device's, has as many bytes as the shape needs, and was written
        // before the array was there. The input borrows the array, so that it is alive during the
        // call; and it is not freed before all is done that the call leaves on the device, since its
        // drop waits for the whole device, or leaks it. What calls write there are elements, and
        // that they are in no order with others changes only which.
        unsafe { DeviceInput::new(self.device().id(), address, self.dtype(), self.sizes()) }
    }
}

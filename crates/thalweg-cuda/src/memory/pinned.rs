//! Allocations of page-locked host memory.
#![allow(
    unsafe_code,
    reason = "the driver's functions are called, and the host's accesses are checked"
)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use thalweg_core::{ErrorKind, Result, bail};

use crate::handle::Context;
use crate::order::HostHold;
use crate::result;

/// Reachable from every context, and at the same address for device and host.
const PORTABLE_AND_MAPPED: u32 = 1 | 2;

/// Alignment of the empty allocation; others are aligned to pages.
const ALIGN: usize = 64;

/// An allocation of page-locked host memory.
pub(crate) struct PinnedMemory {
    context: Arc<Context>,
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned; whoever touches it shows a hold on it, or is the device.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Allocates `len` bytes, and sets them to zero.
    pub(crate) fn zeroed(context: &Arc<Context>, len: usize) -> Result<Self> {
        let mut memory = Self {
            context: context.clone(),
            data: NonNull::without_provenance(const { std::num::NonZero::new(ALIGN).unwrap() }),
            len: 0,
        };
        if len == 0 {
            return Ok(memory);
        }
        {
            let _managing = context.manage()?;
            let mut data: *mut c_void = ptr::null_mut();
            // SAFETY: the context is current, and the driver writes the address.
            let status = unsafe {
                (context.table().cuMemHostAlloc)(&raw mut data, len, PORTABLE_AND_MAPPED)
            };
            if let Err(error) = context.check("cuMemHostAlloc", status) {
                return Err(if error.kind() == ErrorKind::OutOfMemory {
                    result::out_of_memory(&error, "pinned host memory", len, None)
                } else {
                    error
                });
            }
            let Some(data) = NonNull::new(data.cast::<u8>()) else {
                bail!(Device, "cuMemHostAlloc succeeded and gave no memory");
            };
            memory.data = data;
            memory.len = len;
        }
        memory.clear(len);
        Ok(memory)
    }

    /// Sets the first `len` bytes to zero, or all that there are. Nobody else uses the memory: it is this
    /// one's alone, and the device is finished with it.
    pub(crate) fn clear(&mut self, len: usize) {
        let len = len.min(self.len);
        self.accessed(0, len, true);
        // SAFETY: the driver gave at least so many bytes, and nobody else uses them.
        unsafe { ptr::write_bytes(self.data.as_ptr(), 0, len) };
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn data(&self) -> NonNull<u8> {
        self.data
    }

    /// The bytes, for as long as the host holds them.
    pub(crate) fn bytes<'a>(&'a self, hold: &'a HostHold) -> &'a [u8] {
        self.accessed(0, self.len, false);
        assert!(hold.reads_or_writes(self.data), "a hold on other memory");
        // SAFETY: the memory is initialized. While the hold lasts, no work that writes it is
        // accepted, what was accepted before is over, and nobody else on the host writes it.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }

    /// The bytes, to write them.
    pub(crate) fn bytes_mut<'a>(&'a self, hold: &'a mut HostHold) -> &'a mut [u8] {
        self.accessed(0, self.len, true);
        assert!(hold.writes(self.data), "a hold on other memory");
        // SAFETY: as above, and there is one hold that writes, borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }

    /// Tells the stand-in, if that is the driver, that the host is about to use a range.
    pub(crate) fn accessed(&self, offset: usize, len: usize, write: bool) {
        if !cfg!(debug_assertions) {
            return;
        }
        if let Some(observe) = self.context.table().observer() {
            let start = self.data.as_ptr().wrapping_add(offset).cast();
            // SAFETY: the function only compares the range with what it knows.
            let _ = unsafe { observe(start, len, u32::from(write)) };
        }
    }
}

impl Drop for PinnedMemory {
    /// Frees the memory. Whoever drops it has made sure that the device is finished with it.
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let context = &self.context;
        context.destroy("cuMemFreeHost", || {
            // SAFETY: nobody has the address any more, neither on the host nor on the device.
            unsafe { (context.table().cuMemFreeHost)(self.data.as_ptr().cast()) }
        });
    }
}

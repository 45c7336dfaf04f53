//! Allocations of a device.
#![allow(unsafe_code, reason = "the driver's functions are called")]

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use thalweg_core::{Error, ErrorKind, Result};

use crate::handle::{Context, EventHandle, RelaxedCapture, StreamHandle};
use crate::mutation::{Rule, disabled};
use crate::result;
use crate::sys::Status;

/// An allocation of a device.
pub(crate) struct DeviceMemory {
    context: Arc<Context>,
    address: CUdeviceptr,
    len: usize,
    /// True if the allocation and the freeing are work on a stream.
    ordered: bool,
}

impl DeviceMemory {
    /// Allocates `len` bytes; in the order of the stream, if that is wanted and the device can.
    pub(crate) fn allocate(stream: &StreamHandle, len: usize, ordered: bool) -> Result<Self> {
        let context = stream.context().clone();
        let mut memory = Self {
            ordered: ordered && context.has_pools(),
            context,
            address: 0,
            len,
        };
        if len == 0 {
            return Ok(memory);
        }
        let raw = stream.raw()?;
        let context = &memory.context;
        let managing = context.manage()?;
        let table = context.table();
        let (call, status) = if memory.ordered {
            // SAFETY: the stream is alive, and the driver writes the address.
            let status = unsafe { (table.cuMemAllocAsync)(&raw mut memory.address, len, raw) };
            ("cuMemAllocAsync", status)
        } else {
            // SAFETY: the context is current, and the driver writes the address.
            let status = unsafe { (table.cuMemAlloc_v2)(&raw mut memory.address, len) };
            ("cuMemAlloc", status)
        };
        let answer = context.check(call, status);
        drop(managing);
        if let Err(error) = answer {
            memory.address = 0;
            return Err(memory.explain(error, len));
        }
        Ok(memory)
    }

    fn explain(&self, error: Error, asked: usize) -> Error {
        if error.kind() != ErrorKind::OutOfMemory {
            return error;
        }
        let free = self.context.memory().ok();
        result::out_of_memory(&error, "device memory", asked, free)
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// True if the allocation is work on its stream.
    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered && self.address != 0
    }

    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Frees the memory after all of these events.
    pub(crate) fn free_after(mut self, events: &[Arc<EventHandle>]) {
        let address = std::mem::take(&mut self.address);
        if address == 0 {
            return;
        }
        let context = &self.context;
        let Some(_entered) = context.enter_to_clean_up() else {
            // The context is lost, and its memory with it. The driver may still want to know.
            // SAFETY: nobody has the address any more.
            let _ = unsafe { (context.table().cuMemFree_v2)(address) };
            return;
        };
        let _relaxed = RelaxedCapture::on_this_thread(context);
        if self.ordered && events.iter().all(|event| self.released_after(event)) {
            let stream = context.release_stream();
            context.destroy("cuMemFreeAsync", || {
                // SAFETY: nobody has the address any more, and the stream comes after all uses.
                unsafe { (context.table().cuMemFreeAsync)(address, stream) }
            });
            return;
        }
        let mut done = true;
        if !disabled(Rule::FreeAfterUse) {
            // What fails once may work the second time; if not, the memory may be in use.
            for event in events {
                done &= event.synchronize().or_else(|_| event.synchronize()).is_ok();
            }
        }
        if done || context.lost().is_some() {
            context.destroy("cuMemFree", || {
                // SAFETY: nobody has the address any more, and all uses are complete.
                unsafe { (context.table().cuMemFree_v2)(address) }
            });
        } else {
            tracing::warn!(bytes = self.len, "memory that may be in use is never freed");
        }
    }

    /// Frees the memory after all of these events, in the order of a stream, which waits for them.
    ///
    /// On an error the memory is freed all the same, once the host has waited; it is never freed if that
    /// cannot be.
    pub(crate) fn free_on_after(
        self,
        stream: &StreamHandle,
        events: &[Arc<EventHandle>],
    ) -> Result<()> {
        let waited = events
            .iter()
            .filter(|_| !disabled(Rule::FreeAfterUse))
            .try_for_each(|event| event.wait_on(stream));
        match waited {
            Ok(()) => self.free_on(stream),
            Err(error) => {
                if stream.synchronize().is_ok() || stream.context().lost().is_some() {
                    self.free_after(events);
                } else {
                    tracing::warn!(bytes = self.len, "memory in use is never freed");
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Frees the memory after what is on a stream. Where memory is not freed in the order of streams,
    /// the host waits for that.
    pub(crate) fn free_on(mut self, stream: &StreamHandle) {
        let address = std::mem::take(&mut self.address);
        if address == 0 {
            return;
        }
        let context = &self.context;
        if context.lost().is_none()
            && self.ordered
            && let Ok(raw) = stream.raw()
        {
            context.destroy("cuMemFreeAsync", || {
                // SAFETY: nobody has the address any more, and the stream comes after all uses.
                unsafe { (context.table().cuMemFreeAsync)(address, raw) }
            });
            return;
        }
        let waited = stream.synchronize().or_else(|_| stream.synchronize());
        if waited.is_ok() || context.lost().is_some() {
            context.destroy("cuMemFree", || {
                // SAFETY: nobody has the address any more, and all uses are complete.
                unsafe { (context.table().cuMemFree_v2)(address) }
            });
        } else {
            tracing::warn!(bytes = self.len, "memory that may be in use is never freed");
        }
    }

    /// Makes the release stream wait for an event.
    fn released_after(&self, event: &EventHandle) -> bool {
        if disabled(Rule::FreeAfterUse) {
            return true;
        }
        let context = &self.context;
        let stream = context.release_stream();
        // SAFETY: stream and event are alive.
        let status: Status = unsafe { (context.table().cuStreamWaitEvent)(stream, event.raw(), 0) };
        context.check("cuStreamWaitEvent", status).is_ok()
    }
}

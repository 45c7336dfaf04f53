//! Devices of programs.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::fmt;
use std::ptr;

use thalweg_core::{
    Device as ProgramDevice, DeviceAddress, DeviceEvent, DeviceGraph, DeviceId, DeviceKind,
    DeviceMemory as ProgramMemory, DeviceTimer, PinnedMemory as ProgramPinnedMemory, Result,
};

use super::copies::{copy, download, upload};
use super::event::{EventTimer, ProgramEvent};
use super::graph::Captured;
use super::memory::{Memory, Pinned};
use super::stream::stream;
use crate::buffer::DeviceBuffer;
use crate::capture::Capture;
use crate::device::Device;
use crate::handle::{EventHandle, LEGACY, PER_THREAD};
use crate::pointer::MemoryKind;
use crate::stream::Stream;

/// A device of this crate is one that programs can have memory on.
///
/// Programs have an order of their own: everything that a call does goes to one stream, and what
/// it leaves in flight is known by one event. So copies are enqueued directly, without the
/// bookkeeping of [`Work`](crate::Work).
impl ProgramDevice for Device {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: DeviceKind::Cuda,
            index: i8::try_from(self.ordinal()).unwrap_or(i8::MAX),
        }
    }

    fn name(&self) -> String {
        self.to_string()
    }

    fn default_stream(&self) -> thalweg_core::StreamHandle {
        thalweg_core::StreamHandle(PER_THREAD)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn ProgramMemory>> {
        let stream = Stream::per_thread(self);
        let buffer = DeviceBuffer::new(&stream, bytes.max(1))?;
        let mut work = stream.work()?;
        work.fill(&buffer, 0)?;
        // Whatever stream uses it first does so after this.
        work.finish()?.synchronize()?;
        Ok(Box::new(Memory { buffer, bytes }))
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn ProgramPinnedMemory>> {
        Ok(Box::new(Pinned {
            memory: Some(self.kept_pinned().take(self.context(), bytes)?),
            len: bytes,
            device: self.clone(),
        }))
    }

    fn is_pinned(&self, memory: *const u8) -> Result<bool> {
        let kind = self.memory_kind(memory.expose_provenance() as u64)?;
        Ok(kind != MemoryKind::Pageable)
    }

    fn event(&self) -> Result<Box<dyn DeviceEvent>> {
        Ok(Box::new(ProgramEvent {
            context: self.context().clone(),
            event: EventHandle::new(self.context(), false)?,
        }))
    }

    fn synchronize(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: the core passes on the handle of a stream that its caller has borrowed for the
        // call, or the one that `default_stream` gave.
        unsafe { stream(self.context(), handle) }.synchronize()
    }

    fn supports_graphs(&self) -> bool {
        true
    }

    fn capture(
        &self,
        handle: thalweg_core::StreamHandle,
        submit: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn DeviceGraph>>> {
        if matches!(handle.0, 0 | LEGACY) {
            // The driver does not capture it.
            return Ok(None);
        }
        if self.is_capturing(handle)? {
            return Ok(None);
        }
        // SAFETY: as for `synchronize`; it is not kept.
        let stream = unsafe { Stream::borrow(self, ptr::with_exposed_provenance_mut(handle.0)) };
        let capture = Capture::begin(&stream)?;
        // On an error the capture ends, and what it has goes.
        submit()?;
        let graph = capture.end()?.instantiate()?;
        Ok(Some(Box::new(Captured {
            device: self.clone(),
            graph,
        })))
    }

    fn is_capturing(&self, handle: thalweg_core::StreamHandle) -> Result<bool> {
        if matches!(handle.0, 0 | LEGACY) {
            // The driver does not capture it.
            return Ok(false);
        }
        // SAFETY: as for `synchronize`.
        let stream = unsafe { stream(self.context(), handle) };
        Ok(stream.capture_status()? != 0)
    }

    fn timer(&self, handle: thalweg_core::StreamHandle) -> Result<Option<Box<dyn DeviceTimer>>> {
        // In a capture, events would become a part of the graph, and have no times.
        let free = !self.is_capturing(handle)?;
        Ok(free.then(|| -> Box<dyn DeviceTimer> {
            Box::new(EventTimer {
                device: self.clone(),
                events: Vec::new(),
            })
        }))
    }

    unsafe fn upload(
        &self,
        to: DeviceAddress,
        from: *const u8,
        len: usize,
        handle: thalweg_core::StreamHandle,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        // SAFETY: as for `synchronize`, and the caller's.
        unsafe { upload(&stream(self.context(), handle), to, from, len) }
    }

    unsafe fn download(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        len: usize,
        handle: thalweg_core::StreamHandle,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        // SAFETY: as for `synchronize`, and the caller's.
        unsafe { download(&stream(self.context(), handle), to, from, len) }
    }

    unsafe fn copy(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
        handle: thalweg_core::StreamHandle,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        // SAFETY: as for `synchronize`, and the caller's.
        unsafe { copy(&stream(self.context(), handle), to, from, len) }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

//! What the core asks of a device, for the memory that programs plan there.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use thalweg_core::{
    CallerStream, Device as ProgramDevice, DeviceAddress, DeviceGraph, DeviceId, DeviceInput,
    DeviceKind, DeviceMemory as ProgramMemory, DeviceTimer, DeviceTimes, Mark,
    PinnedMemory as ProgramPinnedMemory, Reference, Result, Use,
};

use super::{Context, EventHandle, PinnedMemory, StreamHandle};
use crate::Stream;
use crate::{Capture, Device, DeviceArray, DeviceBuffer, GraphExec, MemoryKind};

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

    fn reaches(&self, memory: *const u8) -> Result<bool> {
        let kind = self.memory_kind(memory.expose_provenance() as u64)?;
        Ok(kind != MemoryKind::Pageable)
    }

    fn mark(&self) -> Result<Box<dyn Mark>> {
        Ok(Box::new(EventMark {
            context: self.context().clone(),
            event: EventHandle::new(self.context(), false)?,
        }))
    }

    fn synchronize(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: the core passes on the handle of a stream that its caller has borrowed for the
        // call, or the one that `default_stream` gave.
        unsafe { stream(self.context(), handle) }.synchronize()
    }

    fn records(&self) -> bool {
        true
    }

    fn record(
        &self,
        handle: thalweg_core::StreamHandle,
        ask: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn DeviceGraph>>> {
        if matches!(handle.0, 0 | LEGACY) {
            // The driver does not capture it.
            return Ok(None);
        }
        if self.is_recorded(handle)? {
            return Ok(None);
        }
        // SAFETY: as for `synchronize`; it is not kept.
        let stream = unsafe { Stream::borrow(self, ptr::with_exposed_provenance_mut(handle.0)) };
        let capture = Capture::begin(&stream)?;
        // On an error the capture ends, and what it has goes.
        ask()?;
        let graph = capture.end()?.instantiate()?;
        Ok(Some(Box::new(Recorded {
            device: self.clone(),
            graph,
        })))
    }

    fn is_recorded(&self, handle: thalweg_core::StreamHandle) -> Result<bool> {
        if matches!(handle.0, 0 | LEGACY) {
            // The driver does not capture it.
            return Ok(false);
        }
        // SAFETY: as for `synchronize`.
        let stream = unsafe { stream(self.context(), handle) };
        Ok(stream.capture_status()? != 0)
    }

    fn timer(&self, handle: thalweg_core::StreamHandle) -> Result<Option<Box<dyn DeviceTimer>>> {
        // There, points would become a part of the graph, and have no times.
        let free = !self.is_recorded(handle)?;
        Ok(free.then(|| -> Box<dyn DeviceTimer> {
            Box::new(EventTimer {
                device: self.clone(),
                points: Vec::new(),
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

impl CallerStream for Stream {
    fn device(&self) -> DeviceId {
        ProgramDevice::id(Stream::device(self))
    }

    fn handle(&self) -> thalweg_core::StreamHandle {
        // The default stream of another thread is, by its handle, that of this one.
        let raw = self.raw().map_or(PER_THREAD, |raw| raw.expose_provenance());
        thalweg_core::StreamHandle(raw)
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
        unsafe { DeviceInput::new(self.device_id(), address, self.dtype(), self.sizes()) }
    }
}

/// Work of a program that was recorded.
struct Recorded {
    device: Device,
    graph: GraphExec,
}

impl DeviceGraph for Recorded {
    unsafe fn launch(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: as for the device's `synchronize`.
        let bare = unsafe { stream(self.device.context(), handle) };
        if self.graph.launch_bare(&bare)? {
            return Ok(());
        }
        // SAFETY: as above; it is not kept.
        let stream =
            unsafe { Stream::borrow(&self.device, ptr::with_exposed_provenance_mut(handle.0)) };
        let mut work = stream.work()?;
        self.graph.launch(&mut work)?;
        work.finish().map(drop)
    }
}

struct Memory {
    buffer: DeviceBuffer,
    /// An empty allocation is not one that the driver makes.
    bytes: usize,
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
struct Pinned {
    /// There until this is dropped. It may be larger than what was asked for.
    memory: Option<PinnedMemory>,
    len: usize,
    device: Device,
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

    fn host_access(&self, offset: usize, len: usize, by_host: Use) {
        if let Some(memory) = &self.memory {
            memory.accessed(offset, len, by_host == Use::Write);
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

struct EventMark {
    context: Arc<Context>,
    event: EventHandle,
}

impl Mark for EventMark {
    fn record(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: the core passes on the handle of a stream that its caller has borrowed for the
        // call, or that of a default stream.
        self.event.record(&unsafe { stream(&self.context, handle) })
    }

    fn wait_in(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: as above.
        unsafe { stream(&self.context, handle) }.wait(&self.event)
    }

    fn wait(&self) -> Result<()> {
        self.event.synchronize()
    }
}

/// Points of streams as events that tell the time.
struct EventTimer {
    device: Device,
    points: Vec<EventHandle>,
}

impl DeviceTimer for EventTimer {
    fn point(&mut self, handle: thalweg_core::StreamHandle) -> Result<()> {
        let context = self.device.context();
        let event = EventHandle::to_be_recorded(context)?;
        // SAFETY: as for the device's `synchronize`.
        event.record(&unsafe { stream(context, handle) })?;
        self.points.push(event);
        Ok(())
    }

    fn times(&mut self) -> Result<DeviceTimes> {
        let Some(first) = self.points.first() else {
            return Ok(DeviceTimes::default());
        };
        // The driver counts from one event to another, in milliseconds.
        let time = |event: &EventHandle| {
            event.synchronize()?;
            Ok(f64::from(event.milliseconds_since(first)?) * 1e6)
        };
        let reference = || -> Result<Reference> {
            let stream = Stream::new(&self.device)?;
            let event = EventHandle::to_be_recorded(self.device.context())?;
            let asked = Instant::now();
            event.record(stream.handle())?;
            event.synchronize()?;
            let passed = Instant::now();
            Ok(Reference {
                time: time(&event)?,
                asked,
                passed,
            })
        };
        Ok(DeviceTimes {
            points: self.points.iter().map(time).collect(),
            // Without it, the times are still what they are.
            reference: reference().ok(),
        })
    }
}

/// The handle that means the legacy default stream, beside the null stream.
const LEGACY: usize = 1;

/// The handle that means the default stream of whatever thread uses it.
const PER_THREAD: usize = 2;

/// A stream, by the handle that the core passes on.
///
/// # Safety
/// It is [`PER_THREAD`], or a stream of the context's device that stays one while this lives.
pub(super) unsafe fn stream(
    context: &Arc<Context>,
    handle: thalweg_core::StreamHandle,
) -> StreamHandle {
    match handle.0 {
        0 | LEGACY => StreamHandle::legacy(context),
        PER_THREAD => StreamHandle::per_thread(context),
        // SAFETY: the caller's.
        raw => unsafe { StreamHandle::borrowed(context, ptr::with_exposed_provenance_mut(raw)) },
    }
}

/// Copies from the host to the device.
///
/// # Safety
/// Both are valid for `len` bytes until the copy is done; the driver itself reads memory that is
/// not pinned before it returns.
unsafe fn upload(
    stream: &StreamHandle,
    to: DeviceAddress,
    from: *const u8,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    let from = from.cast::<c_void>();
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyHtoDAsync_v2)(to.0, from, len, raw) };
    context.check("cuMemcpyHtoDAsync", status)
}

/// Copies from the device to the host.
///
/// # Safety
/// As for [`upload`]; the driver itself has written memory that is not pinned when it returns.
unsafe fn download(
    stream: &StreamHandle,
    to: *mut u8,
    from: DeviceAddress,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyDtoHAsync_v2)(to.cast(), from.0, len, raw) };
    context.check("cuMemcpyDtoHAsync", status)
}

/// Copies within the device.
///
/// # Safety
/// Both are memory of the device, for `len` bytes, until the copy is done.
unsafe fn copy(
    stream: &StreamHandle,
    to: DeviceAddress,
    from: DeviceAddress,
    len: usize,
) -> Result<()> {
    let context = stream.context();
    let raw = stream.raw()?;
    let _entered = context.enter()?;
    // SAFETY: the caller's.
    let status = unsafe { (context.table().cuMemcpyDtoDAsync_v2)(to.0, from.0, len, raw) };
    context.check("cuMemcpyDtoDAsync", status)
}

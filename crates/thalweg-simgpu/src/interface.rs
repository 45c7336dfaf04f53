//! The interface of the stand-in driver to other stand-ins in this library.
//!
//! The stand-in for TensorRT asks the driver for everything here, and in no other way: to count its
//! calls, to report errors, to allocate, to check accesses of the host, and to enqueue work in
//! streams.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use crate::config::TensorRt;
use crate::kernel::{KernelFunction, KernelLaunch, MemoryAccess};
use crate::memory::BlockKind;
use crate::objects::StreamKind;
use crate::simulator::{Call, Rules, SIMULATOR, part_of_call};
use crate::status::{CallResult, Status, fail};
use crate::work::{Body, Fill};

pub(crate) use crate::clock::Timestamp;
pub(crate) use crate::report::{ReportKind, Site};

/// The result of a request to the driver. The error is a `CUresult`.
pub(crate) type DriverResult<T = ()> = Result<T, u32>;

/// A call of a function of another stand-in, as the driver has counted it.
pub(crate) struct CountedCall {
    /// The function, and the number of the call.
    pub(crate) site: Arc<Site>,
    /// The error with which a plan of faults has the call fail.
    pub(crate) injected: Option<u32>,
    /// The generation of the driver's state: the number of its resets.
    pub(crate) generation: u64,
}

/// Counts a call of a function of another stand-in.
pub(crate) fn count_call(function: &str) -> CountedCall {
    SIMULATOR.start();
    let mut driver = SIMULATOR.lock();
    CountedCall {
        site: driver.host_site(function),
        injected: driver.faults.call(function),
        generation: driver.generation,
    }
}

/// The simulated machine, as far as other stand-ins depend on it.
pub(crate) struct Machine {
    /// The version of TensorRT that is emulated.
    pub(crate) tensorrt: TensorRt,
    /// The number of devices.
    pub(crate) devices: usize,
    /// The compute capability of each device.
    pub(crate) capability: (i32, i32),
}

/// The simulated machine.
pub(crate) fn machine() -> Machine {
    let driver = SIMULATOR.lock();
    Machine {
        tensorrt: driver.config.tensorrt,
        devices: driver.devices.len(),
        capability: driver.config.capability,
    }
}

/// Reports an error that another stand-in found.
pub(crate) fn report(kind: ReportKind, message: String, sites: Vec<Site>) {
    SIMULATOR.lock().reports.add(kind, message, sites);
}

/// The entry of an object of another stand-in in the driver's list of leaks.
pub(crate) struct ObjectEntry {
    /// The generation of the driver's state to which it belongs.
    pub(crate) generation: u64,
    /// The name of the object in reports.
    pub(crate) label: String,
    number: u64,
}

/// Adds an object that is a leak unless it is removed.
pub(crate) fn add_object(class: &str, site: &Arc<Site>) -> ObjectEntry {
    let mut driver = SIMULATOR.lock();
    let (number, label) = driver.foreign.add(class, site);
    ObjectEntry {
        generation: driver.generation,
        label,
        number,
    }
}

/// Removes an object. Returns false for an object of an earlier generation, which is gone already.
pub(crate) fn remove_object(entry: &ObjectEntry) -> bool {
    let mut driver = SIMULATOR.lock();
    let current = driver.generation == entry.generation;
    if current {
        driver.foreign.remove(entry.number);
    }
    current
}

/// The device of the current context.
pub(crate) fn current_device(site: &Arc<Site>) -> DriverResult<usize> {
    request(site, Rules::ALWAYS, |call| call.device())
}

/// The bytes of a device that are not in use.
pub(crate) fn free_memory(device: usize) -> u64 {
    let driver = SIMULATOR.lock();
    let arena = driver.memory.arenas.get(device);
    arena.map_or(0, |arena| arena.len() - arena.used())
}

/// Allocates memory of the current device. Counts as a call of `cuMemAlloc`.
pub(crate) fn allocate(site: &Arc<Site>, bytes: u64) -> DriverResult<u64> {
    request(site, Rules::CONTEXT.unsafe_in_capture(), |call| {
        count(call, "cuMemAlloc")?;
        let (context, site) = (call.context()?, call.site.clone());
        call.allocate(context, bytes, &site)
    })
}

/// Frees memory, after all work of its device.
pub(crate) fn free(site: &Arc<Site>, address: u64) {
    // The memory is freed even after an error, as by the destructors of the real TensorRT.
    let _ = request(site, Rules::ALWAYS, |call| {
        let block = call.memory.starting_at(address);
        let block = block.and_then(|id| call.memory.block(id));
        if let Some(BlockKind::Device { device, .. }) = block.map(|block| &block.kind) {
            let device = *device;
            call.wait_for_device(device);
        }
        let site = call.site.clone();
        call.free_now(address, &site, false)
    });
}

/// Checks a read by the host, as `simgpu_host_access` does.
pub(crate) fn host_read(address: u64, len: usize) {
    SIMULATOR.host_access(address, len, false);
}

/// Returns true if the host has waited for a piece of work.
pub(crate) fn is_known(work: &Timestamp) -> bool {
    SIMULATOR.is_known(work)
}

/// Creates a non-blocking stream of the current context.
pub(crate) fn create_stream(site: &Arc<Site>) -> DriverResult<u64> {
    request(site, Rules::CONTEXT, |call| {
        let context = call.context()?;
        call.create_stream(context, StreamKind::Created, 1, 0)
    })
}

/// Destroys a stream.
pub(crate) fn destroy_stream(site: &Arc<Site>, stream: u64) {
    let _ = request(site, Rules::ALWAYS, |call| {
        let site = call.site.clone();
        call.destroy_stream(stream, &site)
    });
}

/// Uses the streams of the current context. Nothing else changes the driver's state meanwhile,
/// except during waits.
pub(crate) fn with_streams<T>(
    site: &Arc<Site>,
    body: impl FnOnce(&mut Streams<'_>) -> DriverResult<T>,
) -> DriverResult<T> {
    request(site, Rules::CONTEXT, |call| {
        body(&mut Streams { call }).map_err(Status)
    })
}

/// The streams of the current context, within one call of another stand-in.
pub(crate) struct Streams<'a> {
    call: &'a mut Call,
}

/// The ends of work in other streams, for a stream to join.
#[derive(Default)]
pub(crate) struct Branches {
    ends: Vec<Timestamp>,
    /// The last node of each branch, in a capture.
    nodes: Vec<usize>,
}

/// The memory of the device, as a kernel of another stand-in reaches it: by copies.
pub(crate) struct DeviceMemory<'a> {
    access: MemoryAccess<'a>,
}

impl Streams<'_> {
    /// The stream of a handle, which may mean a default stream.
    pub(crate) fn resolve(&mut self, handle: u64) -> DriverResult<u64> {
        self.call.stream(handle).map_err(code)
    }

    /// Fails if a stream is not of a device.
    pub(crate) fn check_device(&self, stream: u64, device: usize) -> DriverResult {
        match self.call.streams.get(stream) {
            Ok(stream) if stream.device == device => Ok(()),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE as u32),
        }
    }

    /// Fails if a stream is captured, and then invalidates the capture: the host is about to wait
    /// for the stream.
    pub(crate) fn forbid_capture(&mut self, stream: u64) -> DriverResult {
        let Some(capture) = self.call.valid_capture(stream).map_err(code)? else {
            return Ok(());
        };
        self.call.captures[capture].invalid = true;
        fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED).map_err(code)
    }

    /// Fills memory with a byte in the order of a stream. Counts as a call of `cuMemcpyHtoDAsync`.
    /// Returns the end of the work, or `None` if it was captured.
    pub(crate) fn upload_byte(
        &mut self,
        stream: u64,
        name: &str,
        byte: u8,
        address: u64,
        len: u64,
    ) -> DriverResult<Option<Timestamp>> {
        count(self.call, "cuMemcpyHtoDAsync").map_err(code)?;
        let fill = Body::Fill(Fill {
            address,
            pattern: vec![byte],
            pitch: len,
            width: len,
            height: 1,
        });
        self.call.submit(stream, name, fill).map_err(code)
    }

    /// Launches a kernel, whose code returns false if it fails. Counts as a call of
    /// `cuLaunchKernel`. Returns the end of the work, or `None` if it was captured.
    pub(crate) fn launch(
        &mut self,
        stream: u64,
        name: &str,
        kernel: impl Fn(&DeviceMemory<'_>) -> bool + Send + Sync + 'static,
    ) -> DriverResult<Option<Timestamp>> {
        count(self.call, "cuLaunchKernel").map_err(code)?;
        let body = kernel_body(name, kernel);
        self.call.submit(stream, name, body).map_err(code)
    }

    /// Launches a kernel in another stream, after `begun`, or, in a capture, after what `stream` has
    /// captured. Counts as a call of `cuLaunchKernel`.
    pub(crate) fn branch(
        &mut self,
        stream: u64,
        other: u64,
        begun: &[Timestamp],
        name: &str,
        kernel: impl Fn(&DeviceMemory<'_>) -> bool + Send + Sync + 'static,
        branches: &mut Branches,
    ) -> DriverResult {
        let call = &mut *self.call;
        let branch = || {
            let other = call.stream(other)?;
            count(call, "cuLaunchKernel")?;
            let body = kernel_body(name, kernel);
            match call.valid_capture(stream)? {
                Some(capture) => {
                    let before = call.capture_dependencies(capture, stream);
                    call.set_capture_dependencies(capture, other, before);
                    call.capture_node(capture, other, name, body)?;
                    let nodes = call.capture_dependencies(capture, other);
                    branches.nodes.extend(nodes);
                }
                None => branches.ends.push(call.enqueue(other, name, body, begun)?),
            }
            Ok(())
        };
        branch().map_err(code)
    }

    /// Has a stream wait for branches. Returns the end of the work, or `None` if it was captured.
    pub(crate) fn join(
        &mut self,
        stream: u64,
        branches: Branches,
    ) -> DriverResult<Option<Timestamp>> {
        let Branches { ends, mut nodes } = branches;
        if let Some(capture) = self.call.valid_capture(stream).map_err(code)? {
            nodes.extend(self.call.capture_dependencies(capture, stream));
            self.call.set_capture_dependencies(capture, stream, nodes);
            return Ok(None);
        }
        let end = self.call.enqueue(stream, "join", Body::Marker, &ends);
        end.map(Some).map_err(code)
    }

    /// Records an event of the caller in a stream.
    pub(crate) fn record_event(&mut self, event: u64, stream: u64) -> DriverResult {
        let site = self.call.site.clone();
        self.call.check_event(event, &site).map_err(code)?;
        let recorded = self.call.record_event(event, stream, &site.name, false);
        recorded.map_err(code)
    }

    /// Has the host wait for work. Counts as a call of `cuStreamSynchronize`.
    pub(crate) fn wait_for(&mut self, work: &[Timestamp]) -> DriverResult {
        count(self.call, "cuStreamSynchronize").map_err(code)?;
        self.call.wait_for(work);
        Ok(())
    }
}

impl DeviceMemory<'_> {
    /// Reads memory.
    ///
    /// # Errors
    /// If the kernel may not, in words.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Vec<u8>, String> {
        if len == 0 {
            return Ok(Vec::new());
        }
        match (self.access)(address, len, false) {
            Some(span) => Ok(span.to_vec()),
            None => Err(format!("cannot reach {len} bytes at {address:#x}")),
        }
    }

    /// Writes memory.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        if bytes.is_empty() {
            return Ok(());
        }
        let len = bytes.len();
        match (self.access)(address, len as u64, true) {
            Some(span) => {
                span.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(format!("cannot reach {len} bytes at {address:#x}")),
        }
    }
}

/// A request as a part of a call that was counted.
fn request<T>(
    site: &Arc<Site>,
    rules: Rules,
    body: impl FnOnce(&mut Call) -> CallResult<T>,
) -> DriverResult<T> {
    part_of_call(site, rules, body).map_err(code)
}

fn code(Status(code): Status) -> u32 {
    code
}

/// Counts a call of a function of the driver, and has it fail if a plan of faults says so.
fn count(call: &mut Call, function: &str) -> CallResult {
    match call.faults.call(function) {
        Some(code) => Err(Status(code)),
        None => Ok(()),
    }
}

fn kernel_body(
    name: &str,
    kernel: impl Fn(&DeviceMemory<'_>) -> bool + Send + Sync + 'static,
) -> Body {
    let kernel = move |access: MemoryAccess<'_>| kernel(&DeviceMemory { access });
    Body::Kernel(Arc::new(KernelLaunch {
        name: name.into(),
        function: Some(KernelFunction::native(kernel)),
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        parameters: Vec::new(),
        offsets: Vec::new(),
    }))
}

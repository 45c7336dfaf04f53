//! `IExecutionContext`, which runs an engine.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use thalweg_core::{DeviceAddress, Result, StreamHandle, bail};

use super::callbacks::OutputAllocator;
use super::engine::Engine;
use super::layout::ContextMethods;
use super::object::Object;
use super::types::Shape;
use crate::log;

/// An `IExecutionContext` of an engine. The engine's device must be current for all methods.
///
/// Before a context is changed or dropped, all work that it has enqueued must be complete. Callers see
/// to that.
pub(crate) struct Context {
    object: Object,
    engine: Arc<Engine>,
}

// SAFETY: a context may be used on any thread, by one at a time.
unsafe impl Send for Context {}

impl Context {
    /// Creates a context without scratch memory of its own.
    pub(crate) fn new(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self {
            object: engine.create_context()?,
            engine: engine.clone(),
        })
    }

    fn methods(&self) -> &'static ContextMethods {
        &self.object.api().layout.context
    }

    /// Sets the optimization profile, before anything else is set. TensorRT may enqueue copies for it
    /// on the stream.
    pub(crate) fn set_profile(&mut self, profile: i32, stream: StreamHandle) -> Result<()> {
        let methods = self.methods();
        let current = self.object.method(&methods.profile)?;
        let set = self.object.method(&methods.set_profile)?;
        // SAFETY: it takes nothing.
        if unsafe { current(self.object.this()) } == profile {
            return Ok(());
        }
        log::begin();
        // SAFETY: the stream is the one of the call.
        let set = unsafe { set(self.object.this(), profile, pointer(stream)) };
        log::check_status(set, || format!("setOptimizationProfileAsync({profile})"))
    }

    /// Sets the shape of an input.
    pub(crate) fn set_input_shape(&mut self, name: &CStr, shape: &Shape) -> Result<()> {
        let set = self.object.method(&self.methods().set_input_shape)?;
        log::begin();
        // SAFETY: the name ends with a zero, and the shape is read in the call.
        let set = unsafe { set(self.object.this(), name.as_ptr(), &raw const *shape) };
        log::check_status(set, || {
            format!("setInputShape({}, {shape:?})", name.to_string_lossy())
        })
    }

    /// Infers the shapes of outputs, and the values of shape tensors on the host.
    pub(crate) fn infer_shapes(&mut self) -> Result<()> {
        let infer = self.object.method(&self.methods().infer_shapes)?;
        log::begin();
        // SAFETY: no room for names is given, and TensorRT is told so.
        match unsafe { infer(self.object.this(), 0, std::ptr::null_mut()) } {
            0 => Ok(()),
            count @ 1.. => Err(log::failed(&format!(
                "inferShapes (with {count} inputs whose shapes are not set)"
            ))),
            _ => Err(log::failed("inferShapes")),
        }
    }

    /// The shape of a tensor, with -1 for sizes that do not follow from the inputs' shapes.
    pub(crate) fn shape(&self, name: &CStr) -> Result<Shape> {
        let shape = self.object.method(&self.methods().shape)?;
        log::begin();
        // SAFETY: the name ends with a zero.
        let shape = unsafe { shape(self.object.this(), name.as_ptr()) };
        shape.checked(|| format!("getTensorShape({})", name.to_string_lossy()))
    }

    /// Sets the device address of a tensor, until it is set again or the context is dropped. The
    /// context's work reads or writes the memory there.
    pub(crate) fn bind(&mut self, name: &CStr, address: DeviceAddress) -> Result<()> {
        let address = std::ptr::with_exposed_provenance_mut(address.0 as usize);
        // SAFETY: an address of the device, which the host does not touch. That it is memory of the
        // call follows from where the instance has it from.
        unsafe { self.set_address(name, address) }
    }

    /// Sets the host address of a tensor, until it is set again or the context is dropped.
    ///
    /// Until then, the caller keeps the values, in memory that does not move.
    pub(crate) fn bind_host(&mut self, name: &CStr, values: &mut [u64]) -> Result<()> {
        // SAFETY: as said above.
        unsafe { self.set_address(name, values.as_mut_ptr().cast()) }
    }

    /// # Safety
    /// The address is the tensor's for as long as it is bound.
    unsafe fn set_address(&mut self, name: &CStr, address: *mut c_void) -> Result<()> {
        let set = self.object.method(&self.methods().set_address)?;
        log::begin();
        // SAFETY: the name ends with a zero; the address is the caller's.
        let set = unsafe { set(self.object.this(), name.as_ptr(), address) };
        log::check_status(set, || {
            format!("setTensorAddress({}, {address:p})", name.to_string_lossy())
        })
    }

    /// Sets the allocator of an output, for as long as the context lives.
    pub(crate) fn set_output_allocator(
        &mut self,
        name: &CStr,
        allocator: &mut OutputAllocator,
    ) -> Result<()> {
        let set = self.object.method(&self.methods().set_output_allocator)?;
        log::begin();
        // SAFETY: the name ends with a zero; the allocator has the table that this version calls,
        // and is kept beside the context, which is dropped first.
        let set = unsafe { set(self.object.this(), name.as_ptr(), allocator.pointer()) };
        log::check_status(set, || {
            format!("setOutputAllocator({})", name.to_string_lossy())
        })
    }

    /// The scratch that the current shapes need, in bytes. `most` is the scratch that the profile needs
    /// at most; it is not zero.
    ///
    /// TensorRT returns zero if it does not know, and logs the reason. TensorRT 10.6 also returns zero,
    /// and logs nothing, for an engine of elementwise operators whose profile needs 512 bytes. Such an
    /// engine gets what the profile needs, because a context that is given no scratch keeps what it had.
    ///
    /// # Errors
    /// If TensorRT logs an error.
    pub(crate) fn scratch_for_shapes(&mut self, most: usize) -> Result<usize> {
        let update = self.object.method(&self.methods().update_memory_size)?;
        log::begin();
        // SAFETY: it takes nothing.
        match unsafe { update(self.object.this()) } {
            0 => log::check("updateDeviceMemorySizeForShapes").map(|()| most),
            bytes => Ok(bytes),
        }
    }

    /// Sets the scratch memory. Whenever work runs that is enqueued with it, the memory must be there,
    /// and no other work may use it.
    pub(crate) fn set_scratch(&mut self, address: DeviceAddress, len: usize) -> Result<()> {
        if address.0 == 0 || len == 0 {
            // TensorRT would keep what it had, and say nothing.
            bail!(Internal, "a context is given no scratch");
        }
        let methods = self.methods();
        let memory = std::ptr::with_exposed_provenance_mut(address.0 as usize);
        log::begin();
        if self.object.has(&methods.set_memory_v2) {
            let set = self.object.method(&methods.set_memory_v2)?;
            let Ok(len) = i64::try_from(len) else {
                bail!(OutOfMemory, "scratch of {len} bytes");
            };
            // SAFETY: an address of the device, for so many bytes.
            unsafe { set(self.object.this(), memory, len) };
        } else {
            let set = self.object.method(&methods.set_memory)?;
            // SAFETY: as above; TensorRT was asked how much it needs.
            unsafe { set(self.object.this(), memory) };
        }
        // The method returns nothing. It only logs.
        log::check(&format!("setDeviceMemory of {len} bytes"))
    }

    /// Enqueues the engine's work on a stream. After an error, a part of the work may be enqueued.
    pub(crate) fn enqueue(&mut self, stream: StreamHandle) -> Result<()> {
        let enqueue = self.object.method(&self.methods().enqueue)?;
        log::begin();
        // SAFETY: the stream is the one of the call; all that the work uses is the call's or the
        // instance's.
        match unsafe { enqueue(self.object.this(), pointer(stream)) } {
            0 => Err(log::failed("enqueueV3")),
            _ => Ok(()),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // In a context that is lost it is destroyed all the same.
        let _current = self.engine.device().enter();
        let object = &mut self.object;
        // SAFETY: this is its last use. Nothing that it has enqueued runs any more, see `Context`.
        self.engine.exclusively(|| unsafe { object.delete() });
    }
}

fn pointer(stream: StreamHandle) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(stream.0)
}

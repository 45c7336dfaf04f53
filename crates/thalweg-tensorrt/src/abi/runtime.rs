//! `IRuntime`, which deserializes engines.

use std::sync::Arc;

use thalweg_core::Result;
use thalweg_cuda::Device;

use super::callbacks::{StreamReader, logger};
use super::layout::RuntimeMethods;
use super::library::Library;
use super::object::Object;
use crate::log;

/// An `IRuntime`. One thread at a time deserializes engines with it.
pub(crate) struct Runtime {
    object: Object,
    library: Arc<Library>,
    /// The device that is current when the object is created and destroyed.
    device: Device,
}

// SAFETY: a runtime may be used on any thread, by one at a time. The backend lends it to one; engines
// only keep it alive.
unsafe impl Send for Runtime {}
// SAFETY: as above.
unsafe impl Sync for Runtime {}

impl Runtime {
    /// Creates a runtime. `host_code`: engines may run code of their own on the host.
    ///
    /// # Errors
    /// If TensorRT cannot, with what it logs.
    pub(crate) fn new(library: &Arc<Library>, device: &Device, host_code: bool) -> Result<Self> {
        let _current = device.enter()?;
        log::begin();
        let logger = logger(library.api.layout.logger);
        // SAFETY: the logger has the table that this version calls, and lives as long as the
        // process; the number is the library's own version, so that it finds what it expects.
        let pointer = unsafe { (library.create_runtime)(logger, library.number) };
        // SAFETY: the function returns an `IRuntime` that is ours, or nothing.
        let object = unsafe { Object::returned(library.api, pointer, "createInferRuntime") }?;
        // From here on, dropping it destroys it.
        let runtime = Self {
            object,
            library: library.clone(),
            device: device.clone(),
        };
        if host_code {
            let allow = runtime.object.method(&runtime.methods().allow_host_code)?;
            // SAFETY: nobody else has the runtime yet.
            unsafe { allow(runtime.object.this(), 1) };
        }
        Ok(runtime)
    }

    fn methods(&self) -> &'static RuntimeMethods {
        &self.object.api().layout.runtime
    }

    /// The library.
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Deserializes an `ICudaEngine` from bytes in memory. The device must be current.
    ///
    /// # Errors
    /// If TensorRT refuses the engine, with what it logs.
    pub(super) fn deserialize(&self, engine: &[u8]) -> Result<Object> {
        let deserialize = self.object.method(&self.methods().deserialize)?;
        log::begin();
        // SAFETY: the bytes are borrowed for the call, and TensorRT keeps nothing of them.
        let pointer =
            unsafe { deserialize(self.object.this(), engine.as_ptr().cast(), engine.len()) };
        // SAFETY: the method returns an `ICudaEngine` that is ours, or nothing.
        unsafe { Object::returned(*self.object.api(), pointer, ENGINE) }
    }

    /// Deserializes an `ICudaEngine` that TensorRT reads piece by piece. TensorRT then makes no second
    /// copy of weights that stay on the host.
    ///
    /// # Errors
    /// As for [`Runtime::deserialize`].
    pub(super) fn deserialize_by_reading(&self, device: &Device, engine: &[u8]) -> Result<Object> {
        let methods = self.methods();
        let with_seek = self.object.has(&methods.deserialize_stream_v2);
        let method = match with_seek {
            true => &methods.deserialize_stream_v2,
            false => &methods.deserialize_stream,
        };
        let deserialize = self.object.method(method)?;
        let mut reader = StreamReader::new(device, engine);
        let reader = match with_seek {
            true => reader.as_second_version(),
            false => reader.as_first_version(),
        };
        log::begin();
        // SAFETY: the reader has the table that this method calls, and it and the bytes are
        // borrowed for the call.
        let pointer = unsafe { deserialize(self.object.this(), reader) };
        // SAFETY: the method returns an `ICudaEngine` that is ours, or nothing.
        unsafe { Object::returned(*self.object.api(), pointer, ENGINE) }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // In a context that is lost it is destroyed all the same.
        let _current = self.device.enter();
        // SAFETY: engines hold the runtime, so that none is left.
        unsafe { self.object.delete() };
    }
}

/// The method that returns engines, as errors name it.
const ENGINE: &str = "deserializeCudaEngine";

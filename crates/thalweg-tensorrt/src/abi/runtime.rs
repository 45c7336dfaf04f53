//! `IRuntime`: what engines are made with.

use std::sync::Arc;

use thalweg_core::Result;
use thalweg_cuda::Device;

use super::callbacks::{StreamReader, logger};
use super::engine::Engine;
use super::library::Library;
use super::object::Object;
use crate::log;

/// A runtime of TensorRT. Engines are made with it by one thread at a time.
pub(crate) struct Runtime {
    object: Object,
    library: Arc<Library>,
    /// The device that was current when it was made, and will be when it goes.
    device: Device,
}

// SAFETY: a runtime may be used on any thread, by one at a time. The backend lends it to one; engines
// only keep it alive.
unsafe impl Send for Runtime {}
// SAFETY: as above.
unsafe impl Sync for Runtime {}

impl Runtime {
    /// Makes a runtime. With `host_code`, engines may bring code for the host.
    ///
    /// # Errors
    /// If TensorRT cannot, with what it says.
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
            let methods = &runtime.object.api().layout.runtime;
            let allow = runtime.object.method(&methods.allow_host_code)?;
            // SAFETY: nobody else has the runtime yet.
            unsafe { allow(runtime.object.this(), 1) };
        }
        Ok(runtime)
    }

    /// The library.
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Makes an engine of its bytes, which TensorRT copies what it needs of. The device must be
    /// current.
    ///
    /// # Errors
    /// If TensorRT refuses it, with what it says.
    pub(crate) fn deserialize(self: &Arc<Self>, device: &Device, engine: &[u8]) -> Result<Engine> {
        let methods = &self.object.api().layout.runtime;
        let deserialize = self.object.method(&methods.deserialize)?;
        log::begin();
        // SAFETY: the bytes are borrowed for the call, and TensorRT keeps nothing of them.
        let pointer =
            unsafe { deserialize(self.object.this(), engine.as_ptr().cast(), engine.len()) };
        // SAFETY: the method returns an `ICudaEngine` that is ours, or nothing.
        unsafe { Engine::returned(self, device, pointer) }
    }

    /// As [`Runtime::deserialize`], by letting TensorRT read the bytes piece by piece, so that it has
    /// no second copy of weights that stay on the host.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn deserialize_by_reading(
        self: &Arc<Self>,
        device: &Device,
        engine: &[u8],
    ) -> Result<Engine> {
        let methods = &self.object.api().layout.runtime;
        let with_seek = self.object.has(&methods.deserialize_stream_v2);
        let method = if with_seek {
            &methods.deserialize_stream_v2
        } else {
            &methods.deserialize_stream
        };
        let deserialize = self.object.method(method)?;
        let mut reader = StreamReader::new(device, engine);
        let pointer = if with_seek {
            reader.as_second_version()
        } else {
            reader.as_first_version()
        };
        log::begin();
        // SAFETY: the reader has the table that this method calls, and it and the bytes are
        // borrowed for the call.
        let pointer = unsafe { deserialize(self.object.this(), pointer) };
        // SAFETY: the method returns an `ICudaEngine` that is ours, or nothing.
        unsafe { Engine::returned(self, device, pointer) }
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

//! Compiled libraries on devices.

use std::sync::Arc;

use thalweg_core::{Result, SharedBytes};
use thalweg_cuda::{Driver, Stream};

use crate::abi::{ContainerFunctions, Modules, Session, load};
use crate::device::DeviceResources;
use crate::loader::{Library, System};

/// A compiled library that is loaded for one device. All delegates that name it share it.
pub(crate) struct CompiledLibrary {
    pub(crate) functions: ContainerFunctions,
    pub(crate) resources: Arc<DeviceResources>,
    /// A function of the driver that it imports and that is not watched for stream capture, if there is
    /// one.
    pub(crate) unwatched: Option<String>,
    modules: Modules,
    /// The bytes that the library was loaded from. Kept, since their address identifies it.
    _bytes: SharedBytes,
    /// Dropped last: the functions point into it.
    _library: Library,
}

impl CompiledLibrary {
    /// Loads a library. Its code runs in this process.
    ///
    /// # Errors
    /// If it is damaged, or imports missing symbols.
    pub(crate) fn load(
        bytes: SharedBytes,
        resources: Arc<DeviceResources>,
        system: &System,
        driver: &Driver,
    ) -> Result<Self> {
        let (library, unwatched) = load(&bytes, system, driver)?;
        Ok(Self {
            functions: ContainerFunctions::of(&library)?,
            resources,
            unwatched,
            modules: Modules::default(),
            _bytes: bytes,
            _library: library,
        })
    }

    /// A session for calls of the library on a stream.
    pub(crate) fn session<'c>(&'c self, stream: &'c Stream) -> Result<Session<'c>> {
        let resources = &self.resources;
        Session::new(
            &resources.device,
            &resources.driver,
            &self.modules,
            &resources.kernels,
            &resources.pool,
            stream,
        )
    }
}

impl Drop for CompiledLibrary {
    /// All work of the library is complete: its users have waited for it.
    fn drop(&mut self) {
        let device = &self.resources.device;
        // A call that failed once may succeed the second time.
        match device.enter().or_else(|_| device.enter()) {
            Ok(_current) => self.modules.unload(&self.resources.driver),
            // The context is lost, and everything in it.
            Err(error) => tracing::debug!("code of a compiled library is not unloaded: {error}"),
        }
    }
}

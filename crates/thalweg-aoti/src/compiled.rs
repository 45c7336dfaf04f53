//! A compiled library on a device, shared by all delegates that name it.

use std::sync::Arc;

use thalweg_core::{Payload as Bytes, Result};
use thalweg_cuda::{Driver, Stream};

use crate::abi::{Functions, Modules, Session, load};
use crate::backend::OnDevice;
use crate::loader::{Library, System};

/// A library that is loaded.
pub(crate) struct Compiled {
    pub(crate) functions: Functions,
    pub(crate) on: Arc<OnDevice>,
    /// What it calls of the driver without anybody seeing it, if that may matter for graphs.
    pub(crate) unseen: Option<String>,
    modules: Modules,
    /// Where the library came from. While this lives, no other lies there.
    _bytes: Bytes,
    /// Goes last: everything else points into it.
    _library: Library,
}

impl Compiled {
    /// Loads a library. Its code runs in this process.
    pub(crate) fn load(
        bytes: Bytes,
        on: Arc<OnDevice>,
        system: &System,
        driver: &Driver,
    ) -> Result<Self> {
        let (library, unseen) = load(&bytes, system, driver)?;
        Ok(Self {
            functions: Functions::of(&library)?,
            on,
            unseen,
            modules: Modules::default(),
            _bytes: bytes,
            _library: library,
        })
    }

    /// Begins to call the library, with what it does on a stream.
    pub(crate) fn session<'c>(&'c self, stream: &'c Stream) -> Result<Session<'c>> {
        let on = &self.on;
        let (device, table) = (&on.device, &on.table);
        Session::new(
            device,
            table,
            &self.modules,
            &on.operators,
            &on.pool,
            stream,
        )
    }
}

impl Drop for Compiled {
    /// Whoever had the library has waited for what it did.
    fn drop(&mut self) {
        let device = &self.on.device;
        // What fails once may work the second time.
        match device.enter().or_else(|_| device.enter()) {
            Ok(_current) => self.modules.unload(&self.on.table),
            // What was in the context is gone.
            Err(error) => tracing::debug!("code of a compiled library is not unloaded: {error}"),
        }
    }
}

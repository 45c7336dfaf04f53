//! The GPU modules that are embedded in a library.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;

use super::driver::{CuResult, DriverTable, RawHandle, error};
use crate::sync::lock;

/// The loaded modules of one library on one device, by the address of their images in the library.
///
/// Each container of a library would load them again, and none unloads them.
#[derive(Default)]
pub(crate) struct Modules(Mutex<HashMap<usize, usize>>);

impl Modules {
    /// The module of an image, loaded on first use if `may_load` allows it. The device is current.
    pub(super) fn load(
        &self,
        driver: &DriverTable,
        image: *const c_void,
        may_load: impl FnOnce() -> bool,
    ) -> Result<RawHandle, CuResult> {
        if image.is_null() {
            return Err(error::INVALID_VALUE);
        }
        let mut modules = lock(&self.0);
        if let Some(module) = modules.get(&image.addr()) {
            return Ok(ptr::with_exposed_provenance_mut(*module));
        }
        if !may_load() {
            return Err(error::STREAM_CAPTURE_UNSUPPORTED);
        }
        let mut module = ptr::null_mut();
        // SAFETY: the image is one that the library gives to the driver, and the driver writes the
        // handle.
        match unsafe { (driver.module_load)(&raw mut module, image) } {
            0 => {
                modules.insert(image.addr(), module.expose_provenance());
                Ok(module)
            }
            code => Err(code),
        }
    }

    /// Unloads all modules. The device is current, and no kernel of them runs any more.
    pub(crate) fn unload(&self, driver: &DriverTable) {
        for (_, module) in lock(&self.0).drain() {
            // SAFETY: each was loaded once, and is unloaded once.
            let code = unsafe { (driver.module_unload)(ptr::with_exposed_provenance_mut(module)) };
            if code != 0 {
                let error = driver.error("cuModuleUnload", code);
                tracing::warn!("code of a compiled library stays loaded: {error}");
            }
        }
    }
}

//! The code for devices that is in a library.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::driver::{Code, INVALID_VALUE, NOT_IN_A_CAPTURE, Table};
use super::session::Session;

/// The modules of one library on one device, by the place of their images in the library.
///
/// Each container of a library would load them anew, and none unloads them.
#[derive(Default)]
pub(crate) struct Modules(Mutex<HashMap<usize, usize>>);

impl Modules {
    /// The module of an image, loaded when it is first asked for. The device is current.
    pub(super) fn load(
        &self,
        session: &Session<'_>,
        image: *const c_void,
    ) -> Result<*mut c_void, Code> {
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        let mut modules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&image.addr()) {
            return Ok(ptr::with_exposed_provenance_mut(*module));
        }
        if !session.may_do("cuModuleLoadData") {
            return Err(NOT_IN_A_CAPTURE);
        }
        let driver = session.driver;
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

    /// Unloads all of them. The device is current, and nothing of them runs any more.
    pub(crate) fn unload(&self, driver: &Table) {
        let mut modules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, module) in modules.drain() {
            // SAFETY: each was loaded once, and is unloaded once.
            let code = unsafe { (driver.module_unload)(ptr::with_exposed_provenance_mut(module)) };
            if code != 0 {
                let error = driver.error("cuModuleUnload", code);
                tracing::warn!("code of a compiled library stays loaded: {error}");
            }
        }
    }
}

//! This crate's own kernels on a device.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Mutex;

use thalweg_core::{Result, ensure};
use thalweg_cuda::Device;

use super::driver::DriverTable;
use crate::sync::lock;

/// The loaded kernels of one device, and the state of its random number generator. All libraries on
/// the device share them.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    loaded: Mutex<LoadedKernels>,
    /// The key of the random number generator.
    seed: u64,
}

/// Handles and addresses of the driver.
#[derive(Debug, Default)]
struct LoadedKernels {
    modules: HashMap<&'static str, usize>,
    functions: HashMap<&'static CStr, usize>,
    /// The address of the random number generator's counter.
    counter: Option<u64>,
}

/// A PTX file of this crate's folder `kernels`.
#[derive(Debug)]
pub(super) struct PtxFile {
    pub(super) name: &'static str,
    /// The text, which ends with a zero byte.
    pub(super) ptx: &'static str,
    /// The dynamic shared memory that its kernels may use, in bytes, if it exceeds the default limit.
    pub(super) max_shared: Option<i32>,
}

/// A PTX file by name, embedded in the crate.
macro_rules! ptx_file {
    ($name:literal, $max_shared:expr) => {
        $crate::abi::kernels::PtxFile {
            name: $name,
            ptx: concat!(include_str!(concat!("../../../kernels/", $name)), "\0"),
            max_shared: $max_shared,
        }
    };
}
pub(super) use ptx_file;

/// The compute capability that the PTX requires: tensor cores with bf16, and asynchronous copies to
/// shared memory.
const MIN_CAPABILITY: (i32, i32) = (8, 0);

impl Kernels {
    /// An empty set of kernels, and a random number generator with this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// The key of the random number generator.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The driver's handle of a kernel. `before_loading` is called before a module is loaded, and can
    /// refuse it.
    pub(super) fn function(
        &self,
        driver: &DriverTable,
        device: &Device,
        file: &'static PtxFile,
        kernel: &'static CStr,
        before_loading: impl FnOnce() -> Result<()>,
    ) -> Result<usize> {
        let mut loaded = lock(&self.loaded);
        if let Some(function) = loaded.functions.get(kernel) {
            return Ok(*function);
        }
        let has = device.compute_capability();
        ensure!(
            has >= MIN_CAPABILITY,
            Unsupported,
            "this needs a GPU of compute capability {}.{} or later, and {} has {}.{}",
            MIN_CAPABILITY.0,
            MIN_CAPABILITY.1,
            device.name(),
            has.0,
            has.1
        );
        let module = match loaded.modules.get(file.name) {
            Some(module) => *module,
            None => {
                before_loading()?;
                let module = file.load(driver)?;
                loaded.modules.insert(file.name, module);
                module
            }
        };
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a zero, and the driver writes the handle.
        let code = unsafe {
            let module = ptr::with_exposed_provenance_mut(module);
            (driver.module_function)(&raw mut function, module, kernel.as_ptr())
        };
        driver.check("cuModuleGetFunction", code)?;
        if let Some(max_shared) = file.max_shared {
            /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
            const MAX_DYNAMIC_SHARED: c_int = 8;
            // SAFETY: the function is there.
            let code =
                unsafe { (driver.function_attribute)(function, MAX_DYNAMIC_SHARED, max_shared) };
            driver.check("cuFuncSetAttribute", code)?;
        }
        let function = function.expose_provenance();
        loaded.functions.insert(kernel, function);
        Ok(function)
    }

    /// The address of the random number generator's counter, which `create` allocates on first use.
    pub(super) fn counter(&self, create: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let mut loaded = lock(&self.loaded);
        if let Some(counter) = loaded.counter {
            return Ok(counter);
        }
        let counter = create()?;
        loaded.counter = Some(counter);
        Ok(counter)
    }

    /// Unloads and frees everything. The device is current, and nothing of it is used any more.
    pub(crate) fn unload(&self, driver: &DriverTable) {
        let loaded = std::mem::take(&mut *lock(&self.loaded));
        for (name, module) in loaded.modules {
            // SAFETY: each was loaded once, and is unloaded once.
            let code = unsafe { (driver.module_unload)(ptr::with_exposed_provenance_mut(module)) };
            if code != 0 {
                let error = driver.error("cuModuleUnload", code);
                tracing::warn!("`{name}` stays loaded: {error}");
            }
        }
        if let Some(counter) = loaded.counter {
            free_counter(driver, counter);
        }
    }
}

impl PtxFile {
    /// Loads the file, and returns the driver's handle of the module.
    fn load(&self, driver: &DriverTable) -> Result<usize> {
        let mut module = ptr::null_mut();
        // SAFETY: the PTX ends with a zero, and the driver writes the handle.
        let code = unsafe { (driver.module_load)(&raw mut module, self.ptx.as_ptr().cast()) };
        driver.check("cuModuleLoadData", code)?;
        Ok(module.expose_provenance())
    }
}

/// Frees the random number generator's counter.
pub(super) fn free_counter(driver: &DriverTable, address: u64) {
    // SAFETY: it was allocated once, is freed once, and nobody uses it.
    let code = unsafe { (driver.mem_free)(address) };
    if code != 0 {
        let error = driver.error("cuMemFree", code);
        tracing::warn!("the counter of random numbers stays: {error}");
    }
}

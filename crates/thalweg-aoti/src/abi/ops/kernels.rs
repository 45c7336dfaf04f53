//! The kernels of this crate on a device: loaded when they are first needed, launched on the stream of
//! the call.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_core::{Result, ensure};

use super::super::driver::Table;
use super::super::session::Session;

/// What these operators have on one device, for all libraries.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    loaded: Mutex<Loaded>,
    /// What random numbers follow from, with the counter.
    seed: u64,
}

/// Handles and addresses of the driver's.
#[derive(Debug, Default)]
struct Loaded {
    modules: HashMap<&'static str, usize>,
    functions: HashMap<&'static CStr, usize>,
    /// The address of the counter of random numbers.
    counter: Option<u64>,
}

/// PTX, by the name of its file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    /// It ends with a zero.
    pub(super) ptx: &'static str,
}

/// A file of this crate's folder `kernels`.
macro_rules! file {
    ($name:literal) => {
        $crate::abi::ops::kernels::File {
            name: $name,
            ptx: concat!(include_str!(concat!("../../../kernels/", $name)), "\0"),
        }
    };
}
pub(super) use file;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// Blocks, in two directions.
    pub(super) grid: [u32; 2],
    pub(super) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
}

impl Launch {
    /// For kernels that go over so many elements in steps of all their threads.
    pub(super) fn over(elements: u64) -> Self {
        /// More than this many blocks are not on a device at once.
        const MOST_BLOCKS: u64 = 4096;
        Self {
            grid: [elements.div_ceil(256).clamp(1, MOST_BLOCKS) as u32, 1],
            threads: 256,
            shared: 0,
        }
    }
}

/// What the kernels' PTX is for: tensor cores that multiply bf16, and copies to shared memory that do
/// not wait.
const OLDEST: (i32, i32) = (8, 0);

impl Operators {
    /// Nothing is loaded yet. Random numbers follow from the seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Launches a kernel on the stream of a call. Each argument is a word whose first bytes are the value
    /// that the kernel takes.
    ///
    /// # Safety
    /// The arguments are those that the kernel has. What they point to is there, as large as the kernel
    /// takes it to be, until the stream has come past the launch.
    pub(super) unsafe fn launch(
        &self,
        session: &Session<'_>,
        file: &'static File,
        kernel: &'static CStr,
        launch: Launch,
        arguments: &[u64],
    ) -> Result<()> {
        let function = self.function(session, file, kernel)?;
        let mut parameters: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| ptr::from_ref(argument).cast_mut().cast())
            .collect();
        session.enqueues();
        let ([x, y], threads) = (launch.grid, launch.threads);
        // SAFETY: the arguments are the caller's; the driver copies them before it returns. The
        // function is there as long as this.
        let code = unsafe {
            (session.driver.launch_kernel)(
                ptr::with_exposed_provenance_mut(function),
                x,
                y,
                1,
                threads,
                1,
                1,
                launch.shared,
                session.raw_stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        session.driver.check("cuLaunchKernel", code)
    }

    /// A kernel's handle.
    fn function(
        &self,
        session: &Session<'_>,
        file: &'static File,
        kernel: &'static CStr,
    ) -> Result<usize> {
        let mut loaded = self.lock();
        if let Some(function) = loaded.functions.get(kernel) {
            return Ok(*function);
        }
        let (device, driver) = (session.device, session.driver);
        let has = device.compute_capability();
        ensure!(
            has >= OLDEST,
            Unsupported,
            "this needs a GPU of compute capability {}.{} or later, and {} has {}.{}",
            OLDEST.0,
            OLDEST.1,
            device.name(),
            has.0,
            has.1
        );
        let module = match loaded.modules.get(file.name) {
            Some(module) => *module,
            None => {
                session.not_in_graphs("cuModuleLoadData")?;
                let mut module = ptr::null_mut();
                // SAFETY: the PTX ends with a zero, and the driver writes the handle.
                let code =
                    unsafe { (driver.module_load)(&raw mut module, file.ptx.as_ptr().cast()) };
                driver.check("cuModuleLoadData", code)?;
                let module = module.expose_provenance();
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
        if file.needs_shared_memory() {
            /// The driver's attribute for the most dynamic shared memory.
            const MOST_SHARED: c_int = 8;
            // SAFETY: the function is there.
            let code = unsafe {
                (driver.function_attribute)(function, MOST_SHARED, super::products::MOST_SHARED)
            };
            driver.check("cuFuncSetAttribute", code)?;
        }
        let function = function.expose_provenance();
        loaded.functions.insert(kernel, function);
        Ok(function)
    }

    /// The address of the counter of random numbers. When it is first needed, the host waits for it once.
    pub(super) fn counter(&self, session: &Session<'_>) -> Result<u64> {
        let mut loaded = self.lock();
        if let Some(counter) = loaded.counter {
            return Ok(counter);
        }
        session.not_in_graphs("cuMemAlloc")?;
        let driver = session.driver;
        let mut counter = 0;
        // SAFETY: the driver writes the address; the device is current.
        let code = unsafe { (driver.mem_alloc)(&raw mut counter, size_of::<u64>()) };
        driver.check("cuMemAlloc", code)?;
        // Other streams use it, too.
        // SAFETY: so much memory is there, and nobody knows of it yet.
        let code =
            unsafe { (driver.memset_async)(counter, 0, size_of::<u64>(), session.raw_stream) };
        let zeroed = driver
            .check("cuMemsetD8Async", code)
            .and_then(|()| session.wait());
        if let Err(error) = zeroed {
            free(driver, counter);
            return Err(error);
        }
        loaded.counter = Some(counter);
        Ok(counter)
    }

    /// Unloads and frees all of it. The device is current, and nothing of it is used any more.
    pub(crate) fn unload(&self, driver: &Table) {
        let loaded = std::mem::take(&mut *self.lock());
        for (name, module) in loaded.modules {
            // SAFETY: each was loaded once, and is unloaded once.
            let code = unsafe { (driver.module_unload)(ptr::with_exposed_provenance_mut(module)) };
            if code != 0 {
                let error = driver.error("cuModuleUnload", code);
                tracing::warn!("`{name}` stays loaded: {error}");
            }
        }
        if let Some(counter) = loaded.counter {
            free(driver, counter);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    /// Whether its kernels are launched with more dynamic shared memory than all kernels may have.
    fn needs_shared_memory(&self) -> bool {
        self.name.starts_with("products")
    }
}

fn free(driver: &Table, address: u64) {
    // SAFETY: it was allocated once, is freed once, and nobody uses it.
    let code = unsafe { (driver.mem_free)(address) };
    if code != 0 {
        let error = driver.error("cuMemFree", code);
        tracing::warn!("the counter of random numbers stays: {error}");
    }
}

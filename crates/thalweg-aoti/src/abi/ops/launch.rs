//! Launches of this crate's kernels on the stream of a call.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::ffi::{CStr, c_void};
use std::ptr;

use thalweg_core::Result;

use super::super::kernels::{PtxFile, free_counter};
use super::super::session::Session;

/// The launch configuration of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaunchConfig {
    /// Blocks, in x and y.
    pub(super) grid: [u32; 2],
    /// Threads of a block.
    pub(super) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
}

impl LaunchConfig {
    /// The configuration of a grid-stride loop over elements.
    pub(super) fn grid_stride(elements: u64) -> Self {
        /// More blocks than this are not resident on a device at once.
        const MAX_BLOCKS: u64 = 4096;
        Self {
            grid: [elements.div_ceil(256).clamp(1, MAX_BLOCKS) as u32, 1],
            threads: 256,
            shared: 0,
        }
    }
}

impl Session<'_> {
    /// Launches a kernel on the call's stream. Each argument is a word whose first bytes are the value
    /// of the parameter.
    ///
    /// # Safety
    /// The arguments are those that the kernel has. What they point to is there, as large as the kernel
    /// takes it to be, until the stream has passed the launch.
    pub(super) unsafe fn launch(
        &self,
        file: &'static PtxFile,
        kernel: &'static CStr,
        config: LaunchConfig,
        arguments: &[u64],
    ) -> Result<()> {
        let before_loading = || self.not_capturable("cuModuleLoadData");
        let (driver, device) = (self.driver, self.device);
        let kernels = self.kernels;
        let function = kernels.function(driver, device, file, kernel, before_loading)?;
        let mut parameters: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| ptr::from_ref(argument).cast_mut().cast())
            .collect();
        self.mark_enqueued();
        let [x, y] = config.grid;
        // SAFETY: the arguments are the caller's; the driver copies them before it returns. The
        // function is there as long as the kernels.
        let code = unsafe {
            (driver.launch_kernel)(
                ptr::with_exposed_provenance_mut(function),
                x,
                y,
                1,
                config.threads,
                1,
                1,
                config.shared,
                self.raw_stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        driver.check("cuLaunchKernel", code)
    }

    /// The address of the random number generator's counter. On first use the host waits once for its
    /// initialization.
    pub(super) fn random_counter(&self) -> Result<u64> {
        self.kernels.counter(|| {
            self.not_capturable("cuMemAlloc")?;
            let driver = self.driver;
            let mut counter = 0;
            // SAFETY: the driver writes the address; the device is current.
            let code = unsafe { (driver.mem_alloc)(&raw mut counter, size_of::<u64>()) };
            driver.check("cuMemAlloc", code)?;
            // Other streams use it, too, so the host waits.
            // SAFETY: so much memory is there, and nobody knows of it yet.
            let code =
                unsafe { (driver.memset_async)(counter, 0, size_of::<u64>(), self.raw_stream) };
            let zeroed = driver
                .check("cuMemsetD8Async", code)
                .and_then(|()| self.wait());
            if let Err(error) = zeroed {
                free_counter(driver, counter);
                return Err(error);
            }
            Ok(counter)
        })
    }
}

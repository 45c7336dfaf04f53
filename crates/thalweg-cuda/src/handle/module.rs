//! Handles of modules and their kernels.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUmodule};
use thalweg_core::{Error, ErrorKind, Result};

use super::context::Context;
use super::stream::StreamHandle;
use crate::sys::Status;

/// The handle of a loaded module.
pub(crate) struct ModuleHandle {
    context: Arc<Context>,
    raw: CUmodule,
}

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for ModuleHandle {}
// SAFETY: as above.
unsafe impl Sync for ModuleHandle {}

/// The handle of a kernel, whose module lives longer.
#[derive(Clone, Copy)]
pub(crate) struct FunctionHandle(CUfunction);

// SAFETY: as above.
unsafe impl Send for FunctionHandle {}
// SAFETY: as above.
unsafe impl Sync for FunctionHandle {}

/// The shape of a kernel's launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks, in each direction.
    pub grid: [u32; 3],
    /// Threads of a block, in each direction.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_memory: u32,
}

impl Launch {
    /// One thread for each of `count` elements, in blocks of 256.
    pub fn for_elements(count: u32) -> Self {
        Self {
            grid: [count.div_ceil(256).max(1), 1, 1],
            block: [256, 1, 1],
            shared_memory: 0,
        }
    }
}

impl ModuleHandle {
    /// # Safety
    /// The image is a whole cubin, fat binary or PTX, the last with a zero byte at its end: the
    /// driver is not told its length.
    pub(crate) unsafe fn load(context: &Arc<Context>, image: &[u8]) -> Result<Self> {
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the caller's; the driver writes the module.
        let status =
            unsafe { (context.table().cuModuleLoadData)(&raw mut raw, image.as_ptr().cast()) };
        context.check("cuModuleLoadData", status)?;
        Ok(Self {
            context: context.clone(),
            raw,
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn function(&self, name: &str) -> Result<FunctionHandle> {
        let context = &self.context;
        let missing = || {
            Error::new(
                ErrorKind::Missing,
                format!("the module has no kernel `{name}`"),
            )
        };
        let zero_terminated = CString::new(name).map_err(|_| missing())?;
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module is alive, the name ends with a zero, and the driver writes the kernel.
        let status = unsafe {
            (context.table().cuModuleGetFunction)(&raw mut raw, self.raw, zero_terminated.as_ptr())
        };
        if status == Status::NOT_FOUND {
            return Err(missing());
        }
        context.check("cuModuleGetFunction", status)?;
        Ok(FunctionHandle(raw))
    }

    /// Lets a kernel of this module use more dynamic shared memory than 48 KiB.
    pub(crate) fn allow_shared_memory(&self, function: FunctionHandle, bytes: u32) -> Result<()> {
        /// The driver's attribute for it.
        const MAX_DYNAMIC_SHARED_SIZE: c_int = 8;
        let context = &self.context;
        let _managing = context.manage()?;
        // SAFETY: the kernel lives as long as this module.
        let status = unsafe {
            (context.table().cuFuncSetAttribute)(
                function.0,
                MAX_DYNAMIC_SHARED_SIZE,
                bytes as c_int,
            )
        };
        context.check("cuFuncSetAttribute", status)
    }

    /// # Safety
    /// The parameters point to values of the types that the kernel has, the kernel may do what it
    /// does, and what it uses stays alive until it has.
    pub(crate) unsafe fn launch(
        &self,
        function: FunctionHandle,
        launch: &Launch,
        parameters: &mut [*mut c_void],
        stream: &StreamHandle,
    ) -> Result<()> {
        let stream = stream.raw()?;
        let context = &self.context;
        let [grid_x, grid_y, grid_z] = launch.grid;
        let [block_x, block_y, block_z] = launch.block;
        // SAFETY: the caller's; the driver copies the values before it returns.
        let status = unsafe {
            (context.table().cuLaunchKernel)(
                function.0,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                launch.shared_memory,
                stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        context.check("cuLaunchKernel", status)
    }
}

impl Drop for ModuleHandle {
    fn drop(&mut self) {
        let context = &self.context;
        context.destroy("cuModuleUnload", || {
            // SAFETY: nobody else has the module, and its kernels are not running.
            unsafe { (context.table().cuModuleUnload)(self.raw) }
        });
    }
}

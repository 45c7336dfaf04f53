//! Code for a device, and its kernels.

use std::sync::Arc;

use thalweg_core::Result;

use crate::buffer::{DeviceSlice, PinnedSlice};
use crate::handle::{FunctionHandle, ModuleHandle};
use crate::order::{Operand, Uses};

/// Loaded code; see [`Module::load`]. It is unloaded when it, its kernels and their launches are
/// gone.
#[derive(Clone)]
pub struct Module(Arc<ModuleBlock>);

pub(crate) struct ModuleBlock {
    /// There, unless a kernel of it may run forever.
    handle: Option<ModuleHandle>,
    uses: Uses,
}

impl Module {
    pub(crate) fn of(handle: ModuleHandle) -> Self {
        Self(Arc::new(ModuleBlock {
            handle: Some(handle),
            uses: Uses::new(),
        }))
    }

    pub(crate) fn block(&self) -> &Arc<ModuleBlock> {
        &self.0
    }

    /// A kernel, by its name (of C++ functions, the mangled one).
    ///
    /// # Errors
    /// [`ErrorKind::Missing`](thalweg_core::ErrorKind::Missing) if there is none.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        Ok(Kernel {
            function: self.0.handle().function(name)?,
            module: self.clone(),
        })
    }
}

impl ModuleBlock {
    pub(crate) fn handle(&self) -> &ModuleHandle {
        self.handle.as_ref().expect("there until it is dropped")
    }
}

impl Operand for ModuleBlock {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for ModuleBlock {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        let over = matches!(self.uses.wait_until_over(), Ok(true))
            || matches!(self.uses.wait_until_over(), Ok(true))
            || handle.context().lost().is_some();
        if !over {
            tracing::warn!("code that may be running is never unloaded");
            std::mem::forget(handle);
        }
    }
}

/// A kernel; see [`Work::launch`](crate::Work::launch).
#[derive(Clone)]
pub struct Kernel {
    module: Module,
    function: FunctionHandle,
}

impl Kernel {
    /// The module that it is in.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Lets launches ask for up to so many bytes of dynamic shared memory, where more than 48 KiB
    /// are needed.
    ///
    /// # Errors
    /// If the device has less.
    pub fn allow_shared_memory(&self, bytes: u32) -> Result<()> {
        self.module
            .0
            .handle()
            .allow_shared_memory(self.function, bytes)
    }

    pub(crate) fn function(&self) -> FunctionHandle {
        self.function
    }
}

/// The most arguments that a kernel can have.
pub(crate) const MAX_ARGUMENTS: usize = 32;

/// An argument of a kernel.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// The address of device memory that the kernel reads.
    Read(DeviceSlice<'a>),
    /// The address of device memory that the kernel writes, and may read.
    Write(DeviceSlice<'a>),
    /// The address of pinned memory that the kernel reads.
    ReadPinned(PinnedSlice<'a>),
    /// The address of pinned memory that the kernel writes, and may read.
    WritePinned(PinnedSlice<'a>),
    /// A number.
    U32(u32),
    /// A number.
    I32(i32),
    /// A number, or an address.
    U64(u64),
    /// A number.
    I64(i64),
    /// A number.
    F32(f32),
    /// A number.
    F64(f64),
}

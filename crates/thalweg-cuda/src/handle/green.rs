//! Handles of green contexts.

use std::ffi::c_uint;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevResource, CUgreenCtx, CUstream};
use thalweg_core::{Result, ensure};

use super::context::Context;
use crate::result;

/// Multiprocessors, as a kind of resource.
const SM: i32 = 1;
/// Streams of a green context belong to it from the start, and must not block.
const DEFAULT_STREAM: c_uint = 1;
const NON_BLOCKING: c_uint = 1;

/// A green context: some multiprocessors of a device, over its primary context.
pub(crate) struct GreenContext {
    context: Arc<Context>,
    raw: CUgreenCtx,
    multiprocessors: u32,
}

// SAFETY: the driver's handles may be used on any thread, and its functions are thread-safe.
unsafe impl Send for GreenContext {}
// SAFETY: as above.
unsafe impl Sync for GreenContext {}

impl GreenContext {
    /// Takes at least so many multiprocessors, as the device can divide them.
    pub(crate) fn new(context: &Arc<Context>, multiprocessors: u32) -> Result<Self> {
        let table = context.table();
        let (Some(resource_of), Some(split), Some(describe), Some(create)) = (
            table.cuDeviceGetDevResource,
            table.cuDevSmResourceSplitByCount,
            table.cuDevResourceGenerateDesc,
            table.cuGreenCtxCreate,
        ) else {
            return Err(result::too_old(table, "cuGreenCtxCreate"));
        };
        if table.cuGreenCtxStreamCreate.is_none() {
            return Err(result::too_old(table, "cuGreenCtxStreamCreate"));
        }
        let _managing = context.manage()?;
        // SAFETY: zeros are a valid resource (of no kind); the driver overwrites it.
        let (mut whole, mut part): (CUdevResource, CUdevResource) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        // SAFETY: the driver writes the resource.
        let status = unsafe { resource_of(context.device(), &raw mut whole, SM) };
        context.check("cuDeviceGetDevResource", status)?;
        let mut groups: c_uint = 1;
        // SAFETY: there is room for one group, and what remains is not asked for.
        let status = unsafe {
            split(
                &raw mut part,
                &raw mut groups,
                &raw const whole,
                ptr::null_mut(),
                0,
                multiprocessors,
            )
        };
        context.check("cuDevSmResourceSplitByCount", status)?;
        ensure!(
            groups >= 1,
            InvalidOption,
            "the device has no part of {multiprocessors} multiprocessors"
        );
        let mut description = ptr::null_mut();
        // SAFETY: one resource is given, and the driver writes the description.
        let status = unsafe { describe(&raw mut description, &raw mut part, 1) };
        context.check("cuDevResourceGenerateDesc", status)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the description is of this device, and the driver writes the context.
        let status = unsafe { create(&raw mut raw, description, context.device(), DEFAULT_STREAM) };
        context.check("cuGreenCtxCreate", status)?;
        // SAFETY: the driver filled the part in as multiprocessors.
        let multiprocessors = unsafe { part.__bindgen_anon_1.sm.smCount };
        Ok(Self {
            context: context.clone(),
            raw,
            multiprocessors,
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    pub(super) fn create_stream(&self) -> Result<CUstream> {
        let context = &self.context;
        let Some(create) = context.table().cuGreenCtxStreamCreate else {
            return Err(result::too_old(context.table(), "cuGreenCtxStreamCreate"));
        };
        let _managing = context.manage()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the green context is alive, and the driver writes the stream.
        let status = unsafe { create(&raw mut raw, self.raw, NON_BLOCKING, 0) };
        context.check("cuGreenCtxStreamCreate", status)?;
        Ok(raw)
    }
}

impl Drop for GreenContext {
    fn drop(&mut self) {
        let context = &self.context;
        if let Some(destroy) = context.table().cuGreenCtxDestroy {
            // SAFETY: its streams are gone, and nobody else has it.
            context.destroy("cuGreenCtxDestroy", || unsafe { destroy(self.raw) });
        }
    }
}

//! Kernel launches.

use std::ffi::c_uint;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::argument::In;
use super::entry;
use crate::kernel::{self, KernelLaunch};
use crate::objects::MAX_SHARED;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};
use crate::work::Body;

/// The grid, the block, and the shared memory of a launch.
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared_bytes: u32,
}

impl Call {
    /// Reads the arguments of a launch, and checks its shape.
    pub(super) fn kernel_call(
        &mut self,
        function: u64,
        shape: &Shape,
        parameters: In<u64>,
        extra: In<u64>,
    ) -> CallResult<KernelLaunch> {
        self.check_function(function)?;
        let known = self.functions.get(function)?;
        let name = known.name.clone();
        let shared = known
            .attributes
            .get(&MAX_SHARED)
            .copied()
            .unwrap_or(48 << 10);
        let threads = shape.block.iter().map(|&n| u64::from(n)).product::<u64>();
        let fits = shape.grid.iter().all(|&n| n > 0)
            && shape.grid[1].max(shape.grid[2]) <= 65535
            && (1..=1024).contains(&threads)
            && shape.block[2] <= 64
            && u64::from(shape.shared_bytes) <= shared.max(0) as u64;
        if !fits {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let registered = kernel::registered(&name);
        let mut bytes = Vec::new();
        let mut offsets = Vec::new();
        if let Some(registered) = &registered {
            let layout = registered.parameters();
            offsets.extend(layout.iter().map(|(start, _)| *start));
            if !extra.is_null() {
                bytes = read_buffer(extra)?;
                let needed = layout.last().map_or(0, |(start, len)| start + len);
                if bytes.len() < needed {
                    return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
            } else {
                for (index, (start, len)) in layout.into_iter().enumerate() {
                    let value = In::<u8>(parameters.nth(index)? as *const u8).bytes(len)?;
                    bytes.resize(start, 0);
                    bytes.extend(value);
                }
            }
        }
        Ok(KernelLaunch {
            name,
            function: registered,
            grid: shape.grid,
            block: shape.block,
            shared_bytes: shape.shared_bytes,
            parameters: bytes,
            offsets,
        })
    }

    fn launch(
        &mut self,
        function: u64,
        shape: &Shape,
        stream: u64,
        parameters: In<u64>,
        extra: In<u64>,
    ) -> CallResult {
        let stream = self.stream(stream)?;
        let call = self.kernel_call(function, shape, parameters, extra)?;
        let context = self
            .modules
            .get(self.functions.get(function)?.module)?
            .context;
        let device = self.streams.get(stream)?.device;
        let other = self
            .contexts
            .get(context)
            .is_ok_and(|context| context.device != device);
        let library = self
            .modules
            .get(self.functions.get(function)?.module)?
            .library;
        if other && !library {
            return fail(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let name = call.name.clone();
        self.submit(stream, &name, Body::Kernel(Arc::new(call)))?;
        Ok(())
    }
}

/// Reads arguments that come as one buffer: a list of keys and values has its address and its size.
fn read_buffer(list: In<u64>) -> CallResult<Vec<u8>> {
    let (mut start, mut len) = (0, 0);
    for index in (0..8).step_by(2) {
        match list.nth(index)? {
            0 => break,
            1 => start = list.nth(index + 1)?,
            2 => len = In::<usize>(list.nth(index + 1)? as *const usize).get()?,
            _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
    In::<u8>(start as *const u8).bytes(len)
}

entry! {
    /// Launches a kernel.
    fn cuLaunchKernel / cuLaunchKernel_ptsz (
        function: u64,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: u64,
        parameters: In<u64>,
        extra: In<u64>,
    ), Rules::CONTEXT, |call| {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes,
        };
        call.launch(function, &shape, stream, parameters, extra)
    }
}

entry! {
    /// Launches a cooperative kernel.
    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz (
        function: u64,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: u64,
        parameters: In<u64>,
    ), Rules::CONTEXT, |call| {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes,
        };
        call.launch(function, &shape, stream, parameters, In(std::ptr::null()))
    }
}

/// `CUlaunchConfig`, with numbers where the bindings have pointers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: u64,
    attributes: u64,
    attribute_count: u32,
}

const _: () =
    assert!(size_of::<LaunchConfig>() == size_of::<cudarc::driver::sys::CUlaunchConfig>());

entry! {
    /// Launches a kernel. Its attributes have no effect.
    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz (config: In<LaunchConfig>, function: u64, parameters: In<u64>, extra: In<u64>), Rules::CONTEXT, |call| {
        let config = config.get()?;
        let shape = Shape {
            grid: config.grid,
            block: config.block,
            shared_bytes: config.shared_bytes,
        };
        call.launch(function, &shape, config.stream, parameters, extra)
    }
}

//! Functions: their names, parameters and attributes, and their occupancy.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::kernel;
use crate::objects::MAX_SHARED;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

/// The names of kernels that callers were given. They stay for the life of the process.
static NAMES: Mutex<Vec<Arc<[u8]>>> = Mutex::new(Vec::new());

fn kernel_name(call: &mut Call, out: Out<*const c_char>, function: u64) -> CallResult {
    call.check_function(function)?;
    let name = &call.functions.get(function)?.name;
    let text: Arc<[u8]> = name.bytes().chain([0]).collect();
    let mut names = NAMES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = match names.iter().find(|known| **known == text) {
        Some(known) => known.clone(),
        None => {
            names.push(text.clone());
            text
        }
    };
    out.set(text.as_ptr().cast())
}

entry! {
    /// The name of a function.
    fn cuFuncGetName(name: Out<*const c_char>, function: u64), Rules::DRIVER, |call| {
        kernel_name(call, name, function)
    }
}

entry! {
    /// The name of a kernel.
    fn cuKernelGetName(name: Out<*const c_char>, kernel: u64), Rules::DRIVER, |call| {
        kernel_name(call, name, kernel)
    }
}

fn parameter(
    call: &mut Call,
    function: u64,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> CallResult {
    call.check_function(function)?;
    let name = call.functions.get(function)?.name.clone();
    let Some(known) = kernel::registered(&name) else {
        return fail(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    };
    match known.parameters().get(index) {
        Some((start, len)) => {
            offset.set(*start)?;
            size.set_if_wanted(*len);
            Ok(())
        }
        None => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

entry! {
    /// The offset and the size of a parameter of a function.
    fn cuFuncGetParamInfo(function: u64, index: usize, offset: Out<usize>, size: Out<usize>), Rules::DRIVER, |call| {
        parameter(call, function, index, offset, size)
    }
}

entry! {
    /// The offset and the size of a parameter of a kernel.
    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: Out<usize>, size: Out<usize>), Rules::DRIVER, |call| {
        parameter(call, kernel, index, offset, size)
    }
}

/// The largest dynamic shared memory that a kernel may opt in to.
const SHARED_OPT_IN: c_int = 227 << 10;

fn attribute(call: &mut Call, value: Out<c_int>, attribute: c_int, function: u64) -> CallResult {
    call.check_function(function)?;
    let function = call.functions.get(function)?;
    let known = function.attributes.get(&attribute).copied();
    value.set(known.unwrap_or(match attribute {
        0 => 1024,   // threads per block
        4 => 32,     // registers
        5 | 6 => 90, // versions of code
        MAX_SHARED => 48 << 10,
        9 => -1, // preferred carveout
        _ => 0,
    }))
}

fn set_attribute(call: &mut Call, attribute: c_int, value: c_int, function: u64) -> CallResult {
    call.check_function(function)?;
    match attribute {
        MAX_SHARED if !(0..=SHARED_OPT_IN).contains(&value) => {
            fail(CUresult::CUDA_ERROR_INVALID_VALUE)
        }
        8..=16 => {
            let function = call.functions.get_mut(function)?;
            function.attributes.insert(attribute, value);
            Ok(())
        }
        _ => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

entry! {
    /// An attribute of a function.
    fn cuFuncGetAttribute(value: Out<c_int>, name: c_int, function: u64), Rules::CONTEXT, |call| {
        attribute(call, value, name, function)
    }
}

entry! {
    /// Sets an attribute of a function.
    fn cuFuncSetAttribute(function: u64, name: c_int, value: c_int), Rules::CONTEXT, |call| {
        set_attribute(call, name, value, function)
    }
}

entry! {
    /// An attribute of a kernel.
    fn cuKernelGetAttribute(value: Out<c_int>, name: c_int, kernel: u64, _device: c_int), Rules::DRIVER, |call| {
        attribute(call, value, name, kernel)
    }
}

entry! {
    /// Sets an attribute of a kernel.
    fn cuKernelSetAttribute(name: c_int, value: c_int, kernel: u64, _device: c_int), Rules::DRIVER, |call| {
        set_attribute(call, name, value, kernel)
    }
}

entry! {
    /// Sets the preference of cache or shared memory. It has no effect.
    fn cuFuncSetCacheConfig(function: u64, _config: c_uint), Rules::CONTEXT, |call| {
        call.check_function(function)
    }
}

entry! {
    /// Sets the preference of cache or shared memory. It has no effect.
    fn cuKernelSetCacheConfig(kernel: u64, _config: c_uint, _device: c_int), Rules::DRIVER, |call| {
        call.check_function(kernel)
    }
}

entry! {
    /// Loads a function. Functions are always loaded.
    fn cuFuncLoad(function: u64), Rules::DRIVER, |call| call.check_function(function)
}

entry! {
    /// 1 for a loaded function. Functions are always loaded.
    fn cuFuncIsLoaded(state: Out<c_uint>, function: u64), Rules::DRIVER, |call| {
        call.check_function(function)?;
        state.set(1)
    }
}

fn blocks(call: &mut Call, count: Out<c_int>, function: u64, threads: c_int) -> CallResult {
    call.check_function(function)?;
    if threads <= 0 {
        return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    count.set((2048 / threads).min(32))
}

entry! {
    /// The number of blocks of a kernel that a multiprocessor holds.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: Out<c_int>, function: u64, threads: c_int, _shared: usize), Rules::CONTEXT, |call| {
        blocks(call, count, function, threads)
    }
}

entry! {
    /// The number of blocks of a kernel that a multiprocessor holds.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: Out<c_int>, function: u64, threads: c_int, _shared: usize, _flags: c_uint), Rules::CONTEXT, |call| {
        blocks(call, count, function, threads)
    }
}

entry! {
    /// The grid and the block that fill a device.
    fn cuOccupancyMaxPotentialBlockSize(grid: Out<c_int>, block: Out<c_int>, function: u64, _sizes: In<c_void>, _shared: usize, limit: c_int), Rules::CONTEXT, |call| {
        call.check_function(function)?;
        let threads = if limit > 0 { limit.min(1024) } else { 1024 };
        block.set(threads)?;
        grid.set(call.config.multiprocessors as c_int * (2048 / threads))
    }
}

entry! {
    /// The dynamic shared memory that a block may have.
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: u64, _blocks: c_int, _threads: c_int), Rules::CONTEXT, |call| {
        call.check_function(function)?;
        bytes.set(SHARED_OPT_IN as usize)
    }
}

//! Modules, libraries and kernels.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out, Text};
use super::entry;
use crate::kernel;
use crate::objects::{MAX_SHARED, Module, parse_image, parse_ptx};
use crate::simulator::{Call, Rules};
use crate::status::{Answer, fail};

/// The text of an image: for the stand-in, or PTX. `None` for code for real devices.
fn read_image(image: In<u8>) -> Answer<Option<String>> {
    let first = image.get()?;
    let is_text = first.is_ascii_graphic() || first.is_ascii_whitespace();
    // PTX starts with a comment or a directive.
    let known = matches!(first, b'/' | b'.' | b's') || first.is_ascii_whitespace();
    if !is_text || !known {
        return Ok(None);
    }
    Text(image.0.cast()).get().map(Some)
}

impl Call {
    fn load(&mut self, image: In<u8>, library: bool) -> Answer<u64> {
        // A library is of all devices; what it needs of one it takes from the current.
        let context = if library {
            self.context().unwrap_or(0)
        } else {
            self.context()?
        };
        let context = self.owning_context(context);
        let text = read_image(image)?;
        let Some(text) = text else {
            return Ok(self.modules.insert(Module::new(context, None, library)));
        };
        let (kernels, variables) = match parse_image(&text) {
            Some(parts) => parts,
            None if text.contains(".version") => (parse_ptx(&text), Vec::new()),
            None => return fail(CUresult::CUDA_ERROR_INVALID_IMAGE),
        };
        let mut module = Module::new(context, Some(kernels), library);
        let site = self.site.clone();
        for (name, len) in variables {
            let address = self.allocate(context, len, &site)?;
            module.globals.insert(name, (address, len));
        }
        Ok(self.modules.insert(module))
    }

    fn check_module(&mut self, module: u64) -> Answer {
        match self.modules.get(module) {
            Ok(_) => Ok(()),
            Err(why) => {
                let site = self.site.clone();
                Err(self.report_invalid_handle("module", module, why, &site))
            }
        }
    }

    pub(super) fn check_function(&mut self, function: u64) -> Answer {
        match self.functions.get(function) {
            Ok(_) => Ok(()),
            Err(why) => {
                let site = self.site.clone();
                Err(self.report_invalid_handle("kernel", function, why, &site))
            }
        }
    }

    /// Unloads a module, after all work of its device.
    fn end_module(&mut self, module: u64) -> Answer {
        self.check_module(module)?;
        let context = self.modules.get(module)?.context;
        if let Ok(device) = self.contexts.get(context).map(|context| context.device) {
            self.wait_for_device(device);
        }
        let site = self.site.clone();
        self.unload(module, &site)
    }

    fn global(&mut self, module: u64, name: &str, pointer: Out<u64>, bytes: Out<usize>) -> Answer {
        self.check_module(module)?;
        match self.modules.get(module)?.globals.get(name) {
            Some((address, len)) => {
                pointer.set_if_wanted(*address);
                bytes.set_if_wanted(*len as usize);
                Ok(())
            }
            None => fail(CUresult::CUDA_ERROR_NOT_FOUND),
        }
    }
}

entry! {
    /// Loads an image.
    fn cuModuleLoadData(module: Out<u64>, image: In<u8>), Rules::CONTEXT, |call| {
        if module.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = call.load(image, false)?;
        module.set(handle)
    }
}

entry! {
    /// Loads an image. The options have no effect.
    fn cuModuleLoadDataEx(module: Out<u64>, image: In<u8>, _count: c_uint, _options: In<u32>, _values: In<u64>), Rules::CONTEXT, |call| {
        if module.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = call.load(image, false)?;
        module.set(handle)
    }
}

entry! {
    /// Loads an image with code for several kinds of devices.
    fn cuModuleLoadFatBinary(module: Out<u64>, image: In<u8>), Rules::CONTEXT, |call| {
        if module.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = call.load(image, false)?;
        module.set(handle)
    }
}

entry! {
    /// Unloads a module.
    fn cuModuleUnload(module: u64), Rules::CONTEXT.unsafe_in_capture().releases(), |call| call.end_module(module)
}

entry! {
    /// A kernel of a module.
    fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text), Rules::CONTEXT, |call| {
        call.check_module(module)?;
        let handle = call.function(module, &name.get()?)?;
        function.set(handle)
    }
}

entry! {
    /// The number of kernels of a module.
    fn cuModuleGetFunctionCount(count: Out<c_uint>, module: u64), Rules::CONTEXT, |call| {
        call.check_module(module)?;
        let names = call.modules.get(module)?.names.as_ref().map_or(0, Vec::len);
        count.set(names as c_uint)
    }
}

entry! {
    /// A variable of a module.
    fn cuModuleGetGlobal_v2(pointer: Out<u64>, bytes: Out<usize>, module: u64, name: Text), Rules::CONTEXT, |call| {
        call.global(module, &name.get()?, pointer, bytes)
    }
}

entry! {
    /// The loading mode: eager.
    fn cuModuleGetLoadingMode(mode: Out<c_uint>), Rules::DRIVER, |_call| mode.set(1)
}

entry! {
    /// Loads an image for all devices.
    fn cuLibraryLoadData(
        library: Out<u64>,
        image: In<u8>,
        _jit_options: In<u32>,
        _jit_values: In<u64>,
        _jit_count: c_uint,
        _options: In<u32>,
        _values: In<u64>,
        _count: c_uint,
    ), Rules::DRIVER, |call| {
        if library.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = call.load(image, true)?;
        library.set(handle)
    }
}

entry! {
    /// Unloads a library.
    fn cuLibraryUnload(library: u64), Rules::DRIVER.releases(), |call| call.end_module(library)
}

entry! {
    /// A kernel of a library.
    fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text), Rules::DRIVER, |call| {
        call.check_module(library)?;
        let handle = call.function(library, &name.get()?)?;
        kernel.set(handle)
    }
}

entry! {
    /// A library as a module of the current context: the same handle.
    fn cuLibraryGetModule(module: Out<u64>, library: u64), Rules::CONTEXT, |call| {
        call.check_module(library)?;
        module.set(library)
    }
}

entry! {
    /// The number of kernels of a library.
    fn cuLibraryGetKernelCount(count: Out<c_uint>, library: u64), Rules::DRIVER, |call| {
        call.check_module(library)?;
        let names = call.modules.get(library)?.names.as_ref().map_or(0, Vec::len);
        count.set(names as c_uint)
    }
}

entry! {
    /// A variable of a library.
    fn cuLibraryGetGlobal(pointer: Out<u64>, bytes: Out<usize>, library: u64, name: Text), Rules::CONTEXT, |call| {
        call.global(library, &name.get()?, pointer, bytes)
    }
}

entry! {
    /// A kernel as a function of the current context: the same handle.
    fn cuKernelGetFunction(function: Out<u64>, kernel: u64), Rules::CONTEXT, |call| {
        call.check_function(kernel)?;
        function.set(kernel)
    }
}

entry! {
    /// The library of a kernel.
    fn cuKernelGetLibrary(library: Out<u64>, kernel: u64), Rules::DRIVER, |call| {
        call.check_function(kernel)?;
        library.set(call.functions.get(kernel)?.module)
    }
}

entry! {
    /// The module of a function.
    fn cuFuncGetModule(module: Out<u64>, function: u64), Rules::DRIVER, |call| {
        call.check_function(function)?;
        module.set(call.functions.get(function)?.module)
    }
}

/// The names of kernels that callers were given. They stay for the life of the process.
static NAMES: Mutex<Vec<Arc<[u8]>>> = Mutex::new(Vec::new());

fn kernel_name(call: &mut Call, out: Out<*const c_char>, function: u64) -> Answer {
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
) -> Answer {
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

fn attribute(call: &mut Call, value: Out<c_int>, attribute: c_int, function: u64) -> Answer {
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

fn set_attribute(call: &mut Call, attribute: c_int, value: c_int, function: u64) -> Answer {
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

fn blocks(call: &mut Call, count: Out<c_int>, function: u64, threads: c_int) -> Answer {
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

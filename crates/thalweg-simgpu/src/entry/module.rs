//! Modules and libraries.

use std::ffi::c_uint;

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out, Text};
use super::entry;
use crate::objects::{Module, parse_image, parse_ptx};
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

/// The text of an image: for the stand-in, or PTX. `None` for code for real devices.
fn read_image(image: In<u8>) -> CallResult<Option<String>> {
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
    fn load(&mut self, image: In<u8>, library: bool) -> CallResult<u64> {
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

    fn check_module(&mut self, module: u64) -> CallResult {
        let found = self.modules.get(module).map(drop);
        self.check_handle("module", module, found)
    }

    pub(super) fn check_function(&mut self, function: u64) -> CallResult {
        let found = self.functions.get(function).map(drop);
        self.check_handle("kernel", function, found)
    }

    /// Unloads a module, after all work of its device.
    fn end_module(&mut self, module: u64) -> CallResult {
        self.check_module(module)?;
        let context = self.modules.get(module)?.context;
        if let Ok(device) = self.contexts.get(context).map(|context| context.device) {
            self.wait_for_device(device);
        }
        let site = self.site.clone();
        self.unload(module, &site)
    }

    fn global(
        &mut self,
        module: u64,
        name: &str,
        pointer: Out<u64>,
        bytes: Out<usize>,
    ) -> CallResult {
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

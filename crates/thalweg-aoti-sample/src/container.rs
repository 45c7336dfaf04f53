//! The functions of a model container, as AOTInductor exports them.
#![allow(
    unreachable_pub,
    non_snake_case,
    reason = "those who load the library find the functions by their names"
)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::imports::*;
use crate::{COUNT, KEEPS, MAGIC, NO_KERNEL, Recipe, TWICE, UNSUPPORTED, VARIES, WAITS, WEIGHT};

/// What tests write over.
#[used]
static RECIPE: Recipe = Recipe {
    magic: MAGIC,
    scale: 1.0,
    shift: 0.0,
    inputs: 1,
    parts: 0,
    weight_len: 0,
};

/// Code for the stand-in of the driver: the names of kernels.
static IMAGE: &CStr = c"simgpu\naffine\nadd\nadd_row\nadd_one\nadd_first\ncopy\n";

/// As AOTInductor's numbers have it.
const PARAMETER: i32 = 1;
const BUFFER: i32 = 2;

struct Container {
    recipe: Recipe,
    device: i32,
    module: *mut c_void,
    weight: Tensor,
    count: Tensor,
    /// Memory for constants that came as one blob.
    blob: *mut c_void,
    has_run: bool,
    runs: u32,
    kept: Option<Owned>,
}

/// A failure of something that was called.
struct Failed;

fn check(code: i32) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err(Failed) }
}

fn answer(result: Result<(), Failed>) -> i32 {
    i32::from(result.is_err())
}

/// A tensor that is deleted when this is dropped.
struct Owned(Tensor);

impl Owned {
    fn give(mut self) -> Tensor {
        std::mem::replace(&mut self.0, ptr::null_mut())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the tensor is this one's.
            unsafe { aoti_torch_delete_tensor_object(self.0) };
        }
    }
}

/// Waits for what is on a stream.
///
/// # Safety
/// It is a stream.
unsafe fn wait(stream: Stream) -> Result<(), Failed> {
    let mut event = ptr::null_mut();
    // SAFETY: the caller's; the event is destroyed once.
    unsafe {
        check(cudaEventCreate(&raw mut event))?;
        let recorded = check(cudaEventRecord(event, stream));
        let waited = recorded.and_then(|()| check(cudaEventSynchronize(event)));
        cudaEventDestroy(event);
        waited
    }
}

impl Container {
    fn has(&self, part: u32) -> bool {
        self.recipe.parts & part != 0
    }

    fn constants(&self) -> Vec<(&'static CStr, i32)> {
        let mut constants = Vec::new();
        if self.has(WEIGHT) {
            constants.push((c"weight", PARAMETER));
        }
        if self.has(COUNT) {
            constants.push((c"count", BUFFER));
        }
        constants
    }

    /// A new tensor like another one.
    ///
    /// # Safety
    /// It is a tensor.
    unsafe fn like(&self, tensor: Tensor) -> Result<Owned, Failed> {
        let (mut dimensions, mut result) = (0, ptr::null_mut());
        let (mut sizes, mut strides) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's.
        unsafe {
            check(aoti_torch_get_dim(tensor, &raw mut dimensions))?;
            check(aoti_torch_get_sizes(tensor, &raw mut sizes))?;
            check(aoti_torch_get_strides(tensor, &raw mut strides))?;
            check(aoti_torch_empty_strided(
                dimensions,
                sizes,
                strides,
                aoti_torch_dtype_float32(),
                aoti_torch_device_type_cuda(),
                self.device,
                &raw mut result,
            ))?;
        }
        Ok(Owned(result))
    }

    /// Launches a kernel: the first tensors are passed by address, then the numbers.
    ///
    /// # Safety
    /// They are what the kernel takes.
    unsafe fn launch(
        &mut self,
        stream: Stream,
        name: &CStr,
        tensors: &[Tensor],
        count: i64,
        numbers: &[f32],
    ) -> Result<(), Failed> {
        let mut addresses = Vec::new();
        // SAFETY: the caller's; parameters are there until the launch returns.
        unsafe {
            if self.module.is_null() {
                check(cuModuleLoadData(
                    &raw mut self.module,
                    IMAGE.as_ptr().cast(),
                ))?;
            }
            for tensor in tensors {
                let mut address = ptr::null_mut();
                check(aoti_torch_get_data_ptr(*tensor, &raw mut address))?;
                addresses.push(address);
            }
            let mut function = ptr::null_mut();
            check(cuModuleGetFunction(
                &raw mut function,
                self.module,
                name.as_ptr(),
            ))?;
            let mut count = count;
            let mut numbers = numbers.to_vec();
            let mut parameters: Vec<*mut c_void> = Vec::new();
            parameters.extend(
                addresses
                    .iter_mut()
                    .map(|address| ptr::from_mut(address).cast()),
            );
            parameters.push((&raw mut count).cast());
            parameters.extend(
                numbers
                    .iter_mut()
                    .map(|number| ptr::from_mut(number).cast()),
            );
            let grid = (count as u32).div_ceil(128).max(1);
            let none = ptr::null_mut();
            let parameters = parameters.as_mut_ptr();
            check(cuLaunchKernel(
                function, grid, 1, 1, 128, 1, 1, 0, stream, parameters, none,
            ))
        }
    }

    /// # Safety
    /// The inputs are tensors, of which this takes hold; the places are for outputs.
    unsafe fn run(
        &mut self,
        inputs: *mut Tensor,
        outputs: *mut Tensor,
        stream: Stream,
    ) -> Result<(), Failed> {
        let mut owned = Vec::new();
        for index in 0..self.recipe.inputs as usize {
            // SAFETY: the caller's.
            unsafe {
                owned.push(Owned(*inputs.add(index)));
                *inputs.add(index) = ptr::null_mut();
            }
        }
        // SAFETY: as above; kernels get what they take.
        unsafe {
            if !self.has_run {
                // As AOTInductor does when it has computed constants from others.
                wait(stream)?;
                self.has_run = true;
            }
            self.runs += 1;
            let mut guard = ptr::null_mut();
            check(aoti_torch_create_cuda_stream_guard(
                stream,
                self.device,
                &raw mut guard,
            ))?;
            let result = self.compute(&owned, stream);
            aoti_torch_delete_cuda_stream_guard(guard);
            *outputs = result?.give();
        }
        Ok(())
    }

    /// # Safety
    /// The inputs are tensors.
    unsafe fn compute(&mut self, inputs: &[Owned], stream: Stream) -> Result<Owned, Failed> {
        let recipe = self.recipe;
        let x = inputs[0].0;
        let mut count = 0;
        // SAFETY: as above; kernels get what they take.
        unsafe {
            check(aoti_torch_get_numel(x, &raw mut count))?;
            if self.has(UNSUPPORTED) {
                check(cudaGraphLaunch(ptr::null_mut(), stream))?;
            }
            let scaled = self.like(x)?;
            let numbers = [recipe.scale, recipe.shift];
            self.launch(stream, c"affine", &[scaled.0, x], count, &numbers)?;
            if let [_, second] = inputs {
                self.launch(stream, c"add", &[scaled.0, second.0], count, &[])?;
            }
            let result = self.like(x)?;
            self.launch(stream, c"copy", &[result.0, scaled.0], count, &[])?;
            if self.has(KEEPS) {
                let kept = self.like(x)?;
                self.launch(stream, c"copy", &[kept.0, scaled.0], count, &[])?;
                self.kept = Some(kept);
            }
            // Whoever allocates next may have this memory, while the copy still reads it.
            let mut scaled = Some(scaled);
            if self.has(VARIES) {
                if !self.runs.is_multiple_of(4) {
                    scaled = None;
                }
                let other = self.like(x)?;
                self.launch(stream, c"affine", &[other.0, x], count, &[0.0, 99.0])?;
                if let Some(scaled) = &scaled {
                    self.launch(stream, c"copy", &[result.0, scaled.0], count, &[])?;
                }
            }
            drop(scaled);
            if self.has(WEIGHT) {
                let len = [recipe.weight_len as f32];
                self.launch(stream, c"add_row", &[result.0, self.weight], count, &len)?;
            }
            if self.has(COUNT) {
                self.launch(stream, c"add_one", &[self.count], 1, &[])?;
                self.launch(stream, c"add_first", &[result.0, self.count], count, &[])?;
            }
            if self.has(WAITS) {
                wait(stream)?;
            }
            if self.has(NO_KERNEL) {
                self.launch(stream, c"no_such_kernel", &[result.0], count, &[])?;
            }
            if !self.has(TWICE) {
                return Ok(result);
            }
            let second = self.like(x)?;
            self.launch(stream, c"copy", &[second.0, result.0], count, &[])?;
            Ok(second)
        }
    }
}

/// The container of a handle.
///
/// # Safety
/// It is one, and nobody else uses it meanwhile.
unsafe fn of<'c>(handle: *mut c_void) -> &'c mut Container {
    // SAFETY: the caller's.
    unsafe { &mut *handle.cast() }
}

/// Makes a container.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerCreateWithDevice(
    place: *mut *mut c_void,
    _models: usize,
    _device: *const c_char,
    _folder: *const c_char,
) -> i32 {
    let mut device = 0;
    // SAFETY: the recipe is there, and may be another than the compiler knows; the place is one for
    // a handle.
    unsafe {
        if cudaGetDevice(&raw mut device) != 0 {
            return 1;
        }
        let recipe = ptr::read_volatile(&raw const RECIPE);
        *place = Box::into_raw(Box::new(Container {
            recipe,
            device,
            module: ptr::null_mut(),
            weight: ptr::null_mut(),
            count: ptr::null_mut(),
            blob: ptr::null_mut(),
            has_run: false,
            runs: 0,
            kept: None,
        }))
        .cast();
    }
    0
}

/// Deletes a container.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerDelete(handle: *mut c_void) -> i32 {
    // SAFETY: made by the function above, and deleted once.
    unsafe {
        let container = Box::from_raw(handle.cast::<Container>());
        if !container.blob.is_null() {
            drop((Owned(container.weight), Owned(container.count)));
            cudaFree(container.blob);
        }
    }
    0
}

macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident: |$container:ident| $value:expr;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As AOTInductor's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut c_void, count: *mut usize) -> i32 {
            // SAFETY: the caller's.
            unsafe {
                let $container = of(handle);
                *count = $value;
            }
            0
        }
    )*};
}

counts! {
    /// How many inputs.
    AOTInductorModelContainerGetNumInputs: |container| container.recipe.inputs as usize;
    /// How many outputs.
    AOTInductorModelContainerGetNumOutputs: |_container| 1;
    /// How many constants.
    AOTInductorModelContainerGetNumConstants: |container| container.constants().len();
}

macro_rules! of_constants {
    ($($(#[$meta:meta])* $name:ident -> $type:ty: |$constant:ident| $value:expr;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As AOTInductor's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            handle: *mut c_void,
            index: usize,
            place: *mut $type,
        ) -> i32 {
            // SAFETY: the caller's.
            unsafe {
                match of(handle).constants().get(index) {
                    Some($constant) => *place = $value,
                    None => return 1,
                }
            }
            0
        }
    )*};
}

of_constants! {
    /// A constant's name.
    AOTInductorModelContainerGetConstantName -> *const c_char: |constant| constant.0.as_ptr();
    /// A constant's name in the model.
    AOTInductorModelContainerGetConstantOriginalFQN -> *const c_char: |constant| constant.0.as_ptr();
    /// Whether a constant is computed from others.
    AOTInductorModelContainerGetConstantFromFolded -> bool: |_constant| false;
    /// What kind of constant it is.
    AOTInductorModelContainerGetConstantType -> i32: |constant| constant.1;
}

/// A constant by name.
#[repr(C)]
pub struct Pair {
    name: *const c_char,
    tensor: Tensor,
}

/// Takes constants of the caller.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    handle: *mut c_void,
    pairs: *const Pair,
    count: usize,
    _inactive: bool,
    _validate: bool,
) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        let container = of(handle);
        for index in 0..count {
            let pair = &*pairs.add(index);
            match CStr::from_ptr(pair.name).to_bytes() {
                b"weight" => container.weight = pair.tensor,
                b"count" => container.count = pair.tensor,
                _ => return 1,
            }
        }
    }
    0
}

/// Loads constants that lie one after another.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelUpdateConstantsFromBlob(
    handle: *mut c_void,
    blob: *const u8,
) -> i32 {
    // SAFETY: the caller's; there is as much as the recipe says.
    let load = || unsafe {
        let container = of(handle);
        let lens = [
            container.recipe.weight_len as usize * usize::from(container.has(WEIGHT)),
            usize::from(container.has(COUNT)),
        ];
        let bytes = (lens[0] + lens[1]) * 4;
        check(cudaMalloc(&raw mut container.blob, bytes))?;
        check(cudaMemcpy(container.blob, blob.cast(), bytes, 1))?;
        let mut start = 0;
        for (len, second) in lens.into_iter().zip([false, true]) {
            if len == 0 {
                continue;
            }
            let (sizes, strides) = ([len as i64], [1i64]);
            let place = if second {
                &raw mut container.count
            } else {
                &raw mut container.weight
            };
            check(aoti_torch_create_tensor_from_blob_v2(
                container.blob.byte_add(start),
                1,
                sizes.as_ptr(),
                strides.as_ptr(),
                0,
                aoti_torch_dtype_float32(),
                aoti_torch_device_type_cuda(),
                container.device,
                place,
                0,
                ptr::null(),
                0,
            ))?;
            start += len * 4;
        }
        Ok(())
    };
    answer(load())
}

/// Computes constants from others, of which there are none.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerRunConstantFolding(
    _: *mut c_void,
    _: bool,
    _: Stream,
    _: *mut c_void,
) -> i32 {
    // SAFETY: the texts are there.
    unsafe {
        let text = c"there are no constants to compute".as_ptr();
        aoti_torch_warn(c"fold".as_ptr(), c"container.rs".as_ptr(), 0, text);
    }
    0
}

/// Runs the model.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerRunSingleThreaded(
    handle: *mut c_void,
    inputs: *mut Tensor,
    input_count: usize,
    outputs: *mut Tensor,
    output_count: usize,
    stream: Stream,
    _executor: *mut c_void,
) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        let container = of(handle);
        if input_count != container.recipe.inputs as usize || output_count != 1 {
            return 1;
        }
        answer(container.run(inputs, outputs, stream))
    }
}

/// Runs the model.
///
/// # Safety
/// As AOTInductor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AOTInductorModelContainerRun(
    handle: *mut c_void,
    inputs: *mut Tensor,
    input_count: usize,
    outputs: *mut Tensor,
    output_count: usize,
    stream: Stream,
    executor: *mut c_void,
) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        AOTInductorModelContainerRunSingleThreaded(
            handle,
            inputs,
            input_count,
            outputs,
            output_count,
            stream,
            executor,
        )
    }
}

//! A model container: its constants, its kernels, and its runs.

use std::ffi::{CStr, c_void};
use std::ptr;

use crate::imports::*;
use crate::{COUNT, KEEPS, NO_KERNEL, Recipe, TWICE, UNSUPPORTED, VARIES, WAITS, WEIGHT};

/// The image for the stand-in of the driver: the names of the kernels.
static IMAGE: &CStr = c"simgpu\naffine\nadd\nadd_row\nadd_one\nadd_first\ncopy\n";

/// The numbers of AOTInductor for kinds of constants.
const PARAMETER: i32 = 1;
const BUFFER: i32 = 2;

/// A model container.
pub(crate) struct Container {
    pub(crate) recipe: Recipe,
    pub(crate) device: i32,
    module: *mut c_void,
    pub(crate) weight: Tensor,
    pub(crate) count: Tensor,
    /// The memory of constants that came as one blob.
    pub(crate) blob: *mut c_void,
    has_run: bool,
    runs: u32,
    kept: Option<Owned>,
}

/// The failure of an imported function.
pub(crate) struct Failed;

/// Turns the result of an imported function into an error, unless it is 0.
pub(crate) fn check(code: i32) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err(Failed) }
}

/// A tensor that is deleted when this is dropped.
pub(crate) struct Owned(pub(crate) Tensor);

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

/// Has the host wait for a stream.
///
/// # Safety
/// `stream` must be a stream.
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
    pub(crate) fn new(recipe: Recipe, device: i32) -> Self {
        Self {
            recipe,
            device,
            module: ptr::null_mut(),
            weight: ptr::null_mut(),
            count: ptr::null_mut(),
            blob: ptr::null_mut(),
            has_run: false,
            runs: 0,
            kept: None,
        }
    }

    pub(crate) fn has(&self, part: u32) -> bool {
        self.recipe.parts & part != 0
    }

    pub(crate) fn constants(&self) -> Vec<(&'static CStr, i32)> {
        let mut constants = Vec::new();
        if self.has(WEIGHT) {
            constants.push((c"weight", PARAMETER));
        }
        if self.has(COUNT) {
            constants.push((c"count", BUFFER));
        }
        constants
    }

    /// A new tensor with the sizes and the strides of another one.
    ///
    /// # Safety
    /// `tensor` must be a tensor.
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

    /// Launches a kernel. Its parameters are the addresses of the tensors, the count, and the
    /// numbers.
    ///
    /// # Safety
    /// The parameters must be those of the kernel.
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
    /// The inputs must be tensors, which this takes over. `outputs` must have capacity for the
    /// outputs.
    pub(crate) unsafe fn run(
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
    /// The inputs must be tensors.
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
            // The next allocation may get this memory, while the copy still reads it.
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

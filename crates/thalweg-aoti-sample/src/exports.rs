//! The functions of a model container, as AOTInductor exports them.
#![allow(
    unreachable_pub,
    non_snake_case,
    reason = "a loader finds the functions by their names"
)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::container::{Container, Failed, Owned, check};
use crate::imports::*;
use crate::{COUNT, MAGIC, Recipe, WEIGHT};

/// The recipe, which tests write over.
#[used]
static RECIPE: Recipe = Recipe {
    magic: MAGIC,
    scale: 1.0,
    shift: 0.0,
    inputs: 1,
    parts: 0,
    weight_len: 0,
};

/// The result of an exported function.
fn answer(result: Result<(), Failed>) -> i32 {
    i32::from(result.is_err())
}

/// The container of a handle.
///
/// # Safety
/// The handle must be one of a container that nobody else uses meanwhile.
unsafe fn of<'c>(handle: *mut c_void) -> &'c mut Container {
    // SAFETY: the caller's.
    unsafe { &mut *handle.cast() }
}

/// Creates a container.
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
        *place = Box::into_raw(Box::new(Container::new(recipe, device))).cast();
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
    /// The number of inputs.
    AOTInductorModelContainerGetNumInputs: |container| container.recipe.inputs as usize;
    /// The number of outputs.
    AOTInductorModelContainerGetNumOutputs: |_container| 1;
    /// The number of constants.
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
    /// The name of a constant.
    AOTInductorModelContainerGetConstantName -> *const c_char: |constant| constant.0.as_ptr();
    /// The name of a constant in the model.
    AOTInductorModelContainerGetConstantOriginalFQN -> *const c_char: |constant| constant.0.as_ptr();
    /// True for a constant that is computed from others.
    AOTInductorModelContainerGetConstantFromFolded -> bool: |_constant| false;
    /// The kind of a constant.
    AOTInductorModelContainerGetConstantType -> i32: |constant| constant.1;
}

/// A constant and its name.
#[repr(C)]
pub struct Pair {
    name: *const c_char,
    tensor: Tensor,
}

/// Sets constants that the caller owns.
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

/// Loads constants from one blob, in which they follow each other.
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

/// Folds constants, of which there are none to fold.
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

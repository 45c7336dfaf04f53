//! Functions that libraries can import: PyTorch's C interface, CUDA's runtime, and the driver.

pub(super) mod accessors;
mod codes;
pub(super) mod driver;
mod guards;
pub(super) mod properties;
pub(super) mod runtime;
pub(super) mod tensors;
pub(super) mod unsupported;

use thalweg_cuda::Driver;

use super::ops::{matmul, random, sort};
use crate::loader::Definition;

/// The definition of a symbol that a library imports, if it is one of these functions. Functions of the
/// driver are that driver's own, but for those of [`driver`].
pub(crate) fn definition(name: &str, driver: &Driver) -> Option<Definition> {
    let address = match is_of_driver(name) {
        true => interposed(name).or_else(|| Some(driver.symbol(name)?.addr().get())),
        false => exported(name),
    };
    Some(Definition::Function(address? as u64))
}

/// True for a name of the driver's interface.
fn is_of_driver(name: &str) -> bool {
    name.starts_with("cu") && !name.starts_with("cuda")
}

macro_rules! functions {
    ($find:ident: $($module:ident: { $($name:ident)* })*) => {
        fn $find(name: &str) -> Option<usize> {
            let function: *const () = match name {
                $($(stringify!($name) => $module::$name as *const (),)*)*
                _ => return unsupported::find(name)
                    .map(|function| (function as *const ()).expose_provenance()),
            };
            Some(function.expose_provenance())
        }

        #[cfg(test)]
        const EXPORTED: &[&str] = &[$($(stringify!($name)),*),*];
    };
}

functions! {
    exported:
    accessors: {
        aoti_torch_get_data_ptr
        aoti_torch_get_device_index
        aoti_torch_get_device_type
        aoti_torch_get_dim
        aoti_torch_get_dtype
        aoti_torch_get_layout
        aoti_torch_get_numel
        aoti_torch_get_size
        aoti_torch_get_sizes
        aoti_torch_get_storage_numel
        aoti_torch_get_storage_offset
        aoti_torch_get_storage_size
        aoti_torch_get_stride
        aoti_torch_get_strides
        aoti_torch_is_contiguous
        aoti_torch_is_defined
        aoti_torch_item_bool
        aoti_torch_item_float32
        aoti_torch_item_float64
        aoti_torch_item_int16
        aoti_torch_item_int32
        aoti_torch_item_int64
        aoti_torch_item_int8
        aoti_torch_item_uint16
        aoti_torch_item_uint32
        aoti_torch_item_uint64
        aoti_torch_item_uint8
    }
    tensors: {
        aoti_torch__reinterpret_tensor
        aoti_torch_assign_tensors
        aoti_torch_check
        aoti_torch_assign_tensors_out
        aoti_torch_clone
        aoti_torch_clone_preserve_strides
        aoti_torch_copy_
        aoti_torch_create_tensor_from_blob
        aoti_torch_create_tensor_from_blob_v2
        aoti_torch_delete_tensor_object
        aoti_torch_empty_strided
        aoti_torch_empty_strided_pinned
        aoti_torch_new_tensor_handle
        aoti_torch_warn
        aoti_torch_zero_
    }
    codes: {
        aoti_torch_device_type_cpu
        aoti_torch_device_type_cuda
        aoti_torch_dtype_bfloat16
        aoti_torch_dtype_bool
        aoti_torch_dtype_complex128
        aoti_torch_dtype_complex32
        aoti_torch_dtype_complex64
        aoti_torch_dtype_element_size
        aoti_torch_dtype_float16
        aoti_torch_dtype_float32
        aoti_torch_dtype_float64
        aoti_torch_dtype_float8_e4m3fn
        aoti_torch_dtype_float8_e4m3fnuz
        aoti_torch_dtype_float8_e5m2
        aoti_torch_dtype_float8_e5m2fnuz
        aoti_torch_dtype_int16
        aoti_torch_dtype_int32
        aoti_torch_dtype_int64
        aoti_torch_dtype_int8
        aoti_torch_dtype_uint16
        aoti_torch_dtype_uint32
        aoti_torch_dtype_uint64
        aoti_torch_dtype_uint8
        aoti_torch_grad_mode_is_enabled
        aoti_torch_grad_mode_set_enabled
        aoti_torch_layout_strided
    }
    guards: {
        aoti_torch_create_cuda_guard
        aoti_torch_create_cuda_stream_guard
        aoti_torch_cuda_caching_allocator_raw_alloc
        aoti_torch_cuda_caching_allocator_raw_delete
        aoti_torch_cuda_guard_set_index
        aoti_torch_delete_cuda_guard
        aoti_torch_delete_cuda_stream_guard
        aoti_torch_get_current_cuda_stream
        aoti_torch_get_current_device_index
    }
    matmul: {
        aoti_torch_cuda__weight_int4pack_mm
        aoti_torch_cuda_int4_plain_mm
        aoti_torch_cuda_int5_plain_mm
        aoti_torch_cuda_int6_plain_mm
        aoti_torch_cuda_int8_plain_mm
    }
    random: {
        aoti_torch_cuda_rand
        aoti_torch_cuda_randint_low_out
    }
    sort: {
        aoti_torch_cuda_sort_stable
    }
    properties: {
        cudaGetDeviceProperties
        cudaGetDeviceProperties_v2
    }
    runtime: {
        cudaDeviceGetAttribute
        cudaDeviceSynchronize
        cudaEventCreate
        cudaEventCreateWithFlags
        cudaEventDestroy
        cudaEventElapsedTime
        cudaEventQuery
        cudaEventRecord
        cudaEventSynchronize
        cudaFree
        cudaFreeAsync
        cudaFreeHost
        cudaGetDevice
        cudaGetDeviceCount
        cudaGetErrorName
        cudaGetErrorString
        cudaGetLastError
        cudaHostAlloc
        cudaMalloc
        cudaMallocAsync
        cudaMallocHost
        cudaMemcpy
        cudaMemcpyAsync
        cudaMemset
        cudaMemsetAsync
        cudaPeekAtLastError
        cudaPointerGetAttributes
        cudaSetDevice
        cudaStreamCreate
        cudaStreamCreateWithFlags
        cudaStreamCreateWithPriority
        cudaStreamDestroy
        cudaStreamIsCapturing
        cudaStreamQuery
        cudaStreamSynchronize
        cudaStreamWaitEvent
    }
}

/// The function that replaces one of the driver.
fn interposed(name: &str) -> Option<usize> {
    let function = match name {
        "cuModuleLoadData" => driver::load_module as *const (),
        "cuModuleUnload" => driver::unload_module as *const (),
        "cuModuleGetFunction" => driver::module_function as *const (),
        "cuFuncSetAttribute" => driver::function_attribute as *const (),
        "cuLaunchKernel" => driver::launch_kernel as *const (),
        _ => return None,
    };
    Some(function.expose_provenance())
}

/// True for a function of the driver that is not interposed, and may synchronize, copy or enqueue. Whether a
/// library that imports one can be captured is not known.
pub(super) fn is_unwatched(name: &str) -> bool {
    /// Functions that only query.
    const QUERIES: [&str; 9] = [
        "cuCtxGetCurrent",
        "cuCtxGetDevice",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDriverGetVersion",
        "cuFuncGetAttribute",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuTensorMapEncodeTiled",
    ];
    is_of_driver(name) && interposed(name).is_none() && !QUERIES.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The functions that upstream's CUDA backend provides (ExecuTorch 1.4 and 1.5, and main of August
    /// 2026).
    const UPSTREAM: [&str; 53] = [
        "aoti_torch__reinterpret_tensor",
        "aoti_torch_assign_tensors_out",
        "aoti_torch_check",
        "aoti_torch_clone",
        "aoti_torch_clone_preserve_strides",
        "aoti_torch_copy_",
        "aoti_torch_create_cuda_guard",
        "aoti_torch_create_cuda_stream_guard",
        "aoti_torch_create_tensor_from_blob",
        "aoti_torch_create_tensor_from_blob_v2",
        "aoti_torch_cuda__weight_int4pack_mm",
        "aoti_torch_cuda_guard_set_index",
        "aoti_torch_cuda_int4_plain_mm",
        "aoti_torch_cuda_int5_plain_mm",
        "aoti_torch_cuda_int6_plain_mm",
        "aoti_torch_cuda_int8_plain_mm",
        "aoti_torch_cuda_rand",
        "aoti_torch_cuda_randint_low_out",
        "aoti_torch_cuda_sort_stable",
        "aoti_torch_delete_cuda_guard",
        "aoti_torch_delete_cuda_stream_guard",
        "aoti_torch_delete_tensor_object",
        "aoti_torch_device_type_cpu",
        "aoti_torch_device_type_cuda",
        "aoti_torch_dtype_bfloat16",
        "aoti_torch_dtype_bool",
        "aoti_torch_dtype_float16",
        "aoti_torch_dtype_float32",
        "aoti_torch_dtype_int16",
        "aoti_torch_dtype_int32",
        "aoti_torch_dtype_int64",
        "aoti_torch_dtype_int8",
        "aoti_torch_dtype_uint8",
        "aoti_torch_empty_strided",
        "aoti_torch_get_current_cuda_stream",
        "aoti_torch_get_data_ptr",
        "aoti_torch_get_device_index",
        "aoti_torch_get_device_type",
        "aoti_torch_get_dim",
        "aoti_torch_get_dtype",
        "aoti_torch_get_numel",
        "aoti_torch_get_sizes",
        "aoti_torch_get_storage_offset",
        "aoti_torch_get_storage_size",
        "aoti_torch_get_strides",
        "aoti_torch_grad_mode_is_enabled",
        "aoti_torch_grad_mode_set_enabled",
        "aoti_torch_item_bool",
        "aoti_torch_layout_strided",
        "aoti_torch_new_tensor_handle",
        "aoti_torch_warn",
        "cudaGetLastError",
        "cudaMemcpyAsync",
    ];

    #[test]
    fn all_functions_of_upstream_are_here() {
        let missing: Vec<_> = UPSTREAM
            .iter()
            .filter(|name| exported(name).is_none())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(exported("aoti_torch_dream"), None);
        assert_eq!(interposed("cuLaunchDream"), None);
    }

    #[test]
    fn every_name_is_a_function_of_its_own() {
        let names: BTreeSet<_> = EXPORTED.iter().collect();
        assert_eq!(names.len(), EXPORTED.len());
        for name in EXPORTED {
            assert!(exported(name).is_some_and(|address| address != 0), "{name}");
        }
    }
}

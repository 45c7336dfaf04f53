//! Functions that upstream has and that are not here yet. A library that imports one is loaded, and
//! fails by the function's name when it calls it.

use thalweg_core::bail;

use super::runtime::NOT_SUPPORTED;
use super::session::answer;

/// The arguments do not matter: nobody looks at them, and the caller takes them back.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            extern "C" fn $name() -> i32 {
                answer(stringify!($name), |_| {
                    bail!(Unsupported, "this function is not supported")
                })
            }
        )*

        /// The function of a name.
        pub(super) fn find(name: &str) -> Option<extern "C" fn() -> i32> {
            Some(match name {
                $(stringify!($name) => $name,)*
                _ => return None,
            })
        }
    };
}

unsupported! {
    aoti_torch_cuda__weight_int4pack_mm
    aoti_torch_cuda_int4_plain_mm
    aoti_torch_cuda_int5_plain_mm
    aoti_torch_cuda_int6_plain_mm
    aoti_torch_cuda_int8_plain_mm
    aoti_torch_cuda_sort_stable
    aoti_torch_cuda_rand
    aoti_torch_cuda_randint_low_out
}

/// Functions of CUDA's runtime that are not here.
macro_rules! unsupported_of_runtime {
    ($($name:ident)*) => {
        $(
            extern "C" fn $name() -> i32 {
                answer(stringify!($name), |_| {
                    bail!(Unsupported, "this function of CUDA's runtime is not supported")
                });
                NOT_SUPPORTED
            }
        )*

        /// The function of a name.
        pub(super) fn find_of_runtime(name: &str) -> Option<extern "C" fn() -> i32> {
            Some(match name {
                $(stringify!($name) => $name,)*
                _ => return None,
            })
        }
    };
}

unsupported_of_runtime! {
    cudaGetDeviceProperties
    cudaGetDeviceProperties_v2
    cudaLaunchKernel
    cudaLaunchKernelExC
    cudaFuncSetAttribute
    cudaFuncGetAttributes
    cudaMallocManaged
    cudaMemcpy2D
    cudaMemcpy2DAsync
    cudaGraphLaunch
    cudaStreamBeginCapture
    cudaStreamEndCapture
}

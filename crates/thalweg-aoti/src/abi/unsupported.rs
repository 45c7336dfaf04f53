//! Functions of CUDA's runtime that are not here. A library that imports one is loaded, and fails by the
//! function's name when it calls it.

use thalweg_core::bail;

use super::runtime::NOT_SUPPORTED;
use super::session::answer;

/// The arguments do not matter: nobody looks at them, and the caller takes them back.
macro_rules! unsupported {
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
        pub(super) fn find(name: &str) -> Option<extern "C" fn() -> i32> {
            Some(match name {
                $(stringify!($name) => $name,)*
                _ => return None,
            })
        }
    };
}

unsupported! {
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

//! Functions of CUDA's runtime that are not supported. A library that imports one loads. A call of the
//! function fails the library's call, with the function's name.

use thalweg_core::bail;

use super::super::driver::{CuResult, error};
use super::super::session::torch_function;

/// The arguments are not declared: nobody reads them, and in C's calling convention the caller removes them.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            extern "C" fn $name() -> CuResult {
                torch_function(stringify!($name), |_| {
                    bail!(Unsupported, "this function of CUDA's runtime is not supported")
                });
                error::UNKNOWN
            }
        )*

        /// The unsupported function of a name.
        pub(in crate::abi) fn find(name: &str) -> Option<extern "C" fn() -> CuResult> {
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

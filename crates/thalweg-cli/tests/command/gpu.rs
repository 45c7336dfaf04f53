//! The command on machines with and without a GPU, which the stand-ins of the driver and of TensorRT are.

use thalweg_simgpu::Sim;

use super::{Ran, thalweg_in};

/// Runs the command where the driver and TensorRT are the stand-ins.
pub(crate) fn with_gpu<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    let library = Sim::path().as_os_str();
    thalweg_in(
        &[("THALWEG_CUDA", library), ("THALWEG_TENSORRT", library)],
        arguments,
    )
}

/// Runs the command where there are neither a driver nor TensorRT.
pub(crate) fn without_gpu<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    let nowhere = "/nowhere/lib.so".as_ref();
    thalweg_in(
        &[("THALWEG_CUDA", nowhere), ("THALWEG_TENSORRT", nowhere)],
        arguments,
    )
}

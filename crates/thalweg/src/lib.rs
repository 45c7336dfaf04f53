//! Thalweg runs ExecuTorch programs (`.pte`) from Rust.
//!
//! ```no_run
//! use thalweg::{Input, Runtime, Tensor};
//!
//! # fn main() -> thalweg::Result<()> {
//! let program = Runtime::detect().load("model.pte")?;
//! let mut forward = program.method("forward")?;
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[1, 3])?;
//! let outputs = forward.run(&[Input::from(&x)])?;
//! println!("{:?}", outputs.tensor(0)?.data::<f32>()?);
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | load a program | [`Runtime`], [`LoadOptions`] |
//! | see what a program takes, returns and needs | [`Program`], [`info`] |
//! | run it | [`Method`], [`Input`], [`Outputs`], [`RunOptions`] |
//! | make and read tensors | [`Tensor`], [`TensorView`], [`DType`] |
//! | share a cache between methods, or start it anew | [`State`], [`MethodOptions`] |
//! | serve several threads | an instance for each, from [`Program::method`] |
//! | keep inputs and outputs on a GPU, choose streams | [`device`], [`RunOptions::stream`], [`cuda`] |
//! | pin a TensorRT profile | [`Profile`] |
//! | see where the time goes | [`Trace`] |
//! | add an operator, a backend or a device | [`extend`] |
//! | read or write program files | [`mod@format`] |
//!
//! # Features
//!
//! | feature | what it adds | what it costs |
//! |---|---|---|
//! | `cuda` (default) | memory and work on NVIDIA GPUs, through the machine's driver | `thalweg-cuda`, `cudarc`; nothing at run time until a program needs a GPU |
//! | `tensorrt` (default) | TensorRT engines, with the machine's TensorRT | `thalweg-tensorrt` |
//! | `aoti` (default) | compiled CUDA libraries (AOTInductor) | `thalweg-aoti`, `object` |
//!
//! Without default features there is the CPU path alone. The GPU features do nothing on systems other
//! than Linux.
#![forbid(unsafe_code)]

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod gpu;
mod runtime;

pub use runtime::{Runtime, RuntimeBuilder};
pub use thalweg_core::{
    Bool, Complex32, Complex64, DType, Element, Error, ErrorKind, Input, OptionValue, Output,
    Place, Result, Scalar, Tensor, TensorView, TensorViewMut, Value, bf16, f16,
};
pub use thalweg_runtime::{
    Completion, DelegateKey, GraphUse, LoadOptions, Method, MethodOptions, Optimizations, Outputs,
    Profile, Program, RunOptions, State, Trace,
};

/// Descriptions of programs: what methods take, return and need, and how they run.
pub mod info {
    pub use thalweg_runtime::{
        MethodInfo, Missing, PersistentBufferInfo, Schedule, ScheduledStep, ShapeKind,
        StepExecution, TensorInfo, TransferDirection, ValueInfo,
    };
}

/// Devices, as those see them who have inputs and outputs there.
pub mod device {
    pub use thalweg_core::{
        CallerStream, Device, DeviceAddress, DeviceId, DeviceInput, DeviceKind, DeviceTensor,
        StreamHandle,
    };
}

/// The interface for authors of kernels, backends and devices.
pub mod extend {
    pub use thalweg_core::*;
    pub use thalweg_runtime::DeviceSource;
}

/// Reading and writing of program and data files.
pub use thalweg_format as format;

/// The CUDA driver: devices, streams, events, memory.
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub use thalweg_cuda as cuda;

/// Compiled CUDA libraries: the backend, and payloads of its delegates.
#[cfg(all(feature = "aoti", target_os = "linux"))]
pub use thalweg_aoti as aoti;

/// TensorRT engines: finding TensorRT, and looking at engines.
#[cfg(all(feature = "tensorrt", target_os = "linux"))]
pub use thalweg_tensorrt as tensorrt;

/// The README's example is built as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the book.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/order.md")]
#[doc = include_str!("../../../docs/profiles.md")]
#[doc = include_str!("../../../docs/scratch.md")]
#[doc = include_str!("../../../docs/traces.md")]
struct Book;

#[cfg(test)]
mod tests {
    use crate::extend::KernelRegistry;

    #[test]
    fn the_signature_of_every_operator_can_be_read() {
        let mut registry = KernelRegistry::new();
        thalweg_kernels::register(&mut registry).unwrap();
    }
}

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
//! A [`Runtime`] holds the operators and backends of this machine; [`load`](thalweg_core::Runtime::load) gives a
//! [`Program`], [`Program::method`] an instance of one of its methods, and [`Method::run`] runs
//! it. Everything else is in the documentation of these four.
#![forbid(unsafe_code)]

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod gpu;

use std::ops::Deref;

pub use thalweg_core::*;

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

/// A runtime with everything that Thalweg and this machine offer.
///
/// It derefs to [`thalweg_core::Runtime`], whose methods load programs.
#[derive(Clone, Debug)]
pub struct Runtime(thalweg_core::Runtime);

impl Runtime {
    /// All CPU operators, the devices of this machine, and every backend that it can run.
    ///
    /// Drivers and libraries are looked for when a program first needs them: one that runs on the
    /// CPU alone does not wait for them, and what is wrong with them is said to those who need them.
    /// A device that was needed once stays ready, with what its driver takes of its memory, until the last
    /// clone of the runtime and all that was loaded with it are gone.
    pub fn detect() -> Self {
        Self(Self::builder().build())
    }

    /// The same to begin with, to which operators, backends and devices can be added before it is
    /// built.
    pub fn builder() -> RuntimeBuilder {
        let builder = thalweg_core::Runtime::builder().kernels(&kernels());
        #[cfg(all(feature = "cuda", target_os = "linux"))]
        let builder = gpu::add(builder);
        builder
    }
}

impl Deref for Runtime {
    type Target = thalweg_core::Runtime;

    fn deref(&self) -> &thalweg_core::Runtime {
        &self.0
    }
}

impl From<thalweg_core::Runtime> for Runtime {
    fn from(runtime: thalweg_core::Runtime) -> Self {
        Self(runtime)
    }
}

/// All CPU operators.
fn kernels() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    if let Err(error) = thalweg_kernels::register(&mut registry) {
        // Signatures are fixed text that a test reads; there is no way to get here.
        unreachable!("{error}");
    }
    registry
}

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
    use super::*;

    #[test]
    fn the_signature_of_every_operator_can_be_read() {
        let mut registry = KernelRegistry::new();
        thalweg_kernels::register(&mut registry).unwrap();
    }
}

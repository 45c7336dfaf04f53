//! Compiled CUDA libraries in ExecuTorch programs: the backend `CudaBackend`.
#![deny(unsafe_code)]

#[allow(dead_code, unused_imports, reason = "the backend comes next")]
mod loader;
mod payload;

pub use payload::{Constant, Constants, Payload};

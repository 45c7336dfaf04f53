//! Compiled CUDA libraries in ExecuTorch programs: the backend `CudaBackend`.
#![deny(unsafe_code)]

mod payload;

pub use payload::{Constant, Constants, Payload};

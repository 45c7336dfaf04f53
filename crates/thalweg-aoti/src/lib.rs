//! Compiled CUDA libraries in ExecuTorch programs: the backend `CudaBackend`.
//!
//! A delegate's [`Payload`] names a shared library that AOTInductor has compiled, and its constants.
//! [`CudaBackend`] loads the library from memory, defines the functions that it imports from PyTorch, CUDA's
//! runtime and the driver, and runs it on the call's stream with the call's memory.
//!
//! # Sharing
//! A library is loaded once for all delegates that name it. Each constant is on the device once for all
//! delegates, methods and instances. Mutable buffers belong to the state of an instance.
//!
//! # Order
//! All work of an instance is on the streams of its method's calls. The core makes each call's stream wait
//! for the work of the call before, and waits on the host for all work before it drops the instance. So work
//! is in order without further waits. The host waits only where it reads results.
//!
//! # Trust
//! To load a library is to run code that came with the program.
#![deny(unsafe_code)]

mod abi;
mod backend;
mod cache;
mod compiled_library;
mod constants;
mod container;
mod delegate;
mod device;
mod instance;
mod loader;
mod model;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod mutation;
mod payload;
mod sync;
mod workspace;

#[cfg(any(test, feature = "harness"))]
#[doc(hidden)]
pub use abi::{Harness, HarnessTensor, WeightFormat};
pub use backend::CudaBackend;
#[cfg(any(test, feature = "mutations"))]
#[doc(hidden)]
pub use mutation::{Mutation, Rule, disable};
pub use payload::{Constant, Constants, Payload};

/// The name of the backend in programs.
pub const NAME: &str = "CudaBackend";

//! Compiled CUDA libraries in ExecuTorch programs: the backend `CudaBackend`.
//!
//! A delegate's [`Payload`] names a shared library that AOTInductor has compiled, and its constants.
//! [`CudaBackend`] loads the library from memory, gives it all that it imports from PyTorch, from
//! CUDA's runtime and from the driver, and runs it: on the call's stream, on the call's memory.
//!
//! # What is shared
//! A library is loaded once for all delegates that name it, and each constant is on the device once,
//! whatever the number of delegates, methods and instances that use it. What a model may change (its
//! buffers) each instance has for itself.
//!
//! # Order
//! All work of an instance is on the streams of its method's calls, and the core lets each call's
//! stream go on after what the call before has left there, and waits for it before it drops the
//! instance. So work is in order by itself. The host waits only where it reads results.
//!
//! # Trust
//! To load a library is to run code that came with the program.
#![deny(unsafe_code)]

mod abi;
mod backend;
mod buffers;
mod compiled;
mod constants;
mod delegate;
mod instance;
mod known;
mod loader;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod omit;
mod payload;
mod shared;
mod workspace;

#[cfg(any(test, feature = "probe"))]
#[doc(hidden)]
pub use abi::{Packing, Probe, Probed};
pub use backend::{CudaBackend, NAME};
#[cfg(any(test, feature = "omissions"))]
#[doc(hidden)]
pub use omit::{Omission, Rule, omit};
pub use payload::{Constant, Constants, Payload};

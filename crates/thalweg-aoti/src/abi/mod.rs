//! The binary interface between compiled libraries and this crate.
//!
//! A library imports functions of PyTorch's C interface, of CUDA's runtime and of the driver: [`imports`].
//! This crate calls the functions of the library's model containers: [`container`]. Nothing here panics into
//! C. An error in an imported function becomes the error of the call of the library: [`session`].
#![allow(
    non_snake_case,
    reason = "functions have the names that libraries import them by"
)]

mod allocation_trace;
mod codes;
mod container;
mod copies;
mod driver;
mod handle;
#[cfg(any(test, feature = "harness"))]
#[allow(
    unreachable_pub,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "public for tests, where there is the feature"
)]
mod harness;
mod imports;
mod kernels;
mod load;
mod modules;
mod ops;
mod session;
mod stream;
mod tensor;

pub(crate) use allocation_trace::{AllocationPlan, AllocationTrace, RunOutcome};
pub(crate) use container::{ConstantInfo, Container, ContainerFunctions, UserManagedConstants};
pub(crate) use copies::{copy, copy_storage, read_on_host, write_on_host};
pub(crate) use driver::DriverTable;
#[cfg(any(test, feature = "harness"))]
pub use harness::{Harness, HarnessTensor, WeightFormat};
pub(crate) use kernels::Kernels;
pub(crate) use load::load;
pub(crate) use modules::Modules;
pub(crate) use session::Session;
pub(crate) use stream::borrow_stream;
pub(crate) use tensor::{Location, Storage, Tensor};

#[cfg(all(test, target_os = "linux"))]
#[allow(unsafe_code, reason = "functions are called as libraries call them")]
mod tests;

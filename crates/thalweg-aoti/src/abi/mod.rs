//! What libraries and this crate call of each other.
//!
//! A compiled library calls PyTorch's C interface, CUDA's runtime, and the driver; [`provided`] has
//! all of that. This crate calls the library's model container ([`container`]). Nothing here panics
//! into C, and what goes wrong in a function that a library calls becomes the error of the call of the
//! library ([`session`]).
#![allow(
    non_snake_case,
    reason = "functions have the names that libraries import them by"
)]

mod container;
mod copies;
mod course;
mod driver;
mod guards;
mod load;
mod modules;
mod numbers;
mod ops;
#[cfg(any(test, feature = "probe"))]
#[allow(
    unreachable_pub,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "public for tests, where there is the feature"
)]
mod probe;
mod properties;
mod provided;
mod runtime;
mod session;
mod stream;
mod tensor;
mod tensors;
mod unsupported;

pub(crate) use container::{Container, Entry, Functions, Lent};
pub(crate) use copies::{copy, copy_storage, read_on_host, write_on_host};
pub(crate) use course::{Course, Plan, Ran};
pub(crate) use driver::Table;
pub(crate) use load::load;
pub(crate) use modules::Modules;
pub(crate) use ops::Operators;
#[cfg(any(test, feature = "probe"))]
pub use probe::{Packing, Probe, Probed};
pub(crate) use provided::provided;
pub(crate) use session::Session;
pub(crate) use stream::borrow;
pub(crate) use tensor::{Storage, Tensor, Where};

#[cfg(all(test, target_os = "linux"))]
#[allow(unsafe_code, reason = "functions are called as libraries call them")]
mod tests;

//! TensorRT's binary interface: the only module of this crate that calls into TensorRT.
//!
//! TensorRT is a C++ library, and this crate has neither its headers nor a C++ compiler. It opens the
//! library, asks for the version, and calls methods through virtual tables, whose layout the Itanium
//! C++ ABI defines ([`layout`]). An object of TensorRT is a pair: an outer object with a virtual
//! destructor, and a pointer to an inner object that has the methods ([`object`]). The objects that
//! TensorRT calls back are laid out here in the same way ([`callbacks`]).
//!
//! [`Runtime`], [`Engine`] and [`Context`] check every result: a null, a false or a zero that means
//! failure is an error, with what TensorRT logged during the call. Each is made from the one before:
//! an engine holds its runtime, and a context its engine.
#![allow(
    unsafe_code,
    reason = "methods are called through virtual tables, and callbacks are called by C++; each \
              block says why it is right"
)]

mod callbacks;
mod context;
mod engine;
mod layout;
mod library;
mod object;
mod runtime;
mod stream;
mod types;

pub(crate) use callbacks::OutputAllocator;
pub(crate) use context::Context;
pub(crate) use engine::{Engine, Selector};
pub(crate) use library::Library;
pub(crate) use runtime::Runtime;
pub(crate) use stream::{borrow_stream, copy_on_device, download, is_idle, synchronize, upload};
pub(crate) use types::{Shape, TensorLocation};

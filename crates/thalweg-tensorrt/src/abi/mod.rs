//! TensorRT's binary interface: the only place of this crate that calls into it.
//!
//! TensorRT is C++, and we have neither its headers nor a C++ compiler. So a library is opened, asked
//! for its version, and its methods are called through the tables of virtual functions that the
//! Itanium C++ ABI lays down ([`layout`]). Its objects are pairs: an outer one with a virtual
//! destructor, and, behind a pointer in it, an inner one with the methods ([`object`]). What it calls
//! back is made here in the same way ([`callbacks`]).
//!
//! The types at the top ([`Runtime`], [`Engine`], [`Context`]) check every answer: a null, a false or
//! a zero that means failure is an error, with what TensorRT has logged meanwhile.
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
mod order;
mod runtime;
mod types;

pub(crate) use callbacks::OutputAllocator;
pub(crate) use context::Context;
pub(crate) use engine::{Engine, Selector};
pub(crate) use library::Library;
pub(crate) use order::{copy_on_device, download, is_over, stream, upload, wait};
pub(crate) use order::{download_pageable, download_pinned, launch, upload_pinned};
pub(crate) use runtime::Runtime;
pub(crate) use types::{Shape, TensorLocation};
